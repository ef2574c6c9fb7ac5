"""The random words: the published generator, and addresses that do not collide."""

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np

from jaxsel import stream


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
