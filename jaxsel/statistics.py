# ruff: noqa: F403, F405
"""Statistics of trials, under the name that user code imports.

Example:
    >>> import jaxsel
    >>> from jaxsel import statistics
    >>> built = jaxsel.mechanism("noisy_max", scores=[100, 0], epsilon=1)
    >>> zeros = statistics.sums(lambda winner: winner == 0)  # of an outcome, in jax.numpy
    >>> print(jaxsel.simulate(built, trials=1000, statistic=zeros).values)
    [1000]
"""

from jaxsel.kernel.statistics import *

__all__ = [
    "Moments",
    "Statistic",
    "combine",
    "counts",
    "histogram",
    "moments",
    "read_moments",
    "sums",
]
