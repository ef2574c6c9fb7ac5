"""Random stopping without a threshold: Theorems 1.3, 3.2 and 3.3 (Algorithm 2)."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errors import check_integer, check_interval
from jaxsel.families.tuning.bounds.liu_talwar import (
    percentile_failure,
    percentile_failure_bound,
    stopping_approximate_sharp,
    stopping_expected_draws,
    stopping_law,
    stopping_pure,
)
from jaxsel.families.tuning.claims.base_pairs import approximate_pairs, pure_pairs

_PAPER = "Liu & Talwar 2019"


# --- Privacy --------------------------------------------------------------------------


def _pure(*, epsilon: float = 1.0) -> float:
    """Pure epsilon 3 epsilon of Algorithm 2, for every gamma in (0, 1].

    Args:
      epsilon: of the base, >= 0.
    """
    return stopping_pure(epsilon)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        gammas = [float(10.0 ** generator.uniform(-6.0, 0.0))]
        if pair.where.startswith("pairs"):
            # three outcomes approach the bound as gamma and the middle mass vanish
            gammas += [1e-4, 1.0]
        for gamma in gammas:
            tuned = stopping_law(pair.first, gamma), stopping_law(pair.second, gamma)
            claimed = stopping_pure(exact_epsilon(pair.first, pair.second))
            yield claimed, exact_epsilon(*tuned), f"gamma={gamma!r}, {pair.where}"


def _approximate_sharp(
    *, epsilon: float = 1.0, delta: float = 1e-6, gamma: float = 0.1
) -> float:
    """delta of Algorithm 2 at 3 epsilon: d/(gamma + d (1 - gamma)).

    Args:
      epsilon, delta: guarantee of the base; delta is d, in [0, 1].
      gamma: stopping probability, in (0, 1].
    """
    return stopping_approximate_sharp(epsilon, delta, gamma).delta


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        bound = stopping_approximate_sharp(pair.epsilon, pair.delta, gamma)
        tuned = stopping_law(pair.first, gamma), stopping_law(pair.second, gamma)
        seen = float(profile_delta(*tuned, bound.epsilon))
        # relative: delta may be tiny
        yield 1.0, seen / bound.delta, f"share of delta, gamma={gamma!r}, {pair.where}"


# --- Utility --------------------------------------------------------------------------


def _draws(*, gamma: float = 0.1) -> float:
    """Expected number of draws of Algorithm 2: 1/gamma.

    Args:
      gamma: stopping probability, in (0, 1].
    """
    return stopping_expected_draws(gamma)


def _draws_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        gamma = float(10.0 ** generator.uniform(-3.0, 0.0))
        draw = np.arange(1, math.ceil(45.0 / gamma) + 2)
        pmf = gamma * (1.0 - gamma) ** (draw - 1.0)
        mean = float(np.sum(draw * pmf))
        yield 1.0, mean / _draws(gamma=gamma), f"E[draws] times gamma, gamma={gamma!r}"


def _halting(*, gamma: float = 0.0, draws: int = 10**6) -> float:
    """Probability that Algorithm 2 has put out a sample after that many draws.

    1 - (1 - gamma)^draws. The statement says that it does so, surely, in the end.

    Args:
      gamma: stopping probability, in [0, 1].
      draws: >= 1.
    """
    gamma = check_interval("gamma", gamma, 0.0, 1.0, low_open=False, high_open=False)
    draws = check_integer("draws", draws, 1)
    if gamma == 1.0:
        return 1.0
    return -math.expm1(draws * math.log1p(-gamma))


def _halting_cases(budget: Budget) -> Iterator[Case]:
    for gamma in (1.0, 1e-3, 0.0):
        # at gamma > 0 the chance of no output is below 1e-300 by then
        draws = 10**6
        where = f"an output within {draws} draws, gamma={gamma:g}"
        yield 1.0, _halting(gamma=gamma, draws=draws), where


def _percentile(*, share: float = 0.1, gamma: float = 0.01) -> float:
    """Probability gamma/p, at most, that the output is below the best share p.

    Args:
      share: p, in (0, 1].
      gamma: stopping probability, in (0, 1].
    """
    return percentile_failure_bound(share, gamma)


def _percentile_printed(*, share: float = 0.3, gamma: float = 0.1) -> float:
    """The printed sum over j of (1 - gamma)^(j-1) gamma (1 - p)^j.

    Args:
      share: p, in (0, 1].
      gamma: stopping probability, in (0, 1].
    """
    return percentile_failure(share, gamma)


def _missed(q: np.ndarray, share: float, gamma: float) -> float:
    """P[out < Q^(p)], Q^(p) = sup{z : P[score >= z] > p}, for distinct scores."""
    reaching = np.cumsum(q)
    # the best level that more than p of the mass reaches
    level = min(int(np.searchsorted(reaching, share, side="right")), q.size - 1)
    return float(np.sum(stopping_law(q, gamma)[level + 1 :]))


def _percentile_instances(budget: Budget) -> Iterator[tuple[np.ndarray, float, float]]:
    yield np.array([0.5, 0.5]), 0.3, 0.1
    fine = np.full(1000, 1e-3)
    for share in (0.5, 0.1, 0.01):
        for gamma in (0.5, 0.01, 1e-4):
            yield fine, share - 5e-4, gamma
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        q = generator.dirichlet(np.full(int(generator.integers(2, 12)), 0.5)) + 1e-9
        share = float(generator.uniform(0.001, 1.0))
        yield q / q.sum(), share, float(10.0 ** generator.uniform(-4.0, 0.0))


def _percentile_cases(budget: Budget) -> Iterator[Case]:
    for q, share, gamma in _percentile_instances(budget):
        where = f"{q.size} outcomes, best {q[0]:.17g}, p={share!r}, gamma={gamma!r}"
        yield _percentile(share=share, gamma=gamma), _missed(q, share, gamma), where


def _percentile_printed_cases(budget: Budget) -> Iterator[Case]:
    for masses in ([0.5, 0.5], [0.2, 0.3, 0.5]):
        for share, gamma in ((0.3, 0.1), (0.1, 0.01)):
            claimed = _percentile_printed(share=share, gamma=gamma)
            seen = _missed(np.array(masses), share, gamma)
            yield claimed, seen, f"q={masses}, p={share:g}, gamma={gamma:g}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm1.3",
        source=f"{_PAPER}, Theorem 1.3(a)",
        statement="Drawing from an epsilon-DP base, stopping with probability gamma after "
        "each draw, and releasing the best draw is 3 epsilon-DP for gamma in (0, 1].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
        erratum="LT-E19",
    ),
    Claim(
        id="LT-Thm1.3-printed",
        source=f"{_PAPER}, Theorem 1.3, Algorithm 2",
        statement="For every gamma in [0, 1], 0 included, the algorithm outputs a sample, "
        "that is, with probability 1.",
        kind="utility",
        relation=None,
        evaluate=_halting,
        check=at_least(_halting_cases),
        holds=False,
        erratum="LT-E19",
        correction="With gamma = 0 it never halts; gamma must be in (0, 1]: LT-Thm1.3.",
    ),
    Claim(
        id="LT-Thm1.3(b)",
        source=f"{_PAPER}, Theorem 1.3(b)",
        statement="Algorithm 2 makes 1/gamma draws on average.",
        kind="utility",
        relation=None,
        evaluate=_draws,
        check=equal(_draws_cases, 1e-9),
    ),
    Claim(
        id="LT-Thm3.2",
        source=f"{_PAPER}, Theorem 3.2",
        statement="For an epsilon-DP base Algorithm 2 is 3 epsilon-DP, for every gamma in "
        "(0, 1].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
        erratum="LT-E19",
    ),
    Claim(
        id="LT-Alg2-sharp",
        source=f"{_PAPER}, Algorithm 2, for an approximate base",
        statement="For an (epsilon, d)-DP base Algorithm 2 is (3 epsilon, "
        "d/(gamma + d (1 - gamma)))-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_approximate_sharp,
        check=at_most(_approximate_cases),
    ),
    Claim(
        id="LT-Thm3.3",
        source=f"{_PAPER}, Theorem 3.3",
        statement="With Q^(p) = sup{z : P[score >= z] > p}, the output of Algorithm 2 is "
        "below Q^(p) with probability at most gamma/p.",
        kind="utility",
        relation=None,
        evaluate=_percentile,
        check=at_most(_percentile_cases),
        erratum="LT-E19",
    ),
    Claim(
        id="LT-Thm3.3-printed",
        source=f"{_PAPER}, proof of Theorem 3.3, second equality",
        statement="The output of Algorithm 2 is below Q^(p) with probability exactly "
        "sum_j (1 - gamma)^(j-1) gamma (1 - p)^j.",
        kind="utility",
        relation=None,
        evaluate=_percentile_printed,
        check=equal(_percentile_printed_cases, 1e-9),
        holds=False,
        erratum="LT-E19",
        correction="It is at most that, since more than p of the mass may reach Q^(p): "
        "LT-Thm3.3.",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E19",
        source=f"{_PAPER}, Theorems 1.3, 3.2 to 3.5; proof of Theorem 3.3",
        kind="misprint",
        printed="gamma is in [0, 1]; P[out < Q^(p)] = sum_j (1-gamma)^(j-1) gamma (1-p)^j.",
        correct="gamma = 0 must be excluded: Algorithm 2 then never halts, and the hard "
        "stops (1/gamma) log(...) are not defined. In the proof of Theorem 3.3 the "
        "equality is an inequality '<=', since P[Q >= Q^(p)] may exceed p; the theorem "
        "stands.",
        refuted=("LT-Thm1.3-printed", "LT-Thm3.3-printed"),
        corrected=("LT-Thm1.3", "LT-Thm3.2", "LT-Thm3.3"),
    ),
)
