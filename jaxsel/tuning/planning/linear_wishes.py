"""Wishes for a law of K as linear inequalities in its probabilities."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize

from jaxsel.accounting.numerics.digits import to_digits
from jaxsel.host.errors import InputError
from jaxsel.repetitions.table import MOST_COUNT
from jaxsel.tuning.planning.wishes import Wishes

_DENSE = 4096  # every count up to it is considered when only wishes matter
_ROUNDING = 1e-9
_SPARE = 1e-10  # relative margin by which every wish is met


class Row(NamedTuple):
    """One wish: sum_k P[K = k] price(k) <= most.

    Attributes:
      name: description of the bounded quantity.
      price: counts -> their prices, all >= 0.
      most: the bound.
      falls: whether the price does not increase with k; otherwise it does not decrease.
    """

    name: str
    price: Callable[[np.ndarray], np.ndarray]
    most: float
    falls: bool = False


class Price(NamedTuple):
    """A further price of k runs, whose expectation is bounded.

    Attributes:
      price: counts -> their prices, all >= 0, not decreasing.
      most: the bound on its expectation.
      name: description.
    """

    price: Callable[[np.ndarray], np.ndarray]
    most: float
    name: str = "the expected price"


def rows(wishes: Wishes, prices: Sequence[Price] = ()) -> tuple[Row, ...]:
    """The inequalities of wishes, except for a largest K, which restricts the counts.

    Raises:
      InputError: for a price that is negative or falls.
    """
    found = []
    if wishes.rank is not None:
        found.append(Row("the expected rank", lambda k: 1.0 / (k + 1.0), wishes.rank, falls=True))
    if wishes.chance is not None and wishes.good is not None:
        log_miss = math.log1p(-wishes.good)
        found.append(
            Row(
                f"the chance to miss the best {wishes.good:g}",
                lambda k: np.exp(k * log_miss),
                1.0 - wishes.chance,
                falls=True,
            )
        )
    if wishes.runs is not None:
        found.append(Row("E[K]", lambda k: 1.0 * k, wishes.runs))
    if wishes.none is not None:
        found.append(Row("the chance of no run", lambda k: 1.0 * (k == 0), wishes.none, falls=True))
    if wishes.runs_95 is not None:
        end = wishes.runs_95
        found.append(Row(f"P[K > {end}]", lambda k: 1.0 * (k > end), 0.05))
    for each in prices:
        _check_price(each, feasible_counts(wishes))
        found.append(Row(each.name, each.price, each.most))
    return tuple(found)


def _check_price(each: Price, counts: np.ndarray) -> None:
    """Refuses a price that is negative or decreases, which the certificate cannot bound."""
    found = np.asarray(each.price(counts), dtype=np.float64)
    if found.shape != counts.shape or not np.all(np.isfinite(found)):
        raise InputError(f"{each.name} must have a finite value for each count")
    if np.any(found < 0.0) or np.any(np.diff(found) < 0.0):
        raise InputError(f"{each.name} must be >= 0 and must not fall with more runs")


def feasible_counts(wishes: Wishes) -> np.ndarray:
    """Counts for deciding feasibility of wishes: dense, then sparse, up to the cap."""
    # A larger cap would change nothing but the scale of the program, and make it unsolvable.
    largest = MOST_COUNT if wishes.most is None else min(wishes.most, MOST_COUNT)
    counts = np.append(np.arange(_DENSE), np.geomspace(_DENSE, MOST_COUNT, 400).round())
    if wishes.runs_95 is not None:
        counts = np.append(counts, [wishes.runs_95, wishes.runs_95 + 1])
    return np.unique(np.append(counts[counts <= largest], largest))


def _least(row: Row, others: Sequence[Row], counts: np.ndarray) -> float:
    """Least expectation of one price under the other wishes; inf if there is no law."""
    if not others:
        return float(np.min(row.price(counts)))
    table = np.array([each.price(counts) for each in others]).reshape(-1, counts.size)
    found = optimize.linprog(
        row.price(counts),
        A_ub=table,
        b_ub=np.array([each.most for each in others]),
        A_eq=np.ones((1, counts.size)),
        b_eq=[1.0],
    )
    return float(found.fun) if found.status == 0 else math.inf


def least_runs(wishes: Wishes, found: Sequence[Row]) -> float:
    """The least E[K] of a law that meets the wishes."""
    return _least(Row("E[K]", lambda k: 1.0 * k, 0.0), found, feasible_counts(wishes))


def refuse_infeasible(wishes: Wishes, found: Sequence[Row]) -> None:
    """Refuses wishes that no law of K meets together.

    Raises:
      InputError: naming the first wish that is incompatible with the ones after it, and its
        least feasible bound.
    """
    counts = feasible_counts(wishes)
    # From the last to the first: bounds on the number of runs are always feasible, quality
    # is not.
    for place in range(len(found) - 1, -1, -1):
        row, rest = found[place], found[place + 1 :]
        least = _least(row, rest, counts)
        if least > row.most * (1.0 + _ROUNDING):
            beside = " and ".join(
                [f"{each.name} <= {each.most:.6g}" for each in rest]
                + ([] if wishes.most is None else [f"K <= {wishes.most}"])
            )
            raise InputError(
                f"{row.name} is at least {least:.6g} for every law of K"
                f"{' with ' + beside if beside else ''}; {row.most:.6g} is wished, so "
                f"take {to_digits(least, 4, up=True):g} or more, or relax the others"
            )


def meeting(
    counts: np.ndarray, weights: np.ndarray, asked: Sequence[Row], others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Corrects a law that nearly meets its wishes, to one that meets them with a margin.

    A solver meets them to its tolerance only. The law is mixed with a little of the law
    that has the largest margin.

    Args:
      counts, weights: of the law, to be scaled to sum to one.
      asked: the wishes.
      others: counts from which the other law is made.

    Returns:
      Counts, increasing, and their probabilities.
    """
    # If a bound is 0, counts with a positive price are excluded.
    none = [row for row in asked if row.most <= 0.0]
    some = [row for row in asked if row.most > 0.0]
    weights = np.where(_free(none, counts), weights, 0.0)
    weights = weights / math.fsum(weights)
    over = [_violation(row, counts, weights) for row in some]
    if max(over, default=0.0) <= 0.0:
        return counts, weights
    others = others[_free(none, others)]
    better = _with_largest_margin(some, others)
    room = [_violation(row, others, better) for row in some]
    # Where the best law only just meets a wish, nothing but that law does.
    share = max(
        lack / (lack - min(spare, 0.0))
        for lack, spare in zip(over, room, strict=True)
        if lack > 0.0
    )
    both = np.union1d(counts, others[better > 0.0])
    mixed = np.zeros(both.size)
    mixed[np.searchsorted(both, counts)] += (1.0 - share) * weights
    mixed[np.searchsorted(both, others[better > 0.0])] += share * better[better > 0.0]
    return both, mixed / math.fsum(mixed)


def _free(asked: Sequence[Row], counts: np.ndarray) -> np.ndarray:
    """The counts whose prices are all 0."""
    return np.all([np.ones(counts.size), *(row.price(counts) <= 0 for row in asked)], 0)


def _violation(row: Row, counts: np.ndarray, weights: np.ndarray) -> float:
    """The relative violation of a wish, including the margin."""
    return math.fsum(weights * row.price(counts)) / row.most - 1.0 + _SPARE


def _with_largest_margin(asked: Sequence[Row], counts: np.ndarray) -> np.ndarray:
    """Probabilities of the law that maximises the least margin of any wish."""
    table = np.array([row.price(counts) / row.most for row in asked])
    found = optimize.linprog(
        np.append(np.zeros(counts.size), -1.0),
        A_ub=np.hstack([table, np.ones((len(asked), 1))]),
        b_ub=np.ones(len(asked)),
        A_eq=np.append(np.ones(counts.size), 0.0)[None],
        b_eq=[1.0],
    )
    if found.status != 0:
        raise InputError(
            "no law of K was found that meets the wishes with a little to spare; relax one of them"
        )
    weights = np.maximum(found.x[:-1], 0.0)
    return weights / math.fsum(weights)
