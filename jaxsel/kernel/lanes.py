"""Loops of random length under ``vmap`` in which finished trials make room for the next.

An ordinary loop runs for all trials of a block until the slowest one has stopped.
``while_loop`` runs a sixteenth of the trials at a time, in lanes. When a quarter of the
lanes have stopped, their results are written and they take the next trials. Random numbers
depend on the trial's key only, so the results are the same.

It is faster where most trials stop long before the slowest of a block and a round is
expensive; where trials make two or three cheap rounds, moving them costs more than waiting.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array

State = TypeVar("State")
# Blocks of fewer trials, as the engine's on a CPU, use an ordinary loop.
FEWEST = 8192
# Trials of a block per lane, and the share of running lanes below which lanes are refilled.
_TRIALS_PER_LANE = 16
_BUSY = 0.75

_Leaves = Sequence[Array]


def while_loop(
    go_on: Callable[[State], Array], once: Callable[[State], State], start: State
) -> State:
    """``lax.while_loop``, but under ``vmap`` finished trials do not wait for the slowest.

    Args:
      go_on: state -> Bool[Array, ""].
      once: state -> the next state, of the same shapes and types.
      start: a pytree of arrays.
    """
    leaves, structure = jax.tree.flatten(start)
    leaves = [jnp.asarray(leaf) for leaf in leaves]

    def flat_once(*leaves):
        after = jax.tree.leaves(once(jax.tree.unflatten(structure, leaves)))
        # `lax.while_loop` refuses a state whose type differs after a round.
        return [new.astype(old.dtype) for new, old in zip(after, leaves, strict=True)]

    # Traced here, so that values that the functions close over are inputs and are moved,
    # too.
    test = jax.make_jaxpr(lambda *leaves: go_on(jax.tree.unflatten(structure, leaves)))
    tests, steps = test(*leaves), jax.make_jaxpr(flat_once)(*leaves)

    def goes_on(fixed, state) -> Array:
        return jaxpr_as_fun(ClosedJaxpr(tests.jaxpr, fixed[0]))(*state)[0]

    def after(fixed, state) -> list[Array]:
        return jaxpr_as_fun(ClosedJaxpr(steps.jaxpr, fixed[1]))(*state)

    @custom_vmap
    def loop(fixed, state):
        return lax.while_loop(
            lambda state: goes_on(fixed, state), lambda state: after(fixed, state), state
        )

    @loop.def_vmap
    def _(trials, batched, fixed, state):
        fixed_batched, state_batched = batched
        # Even a start that all trials share differs between them after a round. In a branch of
        # `lax.cond` a constant comes as a number of Python.
        state = [
            leaf if each else jnp.broadcast_to(jnp.asarray(leaf, kind.dtype), (trials, *kind.shape))
            for leaf, kind, each in zip(state, leaves, state_batched, strict=True)
        ]
        # What all trials share is not copied into lanes.
        axes = jax.tree.map(lambda each: 0 if each else None, fixed_batched)
        found = _refilled(
            trials,
            jax.vmap(goes_on, in_axes=(axes, 0)),
            jax.vmap(after, in_axes=(axes, 0)),
            _Fixed(fixed, fixed_batched),
            state,
        )
        return found, [True] * len(found)

    found = loop((tests.consts, steps.consts), leaves)
    return jax.tree.unflatten(structure, found)


class _Fixed:
    """The values that a loop's functions close over, some of which differ between trials."""

    def __init__(self, values: Any, batched: Any):
        self._values, self._structure = jax.tree.flatten(values)
        self._batched = jax.tree.leaves(batched)
        pairs = zip(self._values, self._batched, strict=True)
        self.own: list[Array] = [leaf for leaf, each in pairs if each]

    def of(self, own: _Leaves) -> Any:
        """All values, given those that differ between trials."""
        rest = iter(own)
        pairs = zip(self._values, self._batched, strict=True)
        leaves = [next(rest) if each else leaf for leaf, each in pairs]
        return jax.tree.unflatten(self._structure, leaves)


def _where(mask: Array, chosen: _Leaves, other: _Leaves) -> list[Array]:
    def one(new, old):
        return jnp.where(mask.reshape(mask.shape + (1,) * (new.ndim - 1)), new, old)

    return [one(new, old) for new, old in zip(chosen, other, strict=True)]


def _refilled(
    trials: int, goes_on: Callable, after: Callable, fixed: _Fixed, start: list[Array]
) -> list[Array]:
    def rounds(own, state, used, enough) -> tuple[list[Array], Array]:
        """Runs until at most ``enough`` of the lanes in use go on; also returns which do."""

        def busy(state):
            # A lane without a trial has a stale state, whose condition may well hold.
            return goes_on(fixed.of(own), state) & used

        state = lax.while_loop(
            lambda state: busy(state).sum(dtype=jnp.int32) > enough,
            # A trial that has stopped keeps its result while its neighbours go on.
            lambda state: _where(busy(state), after(fixed.of(own), state), state),
            state,
        )
        return state, busy(state)

    if trials < FEWEST:
        return rounds(fixed.own, start, jnp.ones(trials, bool), 0)[0]
    lanes = trials // _TRIALS_PER_LANE

    def written(found, number, state):
        # Lanes without a trial have a number past the last, which is dropped.
        pairs = zip(found, state, strict=True)
        return [into.at[number].set(leaf, mode="drop") for into, leaf in pairs]

    def refill(carried):
        taken, number, busy, own, state, found = carried
        found = written(found, jnp.where(busy, trials, number), state)
        # Free lanes take the next trials in their order: the i-th free lane the i-th trial after
        # those taken.
        place = taken + jnp.cumsum(~busy, dtype=jnp.int32) - 1
        fresh = ~busy & (place < trials)
        # Any valid index: what is read there is dropped by the mask.
        source = jnp.where(fresh, place, 0)
        state = _where(fresh, [leaf[source] for leaf in start], state)
        own = _where(fresh, [leaf[source] for leaf in fixed.own], own)
        number = jnp.where(busy, number, jnp.where(fresh, place, trials))
        # The last lane's place counts all free lanes, whether it is free itself or not.
        taken = jnp.minimum(place[-1] + 1, trials)
        # With no trial left to take, waiting for free lanes gains nothing: run to the end.
        enough = jnp.where(taken < trials, int(_BUSY * lanes), 0)
        state, busy = rounds(own, state, number < trials, enough)
        return taken, number, busy, own, state, found

    # All lanes begin without a trial, so the first refill writes nothing.
    carried = (
        jnp.int32(0),
        jnp.full(lanes, trials, jnp.int32),
        jnp.zeros(lanes, bool),
        [leaf[:lanes] for leaf in fixed.own],
        [leaf[:lanes] for leaf in start],
        # Shapes of results; every trial's entry is overwritten, even of one that makes no round.
        start,
    )
    # Once the last trials are taken, the lanes run until all have stopped.
    carried = lax.while_loop(lambda carried: carried[0] < trials, refill, carried)
    _, number, _, _, state, found = carried
    return written(found, number, state)


def repeat(count: Array, body: Callable[[Array, State], State], start: State) -> State:
    """``lax.fori_loop(0, count, body, start)`` in lanes.

    Args:
      count: Int[Array, ""], the number of rounds; may differ between trials.
      body: (number, state) -> the next state.
      start: the first state.
    """
    count = jnp.asarray(count)
    return while_loop(
        lambda carried: carried[0] < count,
        lambda carried: (carried[0] + 1, body(*carried)),
        (jnp.zeros_like(count), start),
    )[1]


def where_wanted(wanted: Array, value: Callable[[], Array]) -> Array:
    """The value where it is wanted, and 0 elsewhere.

    Under ``vmap`` the value is computed for all trials of a block, or for none if no trial
    wants it. It is computed once, whereas XLA on CPU might compute it again at each of its
    uses.

    Args:
      wanted: Bool[Array, ""].
      value: computes the value.
    """
    # Not `lax.cond`, which under vmap computes both branches for all trials; a loop is left when no
    # trial wants a step.
    kind = jax.eval_shape(value)
    # A loop of at most one step.
    return lax.while_loop(
        lambda state: state[1],
        lambda _: (value(), jnp.asarray(False)),
        (jnp.zeros(kind.shape, kind.dtype), wanted),
    )[0]
