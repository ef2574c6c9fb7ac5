"""Draws a binomial count directly, instead of N Bernoulli draws.

Let m be the mean of the rarer of success and failure. There are three methods:

- For m < 50, inversion, which is exact up to rounding in float64.
- For larger m, rejection from a ratio of uniforms (Hormann 1993, algorithm BTRS, without its
  squeeze). It accepts by Loader's (2000) form of the binomial probabilities, in which nothing
  cancels, so that their relative error is below 1e-7.
- For a variance above 1e15, the normal law, whose distribution function is within
  0.48/sqrt(variance) < 2e-8 of the binomial's (Berry-Esseen).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy import special

from jaxsel.kernel import lanes, look_up, noise, stream

_SMALL, _LARGE = 50.0, 1e15
_ATTEMPTS = 1 << 12  # random numbers of the stream that are reserved for one binomial draw
_EXACT = np.arange(16.0)
# log(k!) - k log(k) + k for k < 16; Stirling's series from there on, to 1e-12.
_TABLE = special.gammaln(_EXACT + 1.0) - special.xlogy(_EXACT, _EXACT) + _EXACT


class SplitCount(NamedTuple):
    """The numbers of successes and failures among N draws.

    Attributes:
      successes, failures: Float[Array, ""]; the smaller one is accurate also where the other is
        so near N that float64 does not tell them apart.
    """

    successes: Float[Array, ""]
    failures: Float[Array, ""]


def _stirling(k: Array) -> Array:
    """log(k!) - k log(k) + k, of which Loader's form of the binomial probability is made."""
    safe = jnp.maximum(k, 1.0)
    inverse = 1.0 / safe
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260)))
    large = 0.5 * jnp.log(2.0 * jnp.pi * safe) + series
    position = jnp.clip(k, 0.0, 15.0).astype(jnp.int32)
    return jnp.where(k < 16.0, look_up.pick(_TABLE, position), large)


def _deviance(gap: Array, mean: Array) -> Array:
    """x log(x/mean) - x + mean at x = mean + gap >= 0, without cancellation for small gaps."""
    x = mean + gap
    v = gap / (x + mean)
    square = v * v
    odd = square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9))))
    near = gap * v + 2.0 * x * v * odd
    positive = x > 0.0
    ratio = jnp.where(positive, x / mean, 1.0)
    far = jnp.where(positive, x * jnp.log(ratio), 0.0) - gap
    return jnp.where(jnp.abs(v) < 0.02, near, far)


def _log_weight(k, samples, mean, other_mean) -> Array:
    """The logarithm of the binomial probability of k, up to a constant.

    Args:
      k: a count.
      samples: N.
      mean, other_mean: of the count and of N minus the count.
    """
    gap = k - mean  # the other count is other_mean - gap, which may round to the mean
    unlikely = _deviance(gap, mean) + _deviance(-gap, other_mean)
    return -(unlikely + _stirling(k) + _stirling(samples - k))


def _inverted(uniform: Array, samples: Array, rare: Array, wanted: Array) -> Array:
    """A binomial count by inversion of its distribution function, for means below 50.

    Args:
      uniform: the uniform number to invert at.
      samples: N.
      rare: probability of success, at most 1/2.
      wanted: Bool[""], whether this trial needs the count; otherwise the loop ends at once.
    """
    odds = rare / (1.0 - rare)

    def go_on(state):
        k, rest, chance = state
        return wanted & (rest > chance) & (k < jnp.minimum(samples, 200.0))

    def once(state):
        k, rest, chance = state
        return k + 1.0, rest - chance, chance * odds * (samples - k) / (k + 1.0)

    start = (jnp.zeros_like(rare), uniform, jnp.exp(samples * jnp.log1p(-rare)))
    return lax.while_loop(go_on, once, start)[0]


def _rejected(key, draw, samples, rare, wanted) -> Array:
    """A binomial count by rejection from a ratio of uniforms, for means of 50 or more.

    Args:
      key, draw: where its random numbers lie, as of ``binomial``.
      samples, rare, wanted: as of ``_inverted``.
    """
    # a, b and height (his alpha) are the constants of Hormann's hat.
    other = 1.0 - rare
    mean, other_mean = samples * rare, samples * other
    deviation = jnp.sqrt(mean * other)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * rare
    height = (2.83 + 5.1 / b) * deviation
    mode = jnp.floor((samples + 1.0) * rare)
    top = lanes.where_wanted(wanted, lambda: _log_weight(mode, samples, mean, other_mean))

    def go_on(state):
        attempt, _, done = state
        return ~done & (attempt < _ATTEMPTS // 2 - 1)

    def once(state):
        attempt, _, _ = state
        number = draw * _ATTEMPTS + 2 * attempt
        side = noise.number(key, number)
        v = noise.uniform(noise.number(key, number + 1))
        u = jnp.where(side.upper, 0.5 - side.t, side.t - 0.5)
        k = jnp.floor((2.0 * a / side.t + b) * u + mean + 0.5)
        inside = (k >= 0.0) & (k <= samples)
        at = jnp.where(inside, k, mode)
        ratio = _log_weight(at, samples, mean, other_mean) - top
        hat = jnp.log(v * height / (a / (side.t * side.t) + b))
        return attempt + 1, at, inside & (hat <= ratio)

    # From attempt 1: the first random number of the draw is for the other two methods.
    start = (jnp.int32(1), mode, ~wanted)
    return lax.while_loop(go_on, once, start)[1]


def _first(key: stream.Key, draw) -> noise.Ends:
    return noise.number(key, draw * _ATTEMPTS)


def first_number(key: stream.Key, draw) -> Array:
    """The uniform number at which ``binomial`` inverts a count of small mean."""
    return noise.uniform(_first(key, draw))


def binomial(key: stream.Key, draw, samples, chance) -> SplitCount:
    """Draws how many of ``samples`` independent draws succeed, each with probability ``chance``.

    It computes in float64, and so must run in JAX's 64-bit mode.

    Args:
      key: of this trial.
      draw: number of this binomial draw in the key's stream, below 2**20.
      samples: N, a whole Float[Array, ""], from 0 to 1e300.
      chance: Float[Array, ""] in [0, 1].
    """
    samples = jnp.asarray(samples, jnp.float64)
    chance = jnp.asarray(chance, jnp.float64)
    rare = jnp.minimum(chance, 1.0 - chance)
    mean = samples * rare
    variance = mean * (1.0 - rare)
    small, large = mean < _SMALL, variance > _LARGE
    first = _first(key, draw)
    count = _inverted(noise.uniform(first), samples, rare, small)
    tried = _rejected(key, draw, samples, rare, ~small & ~large)
    normal = lanes.where_wanted(
        large, lambda: jnp.round(mean + jnp.sqrt(variance) * noise.normal(first))
    )
    count = jnp.where(small, count, jnp.where(large, normal, tried))
    others = samples - count
    flip = chance > 0.5
    return SplitCount(jnp.where(flip, others, count), jnp.where(flip, count, others))
