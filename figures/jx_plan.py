"""What a better winner costs at the noise of a plan, one curve per family of laws of K."""

import dataclasses
from typing import Annotated

from matplotlib.figure import Figure as Canvas

from jaxsel.language.domains import number, probability, whole
from jaxsel.questions.plan import plan
from jaxsel.reports.plan_picture import draw_plan
from jaxsel.tuning.planning.planned import Plan

TITLE = "A plan: what a better winner of a private search costs"
SIMS = ()
SECONDS = 7


@dataclasses.dataclass(frozen=True)
class Search:
    """A search among DP-SGD runs, in the terms in which a plan is requested."""

    epsilon: Annotated[float, number("of the search", above=0.0)] = 3.0
    delta: Annotated[float, probability("of the search")] = 1e-6
    dataset_size: Annotated[int, whole("records", at_least=1)] = 60_000
    batch_size: Annotated[int, whole("records of a batch, on average", at_least=1)] = 600
    epochs: Annotated[int, whole("of one run", at_least=1)] = 60
    runs: Annotated[float, number("runs on average, at most", above=1.0)] = 50.0
    good: Annotated[float, probability("share of the candidates that is good")] = 0.05

    def plan(self) -> Plan:
        """The plan of this search."""
        return plan(
            f"dp_sgd:dataset_size={self.dataset_size},batch_size={self.batch_size},"
            f"epochs={self.epochs}",
            epsilon=self.epsilon,
            delta=self.delta,
            runs=self.runs,
            winner={"good": self.good},
        )


def draw(search: Search = Search()) -> Canvas:
    """Draws the curves, the limit of any law of K, and the plan."""
    return draw_plan(search.plan())
