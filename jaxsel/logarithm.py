"""The natural logarithm of float32 numbers that are positive and normal.

The built-in logarithm spends half of its time on zeros, infinities, NaN and subnormal
numbers, which noise never meets. Taking the number apart is useful by itself: where the
fraction is known better than the number (1 - t for a tiny t), it can be put in its place.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Float32

_LOG_2 = 0.6931471805599453
# The bits of sqrt(1/2): mantissas are taken from [sqrt(1/2), sqrt(2)).
_SQRT_HALF = 0x3F3504F3
# log1p(f) = f + f^2 q(f), q minimax on that range, highest power first; relative error
# 3e-8 before rounding.
_Q = (
    0.08734841, -0.14307526, 0.14917976, -0.16570508,
    0.19962072, -0.25001755, 0.33333950, -0.49999992,
)  # fmt: skip


def split(x: Float32[Array, "..."]) -> tuple[Array, Array]:
    """The exponent e and the fraction f of x = 2^e (1 + f), 1/2 <= (1 + f)^2 < 2."""
    bits = lax.bitcast_convert_type(x, jnp.int32)
    exponent = (bits - _SQRT_HALF) >> 23
    mantissa = lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32)
    return exponent.astype(jnp.float32), mantissa - 1


# Its own jit: who reads a trace finds the logarithms by this name. XLA inlines it.
@jax.jit
def join(exponent: Array, fraction: Array) -> Float32[Array, "..."]:
    """The logarithm of 2^e (1 + f), to about 1e-7 of itself."""
    f, f2 = fraction, fraction * fraction
    # Estrin's scheme: shorter chains than Horner's keep the vector units busy.
    high = (_Q[0] * f + _Q[1]) * f2 + (_Q[2] * f + _Q[3])
    low = (_Q[4] * f + _Q[5]) * f2 + (_Q[6] * f + _Q[7])
    return exponent * _LOG_2 + (f2 * (high * (f2 * f2) + low) + f)


def log(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """log x for positive normal x; in float64 the built-in logarithm."""
    if x.dtype != jnp.float32:
        return jnp.log(x)
    return join(*split(x))
