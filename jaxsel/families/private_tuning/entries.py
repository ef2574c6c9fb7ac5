"""Catalogue entries of private tuning and of random stopping, with their guarantees."""

import math
from collections.abc import Callable
from typing import Annotated, Any

from jaxsel import repetitions as laws
from jaxsel.families.private_tuning.base_settings import Runs
from jaxsel.families.private_tuning.parameters import METHODS
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import number, parsed, probability, whole
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Guarantee, Trial
from jaxsel.tuning.bounds.random_stopping import hard_stop_steps, hard_stop_steps_pure

Law = Annotated[Any, parsed(laws.parse, "a law of K; see jaxsel list repetitions", "law of K")]
Gamma = Annotated[float, number("stopping probability", at_least=1e-9, at_most=1.0)]
Method = Annotated[str, methods(*METHODS)]
_RUN = "epsilon=0.6 probabilities=0.3,0.3,0.4 scores=0.9,0.8,0.8"


def _best_run(
    runs: Runs, law: laws.Repetitions, method: str, proven: Callable[[], Guarantee | None]
) -> Trial:
    """The trial that releases the best of K runs.

    Args:
      runs: the base and its settings.
      law: of K.
      method: of drawing. If K has no closed-form rank, "count" stands for "rank".
      proven: makes the guarantee on the neighbours of the base, or None.
    """

    def made() -> Mechanism:
        from jaxsel.families.private_tuning.private_tuning import private_tuning
        from jaxsel.kernel.repetition_sampling import RANK_FAMILIES

        drawn = "count" if method == "rank" and law.family not in RANK_FAMILIES else method
        return private_tuning(runs.make(), law.family, method=drawn)

    return runs.trial(made, proven, repetitions=law)


@mechanism("PS-Alg0", generic=f"repetitions=tnb:eta=0.5,gamma=0.3 {_RUN}")
def private_tuning(
    *, repetitions: Law = "geometric:mean=10", runs: Runs = Runs(), method: Method = "rank"
):
    """Run a base K times, K random, and release the best run (Papernot & Steinke 2022)."""

    def pure() -> Guarantee | None:
        epsilon = runs.one_epsilon()
        if epsilon is not None and repetitions.family == "truncated_negative_binomial":
            return guarantee("PS-Cor3", base=f"pure:epsilon={epsilon!r}", law=repetitions.name)
        if epsilon is not None and repetitions.family == "point_mass":
            count = int(repetitions.mean)
            return guarantee("PS-D1", order=math.inf, base_epsilon=epsilon, count=count)
        return None

    return _best_run(runs, repetitions, method, pure)


@mechanism("LT-Alg2", generic=f"gamma=0.3 {_RUN}")
def random_stopping(*, gamma: Gamma = 0.1, runs: Runs = Runs(), method: Method = "rank"):
    """Run a base, stop after each run with probability gamma, release the best (Liu & Talwar
    2019, Algorithm 2)."""
    return _best_run(runs, laws.geometric(gamma), method, lambda: runs.guarantee("LT-Thm3.2"))


@mechanism("LT-Alg2-hardstop-Thm3.4", generic=f"gamma=0.3 stop_delta=0.01 {_RUN}")
def random_stopping_capped(
    *,
    gamma: Gamma = 0.1,
    stop_delta: Annotated[float, probability("chance of reaching the hard stop")] = 1e-6,
    runs: Runs = Runs(),
    method: Method = "rank",
):
    """Random stopping with a hard stop after (1/gamma) log(1/delta) runs (Liu & Talwar 2019,
    Theorem 3.4)."""
    law = laws.capped(laws.geometric(gamma), hard_stop_steps(gamma, stop_delta))
    # Theorem 3.4 has delta > 0, so that there is no pure epsilon to guarantee.
    return _best_run(runs, law, method, lambda: None)


@mechanism("LT-Alg2-hardstop-Thm3.5", generic=f"gamma=0.3 slack=0.3 {_RUN}")
def random_stopping_capped_pure(
    *,
    gamma: Gamma = 0.1,
    slack: Annotated[float, number("epsilon_0; it costs thrice", above=0.0, below=0.5)] = 0.1,
    runs: Runs = Runs(),
    method: Method = "rank",
):
    """Random stopping with a hard stop that is late enough for pure DP (Liu & Talwar 2019, Theorem
    3.5)."""
    law = laws.capped(laws.geometric(gamma), hard_stop_steps_pure(gamma, slack))
    return _best_run(runs, law, method, lambda: runs.guarantee("LT-Thm3.5", slack=slack))


@mechanism("PS-D1", "LT-B.1", broken=True, generic=f"count=3 {_RUN}")
def fixed_repetitions(
    *,
    count: Annotated[int, whole("how many runs", at_least=1, at_most=1_000_000)] = 5,
    runs: Runs = Runs(),
    method: Method = "rank",
):
    """BROKEN: run a base a fixed number of times and release the best; the loss grows with the
    number of runs."""
    law = laws.point_mass(count)
    return _best_run(runs, law, method, lambda: runs.guarantee("FIXED-K-folklore"))
