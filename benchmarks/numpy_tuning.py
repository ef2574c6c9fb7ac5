"""The best of K runs, K geometric, in NumPy."""

import numpy as np

from benchmarks.numpy_samplers import in_blocks, new_generator
from benchmarks.timing import Sampler


def ragged(base, mean: float, law: np.ndarray, *, search_once: bool) -> Sampler:
    """All K runs of a block in one array, reduced trial by trial with reduceat.

    Args:
      base: probabilities of the outcomes of one run, best first.
      mean: mean of K.
      law: law of the best outcome, with a last entry (0) for no outcome.
      search_once: reduce the uniforms and look up one per trial; otherwise every run is
        looked up, as it must be if runs are not inverse cdfs.
    """
    generator, cdf = new_generator(), np.cumsum(base)[:-1]
    block = 256

    def best_of_block():
        k = generator.geometric(1.0 / mean, block)
        starts = np.cumsum(k) - k
        u = generator.random(int(k.sum()))
        if search_once:
            return cdf.searchsorted(np.minimum.reduceat(u, starts), side="right")
        return np.minimum.reduceat(cdf.searchsorted(u, side="right"), starts)

    return in_blocks(best_of_block, block, law)


def power(base, mean: float, law: np.ndarray) -> Sampler:
    """The least of K uniforms as 1 - V^(1/K), with logarithms straight from the ziggurat."""
    generator, cdf = new_generator(), np.cumsum(base)[:-1]
    block = 2**14
    scale = -1.0 / np.log1p(-1.0 / mean)
    k, u = np.empty(block), np.empty(block)

    def best_of_block():
        generator.standard_exponential(out=k)
        np.multiply(k, scale, out=k)
        np.ceil(k, out=k)
        generator.standard_exponential(out=u)
        np.divide(u, k, out=u)
        np.negative(u, out=u)
        np.exp(u, out=u)
        np.subtract(1.0, u, out=u)
        return cdf.searchsorted(u, side="right")

    return in_blocks(best_of_block, block, law)
