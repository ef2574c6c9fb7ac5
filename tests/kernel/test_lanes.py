"""Loops in lanes: every trial ends as it would alone, whichever trials ran beside it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxsel.kernel import lanes

TRIALS = lanes.FEWEST


def _collatz(seed, offset):
    """Two arrays, a count and a fixed number a trial, none of which may be mixed up."""

    def go_on(state):
        return state[0] > 1

    def once(state):
        n, rounds, path = state
        n = jnp.where(n % 2 == 0, n // 2, 3 * n + 1)
        return n, rounds + 1, path.at[rounds % 3].add(n + offset + seed)

    return go_on, once, (seed, jnp.int32(0), jnp.zeros(3, jnp.int64))


def _both(seeds):
    """Through jaxsel's loop and JAX's, under vmap."""

    def run(loop):
        # The second argument is the same for all trials, the first is not.
        each = jax.vmap(lambda seed, offset: loop(*_collatz(seed, offset)), (0, None))
        return jax.jit(each)(seeds, jnp.int64(7))

    with jax.enable_x64(True):
        seeds = jnp.asarray(seeds, jnp.int64)
        return run(lanes.while_loop), run(lax.while_loop)


@pytest.mark.parametrize("trials", [TRIALS, TRIALS + 17, 3 * TRIALS, 100])
def test_trials_end_as_they_would_alone(trials):
    # From none to hundreds of rounds, the slow ones not only at one end.
    seeds = np.random.default_rng(0).integers(0, 50_000, trials)
    seeds[:: trials // 7] = 1
    found, wanted = _both(seeds)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(wanted[1])) > 50  # rounds differ


@pytest.mark.parametrize("trials", [1, 5, 15])
def test_few_trials_need_no_lanes(trials):
    found, wanted = _both(np.arange(1, trials + 1) * 27)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("trials", "each"), [(37, 4), (64, 3), (33, 16)])
def test_few_lanes_are_filled_again_and_again(monkeypatch, trials, each):
    monkeypatch.setattr(lanes, "FEWEST", 32)
    monkeypatch.setattr(lanes, "_TRIALS_PER_LANE", each)
    seeds = np.random.default_rng(trials).integers(0, 5000, trials)
    found, wanted = _both(seeds)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", [0, 27])
def test_trials_may_all_end_at_once(seed):
    found, wanted = _both(np.full(TRIALS, seed))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_slowest_trials_may_be_the_last():
    found, wanted = _both(np.arange(TRIALS) ** 2)
    np.testing.assert_array_equal(found[1], wanted[1])


def test_without_a_batch_it_is_the_loop():
    with jax.enable_x64(True):
        found = lanes.while_loop(*_collatz(jnp.int64(27), 0))
    assert int(found[1]) == 111  # the known length for 27


def test_a_loop_inside_a_loop():
    def outer(loop):
        def trial(lengths):
            def once(state):
                number, total = state
                inner = loop(
                    lambda s: s[0] < lengths[number],
                    lambda s: (s[0] + 1, s[1] + number * s[0]),
                    (jnp.int32(0), jnp.int32(0)),
                )
                return number + 1, total + inner[1]

            return loop(lambda s: s[0] < lengths[4], once, (jnp.int32(0), jnp.int32(0)))

        return jax.jit(jax.vmap(trial))

    lengths = jnp.asarray(np.random.default_rng(1).integers(0, 5, (TRIALS, 5)), jnp.int32)
    found, wanted = outer(lanes.while_loop)(lengths), outer(lax.while_loop)(lengths)
    np.testing.assert_array_equal(found[1], wanted[1])


def test_repeat_counts_from_zero():
    counts = jnp.asarray(np.random.default_rng(2).geometric(0.2, TRIALS) - 1)

    def total(loop):
        return jax.jit(jax.vmap(lambda n: loop(n, lambda k, s: s + k * k, 0)))(counts)

    wanted = [sum(k * k for k in range(n)) for n in np.asarray(counts)]
    np.testing.assert_array_equal(total(lanes.repeat), wanted)


def test_far_fewer_rounds_are_made_than_the_slowest_needs():
    """What the lanes are for: rounds are counted as the device makes them."""
    made = []

    def trial(n):
        def once(k):
            jax.debug.callback(lambda _: made.append(1), k, ordered=False)
            return k + 1

        return lanes.while_loop(lambda k: k < n, once, jnp.int32(0))

    lengths = np.random.default_rng(3).geometric(0.5, TRIALS).astype(np.int32)
    found = jax.jit(jax.vmap(trial))(jnp.asarray(lengths))
    np.testing.assert_array_equal(found, lengths)
    jax.effects_barrier()
    # A callback is made for each lane of each round.
    assert len(made) < 0.35 * TRIALS * lengths.max()


def test_a_value_is_made_where_somebody_wants_it():
    made = []

    def trial(n, wanted):
        def value():
            jax.debug.callback(lambda _: made.append(1), n, ordered=False)
            return jnp.stack([n, n + 1]).astype(jnp.int16)

        return lanes.where_wanted(wanted, value)

    numbers = jnp.arange(1, 6)
    for wanted in ([True, False, True, False, False], [False] * 5):
        made.clear()
        found = jax.jit(jax.vmap(trial))(numbers, jnp.asarray(wanted))
        jax.effects_barrier()
        assert found.dtype == jnp.int16
        assert found.tolist() == [
            [n, n + 1] if w else [0, 0] for n, w in zip(range(1, 6), wanted, strict=True)
        ]
        assert bool(made) == any(wanted)
    assert lanes.where_wanted(jnp.asarray(True), lambda: jnp.float32(2.5)) == 2.5


def test_rounds_of_a_repeated_loop_are_counted_in_the_type_of_their_number():
    with jax.enable_x64(True):
        found = lanes.repeat(
            jnp.uint8(3), lambda k, s: (s[0] + k.astype(jnp.int32), k), (jnp.int32(5), jnp.uint8(9))
        )
    assert [int(each) for each in found] == [5 + 0 + 1 + 2, 2]
    assert found[1].dtype == jnp.uint8
