"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 4: better than the median.

CL-E1 as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_law

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Theorem 4 (CL-E1) ----------------------------------------------------------------


def _small_prior(*, beta: float = 0.1) -> float:
    """Chance beta/2 that the pass probability p is below the proof's level.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta) / 2.0


def _small_priors(factor: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(0.1, 0.5), (0.4, 2.0)]
        for _ in range(min(budget.cases, cases)):
            settings.append(tuple(generator.uniform(0.01, [0.49, 5.0]).tolist()))
        for beta, alpha in settings:
            level = (factor * beta) ** (1.0 / alpha)
            # P[p <= x] = x^alpha
            where = f"{beta=!r}, {alpha=!r}, level {level:.6g}"
            yield _small_prior(beta=beta), level**alpha, where

    return listed


def _all_worse(*, beta: float = 0.1) -> float:
    """Chance beta/4 that none of the proof's t runs is better than the median.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta) / 4.0


def _all_worse_cases(base: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for beta in [
            0.1,
            0.01,
            *generator.uniform(0.001, 0.99, min(budget.cases, cases)),
        ]:
            runs = math.ceil(math.log(4.0 / beta) / math.log(base))
            where = f"beta={float(beta)!r}, t={runs} runs"
            yield _all_worse(beta=float(beta)), 2.0**-runs, where

    return listed


def _furthermore(*, runs: int = 200, delta: float = 1e-6) -> float:
    """Delta T delta that is claimed at epsilon, the base's own.

    Args:
      runs: T, at least 1.
      delta: of the base, in [0, 1).
    """
    runs = check_integer("runs", runs, 1)
    return runs * check_interval("delta", delta, 0.0, 1.0, low_open=False)


def _three_outcomes(budget: Budget) -> Iterator[Case]:
    law = laws.beta_binomial(200, 1.0)
    for top, middle in ((0.05, 1e-3), (0.05, 0.01)):
        pair = pairs.three_outcome(0.5, top, middle)
        tuned = tuned_law(pair.first, law), tuned_law(pair.second, law)
        where = (
            f"best block {top}, middle {middle}, epsilon=0.5, alpha=1, T=200; exact "
            f"privacy parameter {exact_epsilon(*tuned):.4g}"
        )
        yield _furthermore(), float(profile_delta(*tuned, 0.5)), where


def _median_privacy(*, epsilon: float = 0.5, alpha: float = 1.0) -> float:
    """Privacy parameter (2 + alpha) epsilon of the better-than-median algorithm.

    Args:
      epsilon: of the base, > 0.
      alpha: exponent of the prior, > 0.
    """
    return (2.0 + check_positive("alpha", alpha)) * check_positive("epsilon", epsilon)


def _median_losses(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.5, 1.0, 200, pairs.three_outcome(0.5, 0.05, 1e-3))]
    for _ in range(min(budget.cases, 100)):
        epsilon, alpha = generator.uniform(0.05, [1.0, 4.0]).tolist()
        runs = int(10 ** generator.uniform(0.0, 4.0))
        pair = pairs.random_pure_pair(generator, int(generator.integers(2, 7)), epsilon)
        settings.append((epsilon, alpha, runs, pair))
        settings.append((epsilon, alpha, runs, pairs.three_outcome(epsilon, 0.1, 1e-9)))
    for epsilon, alpha, runs, pair in settings:
        law = laws.beta_binomial(runs, alpha)
        loss = exact_epsilon(tuned_law(pair.first, law), tuned_law(pair.second, law))
        where = (
            f"{alpha=!r}, T={runs}, base {pair.first.tolist()}, {pair.second.tolist()}"
        )
        yield _median_privacy(epsilon=epsilon, alpha=alpha), loss, where


def _median_failure(*, beta: float = 0.1) -> float:
    """Failure probability beta of the better-than-median algorithm.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _median_failures(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.1, 1.0), (0.1, 0.5), (0.99, 500.0)]
    for _ in range(min(budget.cases, 150)):
        beta = float(10.0 ** generator.uniform(-4.0, -0.01))
        settings.append((beta, float(np.exp(generator.uniform(-1.5, 6.0)))))
    for beta, alpha in settings:
        if alpha == 1.0:
            runs = math.ceil(2.0 / beta)
        else:
            runs = math.ceil(5.0 * (2.0 / beta) ** (1.0 / alpha) * -math.log(beta))
        # Each run is at least as good as the median with probability 1/2, at worst.
        failing = float(laws.beta_binomial(runs, alpha).pgf_tail(0.5))
        yield _median_failure(beta=beta), failing, f"{beta=!r}, {alpha=!r}, T={runs}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm4-step-prior-printed",
        source=f"{_PAPER}, proof of Theorem 4",
        statement="p < (2 beta)^(1/alpha) with probability at most beta/2.",
        kind="utility",
        relation=None,
        evaluate=_small_prior,
        check=at_most(_small_priors(2.0, 0)),
        holds=False,
        erratum="CL-E1",
        correction="p < (beta/2)^(1/alpha): CL-Thm4-step-prior.",
    ),
    Claim(
        id="CL-Thm4-step-prior",
        source=f"{_PAPER}, proof of Theorem 4, corrected",
        statement="p < (beta/2)^(1/alpha) with probability at most beta/2.",
        kind="utility",
        relation=None,
        evaluate=_small_prior,
        check=at_most(_small_priors(0.5, 100)),
        erratum="CL-E1",
    ),
    Claim(
        id="CL-Thm4-step-median-printed",
        source=f"{_PAPER}, proof of Theorem 4",
        statement="All of t >= log(4/beta) (natural) runs are worse than the median "
        "with probability at most beta/4.",
        kind="utility",
        relation=None,
        evaluate=_all_worse,
        check=at_most(_all_worse_cases(math.e, 0)),
        holds=False,
        erratum="CL-E1",
        correction="The logarithm is to base 2: CL-Thm4-step-median.",
    ),
    Claim(
        id="CL-Thm4-step-median",
        source=f"{_PAPER}, proof of Theorem 4, corrected",
        statement="All of t >= log_2(4/beta) runs are worse than the median with "
        "probability at most beta/4.",
        kind="utility",
        relation=None,
        evaluate=_all_worse,
        check=at_most(_all_worse_cases(2.0, 100)),
        erratum="CL-E1",
    ),
    Claim(
        id="CL-Thm4-furthermore-printed",
        source=f"{_PAPER}, Theorem 4 as restated in Section 3.1",
        statement="Furthermore, if the base is (epsilon, delta)-DP with delta > 0, the "
        "better-than-median algorithm is (epsilon, T delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_furthermore,
        check=at_most(_three_outcomes),
        holds=False,
        erratum="CL-E1",
        correction="It is ((2 + alpha) epsilon, T delta)-DP: CL-Thm4-privacy.",
    ),
    Claim(
        id="CL-Thm4-privacy",
        source=f"{_PAPER}, Theorem 4",
        statement="Over an epsilon-DP base, the better-than-median algorithm is (2 + "
        "alpha) epsilon-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_median_privacy,
        check=at_most(_median_losses),
        erratum="CL-E1",
    ),
    Claim(
        id="CL-Thm4-failure",
        source=f"{_PAPER}, Theorem 4",
        statement="With T = ceil(2/beta) for alpha = 1, else ceil(5 (2/beta)^(1/alpha) "
        "log(1/beta)), no run is better than the median with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_median_failure,
        check=at_most(_median_failures),
        erratum="CL-E1",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E1",
        source=f"{_PAPER}, Theorem 4 and its proof",
        kind="statement",
        printed="Furthermore, for delta > 0 the algorithm is (epsilon, T delta)-DP. "
        "Proof: p >= (2 beta)^(1/alpha) with probability 1 - beta/2; t >= "
        "log(4/beta); the runs fail with probability at most 1 - beta/4, and the "
        "algorithm with 1 - beta.",
        correct="((2 + alpha) epsilon, T delta)-DP. p >= (beta/2)^(1/alpha); t >= "
        "log_2(4/beta); the runs fail with probability at most beta/4, the algorithm "
        "with beta. The T of the theorem is enough nevertheless.",
        refuted=(
            "CL-Thm4-furthermore-printed",
            "CL-Thm4-step-prior-printed",
            "CL-Thm4-step-median-printed",
        ),
        corrected=(
            "CL-Thm4-privacy",
            "CL-Thm4-failure",
            "CL-Thm4-step-prior",
            "CL-Thm4-step-median",
        ),
    ),
)
