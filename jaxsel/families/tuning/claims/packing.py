"""The factor of two cannot be avoided: Theorem D.2."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.attained.packing import (
    dominance,
    large_candidates,
    packing_bound,
    packing_distance,
    packing_law,
    packing_path,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.families.tuning.bounds.liu_talwar import stopping_law, threshold_law

_PAPER = "Liu & Talwar 2019"
_COUNTS = (10.0, 100.0, 1e3, 1e6, 1e12, 1e50)


def _settings(budget: Budget) -> Iterator[tuple[float, float, float]]:
    """(epsilon, K, alpha)."""
    for count in _COUNTS:
        for alpha in (0.05, 0.1, 0.3):
            yield 0.1, count, alpha
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        epsilon = float(10.0 ** generator.uniform(-2.0, 0.5))
        count = float(round(10.0 ** generator.uniform(0.5, 12.0)))
        yield epsilon, count, float(generator.uniform(0.02, 0.5))


def _where(epsilon: float, count: float, alpha: float) -> str:
    return f"{epsilon=}, K={count:g}, {alpha=}"


def _distance(
    *, epsilon: float = 0.1, candidates: float = 1000.0, alpha: float = 0.1
) -> float:
    """Delta = ceil((1/2 + alpha) log(K)/epsilon), neighbours from D_0 to D_j.

    Args:
      epsilon: of each mechanism, > 0.
      candidates: K >= 2.
      alpha: in (0, 1).
    """
    return float(packing_distance(epsilon, candidates, alpha))


def _distance_cases(budget: Budget) -> Iterator[Case]:
    for setting in _settings(budget):
        epsilon, count, alpha = setting
        start, winner, loser, miss = packing_successes(count, alpha)
        paths = (
            packing_path(start, winner, epsilon, miss),
            packing_path(start, loser, epsilon),
        )
        steps = [len(path) - 1 for path in paths]
        claimed = _distance(epsilon=epsilon, candidates=count, alpha=alpha)
        yield claimed, float(max(steps)), f"steps {steps}, {_where(*setting)}"


def _dominant(*, candidates: float = 1000.0, alpha: float = 0.1) -> float:
    """Chance 1 - K^-alpha, at least, that mechanism j alone answers 1 on D_j.

    Args:
      candidates: K >= 2.
      alpha: in (0, 1).
    """
    alpha = check_interval("alpha", alpha, 0.0, 1.0)
    candidates = check_interval("candidates", candidates, 2.0, math.inf, low_open=False)
    return -math.expm1(-alpha * math.log(candidates))


def _dominant_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count, alpha in _settings(budget):
        claimed = _dominant(candidates=count, alpha=alpha)
        yield claimed, dominance(count, alpha), _where(epsilon, count, alpha)


class _Selection(NamedTuple):
    """A selection on these data sets: chances to choose j, and a proven epsilon."""

    name: str
    at_start: float
    at_end: float
    epsilon: float


def _selections(epsilon: float, count: float, alpha: float) -> Iterator[_Selection]:
    """Algorithms 1 and 2 with gamma = 1/(10 K), and an exponential mechanism."""
    gamma = 0.1 / count
    start, winner, loser, _ = packing_successes(count, alpha)
    laws = packing_law(start, start, count), packing_law(winner, loser, count)
    # Successes of others, of j; Algorithm 1 has the threshold 1.
    first, last = (threshold_law(law, 2, gamma)[1] for law in laws)
    yield _Selection("Algorithm 1", first, last, 2.0 * epsilon)
    first, last = (stopping_law(law, gamma)[[1, 3]].sum() for law in laws)
    yield _Selection("Algorithm 2", first, last, 3.0 * epsilon)
    least = smallest_exponential_epsilon(epsilon, count, alpha)
    odds = least * packing_distance(epsilon, count, alpha) - math.log(count - 1.0)
    chosen = 1.0 / (1.0 + math.exp(-odds))
    yield _Selection("exponential mechanism", 1.0 / count, chosen, least)


def _bound(
    *, epsilon: float = 0.1, candidates: float = 1000.0, alpha: float = 0.1
) -> float:
    """(1 - alpha) log(K)/Delta: no useful selection has a smaller privacy parameter.

    Args:
      epsilon: of each mechanism, > 0.
      candidates: K >= 2.
      alpha: the selection finds a dominant mechanism with probability K^-alpha.
    """
    return packing_bound(epsilon, candidates, alpha)


def _bound_cases(budget: Budget) -> Iterator[Case]:
    for setting in _settings(budget):
        epsilon, count, alpha = setting
        distance = packing_distance(epsilon, count, alpha)
        claimed = _bound(epsilon=epsilon, candidates=count, alpha=alpha)
        for found in _selections(*setting):
            # The theorem is about useful selections.
            if found.at_end < count**-alpha * (1.0 - 1e-9):
                continue
            implied = math.log(found.at_end / found.at_start) / distance
            yield claimed, implied, f"{found.name}, {_where(*setting)}"


def _spent(*, epsilon: float = 0.1, factor: float = 2.0) -> float:
    """Privacy loss a step, at most: what the selection promises.

    Args:
      epsilon: of each mechanism, > 0.
      factor: 2 for Algorithm 1, 3 for Algorithm 2.
    """
    return check_positive("factor", factor) * check_positive("epsilon", epsilon)


def _spent_cases(budget: Budget) -> Iterator[Case]:
    for setting in _settings(budget):
        epsilon, count, alpha = setting
        distance = packing_distance(epsilon, count, alpha)
        for found in _selections(*setting):
            implied = math.log(found.at_end / found.at_start) / distance
            yield found.epsilon, implied, f"{found.name}, {_where(*setting)}"


def _limit(*, epsilon: float = 0.1, alpha: float = 0.1) -> float:
    """(2 - 6 alpha) epsilon, what the bound exceeds for many mechanisms.

    Args:
      epsilon: of each mechanism, > 0.
      alpha: in (0, 1/3).
    """
    alpha = check_interval("alpha", alpha, 0.0, 1.0 / 3.0)
    return (2.0 - 6.0 * alpha) * check_positive("epsilon", epsilon)


def _limit_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        alpha = float(generator.uniform(0.02, 0.33))
        epsilon = float(10.0 ** generator.uniform(-3.0, 0.0))
        least = large_candidates(epsilon, alpha)
        log_count = min(max(least * float(generator.uniform(1.0, 3.0)), 0.7), 340.0)
        if log_count < least:
            continue
        claimed = _limit(epsilon=epsilon, alpha=alpha)
        seen = packing_bound(epsilon, math.exp(log_count), alpha)
        yield claimed, seen, f"{epsilon=}, {alpha=}, log K = {log_count!r}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-ThmD.2-path",
        source=f"{_PAPER}, proof of Theorem D.2",
        statement="In the largest epsilon-DP steps the success probabilities on D_0 reach "
        "those on D_j in exactly Delta = ceil((1/2 + alpha) log(K)/epsilon) steps.",
        kind="identity",
        relation=None,
        evaluate=_distance,
        check=equal(_distance_cases, 0.0),
    ),
    Claim(
        id="LT-ThmD.2-dominant",
        source=f"{_PAPER}, proof of Theorem D.2",
        statement="On D_j mechanism j is K^-alpha-dominant: it alone answers 1 with "
        "probability at least 1 - K^-alpha.",
        kind="utility",
        relation=None,
        evaluate=_dominant,
        check=at_least(_dominant_cases),
    ),
    Claim(
        id="LT-ThmD.2",
        source=f"{_PAPER}, Theorem D.2",
        statement="A selection that chooses the K^-alpha-dominant one of K epsilon-DP "
        "mechanisms with probability K^-alpha loses at least (1 - alpha) log(K)/Delta a "
        "neighbour: measured on Algorithms 1 and 2 and the exponential mechanism.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_bound,
        check=at_least(_bound_cases),
    ),
    Claim(
        id="LT-ThmD.2-packing",
        source=f"{_PAPER}, proof of Theorem D.2",
        statement="P[j on D_j] <= e^(Delta E) P[j on D_0] for Algorithm 1 (E = 2 epsilon), "
        "Algorithm 2 (3 epsilon) and the exponential mechanism (its parameter).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_spent,
        check=at_most(_spent_cases),
    ),
    Claim(
        id="LT-ThmD.2-limit",
        source=f"{_PAPER}, Theorem D.2, how large K must be",
        statement="For log K >= (1 - 3 alpha) epsilon/(3 alpha^2), (1 - alpha) "
        "log(K)/Delta >= (2 - 6 alpha) epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_limit,
        check=at_least(_limit_cases),
    ),
)
