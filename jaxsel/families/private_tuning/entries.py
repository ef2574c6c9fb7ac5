"""Private tuning and random stopping: settings, neighbouring pairs, guarantees."""

import math
from typing import Annotated, Any

from jaxsel import repetitions as laws
from jaxsel.families.private_tuning.base_settings import (
    BASE_SETTINGS,
    BASES,
    base_epsilon,
    base_utility,
    guarantee_of_runs,
    input_of_runs,
)
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import number, parsed, probability, whole
from jaxsel.language.entry import FIXED, Values, guarantee, mechanism
from jaxsel.tuning.bounds.random_stopping import hard_stop_steps, hard_stop_steps_pure

Law = Annotated[Any, parsed(laws.parse, "a law of K; see jaxsel list repetitions", "law of K")]
Gamma = Annotated[float, number("stopping probability", at_least=1e-9, at_most=1.0)]
Method = Annotated[str, methods("rank", "count", "literal"), FIXED]
_RUN = {"epsilon": 0.6, "probabilities": "0.3,0.3,0.4", "scores": "0.9,0.8,0.8"}


def _best_run(family: str, method: str, settings: Values) -> Mechanism:
    from jaxsel.families.private_tuning.private_tuning import private_tuning
    from jaxsel.kernel.repetition_sampling import RANK_FAMILIES

    if method == "rank" and family not in RANK_FAMILIES:
        method = "count"
    return private_tuning(BASES[settings["base"]].make(), family, method=method)


@mechanism(
    "PS-Alg0",
    also=BASE_SETTINGS,
    generic={"repetitions": "tnb:eta=0.5,gamma=0.3", **_RUN},
    utility=base_utility,
)
def private_tuning(*, repetitions: Law = "geometric:mean=10", method: Method = "rank", **settings):
    """Run a base K times, K random, and release the best run (Papernot & Steinke 2022)."""
    return _best_run(repetitions.family, method, settings)


@private_tuning.input
def _any_law(values, repetitions):
    return input_of_runs(values, repetitions=repetitions)


@private_tuning.promises
def _pure(values, repetitions):
    epsilon = base_epsilon(values)
    if epsilon is not None and repetitions.family == "truncated_negative_binomial":
        return guarantee("PS-Cor3", base=f"pure:epsilon={epsilon!r}", law=repetitions.name)
    if epsilon is not None and repetitions.family == "point_mass":
        return guarantee("PS-D1", order=math.inf, base_epsilon=epsilon, count=int(repetitions.mean))
    return None


@mechanism("LT-Alg2", also=BASE_SETTINGS, generic={"gamma": 0.3, **_RUN}, utility=base_utility)
def random_stopping(*, gamma: Gamma = 0.1, method: Method = "rank", **settings):
    """Run a base, stop after each run with probability gamma, release the best (Liu & Talwar
    2019, Algorithm 2)."""
    return _best_run("truncated_negative_binomial", method, settings)


@random_stopping.input
def _geometric(values, gamma):
    return input_of_runs(values, repetitions=laws.geometric(gamma))


@random_stopping.promises
def _thrice(values):
    return guarantee_of_runs("LT-Thm3.2", values)


# It promises no pure epsilon: its guarantee has delta > 0.
@mechanism(
    "LT-Alg2-hardstop-Thm3.4",
    also=BASE_SETTINGS,
    generic={"gamma": 0.3, "stop_delta": 0.01, **_RUN},
    utility=base_utility,
)
def random_stopping_capped(
    *,
    gamma: Gamma = 0.1,
    stop_delta: Annotated[float, probability("chance of reaching the hard stop")] = 1e-6,
    method: Method = "rank",
    **settings,
):
    """Random stopping, and a hard stop after (1/gamma) log(1/delta) runs (Liu & Talwar 2019,
    Theorem 3.4)."""
    return _best_run("capped", method, settings)


@random_stopping_capped.input
def _stopped(values, gamma, stop_delta):
    law = laws.capped(laws.geometric(gamma), hard_stop_steps(gamma, stop_delta))
    return input_of_runs(values, repetitions=law)


@mechanism(
    "LT-Alg2-hardstop-Thm3.5",
    also=BASE_SETTINGS,
    generic={"gamma": 0.3, "slack": 0.3, **_RUN},
    utility=base_utility,
)
def random_stopping_capped_pure(
    *,
    gamma: Gamma = 0.1,
    slack: Annotated[float, number("epsilon_0; it costs thrice", above=0.0, below=0.5)] = 0.1,
    method: Method = "rank",
    **settings,
):
    """Random stopping, and a hard stop late enough for pure DP (Liu & Talwar 2019, Theorem
    3.5)."""
    return _best_run("capped", method, settings)


@random_stopping_capped_pure.input
def _stopped_late(values, gamma, slack):
    law = laws.capped(laws.geometric(gamma), hard_stop_steps_pure(gamma, slack))
    return input_of_runs(values, repetitions=law)


@random_stopping_capped_pure.promises
def _thrice_with_slack(values, slack):
    return guarantee_of_runs("LT-Thm3.5", values, slack=slack)


@mechanism(
    "PS-D1",
    "LT-B.1",
    broken=True,
    also=BASE_SETTINGS,
    generic={"count": 3, **_RUN},
    utility=base_utility,
)
def fixed_repetitions(
    *,
    count: Annotated[int, whole("how many runs", at_least=1, at_most=1_000_000)] = 5,
    method: Method = "rank",
    **settings,
):
    """BROKEN: run a base a fixed number of times and release the best; the loss grows with the
    number of runs."""
    return _best_run("point_mass", method, settings)


@fixed_repetitions.input
def _fixed(values, count):
    return input_of_runs(values, repetitions=laws.point_mass(count))


@fixed_repetitions.promises
def _folklore(values):
    return guarantee_of_runs("FIXED-K-folklore", values)


@private_tuning.neighbours
@random_stopping.neighbours
@random_stopping_capped.neighbours
@random_stopping_capped_pure.neighbours
@fixed_repetitions.neighbours
def _of_the_base(values):
    return BASES[values["base"]].neighbours(values)
