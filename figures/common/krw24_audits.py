"""Audits of the best of K Gaussian runs: lower bounds from tallies, and their marks.

The event of each audit is planned on exact laws, before tallies are looked at.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from figures.common import words
from figures.common.krw24_shared import KINDS, natural_epsilon
from jaxsel.auditing.audit_bounds import delta_lower_bound, epsilon_lower_bound
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions
from sims.common.worst_rankings import GaussianBase


class Audited(NamedTuple):
    """An audited lower bound, and the exact value that it bounds.

    Attributes:
      epsilon, delta: the point; one of them is the audited lower bound.
      exact: the exact value, on these neighbours, of the one that is bounded.
    """

    epsilon: float
    delta: float
    exact: float


Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def planned_event(
    laws: np.ndarray, trials: int, error: float, loss: Loss
) -> tuple[np.ndarray, float]:
    """The event whose audit is expected to give the largest bound, from exact laws alone.

    Args:
      laws: Float64["2 outcomes"], exact laws of the tallied outcomes on either side.
      trials: number of trials on each side.
      error: error probability of each confidence limit.
      loss: (lower limit on one side, upper limit on the other) -> audited bound.

    Returns:
      The event, Bool["outcomes"], and its bound if every tally equals its expectation. The
      event consists of the outcomes of largest likelihood ratio, in one direction or the
      other.
    """
    best = (np.zeros(laws.shape[1], dtype=bool), -np.inf)
    for p, q in (laws, laws[::-1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(p > 0.0, p / q, 0.0)
        ranked = np.argsort(-ratio, kind="stable")[:-1]
        inside, other = (np.minimum(np.cumsum(law[ranked]), 1.0) for law in (p, q))
        low = clopper_pearson_lower(np.floor(trials * inside), trials, error=error)
        high = clopper_pearson_upper(np.ceil(trials * other), trials, error=error)
        bounds = loss(low, high)
        size = int(np.argmax(bounds))
        if bounds[size] > best[1]:
            event = np.zeros(laws.shape[1], dtype=bool)
            event[ranked[: size + 1]] = True
            best = (event, float(bounds[size]))
    return best


def _laws(seen: xr.Dataset) -> np.ndarray:
    return seen.frequency_exact.transpose("side", "outcome").values


def _counts(seen: xr.Dataset) -> np.ndarray:
    return seen.counts.transpose("side", "outcome").values


def audited_delta(seen: xr.Dataset, epsilon: float, confidence: float = 0.95) -> float:
    """The audited lower bound on delta at an epsilon.

    Args:
      seen: counts and exact laws of the outcomes on both sides.
      epsilon: the epsilon, fixed beforehand.
      confidence: confidence level of the bound.
    """
    event, _ = planned_event(
        _laws(seen),
        seen.attrs["trials"],
        (1.0 - confidence) / 4.0,
        lambda low, high: low - np.exp(epsilon) * high,
    )
    first, second = _counts(seen)
    return delta_lower_bound(first, second, epsilon, confidence, event[None]).lower


def audited_epsilon(
    rankings: Iterable[xr.Dataset], delta: float, confidence: float = 0.95
) -> float:
    """The audited lower bound on epsilon at delta; ranking and event are planned first.

    Args:
      rankings: for each ranking, counts and exact laws of the outcomes on both sides.
      delta: the delta at which epsilon is bounded.
      confidence: confidence level of the bound.
    """

    def loss(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low - delta, 0.0)) - np.log(high)

    def plan(seen: xr.Dataset) -> tuple[np.ndarray, float]:
        error = (1.0 - confidence) / 4.0
        return planned_event(_laws(seen), seen.attrs["trials"], error, loss)

    plans = [(seen, *plan(seen)) for seen in rankings]
    seen, event, _ = max(plans, key=lambda each: each[2])
    first, second = _counts(seen)
    return epsilon_lower_bound(first, second, delta, confidence, event[None]).lower


def rankings(ranked: xr.Dataset, natural: xr.Dataset) -> dict[str, list[xr.Dataset]]:
    """The data sets of one law of K in each kind of ranking, without other laws' bins."""
    return {
        "adversarial": [ranked.sel(target=target) for target in ranked["target"]],
        "natural": [natural.dropna("outcome")],
    }


def audited_deltas(
    ranked: xr.Dataset,
    natural: xr.Dataset,
    base: GaussianBase,
    law: Repetitions,
    confidence: float = 0.95,
) -> dict[str, list[Audited]]:
    """Audited lower bounds on delta, where the exact delta is about one of the targets.

    Args:
      ranked, natural: counts and exact laws of that law of K.
      base: the laws of one run.
      law: law of K.
      confidence: confidence level of each bound.
    """
    seen, found = rankings(ranked, natural), {}
    found["adversarial"] = [
        Audited(epsilon, audited_delta(each, epsilon, confidence), delta)
        for each in seen["adversarial"]
        for epsilon, delta in [(float(each.epsilon[0]), float(each.delta[0]))]
    ]
    found["natural"] = [
        Audited(epsilon, audited_delta(seen["natural"][0], epsilon, confidence), delta)
        for delta in ranked["target"].values.tolist()
        for epsilon in [natural_epsilon(base, law.name, delta)]
    ]
    return found


def arrows(axes: Axes, x, y, ranking: str, label: str | None, **settings) -> None:
    """Draws audited lower bounds; the arrow points to where the truth may be."""
    marker = "o" if ranking == "adversarial" else "s"
    look = style.own(KINDS[ranking]["color"], marker=marker)
    chosen = {"markersize": 4.4, "elinewidth": 1.0, "capsize": 1.8, "zorder": 4}
    bars = style.bars(look, **(chosen | settings))
    axes.errorbar(x, y, lolims=True, label=label, **bars)


def audited_points(axes: Axes, found: dict[str, list[Audited]]) -> None:
    """Draws the positive audited lower bounds on delta of both rankings."""
    for ranking, points in found.items():
        shown = [each for each in points if each.delta]
        delta = np.array([each.delta for each in shown])
        arrows(
            axes,
            [each.epsilon for each in shown],
            delta,
            ranking,
            f"{words.AUDITED}, {ranking} order",
            yerr=1.5 * delta,
        )
