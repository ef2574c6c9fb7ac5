"""An interaction with Selection and Test: a fixed program of adaptive calls.

Cohen et al. 2022, Algorithm 1, with a caller, as in its theorems. A program is a tuple of calls;
each has a table of possible inputs, its branches, and which of them is taken may depend on the
transcript so far. One trial is one interaction, and its outcome is the transcript.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from jaxsel.families.private_tuning.bases import Draw
from jaxsel.families.selection_and_test import parameters
from jaxsel.families.selection_and_test.laws import (
    RowOfTests,
    SelectionCall,
    first_branch,
    transcript_law,
)
from jaxsel.families.selection_and_test.state import (
    State,
    answers_top,
    best_rank,
    first_top,
    initialise,
    select,
)
from jaxsel.host.errors import InputError, check_finite, check_integer
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice, whole
from jaxsel.language.signature import read_params

_STATE_TAG = 0xF0
# Counts are 32-bit integers.
_ROUNDS = whole("tau, potential runs or Tests of a call", at_least=1, at_most=2**31 - 1)
_MAX_TRANSCRIPTS = 2**16


class Select(NamedTuple):
    """A call of Selection, which releases the outcome of the best run."""

    name: str = "selection"


class Tests(NamedTuple):
    """Consecutive Tests of one H, which release the number of tops.

    Attributes:
      stop: the row ends after this many tops.
    """

    __test__ = False  # keeps pytest from collecting this class

    stop: int = 1


class Transcript(NamedTuple):
    """The transcript of an interaction.

    Attributes:
      outcomes: Int["calls"]: of a Selection the index of its best run's outcome (0 is the best), or
        the number of outcomes if there was no run; of Tests their number of tops.
      event: Int[Array, ""], the number of the transcript in lexicographic order.
    """

    outcomes: Int[Array, " calls"]
    event: Int[Array, ""]


class _Program(NamedTuple):
    """The checked calls with their inputs, and the exponent of the law of p."""

    calls: tuple[SelectionCall | RowOfTests, ...]
    gamma: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of possible outcomes of each call."""
        return tuple(
            c.laws.shape[2] + 1 if isinstance(c, SelectionCall) else c.stop + 1 for c in self.calls
        )


def _count(number: int, rounds) -> int:
    return _ROUNDS.read(f"rounds of call {number}", rounds)


def _selection(number: int, data, rounds) -> SelectionCall:
    """Reads the input of a Selection, which is call ``number``; its axis of branches may lack."""
    laws = check_finite(f"the laws of call {number}", data)
    laws = laws[None] if laws.ndim == 2 else laws
    if laws.ndim != 3 or np.any(laws < 0) or np.any(abs(laws.sum(-1) - 1.0) > 1e-9):
        raise InputError(
            f"call {number} is a selection; give it one probability vector a "
            "candidate, best outcome first"
        )
    each = np.broadcast_to(np.asarray(rounds), laws.shape[1:2])
    return SelectionCall(laws, np.array([_count(number, tau) for tau in each.tolist()]))


def _tests(number: int, data, rounds, stop: int) -> RowOfTests:
    """Reads the input of a row of Tests, which is call ``number``: one chance, or one a branch."""
    tops = np.atleast_1d(check_finite(f"the top chance of call {number}", data))
    if tops.ndim != 1 or np.any((tops < 0.0) | (tops > 1.0)):
        raise InputError(f"call {number} is a row of tests; its chance must be in [0, 1]")
    return RowOfTests(tops, _count(number, rounds), stop)


@factory
def program(
    calls: tuple[Select | Tests, ...],
    *,
    limit: parameters.Limit = None,
    choose: Callable[[tuple], Array | int] = first_branch,
    method: Annotated[str, choice(parameters.METHODS)] = "shortcut",
) -> Mechanism:
    """An interaction with Selection and Test: p is drawn once, then these calls are made in order.

    Args:
      calls: the calls, in order.
      limit: the interaction halts after this many tops in total, as in Theorem 2; the
        remaining calls have outcome 0. None: no limit.
      choose: outcomes so far -> branch of the next call, an integer or a boolean, which
        makes the program adaptive. It is called with JAX values and with Python values.
      method: "literal" makes every potential run and every Test; "shortcut" draws the
        outcome of each candidate, and the place of each top, in O(1), given p.

    Data: one entry for each call. For a Selection it is Float["candidates outcomes"], the law of
      each candidate over common outcomes, best first; for Tests, the chance that H answers top.
      It has a leading axis "branches" where ``choose`` picks among several.
    Params: "gamma", the exponent of the law of p; "rounds", one entry for each call: of a Selection
      tau (one number, or one for each candidate), of Tests the largest number of them.
    Outcome: Transcript; event: its number.

    Formal guarantees (claims): CL-Thm1-calls, CL-Thm2, CL-interleaved.

    Raises:
      InputError: for no calls, bad laws or chances, or more than 65,536 transcripts.
    """
    if not calls:
        raise InputError("the program is empty; give it at least one call")
    for call in calls:
        if isinstance(call, Tests):
            check_integer("stop", call.stop, 1)

    def checked(data, params) -> _Program:
        read = read_params(params, {"gamma": parameters.Gamma, "rounds": None})
        rounds = read["rounds"]
        if len(data) != len(calls) or len(rounds) != len(calls):
            raise InputError(f"the program makes {len(calls)} calls; give data and rounds for each")
        made = [
            _selection(i, data[i], rounds[i])
            if isinstance(call, Select)
            else _tests(i, data[i], rounds[i], call.stop)
            for i, call in enumerate(calls)
        ]
        found = _Program(tuple(made), read["gamma"])
        if math.prod(found.sizes) > _MAX_TRANSCRIPTS:
            raise InputError(
                f"the program has {math.prod(found.sizes)} transcripts; at most "
                f"{_MAX_TRANSCRIPTS} are told apart"
            )
        return found

    def prepare(data, params):
        found = checked(data, params)
        tables = tuple(
            # Cumulative from the best outcome, for full accuracy at the best outcomes.
            np.cumsum(call.laws, axis=2) if isinstance(call, SelectionCall) else call.tops
            for call in found.calls
        )
        counts = tuple(
            call.rounds.astype(np.int32)
            if isinstance(call, SelectionCall)
            else np.int32(call.count)
            for call in found.calls
        )
        return tables, {"gamma": np.float64(found.gamma), "rounds": counts}

    make = (_select_literal, _tests_literal)
    if method == "shortcut":
        make = (_select_shortcut, _tests_shortcut)

    def sample(key, data, params) -> Transcript:
        state = initialise(stream.fold(key, _STATE_TAG), params["gamma"])
        outcomes: tuple = ()
        tops, event = jnp.int32(0), jnp.int32(0)
        for number, call in enumerate(calls):
            branch = choose(outcomes)
            if not isinstance(branch, int):
                branch = jnp.asarray(branch).astype(jnp.int32)
            table = jnp.asarray(data[number])[branch]
            own = stream.at_round(key, number)
            rounds = jnp.asarray(params["rounds"][number])
            if isinstance(call, Select):
                outcome, size = make[0](own, state, table, rounds), table.shape[1] + 1
            else:
                size = call.stop + 1
                room = call.stop if limit is None else jnp.minimum(call.stop, limit - tops)
                outcome = make[1](own, state, table, rounds, room, call.stop)
            if limit is not None:
                outcome = jnp.where(tops < limit, outcome, 0)
            tops = tops + outcome if isinstance(call, Tests) else tops
            event = event * size + outcome
            outcomes = (*outcomes, outcome)
        return Transcript(jnp.stack(outcomes), event.astype(jnp.int32))

    def labels(data, params):
        sizes = checked(data, params).sizes
        grid = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
        return tuple(
            " ".join(
                "none" if isinstance(call, Select) and x == size - 1 else str(x)
                for x, size, call in zip(row, sizes, calls, strict=True)
            )
            for row in grid.tolist()
        )

    def law(data, params) -> FiniteLaw:
        found = checked(data, params)
        made = transcript_law(found.calls, found.gamma, limit=limit, choose=choose)
        return FiniteLaw(made.probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=lambda transcript: transcript.event,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _place(at_least: Array, rank: Array) -> Array:
    """The index of the outcome whose interval of cumulative probabilities contains the rank."""
    last = at_least.shape[-1] - 1
    return jnp.minimum(look_up.position(at_least, rank, "right"), last)


def _select_literal(key, state: State, table: Array, rounds: Array) -> Array:
    """The outcome of a Selection, by making every potential run."""
    outcomes = table.shape[1]

    def draw(key, candidate) -> Draw:
        rank = noise.uniform(noise.number(key, 0, noise.widest_precision()))
        place = _place(table[candidate], rank)
        return Draw(-place.astype(rank.dtype), -place.astype(rank.dtype), place)

    found = select(key, state, rounds, table.shape[0], draw)
    return jnp.where(found.none, outcomes, found.best.label)


def _select_shortcut(key, state: State, table: Array, rounds: Array) -> Array:
    """The outcome of a Selection, by one draw per candidate: the tail rank of its best run."""
    outcomes = table.shape[1]

    def one(candidate, best):
        rank = best_rank(stream.at_round(key, candidate), state, rounds[candidate])
        place = _place(table[candidate], rank.value)
        return jnp.minimum(best, jnp.where(rank.none, outcomes, place))

    return lax.fori_loop(0, table.shape[0], one, jnp.int32(outcomes))


def _tests_literal(key, state: State, top, count, room, stop: int) -> Array:
    """The number of tops in a row of Tests, each of which is made.

    Args:
      key: stream of the call.
      state: of the instance.
      top: the chance that H answers top.
      count: the largest number of Tests.
      room: the number of tops after which the row ends, at most ``stop``.
      stop: the ``stop`` of the call, a static number.
    """
    del stop

    def go_on(loop):
        number, tops = loop
        return (number < count) & (tops < room)

    def one(loop):
        number, tops = loop
        return number + 1, tops + answers_top(key, state, top, number).astype(jnp.int32)

    return lax.while_loop(go_on, one, (jnp.int32(0), jnp.int32(0)))[1]


def _tests_shortcut(key, state: State, top, count, room, stop: int) -> Array:
    """As ``_tests_literal``, by drawing the place of each top.

    ``used`` is the number of Tests up to the latest top, which is a sum of geometric numbers.
    """

    def one(number, loop):
        used, tops = loop
        used = used + first_top(stream.at_round(key, number), state, top)
        return used, tops + (used <= count.astype(used.dtype)).astype(jnp.int32)

    start = (jnp.zeros_like(state.p), jnp.int32(0))
    tops = lax.fori_loop(0, stop, one, start)[1]
    return jnp.minimum(tops, room)
