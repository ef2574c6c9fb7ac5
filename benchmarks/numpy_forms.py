"""Any mechanism in vectorised NumPy: its own trace, one operation at a time.

This is the algorithm as one would write it by hand in NumPy for a block of trials, with
arrays over trials and NumPy's own generator (SFC64) instead of counters. Gathers and sorts,
for which NumPy has no equivalent in this form, are run by JAX, uncompiled.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import jaxpr_in_numpy
from benchmarks.numpy_samplers import new_generator
from benchmarks.operations import THREEFRY
from benchmarks.timing import Sampler
from jaxsel.kernel import stream
from jaxsel.language.base import Mechanism

# Trials per block: arrays stay in cache, and the cost of calling NumPy is negligible.
BLOCK = 4096


def numpy_form(mechanism: Mechanism, data: Any, params: Any) -> Sampler:
    """A sampler that simulates a mechanism in NumPy.

    Args:
      mechanism: the mechanism.
      data, params: its input, as for ``simulate``.

    Raises:
      TypeError: for a mechanism that uses JAX's own generator, which NumPy lacks.
    """
    generator = new_generator()

    def two_words(place, first, second, x0, x1):
        del place
        shape = np.broadcast_shapes(*(np.shape(x) for x in (first, second, x0, x1)))
        size = int(np.prod(shape))
        raw = generator.bit_generator.random_raw(size).view(np.uint32)
        return raw[::2].reshape(shape), raw[1::2].reshape(shape)

    def logarithm(place, exponent, fraction):
        del place  # NumPy's own logarithm, as one would write it there
        return [exponent * exponent.dtype.type(np.log(2)) + np.log1p(fraction)]

    def events(lane, prepared):
        zero = jnp.uint32(0)

        def one(lane):
            key = stream.Key(zero, zero, lane)
            return mechanism.event(mechanism.sample(key, *prepared))

        return jax.vmap(one)(lane)

    lane = np.arange(BLOCK, dtype=np.uint32)
    count = len(mechanism.labels(data, params))
    with jax.enable_x64(True):
        prepared = jax.tree.map(np.asarray, mechanism.prepare(data, params))
        block = jaxpr_in_numpy.runner(
            events,
            lane,
            prepared,
            watch={
                THREEFRY: two_words,
                **dict.fromkeys(("join_single", "join_double", "join_fused"), logarithm),
                "one_minus_exp_double": lambda place, x: [-np.expm1(-x)],
            },
        )

        block(lane, prepared)  # raises an error at once if NumPy cannot run it

    def run(trials: int) -> np.ndarray:
        tallies = np.zeros(count, dtype=np.int64)
        with jax.enable_x64(True):
            for _ in range(trials // BLOCK):
                (found,) = block(lane, prepared)
                tallies += np.bincount(found, minlength=count)
        return tallies

    law = None if mechanism.law is None else mechanism.law(data, params).probabilities
    return Sampler(run, BLOCK, law)
