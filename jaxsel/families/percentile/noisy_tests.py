"""Sequential noisy tests until one passes: what Algorithms 4 and 5 of Liu & Talwar 2019 share.

Both count runs that reach a threshold of the score, add Laplace noise to a logarithm of the count,
and compare it with one noisy bar. They differ in the runs that are counted, and in the function
of the count.
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
      calls: Float[Array, ""], number of runs of base algorithms; 0 where shares are known.
    """

    query: Int[Array, ""]
    calls: Float[Array, ""]


def halted_at(outcome: Halt) -> Array:
    """The event of a halt: the query, or the number of queries if there was no halt."""
    return outcome.query


def event_labels(kind: str, count: int) -> tuple[str, ...]:
    """The names of the events, such as "query 1"; ``kind`` is "query" or "threshold"."""
    return (*(f"{kind} {i + 1}" for i in range(count)), "none")


def noise_params(test: PercentileTest, aim: float) -> dict[str, Any]:
    """The settings of a test as the float64 numbers that a sampler takes.

    ``aim`` is the bar without noise, in units of the log-odds or log-counts that are compared.
    """
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
      run: draws whether one run reaches it (``queries.one_run``).
      key: each run has a round of it.
      data, params: as ``run`` takes them.
      samples: N.

    Returns:
      Float64[""], or Float64["thresholds"].
    """

    def once(number, count):
        reached = run(stream.at_round(key, number), data, params)
        return count + reached.astype(jnp.float64)

    start = jnp.zeros(jnp.shape(data["share"]), jnp.float64)
    return lax.fori_loop(0, samples.astype(jnp.int32), once, start)


def _noisy_bar(key: stream.Key, params: Any) -> Callable[[Array, Array], Array]:
    """A function (number, level) that says whether a test's noisy level reaches the noisy bar.

    Arguments as of ``first_pass``.
    """

    def laplace(draw):
        return noise.variate("laplace", key, draw, "float64")

    bar = params["threshold_scale"] * laplace(0) + params["aim"]

    def reaches(number, level):
        return level + params["query_scale"] * laplace(number + 1) >= bar

    return reaches


def first_pass(
    key: stream.Key,
    params: Any,
    tests: int,
    level: Callable[[Array, State], tuple[Array, State]],
    start: State,
    loop: Callable = lax.while_loop,
) -> Array:
    """The first test, from 0, whose noisy level reaches the noisy bar; ``tests`` if none does.

    Args:
      key: its draw 0 is the noise of the bar, its draw i+1 that of test i.
      params: "query_scale", "threshold_scale" and "aim", the bar without noise.
      tests: how many there are.
      level: (number, state) -> the test's level without noise, and the next state.
      start: the first state.
      loop: the loop over tests, like ``lax.while_loop``; ``lanes.while_loop`` is faster if levels
        are expensive.
    """
    reaches = _noisy_bar(key, params)

    def go_on(carried):
        number, _, halted = carried
        return ~halted & (number < tests)

    def once(carried):
        number, state, _ = carried
        value, state = level(number, state)
        halted = reaches(number, value)
        return jnp.where(halted, number, number + 1), state, halted

    return loop(go_on, once, (jnp.int32(0), start, jnp.asarray(False)))[0]


def first_pass_of_few(
    key: stream.Key,
    params: Any,
    tests: int,
    level: Callable[[Array, Array], tuple[Array, Array]],
    start: Array,
) -> Array:
    """``first_pass`` where the state is a whole number below 64, such as a number of runs.

    Its loop carries one whole number, made of the test, of whether it passed, and of the state: XLA
    on CPU would make all draws again for each array that is carried. Arguments as of
    ``first_pass``.
    """
    reaches = _noisy_bar(key, params)

    def go_on(code):
        return (code < tests * 128) & (code & 64 == 0)

    def once(code):
        number = code >> 7
        value, state = level(number, code & 63)
        halted = reaches(number, value)
        return jnp.where(halted, number * 128 + 64, (number + 1) * 128) + state

    return lax.while_loop(go_on, once, start.astype(jnp.int32)) >> 7


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
    """Algorithm 4 or 5 as a mechanism, over given shares or over a base.

    Args:
      base: the base; None if the data are shares.
      method: as of the algorithm; "literal" refuses a large N.
      kind: "query" or "threshold", with which labels begin.
      read: (base, data, parameters of the base) -> ``Queries``.
      prepare: (queries, test) -> the arrays and the numbers that ``sample`` takes.
      sample: (key, arrays, numbers) -> the ``Halt`` of one trial.
      law: (shares, test) -> the exact law of the halt, "none" last.
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
