"""Adaptive composition of one mechanism, in which each input may depend on the last release.

It is meant for k winners of noisy max (Koskela, Redberg & Wang 2024, Theorem 3.3), but takes any
inner mechanism with an exact law.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from jaxsel.families.noisy_max.parameters import Event, Winners
from jaxsel.host.errors import InputError
from jaxsel.kernel import look_up, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory

_MAX_EVENTS = 2**16


class Releases(NamedTuple):
    """The releases of one trial of a composition, and its number as an event.

    Attributes:
      events: Int["rounds"], the event of each release, in order.
      number: Int[""], what is tallied: for event "sum", the sum of the weights of the releases
        minus the least possible sum; for "all", the number whose digits are ``events``.
    """

    events: Int[Array, "rounds"]  # noqa: F821
    number: Int[Array, ""]


@factory
def composition(
    inner: Mechanism, rounds: Winners, *, adaptive: bool = False, event: Event = "sum"
) -> Mechanism:
    """Releases the events of ``rounds`` runs of ``inner``, with independent randomness.

    Args:
      inner: a mechanism with an exact law, such as ``noisy_max("gaussian")``.
      rounds: k, how many events are released.
      adaptive: whether the input of a round depends on the release before.
      event: "sum" tallies the sum of weights of the releases; "all" tallies every sequence of
        releases, of which there may be 2**16.

    Data: that of ``inner``. If adaptive, a list of such inputs of equal shapes: that of the first
      round, then for each event the input of the round that follows it.
    Params: those of ``inner``, and "weights" for event "sum": whole numbers, Int["events"], or
      if adaptive Int["events+1 events"], a row for each input. By default event 0 has weight 1
      and all others 0. The weighted sum is post-processing of the releases; with weights
      proportional to the privacy losses it is a sufficient statistic.
    Outcome: ``Releases``.

    Formal guarantees: claims KRW-Thm3.3 and KRW-Thm3.3-dominated, for noisy max.

    Raises:
      InputError: for an inner mechanism without a law, weights or a list of inputs of the
        wrong shape, or too many events.
    """
    if inner.law is None:
        raise InputError(f"{inner.name} has no exact law; composition needs one")
    inner_law = inner.law

    def inputs(data) -> list:
        """The inputs of a round: one, or, if adaptive, the first round's and one for each event."""
        if not adaptive:
            return [data]
        if not isinstance(data, list | tuple) or len(data) < 2:
            raise InputError(
                "an adaptive composition takes a list of inputs: the first round's, then "
                "one for each event"
            )
        return list(data)

    def checked(data, params) -> tuple[list, dict, np.ndarray]:
        """The inputs, the inner parameters, and weights Int["inputs events"]."""
        inner_params = {k: v for k, v in params.items() if k != "weights"}
        rows = inputs(data)
        sizes = {len(inner.labels(row, inner_params)) for row in rows}
        size = sizes.pop()
        if size == 0:
            raise InputError("the input is empty; a release needs something to release")
        if sizes or (adaptive and len(rows) != size + 1):
            raise InputError(
                f"an adaptive composition of releases with {size} events needs "
                f"{size + 1} inputs with as many events each"
            )
        default = np.broadcast_to(np.arange(size) == 0, (len(rows), size))
        weights = np.asarray(params.get("weights", default))
        if weights.dtype.kind not in "iub":
            raise InputError("weights must be whole numbers")
        weights = weights.astype(np.int64).reshape(-1, weights.shape[-1])
        if weights.shape != (len(rows), size):
            raise InputError(
                f"weights have shape {weights.shape}; there must be one weight for each "
                f"of {size} events, in each of {len(rows)} rows"
            )
        if event == "all":
            many = rounds * math.log(size) > math.log(_MAX_EVENTS)
            count = f"{size}^{rounds}"
        else:
            count = rounds * int(np.ptp(weights)) + 1
            many = count > _MAX_EVENTS
        if many:
            raise InputError(
                f"this composition has {count} events; at most {_MAX_EVENTS} are "
                'tallied: take event "sum" with smaller weights'
            )
        return rows, inner_params, weights

    def prepare(data, params):
        rows, inner_params, weights = checked(data, params)
        prepared = [inner.prepare(row, inner_params) for row in rows]
        stacked = jax.tree.map(lambda *x: np.stack([np.asarray(v) for v in x]), *prepared)
        return stacked, (weights - weights.min()).astype(np.int32)

    def sample(key: stream.Key, data, params) -> Releases:
        weights = jnp.asarray(params)
        size = weights.shape[1]

        def once(state, number):
            row, total = state
            used = jax.tree.map(lambda x: look_up.pick(x, row), data)
            outcome = inner.sample(stream.at_round(key, number), *used)
            found = jnp.asarray(inner.event(outcome), jnp.int32)
            if event == "all":
                total = total * jnp.int32(size) + found
            else:
                total = total + look_up.pick(look_up.pick(weights, row), found)
            row = found + 1 if adaptive else row
            return (row, total), found

        start = (jnp.int32(0), jnp.int32(0))
        numbers = jnp.arange(rounds, dtype=jnp.uint32)
        (_, total), events = lax.scan(once, start, numbers)
        return Releases(events, total)

    def law(data, params) -> FiniteLaw:
        rows, inner_params, weights = checked(data, params)
        table = np.stack([inner_law(row, inner_params).probabilities for row in rows])
        found = (
            _law_of_all(table, rounds)
            if event == "all"
            else _law_of_sum(table, weights - weights.min(), rounds)
        )
        return FiniteLaw(found, labels(data, params))

    def labels(data, params) -> tuple[str, ...]:
        rows, inner_params, weights = checked(data, params)
        if event == "sum":
            least = rounds * int(weights.min())
            count = rounds * int(np.ptp(weights)) + 1
            return tuple(str(least + i) for i in range(count))
        names = inner.labels(rows[0], inner_params)
        codes = np.ndindex(*(len(names),) * rounds)
        return tuple(",".join(names[i] for i in code) for code in codes)

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_number,
        labels=labels,
        law=law,
        resolution=inner.resolution,
    )


def _number(outcome: Releases):
    """The event: the number of the releases."""
    return outcome.number


def _row(table: np.ndarray, last: int) -> int:
    """The index of the input that follows event ``last``."""
    return 0 if table.shape[0] == 1 else last + 1


def _law_of_all(table: np.ndarray, rounds: int) -> np.ndarray:
    """The probabilities of all sequences of events, Float["events^rounds"], last event fastest.

    ``table`` is Float["inputs events"], the law of one release for each input.
    """
    size = table.shape[1]
    follow = np.stack([table[_row(table, last)] for last in range(size)])
    found = table[0]
    for _ in range(rounds - 1):
        found = (found.reshape(-1, size)[:, :, None] * follow).ravel()
    return found


def _law_of_sum(table: np.ndarray, weights: np.ndarray, rounds: int) -> np.ndarray:
    """The law of the sum of weights, Float["sums"], from 0.

    Args:
      table: Float["inputs events"], the law of one release for each input.
      weights: Int["inputs events"], >= 0.
      rounds: k.
    """
    count = rounds * int(weights.max()) + 1
    # For each input that may come next, the law of the sum so far, jointly with that input.
    states: dict[int, Any] = {0: np.eye(1, count)[0]}
    for _ in range(rounds):
        new: dict[int, Any] = {}
        for row, law in states.items():
            for event, probability in enumerate(table[row]):
                step = int(weights[row, event])
                moved = np.zeros(count)
                moved[step:] = law[: count - step] * probability
                after = _row(table, event)
                new[after] = new[after] + moved if after in new else moved
        states = new
    return np.sum(list(states.values()), axis=0)
