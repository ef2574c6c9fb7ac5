"""Cohen et al. 2022, Theorem 8: stable selection, as printed and with half the rate."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.families.choosing.claims.choosing import Instance, certain_failure, crowds
from jaxsel.families.choosing.laws import (
    clipped_scores,
    group_law,
    spent_delta,
    stable_settings,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"
_SOURCE = f"{_PAPER}, Theorem 8"


def _delta(*, delta: float = 1e-3) -> float:
    """delta, at epsilon.

    Args:
      delta: of the whole, in (0, 1).
    """
    return probability("delta", delta)


def _exact(case: Instance, shares: int = 6) -> float:
    """Exact delta at epsilon between the two laws of the index."""
    made = stable_settings(
        case.epsilon, case.delta, case.beta, case.number, shares=shares
    )
    first, second = (
        group_law(clipped_scores(side, case.number, case.counts), case.counts, made)
        for side in (case.scores, case.moved)
    )
    return float(profile_delta(first, second, case.epsilon))


def _crowd(lead: float, others: float, delta: float, beta: float) -> Instance:
    """One candidate gains 1 while all the others, far behind, lose 1."""
    scores, steps = np.array([lead, 0.0]), np.array([1.0, -1.0])
    counts = np.array([1.0, others])
    return Instance(scores, scores + steps, counts, 1, 1.0, delta, beta)


def _instances(budget: Budget) -> Iterator[Instance]:
    generator = np.random.default_rng(budget.seed)
    three, moved = np.array([5.0, 3.0, 0.0]), np.array([4.0, 4.0, 1.0])
    yield Instance(three, moved, np.ones(3), 1, 1.0, 0.1, 0.5)
    yield _crowd(30.0, 6608.0, 1e-3, 1e-3)
    # The best has a lead only in the last 2 units of its noise; then none.
    ahead, counts = np.array([2.0, 0.0]), np.array([1.0, 1e15])
    yield Instance(ahead, np.ones(2), counts, 1, 1.0, 0.1, 0.5)
    for number in range(min(budget.cases, 60)):
        size = int(generator.integers(2, 6))
        scores = generator.integers(0, 8, size) * generator.choice([1.0, 5.0])
        counts = np.ones(size)
        if number % 3 == 0:
            counts[scores.argmin()] = 10.0 ** generator.integers(1, 9)
        yield Instance(
            scores,
            scores + generator.integers(-1, 2, size),
            counts,
            int(generator.integers(1, size)),
            float(generator.uniform(0.1, 1.0)),
            float(generator.choice([0.5, 0.1, 1e-4])),
            float(generator.choice([0.9, 0.5, 0.2])),
        )


def _stated_cases(budget: Budget) -> Iterator[Case]:
    for case in _instances(budget):
        yield case.delta, _exact(case), str(case)


def _spent(
    *, epsilon: float = 1.0, delta: float = 0.1, beta: float = 0.5, rank: int = 1
) -> float:
    """1 - E_p (1 - p delta_2)^(2 k tau), where 2 k clipped scores move by 2.

    delta_2 is the exact delta, at epsilon/3, of the noise moved by 2.

    Args:
      epsilon: of the whole, in (0, 1].
      delta: of the whole, in (0, 1); sets the noise.
      beta: chance of failure, in (0, 1); sets the noise and tau.
      rank: k, at least 1.
    """
    settings = stable_settings(epsilon, delta, beta, rank)
    return spent_delta(np.full(2 * rank, 2.0), epsilon, settings)


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    for case in _instances(budget):
        claimed = _spent(
            epsilon=case.epsilon, delta=case.delta, beta=case.beta, rank=case.number
        )
        yield claimed, _exact(case), str(case)


def _index_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for lead, others, delta, beta in (
        (30.0, 6608.0, 1e-3, 1e-3),
        (32.0, 12871.0, 1e-3, 1e-2),
        (54.0, 1e7, 1e-6, 1e-4),
    ):
        case = _crowd(lead, others, delta, beta)
        yield delta, _exact(case, shares=3), str(case)


# --- Utility --------------------------------------------------------------------------


def _failing(*, beta: float = 0.1) -> float:
    """(2 - 2^-tau)/(tau + 1) <= beta, tau = ceil(2/beta).

    Args:
      beta: in (0, 1).
    """
    return certain_failure(math.ceil(2.0 / probability("beta", beta)))


def _utility(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.1, 1e-6, 1)]
    for _ in range(min(budget.cases, 3)):
        beta = float(generator.uniform(0.02, 0.999))
        delta = float(10.0 ** generator.uniform(-6.0, -0.1))
        settings.append((beta, delta, int(generator.integers(1, 50))))
    for beta, delta, rank in settings:
        made = stable_settings(1.0, delta, beta, rank)
        for failing, where in crowds(made):
            yield (
                _failing(beta=beta),
                failing,
                f"{beta=!r}, {delta=!r}, k={rank}, {where}",
            )


def _support(
    *, epsilon: float = 1.0, delta: float = 0.1, beta: float = 0.1, rank: int = 1
) -> float:
    """(10/epsilon) log(k/(beta delta)), the gap that the theorem asks for.

    Args:
      epsilon: in (0, 1].
      delta, beta: in (0, 1), with k/(beta delta) >= 10^(3/2).
      rank: k, at least 1.
    """
    stable_settings(epsilon, delta, beta, rank)
    return 10.0 / epsilon * math.log(rank / (beta * delta))


def _supports(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        ratio = 10.0**1.5 * (1.0 + float(generator.choice([1e-9, 1.0, 1e3])))
        rank = int(generator.integers(1, 20))
        beta = float(generator.uniform(rank / ratio, 1.0)) if rank < ratio else 0.5
        delta = rank / (ratio * beta)
        epsilon = float(generator.uniform(0.01, 1.0))
        claimed = _support(epsilon=epsilon, delta=delta, beta=beta, rank=rank)
        support = stable_settings(epsilon, delta, beta, rank).support
        yield claimed, support, f"{epsilon=!r}, {delta=!r}, {beta=!r}, k={rank}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm8-index-printed",
        source=f"{_PAPER}, proof of Theorem 8",
        statement="Selection of the index with noise TLap(epsilon/3, beta delta/(10 "
        "k)) on max(f_i - Q, 0) and tau = ceil(2/beta) is (epsilon, delta)-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_index_cases),
        holds=False,
        erratum="CL-E20",
        correction="Noise TLap(epsilon/6, ...) is enough: CL-Thm8.",
    ),
    Claim(
        id="CL-Thm8",
        source=f"{_SOURCE}, with a corrected proof",
        statement="Selection of the index with noise TLap(epsilon/6, beta delta/(10 "
        "k)) on max(f_i - Q, 0), tau = ceil(2/beta) and gamma = 1 is (epsilon, "
        "delta)-DP for epsilon <= 1.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_stated_cases),
        erratum="CL-E20",
    ),
    Claim(
        id="CL-Thm8-sharp",
        source=f"{_SOURCE}, sharpened",
        statement="It spends at most 1 - E_p (1 - p delta_2)^(2 k tau) at epsilon, "
        "delta_2 being the exact delta at epsilon/3 of the noise moved by 2.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_spent,
        check=at_most(_sharp_cases),
    ),
    Claim(
        id="CL-Thm8-utility",
        source=_SOURCE,
        statement="If the gap G_k exceeds the support (6/epsilon) log(10 k/(beta "
        "delta)) of the noise, the loss does so with probability at most (2 - 2^-tau)/"
        "(tau + 1) <= beta.",
        kind="utility",
        relation=None,
        evaluate=_failing,
        check=at_most(_utility),
    ),
    Claim(
        id="CL-Thm8-gap",
        source=_SOURCE,
        statement="The gap (10/epsilon) log(k/(beta delta)) exceeds that support for "
        "k/(beta delta) >= 10^(3/2).",
        kind="utility",
        relation=None,
        evaluate=_support,
        check=at_most(_supports),
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E20",
        source=f"{_PAPER}, proof of Theorem 8",
        kind="proof",
        printed="With noise TLap(epsilon/3, beta delta/(10 k)) the whole algorithm, "
        "which releases the index, is (epsilon, delta)-DP.",
        correct="Not even the index alone is: let one candidate lead 6,608 others by "
        "30 and gain 1 while they lose 1; epsilon = 1, delta = beta = 0.001, k = 1. "
        "One of the others wins with probability 0.0935 before and 0.0311 after, so "
        "delta at epsilon is 0.0090. The clipped score moves by 2, which costs up to 4 "
        "epsilon/3 where the noise of the others ends early. Rate epsilon/6 is enough.",
        refuted=("CL-Thm8-index-printed",),
        corrected=("CL-Thm8",),
    ),
)
