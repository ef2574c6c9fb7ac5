"""Quality against epsilon for each family at a plan's noise, and a limit for all laws."""

from typing import NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.repetitions.summaries import expected_quantile
from jaxsel.tuning.planning.budget import quick_epsilon
from jaxsel.tuning.planning.limit import least_miss, least_rank
from jaxsel.tuning.planning.named_laws import FAMILIES
from jaxsel.tuning.planning.planned import Plan, single_run

_SHOWN = ("logarithmic", "tnb:eta=0.5", "geometric", "tnb:eta=2", "tnb:eta=5", "poisson")
_POINTS = 13


class Frontier(NamedTuple):
    """The laws of one family, in order of increasing mean.

    Attributes:
      family: its name.
      epsilon: Float[np.ndarray, "points"], proven epsilon of the search.
      quantile: Float[np.ndarray, "points"], expected quantile of the winner.
      miss: Float[np.ndarray, "points"], probability that no good candidate wins; NaN unless
        the plan specifies the fraction of good candidates.
    """

    family: str
    epsilon: np.ndarray
    quantile: np.ndarray
    miss: np.ndarray


class Limit(NamedTuple):
    """A lower bound for all laws of K with so few runs; see ``limit``.

    Attributes:
      runs: the largest E[K].
      epsilon: Float[np.ndarray, "points"], of a search.
      rank: Float[np.ndarray, "points"], least expected rank of its winner from the top.
      miss: Float[np.ndarray, "points"], least probability that no good candidate wins; NaN
        unless the plan specifies the fraction of good candidates.
    """

    runs: float
    epsilon: np.ndarray
    rank: np.ndarray
    miss: np.ndarray


def most_runs_shown(found: Plan) -> float:
    """E[K] at the end of the curves."""
    return 10.0 * max(found.chosen.law.mean, 2.0)


def frontiers(found: Plan) -> tuple[Frontier, ...]:
    """Epsilon and the winner's expected quantile, E[K] from 1 to ten times the plan's."""
    base, delta, good = single_run(found), found.budget.delta, found.budget.wishes.good
    most = most_runs_shown(found)
    drawn = []
    for family in _SHOWN:
        points = []
        for mean in np.geomspace(1.05, most, _POINTS).tolist():
            try:
                law = FAMILIES[family](mean)
            except InputError:
                continue
            miss = np.nan if good is None else float(law.pgf(np.asarray(1.0 - good)))
            cost = quick_epsilon(base, law, delta)
            points.append((cost, expected_quantile(law), miss))
        if points:
            drawn.append(Frontier(family, *np.array(points).T))
    return tuple(drawn)


def limit(found: Plan, highest: float) -> Limit | None:
    """The limit for all laws of K, from a tenth of the plan's epsilon to the highest drawn.

    Returns:
      None if the base has no trade-off curve.
    """
    base, delta, good = single_run(found), found.budget.delta, found.budget.wishes.good
    if base.tradeoff is None:
        return None
    runs = most_runs_shown(found)
    epsilon = np.geomspace(0.1 * min(found.epsilon, highest), highest, 100)
    miss = np.full(epsilon.shape, np.nan)
    if good is not None:
        miss = least_miss(base, epsilon, delta, runs, good)[:, 0]
    return Limit(runs, epsilon, least_rank(base, epsilon, delta, runs), miss)
