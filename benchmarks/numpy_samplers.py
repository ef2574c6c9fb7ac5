"""The NumPy competitors, each written as well as we know how.

They use blocks that stay in cache, buffers that are reused, float32 where it is faster, SFC64
(the fastest of NumPy's generators), and tallies by bincount.
"""

from collections.abc import Callable

import numpy as np

from benchmarks.timing import Sampler

_ROWS = 1024
_DRAWS = 8192


def new_generator() -> np.random.Generator:
    """A fresh SFC64 generator, with the same seed everywhere."""
    return np.random.Generator(np.random.SFC64(20260101))


def softmax(scores: np.ndarray) -> np.ndarray:
    """The law of the winner of Gumbel noisy max at scale 1."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def in_blocks(winners: Callable[[], np.ndarray], block: int, law) -> Sampler:
    """A sampler that tallies blocks of winners."""

    def run(trials: int) -> np.ndarray:
        tallies = np.zeros(law.size, dtype=np.int64)
        for _ in range(trials // block):
            tallies += np.bincount(winners(), minlength=law.size)[: law.size]
        return tallies

    return Sampler(run, block, law)


def gumbel_argmax(scores: np.ndarray) -> Sampler:
    """The plain method: argmax(scores + Gumbel), in float64."""
    generator = new_generator()
    shape = (_ROWS // 2, scores.size)

    def winners():
        values = generator.gumbel(size=shape)
        values += scores
        return values.argmax(axis=1)

    return in_blocks(winners, shape[0], softmax(scores))


def _weights(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores.max() - scores).astype(np.float32)


def race_from_ziggurat(scores: np.ndarray) -> Sampler:
    """The exponential race, with float32 exponentials from the generator's ziggurat."""
    generator, weights = new_generator(), _weights(scores)
    values = np.empty((_ROWS, scores.size), dtype=np.float32)

    def winners():
        generator.standard_exponential(dtype=np.float32, out=values)
        np.multiply(values, weights, out=values)
        return values.argmin(axis=1)

    return in_blocks(winners, _ROWS, softmax(scores))


def race_from_uniforms(scores: np.ndarray) -> Sampler:
    """The exponential race, with -log of float32 uniforms (NumPy's logarithm is vectorised)."""
    generator, weights = new_generator(), -_weights(scores)
    values = np.empty((_ROWS, scores.size), dtype=np.float32)

    def winners():
        generator.random(dtype=np.float32, out=values)
        np.subtract(1.0, values, out=values)
        np.log(values, out=values)
        np.multiply(values, weights, out=values)
        return values.argmin(axis=1)

    return in_blocks(winners, _ROWS, softmax(scores))


def race_from_raw_words(scores: np.ndarray) -> Sampler:
    """The exponential race, with uniforms made by hand from the 32-bit halves of raw words."""
    source, weights = np.random.SFC64(20260101), -_weights(scores)
    size = _ROWS * scores.size

    def winners():
        words = source.random_raw((size + 1) // 2).view(np.uint32)[:size]
        words >>= np.uint32(9)
        words |= np.uint32(0x3F800000)
        values = words.view(np.float32).reshape(_ROWS, scores.size)
        values -= np.float32(1 - 2.0**-24)
        np.log(values, out=values)
        values *= weights
        return values.argmin(axis=1)

    return in_blocks(winners, _ROWS, softmax(scores))


def inverse_cdf(law: np.ndarray) -> Sampler:
    """Inversion of the known law by searchsorted."""
    generator, cdf = new_generator(), np.cumsum(law)[:-1]
    u = np.empty(_DRAWS)

    def winners():
        generator.random(out=u)
        return cdf.searchsorted(u, side="right")

    return in_blocks(winners, _DRAWS, law)


def sorted_inverse_cdf(law: np.ndarray) -> Sampler:
    """Inversion where each block's uniforms are sorted first, which loses the order of trials."""
    generator, cdf = new_generator(), np.cumsum(law)[:-1]
    u = np.empty(_ROWS)

    def winners():
        generator.random(out=u)
        u.sort()
        return cdf.searchsorted(u, side="right")

    return in_blocks(winners, _ROWS, law)


def alias(law: np.ndarray, keep: np.ndarray, other: np.ndarray) -> Sampler:
    """Walker's alias method: cell i keeps its own outcome with probability keep[i]."""
    generator = new_generator()
    u = np.empty(_DRAWS)

    def winners():
        generator.random(out=u)
        np.multiply(u, law.size, out=u)
        cell = u.astype(np.int64)
        np.subtract(u, cell, out=u)
        return np.where(u < keep.take(cell), cell, other.take(cell))

    return in_blocks(winners, _DRAWS, law)
