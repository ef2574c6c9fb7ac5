"""The random words: the published generator, and addresses that do not collide."""

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from tests.conftest import ALPHA


def test_words_equal_the_library_generator(seed):
    rng = np.random.default_rng(seed)
    key = rng.integers(0, 2**32, size=2, dtype=np.uint32)
    counters = rng.integers(0, 2**32, size=(2, 1000), dtype=np.uint32)
    expected = jax.extend.random.threefry_2x32(key, jnp.asarray(counters.reshape(-1)))
    found = stream.threefry_2x32(*key, *counters)
    np.testing.assert_array_equal(np.concatenate(found), np.asarray(expected))


def test_known_answer():
    # Threefry-2x32-20 known-answer vector of the Random123 distribution.
    found = stream.threefry_2x32(0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    assert [int(word) for word in found] == [0x1CB996FC, 0xBB002BE7]


def test_addresses_give_distinct_words():
    # Seed, cell, high and low half of the trial, fold tag and draw each change the words.
    base = [1, 2, 3, 4, 5]
    seen = set()
    for place in range(len(base)):
        for value in (0, 7, 2**32 - 1):
            address = list(base)
            address[place] = value
            key = stream.trial_key(*[jnp.uint32(a) for a in address])
            for tag in (None, 0, 1):
                folded = key if tag is None else stream.fold(key, tag)
                for draw in (0, 1):
                    seen.add(tuple(int(w) for w in stream.words(folded, draw)))
    assert len(seen) == 5 * 3 * 3 * 2


def test_trials_beyond_32_bits_do_not_repeat():
    first = stream.words(stream.make_key(0, 5), 0)
    later = stream.words(stream.make_key(0, 5 + 2**32), 0)
    assert int(first[0]) != int(later[0])


def _pair(key: stream.Key) -> tuple[int, int]:
    return int(key.first), int(key.second)


def test_no_round_is_a_part_however_long_the_loop():
    """Under one key the numbers of parts and rounds are different counters of a
    permutation: part t is counter t, round n is counter n + 2**16, in 64 bits."""
    key = stream.make_key(3)
    wrapping = [2**32 - 2**16 + tag for tag in (0, 1, 199, 200, 2**16 - 1)]
    rounds = [0, 1, 199, 200, 2**16, 2**31, 2**32 - 1, *wrapping, 2**32, 2**48]
    rounds = sorted(set(rounds))
    keys = [_pair(stream.at_round(key, number)) for number in rounds]
    keys += [_pair(stream.fold(key, tag)) for tag in (0, 1, 199, 200, 2**16 - 1)]
    assert len(set(keys)) == len(rounds) + 5
    # Where the sum of number and 2**16 is below 2**32, it is the only counter.
    expected = stream.threefry_2x32(key.first ^ np.uint32(0x9E3779B9), key.second, 5 + 2**16, 0)
    assert _pair(stream.at_round(key, 5)) == tuple(int(word) for word in expected)
    assert _pair(stream.at_round(key, 199, first=0)) == _pair(stream.fold(key, 199))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_traced_round_is_the_known_one(dtype):
    key, last = stream.make_key(3), np.iinfo(dtype).max
    with jax.enable_x64(True):
        traced = jax.jit(lambda number: stream.at_round(key, number)[:2])
        for number in (0, 7, 2**31 - 1, 2**32 - 2**16, 2**32 + 3, 2**40):
            if number > last:
                continue
            found = tuple(int(word) for word in traced(jnp.asarray(number, dtype)))
            assert found == _pair(stream.at_round(key, number))


def test_a_part_has_a_small_number_that_stands_in_the_code():
    key = stream.make_key(0)
    for number in (-1, 2**16):
        with pytest.raises(ValueError, match="number of a part"):
            stream.fold(key, number)
    with pytest.raises(TypeError, match="at_round"):
        jax.jit(lambda number: stream.fold(key, number))(3)


def jax_draws(make, trials: int, first: int = 0):
    """``make(key)`` of many trials under vmap, as the engine runs them."""
    key = stream.make_key(11)
    lanes = jnp.arange(first, first + trials, dtype=jnp.uint32)
    each = jax.vmap(lambda lane: make(stream.Key(key.first, key.second, lane)))
    return np.asarray(jax.jit(each)(lanes))


def test_ordinary_jax_keys_are_of_each_trial_and_part():
    def words(key):
        return jnp.concatenate(
            [
                jax.random.key_data(one.jax())
                for one in (
                    key,
                    stream.fold(key, 0),
                    stream.fold(key, 1),
                    stream.at_round(key, 0),
                    stream.at_round(key, 1),
                )
            ]
        )

    found = jax_draws(words, 4096).reshape(-1, 2).astype(np.uint64)
    # Keys of 64 bits: none is there twice, but with chance 1e-11.
    assert len(np.unique(found[:, 0] << np.uint64(32) | found[:, 1])) == 5 * 4096
    # Nor is any a pair of words that the noise draws.
    drawn = jax_draws(lambda key: jnp.stack(stream.words(key, jnp.uint32(0))), 4096)
    drawn = drawn.astype(np.uint64)
    assert not np.isin(
        drawn[:, 0] << np.uint64(32) | drawn[:, 1], found[:, 0] << np.uint64(32) | found[:, 1]
    ).any()


def test_draws_of_an_ordinary_key_have_their_law_and_are_independent():
    trials = 200_000

    def drawn(key):
        own = key.jax()
        return jnp.stack(
            [
                jax.random.uniform(own, dtype=jnp.float32),
                jax.random.uniform(stream.fold(key, 1).jax(), dtype=jnp.float32),
                noise.uniform(noise.number(key, 0, "tail")),
                noise.uniform(noise.number(stream.fold(key, 1), 0, "tail")),
            ]
        )

    found = jax_draws(drawn, trials).astype(np.float64)
    for column in found.T:
        assert stats.kstest(column, "uniform").pvalue > ALPHA / 4
    # Signs of each pair, of neighbouring trials, too: binomial at one half.
    above = found > 0.5
    pairs = [(above[:, i], above[:, j]) for i in range(4) for j in range(i)]
    pairs += [(above[1:, i], above[:-1, i]) for i in range(4)]
    for one, other in pairs:
        same = int((one == other).sum())
        assert stats.binomtest(same, one.size, 0.5).pvalue > ALPHA / len(pairs)


def test_the_ordinary_key_of_a_trial_is_that_of_the_address_alone():
    batched = jax_draws(lambda key: jax.random.key_data(key.jax()), 8, first=5)
    alone = [jax.random.key_data(stream.make_key(11, trial).jax()) for trial in range(5, 13)]
    np.testing.assert_array_equal(batched, np.array(alone))


def test_a_key_is_no_key_of_jax():
    with pytest.raises(InputError, match=r"ask it for one: jax\.random\.gumbel\(key\.jax\(\)\)"):
        jnp.asarray(stream.make_key(1))


def test_the_halves_of_seed_and_trial_have_their_places():
    """Against a chain of the published generator, word by word."""
    seed, trial = (7 << 32) + 3, (5 << 32) + 11
    found = stream.make_key(seed, trial)
    tag = 0x9E3779B9
    first = jax.extend.random.threefry_2x32(
        np.array([3, 7], np.uint32), jnp.array([0, tag], jnp.uint32)
    )
    second = jax.extend.random.threefry_2x32(first, jnp.array([5, tag], jnp.uint32))
    assert _pair(found) == tuple(int(word) for word in second)
    assert int(found.lane) == 11
    words = jax.extend.random.threefry_2x32(second, jnp.array([11, 6], jnp.uint32))
    assert [int(word) for word in stream.words(found, 6)] == words.tolist()
    part = jax.extend.random.threefry_2x32(
        second ^ jnp.array([tag, 0], jnp.uint32), jnp.array([4, 0], jnp.uint32)
    )
    assert _pair(stream.fold(found, 4)) == tuple(part.tolist())
    assert int(stream.fold(found, 4).lane) == 11
    own = jax.extend.random.threefry_2x32(
        second ^ jnp.array([0x85EBCA6B, 0], jnp.uint32), jnp.array([11, 0], jnp.uint32)
    )
    assert jax.random.key_data(found.jax()).tolist() == own.tolist()


def test_a_round_far_out_has_a_counter_of_64_bits():
    key, tag = stream.make_key(3), np.uint32(0x9E3779B9)
    for number in (2**32 - 2**16 - 1, 2**32 - 2**16, 2**33 + 5, 3 * 2**40):
        counter = number + 2**16
        wanted = stream.threefry_2x32(key.first ^ tag, key.second, counter % 2**32, counter >> 32)
        assert _pair(stream.at_round(key, number)) == tuple(int(word) for word in wanted)
