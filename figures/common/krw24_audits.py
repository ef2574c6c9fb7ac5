"""Audits of the best of K Gaussian runs: lower bounds from tallies, and their marks.

The event of each audit is planned on exact laws, before any tally is looked at.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from figures.common.krw24_shared import DELTA, KINDS, adversarial, natural_epsilon
from jaxsel.auditing.audit_bounds import delta_lower_bound, epsilon_lower_bound
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.repetitions import parse
from sims.common.gaussian_orders import natural_law
from sims.krw24_2 import SIDES, TARGETS
from sims.registry import Result


class Audited(NamedTuple):
    """An audited lower bound, and what it is a bound on.

    Attributes:
      epsilon, delta: the point; one of them is the audited lower bound.
      exact: the exact value on these neighbours of the one that is bounded.
    """

    epsilon: float
    delta: float
    exact: float


Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _delta_loss(epsilon: float) -> Loss:
    return lambda low, high: low - np.exp(epsilon) * high


def _epsilon_loss(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Epsilon at DELTA."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - DELTA, 0.0)) - np.log(high)


def planned_event(
    laws: np.ndarray, trials: int, error: float, loss: Loss
) -> tuple[np.ndarray, float]:
    """The event whose audit is expected to give the most, from exact laws alone.

    Args:
      laws: Float64["2 outcomes"], exact laws of the tallied outcomes on either side.
      trials: a side.
      error: of each confidence limit.
      loss: (lower limit on one side, upper limit on the other) -> audited bound.

    Returns:
      Bool["outcomes"]: the outcomes of largest likelihood ratio, one way or the other,
      as many as are best when every tally is what it is expected to be; and that bound.
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


def _cells(
    record: Result, row: int, ranking: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(exact laws, tallies) of the outcomes on both sides, one pair a ranking."""
    law = parse(record.values["laws"][row])
    if ranking == "natural":
        edges = record.arrays["natural_edges"][row]
        exact = np.stack([natural_law(law, edges, side) for side in SIDES])
        return [(exact, record.arrays["natural_counts"][row])]
    runs = record.arrays["run_laws"][row]
    laws = np.array([[tuned_law(side, law) for side in cell] for cell in runs])
    return list(zip(laws, record.arrays["counts"][row], strict=True))


def audited_deltas(
    record: Result, row: int, ranking: str, confidence: float = 0.95
) -> list[Audited]:
    """Audited lower bounds on delta, where the exact delta is about one of TARGETS.

    Args:
      record: tallies (see ``sims.krw24_2``).
      row: of the law of K.
      ranking: "natural" or "adversarial".
      confidence: of each bound.
    """
    trials, error = int(record.values["trials"]), (1.0 - confidence) / 4.0
    cells = _cells(record, row, ranking)
    if ranking == "natural":
        cells *= len(TARGETS)
        text = record.values["laws"][row]
        points = [(natural_epsilon(text, delta), delta) for delta in TARGETS]
    else:
        names = ("epsilons", "deltas")
        points = zip(
            *(record.arrays[name][row].tolist() for name in names), strict=True
        )
    found = []
    for (epsilon, delta), (laws, counts) in zip(points, cells, strict=True):
        event, _ = planned_event(laws, trials, error, _delta_loss(epsilon))
        bound = delta_lower_bound(
            counts[0], counts[1], epsilon, confidence, event[None, :]
        )
        found.append(Audited(epsilon, bound.lower, delta))
    return found


def audited_epsilon(
    record: Result, row: int, ranking: str, confidence: float = 0.95
) -> Audited:
    """The audited lower bound on epsilon at DELTA, ranking and event planned first."""
    trials, error = int(record.values["trials"]), (1.0 - confidence) / 4.0
    cells = _cells(record, row, ranking)
    plans = [planned_event(laws, trials, error, _epsilon_loss) for laws, _ in cells]
    best = max(range(len(plans)), key=lambda cell: plans[cell][1])
    event, (_, counts) = plans[best][0], cells[best]
    bound = epsilon_lower_bound(counts[0], counts[1], DELTA, confidence, event[None, :])
    exact = natural_epsilon if ranking == "natural" else adversarial
    return Audited(bound.lower, DELTA, exact(record.values["laws"][row], DELTA))


def arrows(axes: Axes, x, y, ranking: str, label: str | None, **settings) -> None:
    """Audited lower bounds: the arrow points to where the truth may be."""
    chosen = {
        "color": KINDS[ranking]["color"],
        "marker": "o" if ranking == "adversarial" else "s",
        "linestyle": "none",
        "markersize": 4.4,
        "markerfacecolor": "white",
        "markeredgewidth": 1.1,
        "elinewidth": 1.0,
        "capsize": 1.8,
        "lolims": True,
        "zorder": 4,
        "label": label,
    }
    axes.errorbar(x, y, **(chosen | settings))


def audited_points(axes: Axes, record: Result, row: int) -> None:
    """Both rankings' audited lower bounds on delta, where they say anything."""
    for ranking in ("adversarial", "natural"):
        found = [each for each in audited_deltas(record, row, ranking) if each.delta]
        delta = np.array([each.delta for each in found])
        arrows(
            axes, [each.epsilon for each in found], delta, ranking,
            f"audited lower bound (95 %), {ranking} order", yerr=1.5 * delta,
        )  # fmt: skip
