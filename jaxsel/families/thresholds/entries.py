"""Selection against a threshold, known or falling: settings, pairs, guarantees."""

import math
from typing import Annotated, Any

from jaxsel.accounting.single_run import pairs
from jaxsel.families.private_tuning.base_settings import Runs
from jaxsel.families.thresholds import parameters
from jaxsel.families.thresholds.laws import threshold_steps
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, numbers
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial

Method = Annotated[str, methods(*parameters.METHODS)]
_RUN = "epsilon=0.6 probabilities=0.3,0.3,0.4 scores=0.9,0.8,0.5"

# --- A known threshold ----------------------------------------------------------------


# With slack 1 at most three draws are made, so that many trials reach the limit.
@mechanism("LT-Alg1", generic=f"threshold=0.8 gamma=0.25 slack=1 {_RUN}")
def threshold_selection(
    *,
    threshold: parameters.Threshold = 1,
    # T is made of it, and draws are counted.
    gamma: Annotated[float, number("stopping probability", at_least=1e-9, at_most=1.0)] = 0.1,
    slack: parameters.PositiveSlack = 0.1,
    runs: Runs = Runs(),
    method: Method = "jump",
):
    """Draw until a run reaches the threshold; after each failure stop with probability gamma (Liu
    & Talwar 2019, Algorithm 1)."""
    return runs.trial(
        _until_reached(runs, method),
        lambda: runs.guarantee("LT-Thm3.1(b)", slack=slack),
        threshold=threshold,
        stop_probability=gamma,
        max_draws=threshold_steps(gamma, slack),
    )


@mechanism("PS-AlgC", "LT-Thm1.2", generic=f"threshold=0 {_RUN}")
def conditional_sampling(
    *, threshold: parameters.Threshold = 1, runs: Runs = Runs(), method: Method = "jump"
):
    """Draw until a run reaches the threshold, however long it takes (Papernot & Steinke 2022,
    Appendix C)."""
    made = _until_reached(runs, method)
    return runs.trial(made, lambda: runs.guarantee("PS-Cor16(1)"), threshold=threshold)


def _until_reached(runs: Runs, method: str):
    def made():
        from jaxsel.families.thresholds.threshold_selection import threshold_selection

        return threshold_selection(runs.make(), method=method)

    return made


# --- A falling threshold: Algorithm 6 -------------------------------------------------


@mechanism(
    "LT-Alg6",
    "LT-B.2",
    broken=True,
    generic="probabilities=0.3,0.1,0.6 scores=3,2,0 levels=4 gamma=0.3 epsilon=0.7",
)
def decreasing_thresholds(
    *,
    probabilities: Annotated[
        Any, numbers("law of one run", at_least=0.0, at_most=1.0)
    ] = "0.2,0.3,0.5",
    scores: Annotated[Any, numbers("scores of the outcomes")] = "1,0.5,0",
    levels: parameters.FewLevels = 5,
    gamma: parameters.Lowering = 0.1,
    epsilon: Annotated[
        float, number("privacy of one run in the constructed pairs", above=0.0, at_most=100.0)
    ] = 1,
    method: Method = "jump",
):
    """BROKEN: draw until a run reaches a threshold that is lowered after failures; the loss grows
    with the number of thresholds."""

    def made():
        from jaxsel.families.private_tuning.bases import finite
        from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds

        return decreasing_thresholds(finite(), method=method)

    def one_run_moves():
        most = 1.0 / (1.0 + math.exp(epsilon))
        for name, laws, worth, why in (
            (
                "randomised-response",
                pairs.randomised_response(epsilon),
                [1.0, 0.0],
                "every level but the last fails before 0 is released: two losses a level",
            ),
            (
                "bernoulli",
                pairs.bernoulli(0.3, pairs.extreme_neighbours(0.3, epsilon)[1]),
                [1.0, 0.0],
                "the example of Appendix B.2",
            ),
            (
                "three-outcome",
                pairs.three_outcome(epsilon, min(0.1, most / 2.0), min(0.01, most / 2.0)),
                [1.0, 0.5, 0.0],
                "a score between the first and the last threshold",
            ),
        ):
            data, neighbour = ({"probabilities": side, "scores": worth} for side in laws)
            yield name, data, neighbour, Relation.BASE, why

    return Trial(
        made,
        {"probabilities": probabilities, "scores": scores},
        {"levels": levels, "gamma": gamma},
        one_run_moves,
        lambda pair: guarantee("LT-Alg6-hope", epsilon=epsilon),
    )
