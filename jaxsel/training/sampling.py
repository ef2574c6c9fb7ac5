"""Poisson subsampling in arrays of fixed shape.

Every example enters a batch independently, as the accounting of DP-SGD assumes. The batch
is a list of rows of fixed capacity; its actual size is random. The capacity is so large
that a batch exceeds it with probability below 1e-18; if one does, the run fails instead of
dropping an example.
"""

import bisect
from typing import Annotated, NamedTuple

import jax.numpy as jnp
import scipy
from jaxtyping import Array, Bool, Int

from jaxsel.kernel import noise, stream
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated
from jaxsel.tuning.parameters import SamplingProbability

_OVERFLOW = 1e-18

Examples = Annotated[int, whole("of the training data", at_least=1, at_most=1e15)]


class Batch(NamedTuple):
    """One batch.

    Attributes:
      rows: Int[Array, "capacity"], the examples drawn, in ascending order, then padding.
      count: Int[Array, ""], the number of examples drawn.
      overflow: Bool[Array, ""], whether it exceeds the capacity.
    """

    rows: Int[Array, " capacity"]
    count: Int[Array, ""]
    overflow: Bool[Array, ""]


@validated
def batch_capacity(examples: Examples, rate: SamplingProbability) -> int:
    """A batch size exceeded with probability below 1e-18; at most ``examples``.

    Each example is drawn with probability ``rate``.
    """

    # By the tail itself: SciPy's inverse of it answers n for a tail below 1e-16.
    def rare(size: int) -> bool:
        return bool(scipy.stats.binom.sf(size, examples, rate) <= _OVERFLOW)

    return max(1, bisect.bisect_left(range(examples), True, key=rare))


def in_batch(key: stream.Key, example, rate) -> Bool[Array, "..."]:
    """Whether ``poisson_batch`` draws an example, by its row; other arguments as there."""
    coin = noise.number(key, example, "tail")
    # t is the distance from the nearer end: the comparison is made at that end, where t is
    # exact.
    rate = jnp.asarray(rate, coin.t.dtype)
    return jnp.where(coin.upper, 1.0 - coin.t <= rate, coin.t <= rate)


def poisson_batch(key: stream.Key, examples: int, rate, capacity: int) -> Batch:
    """Draws each of ``examples`` rows independently with probability ``rate``.

    Args:
      key: the stream for this step's sampling, used for nothing else.
      examples: n.
      rate: Float, in (0, 1]; resolved to 2**-65.
      capacity: of the batch; see ``batch_capacity``.
    """
    drawn = in_batch(key, jnp.arange(examples, dtype=jnp.uint32), rate)
    count = jnp.sum(drawn, dtype=jnp.int32)
    rows = jnp.nonzero(drawn, size=capacity, fill_value=0)[0].astype(jnp.int32)
    return Batch(rows, jnp.minimum(count, capacity), count > capacity)
