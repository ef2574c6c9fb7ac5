"""Accuracy of the best of K trained networks, and the privacy cost of the search."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.interpolate import PchipInterpolator

from jaxsel import repetitions as laws
from jaxsel.host.intervals import mean_interval
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.bounds.released_search_budget import (
    least_renyi,
    released_budget,
    theorem_epsilon,
    training_base,
    training_renyi,
)
from sims.data.digits_accuracies import AccuracyTable

DELTA = 1e-5  # delta of a search
_DENSE = 121
_GAMMAS = (1e-7, 8e-6, 1e-4, 2.4e-4, 0.0015, 0.0035, 0.025, 0.05, 0.1, 0.2, 0.5)
_RUNS = 100.0  # E[K] over gamma, for Poisson


class Search(NamedTuple):
    """A family of laws of K.

    Attributes:
      law: gamma -> law of K.
      gammas: values of gamma of the points.
    """

    law: Callable[[float], Repetitions]
    gammas: tuple[float, ...]


def _negative_binomial(eta: float) -> Callable[[float], Repetitions]:
    return lambda gamma: laws.truncated_negative_binomial(eta, gamma)


SEARCHES: dict[str, Search] = {
    "eta=0": Search(_negative_binomial(0.0), _GAMMAS),
    "eta=1": Search(_negative_binomial(1.0), _GAMMAS[2:]),
    "eta=0.5": Search(_negative_binomial(0.5), _GAMMAS[2:]),
    "poisson": Search(lambda gamma: laws.poisson(_RUNS * gamma), _GAMMAS[4:]),
}


class Point(NamedTuple):
    """A search with one law of K."""

    search: str
    gamma: float

    @property
    def law(self) -> Repetitions:
        """The law of K."""
        return SEARCHES[self.search].law(self.gamma)


POINTS = {
    f"{name} at {gamma:g}": Point(name, gamma)
    for name, search in SEARCHES.items()
    for gamma in search.gammas
}


def expected(table: AccuracyTable, law: Repetitions) -> float:
    """Exact mean accuracy of the best of K networks; K = 0 counts as accuracy 0."""
    best_first = np.sort(table.correct.ravel())[::-1]
    chance = np.full(best_first.size, 1.0 / best_first.size)
    return float(tuned_law(chance, law)[:-1] @ best_first) / table.test_images


def numbers_of(table: AccuracyTable) -> tuple[float, float, int]:
    """Sampling probability, noise multiplier and steps, which determine a network's privacy."""
    return table.sampling_probability, table.noise_multiplier, table.steps


@functools.cache
def budget(
    numbers: tuple[float, float, int], point: Point, axis: str, delta: float = DELTA
) -> float:
    """Privacy cost of a search.

    Args:
      numbers: parameters of a table's networks, see ``numbers_of``.
      point: the search.
      axis: "released" is the budget of the authors' code, and "least" the same by valid
        theorems; "theorem" and "envelope" are epsilons at delta.
      delta: the delta of these.
    """
    law = point.law
    if axis == "released":
        return released_budget(training_renyi(*numbers), law).budget
    base = training_base(*numbers)
    if axis == "least":
        return least_renyi(base, law)
    if axis == "theorem":
        return theorem_epsilon(base, law, delta)
    return envelope_epsilon(base_envelopes(base, law), delta)


@functools.cache
def _densely(
    numbers: tuple[float, float, int], points: tuple[Point, ...], axis: str, delta: float
) -> np.ndarray:
    """Privacy cost along a search's range of gamma, at _DENSE logarithmic steps."""
    if axis == "released":
        return np.array([budget(numbers, each, axis) for each in _between(points)])
    # Proven bounds are costly to compute, and smooth in log gamma, so they are interpolated.
    values = [budget(numbers, point, axis, delta) for point in points]
    smooth = PchipInterpolator(np.log([point.gamma for point in points]), values)
    return smooth(np.log([each.gamma for each in _between(points)]))


def _between(points: Sequence[Point]) -> list[Point]:
    first, last = points[0], points[-1]
    gammas = np.geomspace(first.gamma, last.gamma, _DENSE)
    return [first._replace(gamma=gamma) for gamma in gammas.tolist()]


def curve(
    table: AccuracyTable, points: Sequence[Point], axis: str, delta: float = DELTA
) -> tuple[np.ndarray, np.ndarray]:
    """Privacy cost, ascending, and exact mean accuracy along a family of laws of K.

    Args:
      table: the table of networks.
      points: points of one search, by ascending gamma; the curve passes through them.
      axis, delta: as for ``budget``.
    """
    x = _densely(numbers_of(table), tuple(points), axis, delta)
    y = np.array([expected(table, each.law) for each in _between(points)])
    ascending = 1 if x[0] < x[-1] else -1
    return x[::ascending], y[::ascending]


def simulated(found: xr.Dataset, table: AccuracyTable, confidence: float = 0.95) -> xr.Dataset:
    """Mean accuracies at each point: "mean", and the interval from "low" to "high".

    Args:
      found: how often each network of the table was the best, by point.
      table: the networks.
      confidence: confidence level of each interval.
    """
    values, unit = np.append(table.correct.ravel(), 0), table.test_images
    outcomes = [*map(str, range(table.correct.size)), "none"]
    counts = found.counts.sel(outcome=outcomes).transpose("point", "outcome").values
    rows = []
    for name, row in zip(found["point"].values, counts, strict=True):
        # If K >= 1 always, no accuracy is below that of the worst network.
        none = POINTS[name].law.probability_zero > 0.0
        trials, total = int(row.sum()), int(row @ values)
        ends = mean_interval(
            trials,
            total,
            int(row @ values**2),
            confidence,
            0.0 if none else float(values[:-1].min()),
            float(values.max()),
        )
        rows.append((total / trials, *ends))
    parts = zip(("mean", "low", "high"), np.transpose(rows) / unit, strict=True)
    variables = {name: ("point", part) for name, part in parts}
    return xr.Dataset(variables, {"point": found["point"].values})
