"""Accuracy of the best of K trained networks, and what the search costs, by three axes."""

import functools

import numpy as np
from scipy.interpolate import PchipInterpolator

from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.families.tuning.bounds.released_search_budget import (
    least_renyi,
    released_budget,
    theorem_epsilon,
    training_base,
    training_renyi,
)
from jaxsel.host.intervals import mean_interval
from jaxsel.language.domains import probability
from jaxsel.repetitions import Repetitions
from sims.common.digits_accuracies import AccuracyTable
from sims.ps22_7 import SEARCHES

DELTA = 1e-5
SETTABLE = {
    "DELTA": probability("delta of a search"),
}
_DENSE = 121


def expected(table: AccuracyTable, law: Repetitions) -> float:
    """Exact mean accuracy of the best of K networks; no network counts as 0."""
    best_first = np.sort(table.correct.ravel())[::-1]
    chance = np.full(best_first.size, 1.0 / best_first.size)
    return float(tuned_law(chance, law)[:-1] @ best_first) / table.test_images


def numbers_of(table: AccuracyTable) -> tuple[float, float, int]:
    """What its networks' privacy depends on: rate of sampling, noise, steps."""
    return table.sampling_probability, table.noise_multiplier, table.steps


@functools.cache
def budget(
    numbers: tuple[float, float, int], name: str, gamma: float, axis: str
) -> float:
    """Privacy of a search.

    Args:
      numbers: of a table, see ``numbers_of``.
      name: of the search.
      gamma: its parameter.
      axis: "released"; "least" is that by valid theorems; "theorem" and "envelope" are
        epsilons at DELTA.
    """
    law = SEARCHES[name].law(gamma)
    if axis == "released":
        return released_budget(training_renyi(*numbers), law).budget
    base = training_base(*numbers)
    if axis == "least":
        return least_renyi(base, law)
    if axis == "theorem":
        return theorem_epsilon(base, law, DELTA)
    return envelope_epsilon(base_envelopes(base, law), DELTA)


@functools.cache
def _densely(numbers: tuple[float, float, int], name: str, axis: str) -> np.ndarray:
    """Privacy along a search's range of gamma, at _DENSE logarithmic steps."""
    search = SEARCHES[name]
    gammas = np.geomspace(search.gammas[0], search.gammas[-1], _DENSE)
    if axis == "released":
        return np.array([budget(numbers, name, gamma, axis) for gamma in gammas])
    # Proven bounds are costly, and smooth in log gamma.
    values = [budget(numbers, name, gamma, axis) for gamma in search.gammas]
    return PchipInterpolator(np.log(search.gammas), values)(np.log(gammas))


def curve(table: AccuracyTable, name: str, axis: str) -> tuple[np.ndarray, np.ndarray]:
    """Privacy, ascending, and exact mean accuracy along a family of laws of K."""
    search = SEARCHES[name]
    gammas = np.geomspace(search.gammas[0], search.gammas[-1], _DENSE)
    x = _densely(numbers_of(table), name, axis)
    y = np.array([expected(table, search.law(gamma)) for gamma in gammas])
    ascending = 1 if x[0] < x[-1] else -1
    return x[::ascending], y[::ascending]


def leaders(table: AccuracyTable, axis: str, privacy: np.ndarray) -> list[str]:
    """The search with the largest mean accuracy at each privacy; "" where there is none.

    A search whose curve ends below a privacy is taken at its end.
    """
    rows = []
    for name in SEARCHES:
        x, y = curve(table, name, axis)
        rows.append(np.interp(privacy, x, y, left=-1.0))
    best = np.argmax(rows, axis=0)
    found = np.max(rows, axis=0) >= 0.0
    names = list(SEARCHES)
    return [names[i] if some else "" for i, some in zip(best, found, strict=True)]


def simulated(
    table: AccuracyTable, counts: np.ndarray, confidence: float = 0.95
) -> dict[str, np.ndarray]:
    """Mean accuracies and their intervals, in the order of the record's points."""
    members = [s.law(gamma) for s in SEARCHES.values() for gamma in s.gammas]
    values = np.append(table.correct.ravel(), 0)
    trials, unit = counts.sum(axis=1), table.test_images
    # With K >= 1 the worst network is the worst that can come out.
    worst = [0 if k.probability_zero > 0.0 else int(values[:-1].min()) for k in members]
    limits = [
        mean_interval(
            int(n), int(row @ values), int(row @ values**2), confidence,
            float(least), float(values.max()),
        )
        for n, row, least in zip(trials, counts, worst, strict=True)
    ]  # fmt: skip
    low, high = np.transpose(limits) / unit
    return {"mean": counts @ values / trials / unit, "low": low, "high": high}
