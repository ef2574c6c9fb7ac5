"""What a better winner costs at the noise of a plan, one curve a family of laws of K."""

from jaxsel.families.tuning.planning.frontier import frontiers, limit
from jaxsel.families.tuning.planning.planned import Plan, plan, single_run
from jaxsel.language.domains import number, probability, whole
from jaxsel.pictures.plan import Planned, highest_epsilon
from jaxsel.pictures.plan import draw as draw_plan

TITLE = "A plan: what a better winner of a private search costs"
SIMS = ()
SECONDS = 40
EPSILON, DELTA = 3.0, 1e-6
DATASET_SIZE, BATCH_SIZE, EPOCHS = 60_000, 600, 60
RUNS = 50.0
GOOD = 0.05
SETTABLE = {
    "EPSILON": number("of the search", above=0.0),
    "DELTA": probability("of the search"),
    "DATASET_SIZE": whole("records", at_least=1),
    "BATCH_SIZE": whole("records of a batch, on average", at_least=1),
    "EPOCHS": whole("of one run", at_least=1),
    "RUNS": number("runs on average, at most", above=1.0),
    "GOOD": probability("share of the candidates that is good"),
}


def found() -> Plan:
    """The plan of the picture."""
    return plan(
        f"dp_sgd:dataset_size={DATASET_SIZE},batch_size={BATCH_SIZE},epochs={EPOCHS}",
        epsilon=EPSILON, delta=DELTA, runs=RUNS, good=GOOD,
    )  # fmt: skip


def draw():
    """Curves, the limit of any law of K, and the plan."""
    chosen = found()
    expected = chosen.chosen.utility
    planned = Planned(
        chosen.chosen.base, DELTA, chosen.epsilon, expected.expected_quantile,
        single_run(chosen).epsilon(DELTA), GOOD, 1.0 - expected.hit,
    )  # fmt: skip
    curves = frontiers(chosen)
    return draw_plan(planned, curves, limit(chosen, highest_epsilon(planned)))
