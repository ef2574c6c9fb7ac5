"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 6 and TLap.

CL-E10 and CL-E11, each as printed and as corrected. TLap(epsilon, delta) is Laplace
noise of scale 1/epsilon truncated to +-log(1/delta)/epsilon.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_positive

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Theorem 6 (CL-E10) ---------------------------------------------------------------


def _gap_budget(*, epsilon: float = 1.0) -> float:
    """Privacy parameter epsilon/6 that releasing the noisy gap may cost.

    Args:
      epsilon: > 0.
    """
    return check_positive("epsilon", epsilon) / 6.0


def _gap(scores: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    others = [score for i, score in enumerate(scores) if i not in chosen]
    return max(others) - min(scores[i] for i in chosen)


def _gap_losses(scale: float):
    def cases(budget: Budget) -> Iterator[Case]:
        scores = (3, 2, 1, 0)
        for size in (1, 2, 3):
            for chosen in itertools.combinations(range(4), size):
                for steps in itertools.product((-1, 0, 1), repeat=4):
                    moved = tuple(a + b for a, b in zip(scores, steps, strict=True))
                    change = abs(_gap(scores, chosen) - _gap(moved, chosen))
                    # Laplace noise of scale s: exact privacy parameter change/s.
                    where = (
                        f"{scores} to {moved}, S={chosen}, noise Lap({scale:g}/epsilon)"
                    )
                    yield _gap_budget(), change / scale, where

    return cases


def _large_noise_printed(*, beta: float = 0.1) -> float:
    """Chance beta/2 that some noise exceeds 10 log(1/beta)/epsilon.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta) / 2.0


def _large_noises_printed(budget: Budget) -> Iterator[Case]:
    for beta, delta in ((0.1, 1e-6), (0.01, 1e-6)):
        runs = math.ceil(2.0 / (delta / 10.0))
        # |Lap(6/epsilon)| > 10 log(1/beta)/epsilon; the number of runs is uniform.
        one = beta ** (10.0 / 6.0)
        some = float(laws.beta_binomial(runs, 1.0).pgf_gap(one))
        where = f"{beta=}, {delta=}, up to T={runs} runs"
        yield _large_noise_printed(beta=beta), some, where


def _low_noise(*, beta: float = 0.1) -> float:
    """Chance beta/4 that some noise is below -(12/epsilon) log(2 T/beta).

    Args:
      beta: in (0, 1); T = ceil(4/beta).
    """
    return probability("beta", beta) / 4.0


def _low_noises(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for beta in [0.1, *generator.uniform(1e-4, 0.999, min(budget.cases, 100)).tolist()]:
        runs = math.ceil(4.0 / beta)
        one = 0.5 * math.exp(-math.log(2.0 * runs / beta))  # noise of scale 12/epsilon
        some = float(laws.beta_binomial(runs, 1.0).pgf_gap(one))
        yield _low_noise(beta=beta), some, f"{beta=!r}, up to T={runs} runs"


# --- Truncated Laplace noise (CL-E11) -------------------------------------------------


def _stated(*, delta: float = 0.5) -> float:
    """Delta claimed for TLap(epsilon, delta) at epsilon: delta itself.

    Args:
      delta: in (0, 1).
    """
    return probability("delta", delta)


def _wide_noises(budget: Budget) -> Iterator[Case]:
    for epsilon, delta in ((1.0, 0.5), (1.0, 0.2), (0.99, 0.3)):
        exact = truncated_laplace_delta(epsilon, delta)
        yield _stated(delta=delta), exact, f"{epsilon=}, {delta=}, shift 1"


def _narrow_noises(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(1.0, 0.14), (0.5, 0.5), (math.log(1.5), 0.75)]
    for _ in range(min(budget.cases, 200)):
        delta = float(generator.uniform(1e-6, 0.999))
        most = math.log(3.0 - 2.0 * delta)
        settings.append(
            (float(most * generator.choice([1.0, generator.uniform()])), delta)
        )
    for epsilon, delta in settings:
        for shift in (1.0, float(generator.uniform())):
            exact = truncated_laplace_delta(epsilon, delta, shift)
            where = f"{epsilon=!r}, {delta=!r}, {shift=!r}"
            yield _stated(delta=delta), exact, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm6-step-noise-printed",
        source=f"{_PAPER}, proof of Theorem 6",
        statement="Releasing Gap(S) with Laplace noise of scale 6/epsilon costs "
        "epsilon/6.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_gap_budget,
        check=at_most(_gap_losses(6.0)),
        holds=False,
        erratum="CL-E10",
        correction="Gap has sensitivity 2: CL-Thm6-step-noise.",
    ),
    Claim(
        id="CL-Thm6-step-noise",
        source=f"{_PAPER}, proof of Theorem 6, corrected",
        statement="Releasing Gap(S) with Laplace noise of scale 12/epsilon costs "
        "epsilon/6.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_gap_budget,
        check=at_most(_gap_losses(12.0)),
        erratum="CL-E10",
    ),
    Claim(
        id="CL-Thm6-step-tails-printed",
        source=f"{_PAPER}, proof of Theorem 6",
        statement="All noises are at most 10 log(1/beta)/epsilon except with "
        "probability beta/2, over up to ceil(20/delta) runs.",
        kind="utility",
        relation=None,
        evaluate=_large_noise_printed,
        check=at_most(_large_noises_printed),
        holds=False,
        erratum="CL-E10",
        correction="The level must grow with the number of runs: CL-Thm6-step-tails.",
    ),
    Claim(
        id="CL-Thm6-step-tails",
        source=f"{_PAPER}, proof of Theorem 6, corrected",
        statement="No noise of scale 12/epsilon is below -(12/epsilon) log(2 T/beta) "
        "except with probability beta/4, over up to T = ceil(4/beta) runs.",
        kind="utility",
        relation=None,
        evaluate=_low_noise,
        check=at_most(_low_noises),
        erratum="CL-E10",
    ),
    Claim(
        id="CL-TLap-printed",
        source=f"{_PAPER}, Section 3, notation",
        statement="TLap(epsilon, delta) is (epsilon, delta)-DP at sensitivity 1.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_stated,
        check=at_most(_wide_noises),
        holds=False,
        erratum="CL-E11",
        correction="For e^epsilon - 1 <= 2 (1 - delta): CL-TLap.",
    ),
    Claim(
        id="CL-TLap",
        source=f"{_PAPER}, Section 3, notation, corrected",
        statement="TLap(epsilon, delta) is (epsilon, delta)-DP at sensitivity 1 if "
        "e^epsilon - 1 <= 2 (1 - delta).",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_stated,
        check=at_most(_narrow_noises, tolerance=1e-12),
        erratum="CL-E11",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E10",
        source=f"{_PAPER}, proof of Theorem 6",
        kind="proof",
        printed="q~ = Gap + Lap(epsilon/6) + 13 log(1/beta)/epsilon; all noises are at "
        "most 10 log(1/beta)/epsilon with probability 1 - beta/2; beta = delta/10.",
        correct="Lap(epsilon/6) names a rate, and Gap has sensitivity 2: (3, 2, 1, 0) "
        "to (2, 1, 2, 1) moves it from -1 to 1 for S = first two; the scale is "
        "12/epsilon. Among up to 20/delta runs some noise is large almost surely; run "
        "Theorem 4 at beta/2, T = ceil(4/beta), with the offset (12/epsilon) log(2 "
        "T/beta) and inner delta delta/T.",
        refuted=("CL-Thm6-step-noise-printed", "CL-Thm6-step-tails-printed"),
        corrected=(
            "CL-Thm6-step-noise",
            "CL-Thm6-step-tails",
            "CL-Thm6",
            "CL-Thm6-utility",
        ),
    ),
    Erratum(
        id="CL-E11",
        source=f"{_PAPER}, Section 3, notation",
        kind="statement",
        printed="TLap(epsilon, delta) is (epsilon, delta)-DP.",
        correct="If e^epsilon - 1 <= 2 (1 - delta), at epsilon = 1 for delta <= "
        "0.1408. The exact delta is delta (e^epsilon - 1)/(2 (1 - delta)) for delta "
        "<= e^-epsilon, and 1/2 + (1 - e^-epsilon/delta)/(2 (1 - delta)) for delta "
        "between e^-epsilon and e^(-epsilon/2): 0.764 for (1, 1/2).",
        refuted=("CL-TLap-printed",),
        corrected=("CL-TLap",),
    ),
)
