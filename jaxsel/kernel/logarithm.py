"""The natural logarithm of numbers that are positive and normal.

The built-in logarithm of float32 spends half of its time on zeros, infinities, NaN and
subnormal numbers, which do not occur in noise; that of float64 is not vectorised on CPU and
takes four times as long as this one. Splitting a number into exponent and fraction is
useful by itself: where the fraction is known more accurately than the number (1 - t for a
tiny t), the accurate one can be used.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Float32, Float64

_LOG_2 = 0.6931471805599453
# The bits of sqrt(1/2): mantissas are taken from [sqrt(1/2), sqrt(2)).
_SQRT_HALF = 0x3F3504F3
_SQRT_HALF_DOUBLE = 0x3FE6A09E667F3BCD
# log1p(f) = f + f^2 q(f), q minimax on that range, highest power first; relative error
# 3e-8 before rounding.
_Q = (
    0.08734841,
    -0.14307526,
    0.14917976,
    -0.16570508,
    0.19962072,
    -0.25001755,
    0.33333950,
    -0.49999992,
)
# log1p(f) = f - f^2/2 + s (f^2/2 + s^2 r(s^2)), s = f/(2 + f), r minimax on that range,
# highest power first; error below 2^-58 before rounding.
_R = (
    0.14798198605116586,
    0.15313837699209373,
    0.1818357216161805,
    0.22222198432149784,
    0.2857142874366239,
    0.3999999999940942,
    0.6666666666666735,
)
# log 2 in two parts, of which the first has 32 bits: its multiples are exact.
LOG_2_HIGH, LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# The low bits of the float64 number 2^52 + n are the integer n.
_WHOLE = 0x4330000000000000


def split(x: Float[Array, "..."]) -> tuple[Array, Array]:
    """The exponent e and the fraction f of x = 2^e (1 + f), 1/2 <= (1 + f)^2 < 2."""
    if x.dtype == jnp.float64:
        return _split_double(x)
    bits = lax.bitcast_convert_type(x, jnp.int32)
    exponent = (bits - _SQRT_HALF) >> 23
    mantissa = lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32)
    return exponent.astype(jnp.float32), mantissa - 1


def _split_double(x: Float64[Array, "..."]) -> tuple[Array, Array]:
    bits = lax.bitcast_convert_type(x, jnp.uint64)
    above = bits - jnp.uint64(_SQRT_HALF_DOUBLE)
    mantissa = bits - (above & jnp.uint64(0xFFF << 52))
    # Most CPUs cannot convert vectors of int64 to float64; the exponent's bits become a
    # float64 integer when they are placed behind those of 2^52.
    biased = ((above + jnp.uint64(1 << 63)) >> jnp.uint64(52)) | jnp.uint64(_WHOLE)
    exponent = lax.bitcast_convert_type(biased, jnp.float64) - (2.0**52 + 2.0**11)
    return exponent, lax.bitcast_convert_type(mantissa, jnp.float64) - 1


def join(
    exponent: Float[Array, "..."], fraction: Float[Array, "..."], *, fused: bool = False
) -> Array:
    """The logarithm of 2^e (1 + f), to a relative error of about 1e-7 (float64: 2e-16).

    Args:
      exponent, fraction: e and f.
      fused: whether a float64 logarithm is made without a quotient that is read twice. XLA on CPU
        gives such a quotient a program of its own, and makes what leads to it, hash included, in
        both. That is right where several results need the logarithm, as in most mechanisms, and
        wrong where one does.
    """
    if fraction.dtype == jnp.float64:
        return (join_fused if fused else join_double)(exponent, fraction)
    return join_single(exponent, fraction)


# Compiled separately so that logarithms have these names in a trace. XLA inlines them.
@jax.jit
def join_single(exponent: Array, fraction: Array) -> Float32[Array, "..."]:
    """``join`` of float32 numbers."""
    f, f2 = fraction, fraction * fraction
    # Estrin's scheme: shorter chains than Horner's keep the vector units busy.
    high = (_Q[0] * f + _Q[1]) * f2 + (_Q[2] * f + _Q[3])
    low = (_Q[4] * f + _Q[5]) * f2 + (_Q[6] * f + _Q[7])
    return exponent * _LOG_2 + (f2 * (high * (f2 * f2) + low) + f)


@jax.jit
def join_double(exponent: Array, fraction: Array) -> Float64[Array, "..."]:
    """``join`` of float64 numbers."""
    return _series(exponent, fraction, fraction / (2 + fraction))


@jax.jit
def join_fused(exponent: Array, fraction: Array) -> Float64[Array, "..."]:
    """``join`` of float64 numbers, ``fused``."""
    return _series(exponent, fraction, fraction * (1 / (2 + fraction)))


def _series(exponent: Array, fraction: Array, s: Array) -> Array:
    f = fraction
    z = s * s
    r = z * np.float64(_R[0]) + _R[1]
    for coefficient in _R[2:]:
        r = z * r + coefficient
    half = 0.5 * f * f
    small = s * (half + z * r) + exponent * LOG_2_LOW
    return exponent * LOG_2_HIGH - ((half - small) - f)


def log(x: Float[Array, "..."], *, fused: bool = False) -> Float[Array, "..."]:
    """log x for positive normal x; ``fused`` as in ``join``."""
    return join(*split(x), fused=fused)


def log1p(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 + x) for finite x > -1, to a relative error of 5e-16 (float32: built-in)."""
    if x.dtype != jnp.float64:
        return jnp.log1p(x)
    exponent, fraction = split(1 + x)
    near = (x > -0.29) & (x < 0.41)
    exponent = jnp.where(near, jnp.zeros_like(x), exponent)
    return join(exponent, jnp.where(near, x, fraction))
