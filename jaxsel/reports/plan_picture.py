"""The picture of a plan: what a better winner costs, and where the plan is."""

from pathlib import Path

from matplotlib.figure import Figure

from jaxsel.pictures import style
from jaxsel.pictures.planned_quality import Planned, draw, highest_epsilon
from jaxsel.tuning.planning.frontier import frontiers, limit
from jaxsel.tuning.planning.planned import Plan, single_run


def draw_plan(found: Plan) -> Figure:
    """Curves of the families of laws of K, the limit of any law, and the plan."""
    delta, expected = found.budget.delta, found.chosen.utility
    planned = Planned(
        found.chosen.base,
        delta,
        found.epsilon,
        expected.expected_quantile,
        single_run(found).epsilon(delta),
        found.budget.wishes.good,
        1.0 - expected.hit,
    )
    return draw(planned, frontiers(found), limit(found, highest_epsilon(planned)))


def write_plan(found: Plan, path: str | Path) -> Path:
    """Draws a plan to a file of any kind that Matplotlib writes, by its ending."""
    path = Path(path)
    return style.save(draw_plan(found), path.with_suffix(""), (path.suffix[1:] or "png",))[0]
