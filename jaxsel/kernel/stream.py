"""Counter-based random words: randomness is an address, not a sequence.

A word is Threefry-2x32-20 (Salmon et al., SC 2011) of an address: the key words name the
seed, the grid cell and the high half of the trial number; the counter words name the low
half of the trial number and the draw inside the trial. Any trial can be recomputed alone,
and nothing depends on how trials are batched.

A mechanism divides the stream of a trial among its parts (``fold``) and the rounds of its
loops (``at_round``). Parts have small numbers written in the code, rounds all numbers above
them, so that no round of a loop, however long, shares its stream with a part.

The rounds of Threefry are unrolled in ``jax.numpy`` so that XLA fuses them with the use of
the words. The built-in generator runs a rolled loop on CPU and is several times slower.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt32

from jaxsel.host.errors import InputError

# As published for Threefry-2x32, whose statistical tests are of these numbers.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
# Keys of parts and rounds are derived under another Threefry key than the stream's words.
_FOLD_TAG = 0x9E3779B9
# Ordinary JAX keys are derived under a third one.
_JAX_TAG = 0x85EBCA6B
# Parts of a mechanism are numbered below this, rounds of a loop from here on.
PARTS = 1 << 16


class Key(NamedTuple):
    """The address of one trial's randomness.

    Attributes:
      first, second: UInt32[Array, ""], the Threefry key; equal for all lanes of a block.
      lane: UInt32[Array, ""], low 32 bits of the trial number; the batched axis.
    """

    first: UInt32[Array, ""]
    second: UInt32[Array, ""]
    lane: UInt32[Array, ""]

    def jax(self) -> Array:
        """An ordinary key of ``jax.random`` for this trial: Key[Array, ""].

        Its draws are independent of those of ``jaxsel.noise`` from the same key. Every call
        returns the same key: for more, ``jax.random.split`` it or use another part,
        ``stream.fold(key, 1).jax()``. Uniform numbers of ``jax.random``
        have 23 random bits in float32 and 52 in float64, which is the default inside
        ``simulate``: a mechanism that draws them resolves probabilities down to 2**-52.
        """
        # Into the key, since every counter of the stream's own key is the address of a draw.
        words = threefry_2x32(self.first ^ _u32(_JAX_TAG), self.second, self.lane, np.uint32(0))
        return jax.random.wrap_key_data(jnp.stack(words, -1), impl="threefry2x32")

    @property
    def __jax_array__(self):
        # JAX calls this wherever it is passed a Key instead of an array or a key of its
        # own.
        raise InputError(
            "the key of a jaxsel mechanism is no key of jax.random; ask it for one: "
            "jax.random.gumbel(key.jax())"
        )


def _u32(value) -> Array:
    return jnp.asarray(value, dtype=jnp.uint32)


def _rotate_left(x: Array, distance: int) -> Array:
    left = lax.shift_left(x, np.uint32(distance))
    return lax.bitwise_or(left, lax.shift_right_logical(x, np.uint32(32 - distance)))


def threefry_2x32(first, second, x0, x1) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds, bit-identical to ``jax.extend.random``.

    Args:
      first, second: UInt32 key words.
      x0, x1: UInt32 counter words; all four broadcast together.

    Returns:
      Two UInt32 words.
    """
    words = (_u32(word) for word in (first, second, x0, x1))
    return threefry_rounds(*jnp.broadcast_arrays(*words))


# Compiled separately: a program that draws a hundred times traces and lowers the rounds
# once, and the draws have this name in a trace. XLA inlines it.
@jax.jit
def threefry_rounds(first, second, x0, x1) -> tuple[Array, Array]:
    """``threefry_2x32`` of UInt32 arrays of one shape."""
    # Threefry's third key word: without the parity an all-zero key would inject zeros only.
    third = lax.bitwise_xor(lax.bitwise_xor(first, second), np.uint32(_PARITY))
    keys = (first, second, third)
    # lax operations on equal shapes: a hundred jnp operators take long to trace.
    x0, x1 = lax.add(x0, first), lax.add(x1, second)
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x0 = lax.add(x0, x1)
            x1 = lax.bitwise_xor(_rotate_left(x1, distance), x0)
        x0 = lax.add(x0, keys[(i + 1) % 3])
        x1 = lax.add(x1, lax.add(keys[(i + 2) % 3], np.uint32(i + 1)))
    return x0, x1


def make_key(seed: int, trial: int = 0) -> Key:
    """The key of one trial without a grid, as ``simulate`` uses it in cell 0.

    Args:
      seed: whole number in [0, 2**64).
      trial: whole number in [0, 2**64).
    """
    # Python's integers here; `trial_key` takes words, since under jit they are UInt32 already.
    low = (1 << 32) - 1
    return trial_key(seed & low, seed >> 32, 0, trial >> 32, trial & low)


def trial_key(seed_low, seed_high, cell, trial_high, trial_low) -> Key:
    """Key of a trial from UInt32 words: seed, grid cell, and 64-bit trial number."""
    # Two hashes chain (seed, cell) and the high half of the trial number into the key.
    first, second = threefry_2x32(seed_low, seed_high, cell, _FOLD_TAG)
    first, second = threefry_2x32(first, second, trial_high, _FOLD_TAG)
    return Key(first, second, _u32(trial_low))


def _child(key: Key, low, high) -> Key:
    # Threefry is a permutation of its counters, so different numbers give different keys.
    hashed = threefry_2x32(key.first ^ _u32(_FOLD_TAG), key.second, low, high)
    # Without the barrier XLA may fuse this hash into every use of the key, again and
    # again: programs that fold inside a loop then take minutes to compile.
    first, second = lax.optimization_barrier(hashed)
    return Key(first, second, key.lane)


def fold(key: Key, tag) -> Key:
    """An independent stream of the same trial, for a part of a mechanism.

    Args:
      key: of the trial, or of a part of it.
      tag: number of the part, a whole number in [0, 2**16) that is a constant in the code.

    Raises:
      TypeError: for a traced number, which would count rounds: use ``at_round`` for
        these.
      ValueError: for a number out of range.
    """
    if not isinstance(tag, int | np.integer):
        raise TypeError(
            f"a part of a mechanism has a whole number written in the code, not {tag}; "
            "rounds of a loop take stream.at_round"
        )
    if not 0 <= tag < PARTS:
        raise ValueError(f"the number of a part is {tag}; it must lie in [0, {PARTS})")
    return _child(key, int(tag), 0)


def at_round(key: Key, number, *, first: int = PARTS) -> Key:
    """An independent stream of the same trial, for round ``number`` of a loop.

    It differs from the streams of all parts and of all other rounds. Two loops on one key
    need a part each.

    Args:
      key: of the trial, or of a part of it.
      number: whole number >= 0 of any width, a constant or traced.
      first: the number of the first round, by default after those of the parts. 0 is for a
        key that is never divided into parts.
    """
    if isinstance(number, int | np.integer):
        whole = int(number) + first
        return _child(key, whole & 0xFFFFFFFF, whole >> 32)
    # The carry by hand: 64-bit integers exist only where x64 is enabled.
    low = number.astype(np.uint32) + np.uint32(first)
    high = (low < np.uint32(first)).astype(np.uint32)  # the carry
    if np.dtype(number.dtype).itemsize > 4:
        high = high + (number >> np.array(32, number.dtype)).astype(np.uint32)
    return _child(key, low, high)


def words(key: Key, draw) -> tuple[Array, Array]:
    """Two random UInt32 words: draw number ``draw`` of this trial's stream."""
    return threefry_2x32(key.first, key.second, key.lane, draw)
