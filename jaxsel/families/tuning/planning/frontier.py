"""What quality costs, family by family, at the noise of a plan."""

from typing import NamedTuple

import numpy as np

from jaxsel.errors import InputError
from jaxsel.families.tuning.planning.named_laws import FAMILIES
from jaxsel.families.tuning.planning.plan import quick_epsilon
from jaxsel.families.tuning.planning.planned import Plan, single_run
from jaxsel.repetitions.summaries import expected_quantile

SHOWN = ("logarithmic", "tnb:eta=0.5", "geometric", "tnb:eta=2", "tnb:eta=5", "poisson")
_POINTS = 13


class Frontier(NamedTuple):
    """One family of laws of K, with more and more runs.

    Attributes:
      family: its name.
      epsilon: Float[np.ndarray, "points"], proved of the search.
      quantile: Float[np.ndarray, "points"], of the winner, expected.
    """

    family: str
    epsilon: np.ndarray
    quantile: np.ndarray


def frontiers(found: Plan) -> tuple[Frontier, ...]:
    """Epsilon and the winner's expected quantile, E[K] from 1 to ten times the plan's."""
    base, delta = single_run(found), found.budget.delta
    most = 10.0 * max(found.chosen.law.mean, 2.0)
    drawn = []
    for family in SHOWN:
        points = []
        for mean in np.geomspace(1.05, most, _POINTS).tolist():
            try:
                law = FAMILIES[family](mean)
            except InputError:
                continue
            points.append((quick_epsilon(base, law, delta), expected_quantile(law)))
        if points:
            epsilon, quantile = np.array(points).T
            drawn.append(Frontier(family, epsilon, quantile))
    return tuple(drawn)
