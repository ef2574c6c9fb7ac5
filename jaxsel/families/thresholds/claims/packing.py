"""Liu & Talwar 2019, Theorem D.2: the factor of two cannot be avoided."""

import math
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.families.thresholds.packing_laws import (
    packing_bound,
    packing_distance,
    packing_law,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.families.tuning.bounds.random_stopping import stopping_law
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import number, positive, probability
from jaxsel.language.papers import LT

Epsilon = Annotated[float, positive("of each mechanism")]
# Also beyond whole numbers: the bound is about large ones.
Candidates = Annotated[float, number("K", at_least=2.0, at_most=1e150)]
Alpha = Annotated[float, probability("a dominant one is found with chance K^-alpha")]

_ROUNDING = 1e-12  # a last step that long is none


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


# --- The proof's data sets ------------------------------------------------------------


def packing_path(start: float, end: float, epsilon: float, miss: float | None = None) -> np.ndarray:
    """Success probabilities from start to end in the largest epsilon-DP steps.

    Args:
      start, end: in (0, 1), start at most 1/2.
      epsilon: > 0.
      miss: 1 - end, where end is too near 1 to give it; default 1 - end.

    Returns:
      Float[np.ndarray, "steps+1 2"]: success and failure; each row is epsilon-close to
      the next.
    """
    miss = 1.0 - end if miss is None else miss
    grow = math.exp(epsilon)
    most = grow * (1.0 + _ROUNDING)
    path = [(start, 1.0 - start)]
    if end < start:
        while path[-1][0] > end * most:
            less = path[-1][0] / grow
            path.append((less, 1.0 - less))
    else:
        while end > path[-1][0] * most or path[-1][1] > miss * most:
            more, rest = path[-1][0] * grow, path[-1][1] / grow
            # Both must be epsilon-close: the nearer of the two limits.
            path.append((more, 1.0 - more) if more + rest < 1.0 else (1.0 - rest, rest))
    if end != start:
        path.append((end, miss))
    return np.array(path)


def _distance(
    *, epsilon: Epsilon = 0.1, candidates: Candidates = 1000.0, alpha: Alpha = 0.1
) -> float:
    """Delta = ceil((1/2 + alpha) log(K)/epsilon), neighbours from D_0 to D_j."""
    return float(packing_distance(epsilon, candidates, alpha))


def _distance_cases(budget: Budget) -> Iterator[Case]:
    for setting in _settings(budget):
        epsilon, count, alpha = setting
        start, winner, loser, miss = packing_successes(count, alpha)
        paths = (packing_path(start, winner, epsilon, miss), packing_path(start, loser, epsilon))
        steps = [len(path) - 1 for path in paths]
        claimed = _distance(epsilon=epsilon, candidates=count, alpha=alpha)
        yield claimed, float(max(steps)), f"steps {steps}, {_where(*setting)}"


def dominance(candidates: float, alpha: float) -> float:
    """Chance on D_j that mechanism j alone answers 1; at least 1 - K^-alpha.

    (1 - 1/(2 K^alpha)) (1 - 1/(2 K^(1+alpha)))^(K - 1).
    """
    chances = packing_successes(candidates, alpha)
    log_others = (candidates - 1.0) * math.log1p(-chances.loser)
    return chances.winner * math.exp(log_others)


def _dominant(*, candidates: Candidates = 1000.0, alpha: Alpha = 0.1) -> float:
    """Chance 1 - K^-alpha, at least, that mechanism j alone answers 1 on D_j."""
    return -math.expm1(-alpha * math.log(candidates))


def _dominant_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count, alpha in _settings(budget):
        claimed = _dominant(candidates=count, alpha=alpha)
        yield claimed, dominance(count, alpha), _where(epsilon, count, alpha)


# --- The theorem ----------------------------------------------------------------------


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


def _bound(*, epsilon: Epsilon = 0.1, candidates: Candidates = 1000.0, alpha: Alpha = 0.1) -> float:
    """(1 - alpha) log(K)/Delta: no useful selection has a smaller privacy parameter."""
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


def _spent(
    *,
    epsilon: Epsilon = 0.1,
    factor: Annotated[float, positive("2 for Algorithm 1, 3 for Algorithm 2")] = 2.0,
) -> float:
    """Privacy loss a step, at most: what the selection promises."""
    return factor * epsilon


def _spent_cases(budget: Budget) -> Iterator[Case]:
    for setting in _settings(budget):
        epsilon, count, alpha = setting
        distance = packing_distance(epsilon, count, alpha)
        for found in _selections(*setting):
            implied = math.log(found.at_end / found.at_start) / distance
            yield found.epsilon, implied, f"{found.name}, {_where(*setting)}"


def large_candidates(epsilon: float, alpha: float) -> float:
    """log K from which on the bound is at least (2 - 6 alpha) epsilon.

    (1 - 3 alpha) epsilon/(3 alpha^2): rounding Delta up then costs less than what
    (1 - alpha)/(1/2 + alpha) = 2 - 6 alpha + 12 alpha^2/(1 + 2 alpha) leaves.
    """
    return (1.0 - 3.0 * alpha) * epsilon / (3.0 * alpha * alpha)


def _limit(
    *,
    epsilon: Epsilon = 0.1,
    alpha: Annotated[float, number("of the theorem", above=0.0, below=1.0 / 3.0)] = 0.1,
) -> float:
    """(2 - 6 alpha) epsilon, what the bound exceeds for many mechanisms."""
    return (2.0 - 6.0 * alpha) * epsilon


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


STATEMENTS = (
    LT.identity(
        "LT-ThmD.2-path",
        "proof of Theorem D.2",
        "In the largest epsilon-DP steps the success probabilities on D_0 reach those "
        "on D_j in exactly Delta = ceil((1/2 + alpha) log(K)/epsilon) steps.",
        _distance,
        equal(_distance_cases, 0.0),
    ),
    LT.utility(
        "LT-ThmD.2-dominant",
        "proof of Theorem D.2",
        "On D_j mechanism j is K^-alpha-dominant: it alone answers 1 with probability "
        "at least 1 - K^-alpha.",
        _dominant,
        at_least(_dominant_cases),
    ),
    LT.privacy(
        "LT-ThmD.2",
        "Theorem D.2",
        "A selection that chooses the K^-alpha-dominant one of K epsilon-DP mechanisms "
        "with probability K^-alpha loses at least (1 - alpha) log(K)/Delta a "
        "neighbour: measured on Algorithms 1 and 2 and the exponential mechanism.",
        Relation.BASE,
        _bound,
        at_least(_bound_cases),
    ),
    LT.privacy(
        "LT-ThmD.2-packing",
        "proof of Theorem D.2",
        "P[j on D_j] <= e^(Delta E) P[j on D_0] for Algorithm 1 (E = 2 epsilon), "
        "Algorithm 2 (3 epsilon) and the exponential mechanism (its parameter).",
        Relation.BASE,
        _spent,
        at_most(_spent_cases),
    ),
    LT.privacy(
        "LT-ThmD.2-limit",
        "Theorem D.2, how large K must be",
        "For log K >= (1 - 3 alpha) epsilon/(3 alpha^2), (1 - alpha) log(K)/Delta >= "
        "(2 - 6 alpha) epsilon.",
        Relation.BASE,
        _limit,
        at_least(_limit_cases),
    ),
)
