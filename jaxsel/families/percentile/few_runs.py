"""Counts of fewer than 64 runs, inverted in a table of all binomial laws that a trial may meet.

The table is made once for all trials, so that a count is a search of six steps, where
``binomial_draw`` adds probabilities up. Both invert at the same random number, and so find the same
count.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int
from scipy import stats

from jaxsel.families.percentile.binomial_draw import first_number
from jaxsel.kernel import lanes, stream

SIZE = 64  # a power of two
_STEPS = [1 << bit for bit in reversed(range(SIZE.bit_length() - 1))]
# The table grows with the tests.
_MOST_TESTS = 64


def table(chances: np.ndarray, runs: np.ndarray, levels: np.ndarray) -> dict[str, Any]:
    """The table of a row of tests, by the names of its arrays; none if there are many tests.

    Args:
      chances: Float["tests"], with which a run succeeds.
      runs: Int["runs"], how many runs a test may make; those of 64 or more are left out.
      levels: Float["64"], what ``level`` returns for a count.

    Returns:
      "few_below", Float64["tests runs 64"], the probability that successes, or failures if these
      are rarer, are at most a number; "few_flipped", Bool["tests"], whether these are rarer; and
      "few_levels".
    """
    if chances.size > _MOST_TESTS:
        return {}
    rare = np.minimum(chances, 1.0 - chances)[:, None, None]
    below = stats.binom.cdf(np.arange(SIZE), np.minimum(runs, SIZE)[:, None], rare)
    return {"few_below": below, "few_flipped": chances > 0.5, "few_levels": levels}


def chosen(
    arrays: Any, samples: Array, of_few: Callable[[], Array], of_many: Callable[[], Array]
) -> Array:
    """What ``of_few`` returns for fewer than 64 runs that have a table, else what ``of_many`` does.

    Args:
      arrays: of the mechanism, with those of ``table`` if there are any.
      samples: N, the same for all trials of a block, which therefore make only one of the two.
      of_few, of_many: one trial.
    """
    if "few_below" not in arrays:
        return of_many()
    return lax.cond(samples < SIZE, of_few, of_many)


def successes(key: stream.Key, arrays: Any, test: Array, runs: Array, row: Any) -> Int[Array, ""]:
    """How many runs of a test succeed.

    Args:
      key: of the counts of this trial.
      arrays: with those of ``table``.
      test: number of the test, whose draw has this number.
      runs: Int[""], how many runs it makes, below 64.
      row: the place of that number in ``table``'s ``runs``.
    """
    below = arrays["few_below"]
    start = (test * below.shape[1] + row) * SIZE
    # Fused with the gathers, which go an element at a time, the hash would, too.
    uniform = lanes.where_wanted(test >= 0, lambda: first_number(key, test))
    count, flat = jnp.int32(0), below.ravel()
    for step in _STEPS:
        count = jnp.where(uniform > flat[start + count + (step - 1)], count + step, count)
    return jnp.where(arrays["few_flipped"][test], runs - count, count)
