"""Sequential noisy tests until one passes, for Algorithms 4 and 5 of Liu & Talwar.

Both add Laplace noise to the logarithm of a count of runs and compare it with one noisy
threshold; they differ in the runs that are counted and in the function of the count.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.percentile.queries import Queries, Runs, split_params
from jaxsel.families.percentile.settings import PercentileTest, read_test
from jaxsel.families.private_tuning.bases import Base
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism

State = TypeVar("State")


class Halt(NamedTuple):
    """Where a sparse vector halted.

    Attributes:
      query: Int[Array, ""], number of the query from 0; the number of queries if it
        never halted.
      calls: Float[Array, ""], runs of base algorithms made; 0 with an oracle.
    """

    query: Int[Array, ""]
    calls: Float[Array, ""]


def halted_at(outcome: Halt) -> Array:
    """The event: the query, the number of queries if none."""
    return outcome.query


def event_labels(kind: str, count: int) -> tuple[str, ...]:
    """Names of the events of ``count`` queries or thresholds."""
    return (*(f"{kind} {i + 1}" for i in range(count)), "none")


def noise_params(test: PercentileTest, aim: float) -> dict[str, Any]:
    """The numbers that ``first_pass`` takes: the noises, N, Delta and the noiseless threshold."""
    return {
        "samples": np.float64(test.samples),
        "shift": np.float64(test.shift),
        "aim": np.float64(aim),
        "query_scale": np.float64(test.query_scale),
        "threshold_scale": np.float64(test.threshold_scale),
    }


def count_runs(run: Runs, key: stream.Key, data, params, samples: Array) -> Array:
    """How many of N runs reach the threshold, or each of the thresholds.

    Args:
      run: whether one run reaches it (``queries.one_run``).
      key: of which each run has a round.
      data, params: of ``run``.
      samples: N.
    """

    def once(number, count):
        reached = run(stream.at_round(key, number), data, params)
        return count + reached.astype(jnp.float64)

    start = jnp.zeros(jnp.shape(data["share"]), jnp.float64)
    return lax.fori_loop(0, samples.astype(jnp.int32), once, start)


def first_pass(
    key: stream.Key,
    params: Any,
    tests: int,
    level: Callable[[Array, State], tuple[Array, State]],
    start: State,
    loop: Callable = lax.while_loop,
) -> Array:
    """The first test whose noisy level reaches the noisy threshold; ``tests`` if none.

    Args:
      key: draw 0 is the threshold's, draw i+1 that of test i.
      params: "query_scale", "threshold_scale" and "aim", the noiseless threshold.
      tests: how many there are.
      level: (number, state) -> the test's level and the next state.
      start: the first state.
      loop: the loop over tests; ``lanes.while_loop`` if levels are expensive.
    """

    def laplace(draw):
        return noise.variate("laplace", key, draw, "float64")

    bar = params["threshold_scale"] * laplace(0) + params["aim"]

    def go_on(carried):
        number, _, halted = carried
        return ~halted & (number < tests)

    def once(carried):
        number, state, _ = carried
        value, state = level(number, state)
        halted = value + params["query_scale"] * laplace(number + 1) >= bar
        return jnp.where(halted, number, number + 1), state, halted

    return loop(go_on, once, (jnp.int32(0), start, jnp.asarray(False)))[0]


def counting_mechanism(
    base: Base | None,
    method: str,
    *,
    kind: str,
    read: Callable[[Base | None, Any, dict], Queries],
    prepare: Callable[[Queries, PercentileTest], tuple[dict, dict]],
    sample: Callable[[stream.Key, Any, Any], Halt],
    law: Callable[[np.ndarray, PercentileTest], np.ndarray],
) -> Mechanism:
    """Algorithm 4 or 5 as a mechanism, over shares or over a base.

    Args:
      base: None for shares.
      method: "literal" limits N.
      kind: "query" or "threshold", for labels.
      read: (base, data, its params) -> Queries.
      prepare: arrays and numbers of the sampler.
      sample: one trial.
      law: (shares, test) -> the exact law of the halt.
    """

    def asked(data, params) -> tuple[Queries, PercentileTest]:
        own, rest = split_params(base, params, PercentileTest._fields)
        return read(base, data, rest), read_test(own, method)

    def prepared(data, params):
        queries, test = asked(data, params)
        arrays, numbers = prepare(queries, test)
        return arrays, numbers | {"base": queries.params}

    def labels(data, params):
        return event_labels(kind, asked(data, params)[0].shares.size)

    def exact(data, params) -> FiniteLaw:
        queries, test = asked(data, params)
        return FiniteLaw(law(queries.shares, test), labels(data, params))

    return Mechanism(
        prepare=prepared,
        sample=sample,
        event=halted_at,
        labels=labels,
        law=exact,
        resolution=2.0**-53,
    )
