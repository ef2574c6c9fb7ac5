"""Standard noise laws as functions of random words, with accurate tails.

A float32 uniform made from 23 bits does not resolve probabilities below 6e-8: noise made
from it has rare events wrong by large factors without any warning. Every law here is therefore a
function of a *side* and of the distance ``t`` in (0, 1/2] from that end of the uniform, so
that both ends keep full relative accuracy. Three precisions are offered:

==========  ==================  =====================  ==========
precision   words a variate     smallest t             dtype
==========  ==================  =====================  ==========
"fast"      1                   2**-24                 float32
"tail"      2                   2**-65                 float32
"float64"   2                   2**-65                 float64
==========  ==================  =====================  ==========

"float64" needs JAX's 64-bit mode, which ``simulate`` switches on around its own calls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

from jaxsel.host.errors import InputError, check_choice
from jaxsel.kernel import rows, stream
from jaxsel.kernel.logarithm import join, log, split
from jaxsel.language.base import PRECISIONS


class Ends(NamedTuple):
    """A uniform number in [0, 1], stored as its distance from the nearer end.

    Attributes:
      upper: Bool[Array, "..."]: the number is 1 - t where True, t where False.
      t: Float[Array, "..."] in (0, 1/2], accurate relative to its own size.
    """

    upper: Array
    t: Array

    @property
    def flipped(self) -> "Ends":
        """One minus the number."""
        return Ends(~self.upper, self.t)


def resolution(precision: str) -> float:
    """Smallest probability that variates of this precision resolve faithfully."""
    check_choice("precision", precision, PRECISIONS)
    return 2.0**-24 if precision == "fast" else 2.0**-65


def draws_per_hash(precision: str) -> int:
    """The number of variates that one Threefry call (two words) yields."""
    check_choice("precision", precision, PRECISIONS)
    return 2 if precision == "fast" else 1


def _dtype(precision: str):
    if precision != "float64":
        return jnp.float32
    if not jax.config.read("jax_enable_x64"):
        raise InputError(
            'precision is "float64" outside simulate; run it under jax.enable_x64(True)'
        )
    return jnp.float64


def widest_precision() -> str:
    """The highest precision available: "float64" in 64-bit mode, else "tail"."""
    return "float64" if jax.config.read("jax_enable_x64") else "tail"


def _ends_from_one_word(word: UInt32[Array, "..."]) -> Ends:
    magnitude = (word >> jnp.uint32(9)) & jnp.uint32((1 << 22) - 1)
    t = (magnitude.astype(jnp.float32) + jnp.float32(0.5)) * jnp.float32(2.0**-23)
    return Ends((word >> jnp.uint32(31)).astype(bool), t)


def _ends_from_two_words(high, low, dtype) -> Ends:
    # 31 bits of the high word are the leading part of t; the low word keeps the
    # relative accuracy where those bits are few.
    def as_float(word):
        return word.astype(jnp.int32).astype(dtype)

    leading = as_float(high & jnp.uint32(0x7FFFFFFF))
    if dtype == jnp.float64:
        trailing = low.astype(dtype)
        offset = dtype(2.0**-33)
    else:
        # Half a word: int32 converts to float32 in one instruction, uint32 does not.
        trailing = as_float(low >> jnp.uint32(1)) * dtype(2.0)
        offset = dtype(2.0**-32)
    t = (leading + (trailing * dtype(2.0**-32) + offset)) * dtype(2.0**-32)
    return Ends((high >> jnp.uint32(31)).astype(bool), t)


def _ends(first, second, precision: str) -> tuple[Ends, ...]:
    if precision == "fast":
        return _ends_from_one_word(first), _ends_from_one_word(second)
    return (_ends_from_two_words(first, second, _dtype(precision)),)


def ends(key: stream.Key, draw, precision: str) -> tuple[Ends, ...]:
    """The uniform numbers of one hash: two in "fast" precision, else one."""
    check_choice("precision", precision, PRECISIONS)
    first, second = stream.words(key, draw)
    return _ends(first, second, precision)


def number(key: stream.Key, draw, precision: str = "float64") -> Ends:
    """One uniform number per hash; "fast" discards the second."""
    return ends(key, draw, precision)[0]


def _constant(x: Array, value: float) -> Array:
    return jnp.asarray(value, dtype=x.dtype)


def uniform(number: Ends) -> Float[Array, "..."]:
    """Uniform on (0, 1]; accurate near 0 only. Prefer the ends where tails matter."""
    return jnp.where(number.upper, _constant(number.t, 1.0) - number.t, number.t)


def exponential(number: Ends, *, fused: bool = False) -> Float[Array, "..."]:
    """Standard exponential, accurate near 0 and in its tail; one logarithm.

    ``fused`` is of this logarithm (``jaxsel.kernel.logarithm.join``).
    """
    upper, t = number
    # Minus log(t), or log(1 - t) from the exact fraction of 1 - t.
    exponent, fraction = split(t)
    halved = t > 0.29  # 1 - t is (1 + f) / 2 where upper, otherwise 1 + f
    below = jnp.where(halved, _constant(t, -1.0), _constant(t, 0.0))
    exponent = jnp.where(upper, exponent, below)
    fraction = jnp.where(upper, fraction, jnp.where(halved, 1 - (t + t), -t))
    return -join(exponent, fraction, fused=fused)


def gumbel(number: Ends) -> Float[Array, "..."]:
    """Standard Gumbel (maximum), accurate in both tails.

    Minus the logarithm of ``exponential``, hence falling in the uniform: the largest
    Gumbel score and the winner of the exponential race are the same trial by trial.
    """
    return -log(exponential(number))


def laplace(number: Ends) -> Float[Array, "..."]:
    """Standard Laplace, density ``exp(-|x|)/2``; one logarithm."""
    magnitude = -log(number.t + number.t)
    return jnp.where(number.upper, magnitude, -magnitude)


def truncated_laplace(number: Ends, bound, *, fused: bool = False) -> Float[Array, "..."]:
    """Standard Laplace conditioned on ``|x| <= bound``; ``fused`` as in ``exponential``."""
    floor = jnp.exp(-jnp.asarray(bound, dtype=number.t.dtype))
    one = _constant(number.t, 1.0)
    magnitude = -log(floor + (number.t + number.t) * (one - floor), fused=fused)
    return jnp.where(number.upper, magnitude, -magnitude)


# Normal quantile: sqrt(w) p(w) / q(w), w = -log(4 t (1 - t)), minimax on [0, 46] (t above
# 2**-66); constant terms first. Relative error 2e-8 before rounding.
_NORMAL_P = (1.2533141, 0.30342332, 0.05879789, 0.0068089096, 0.00045851682, 7.8727135e-06)
_NORMAL_Q = (1.0, 0.23029783, 0.044529576, 0.0050561056, 0.00033124414, 5.5727633e-06)
# The same for float64, on [0, 60] (t above 2**-88). Relative error 4e-17 before rounding.
_NORMAL_P_DOUBLE = (
    1.2533141373155003,
    0.5240045728677012,
    0.14387388212772292,
    0.030839882347887877,
    0.004694230655326295,
    0.0006109006823215253,
    5.977875375273629e-05,
    4.95778559562203e-06,
    3.2199784425088027e-07,
    1.7944386025324478e-08,
    7.834455066376266e-10,
    2.4840692589428807e-11,
    8.993613429434841e-13,
    1.0167672047161877e-14,
    2.2019776096083036e-17,
)
_NORMAL_Q_DOUBLE = (
    1.0,
    0.40629577068209305,
    0.1103351845597955,
    0.023510679309028962,
    0.0035285019243730784,
    0.00045855282623390246,
    4.4311211669195785e-05,
    3.6711729909206657e-06,
    2.3617240755709672e-07,
    1.3158694620082594e-08,
    5.672768232191496e-10,
    1.814166726637382e-11,
    6.449633153844074e-13,
    7.216796313580017e-15,
    1.557306642034717e-17,
)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = coefficients[-2] + coefficients[-1] * x
    for coefficient in coefficients[-3::-1]:
        value = coefficient + value * x
    return value


def _long_polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    # Estrin's scheme: shorter chains than Horner's keep the vector units busy.
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        pairs = [low + high * x for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        x = x * x
    return terms[0]


def normal(number: Ends) -> Float[Array, "..."]:
    """Standard normal by the inverse distribution function; one logarithm.

    The relative error in float64 is at most 1e-15 for t >= 2**-88.
    """
    upper, t = number
    x = 1 - (t + t)
    exponent, fraction = split(4 * (t * (1 - t)))
    # Near the middle 4 t (1 - t) = 1 - x^2, and x is exact.
    w = -join(exponent, jnp.where(exponent == 0, -x * x, fraction), fused=True)
    if t.dtype == jnp.float64:
        ratio = _long_polynomial(_NORMAL_P_DOUBLE, w) / _long_polynomial(_NORMAL_Q_DOUBLE, w)
    else:
        ratio = _polynomial(_NORMAL_P, w) / _polynomial(_NORMAL_Q, w)
    magnitude = jnp.sqrt(w) * ratio
    return jnp.where(upper, magnitude, -magnitude)


def _uniform_from_one_word(word: UInt32[Array, "..."]) -> Float[Array, "..."]:
    # 23 bits plus a half have 24 bits: exact in float32, and so is 1 minus it.
    number = (word >> jnp.uint32(9)).astype(jnp.int32).astype(jnp.float32)
    return (number + jnp.float32(0.5)) * jnp.float32(2.0**-23)


def _fast_exponential(u: Array) -> Array:
    return -log(u)


def _fast_gumbel(u: Array) -> Array:
    return -log(-log(u))


LAWS: dict[str, Callable[[Ends], Array]] = {
    "gumbel": gumbel,
    "laplace": laplace,
    "exponential": exponential,
    "gaussian": normal,
}
# In "fast" precision both ends of the uniform are equally exact, so these need no side.
_FAST_LAWS: dict[str, Callable[[Array], Array]] = {
    "gumbel": _fast_gumbel,
    "exponential": _fast_exponential,
}


def from_words(law: str, precision: str) -> Callable[[Array, Array], tuple]:
    """A function ``(first, second) -> variates`` of the two words of one hash.

    Args:
      law: "gumbel", "laplace", "exponential" or "gaussian", each in standard form.
      precision: "fast" (two variates), "tail" or "float64" (one).

    Raises:
      InputError: if either is unknown.
    """
    check_choice("noise", law, LAWS)
    check_choice("precision", precision, PRECISIONS)
    if precision == "fast" and law in _FAST_LAWS:
        fast = _FAST_LAWS[law]
        return lambda *words: tuple(fast(_uniform_from_one_word(w)) for w in words)
    transform = LAWS[law]
    return lambda first, second: tuple(transform(end) for end in _ends(first, second, precision))


def variates(law: str, precision: str) -> Callable[[stream.Key, object], tuple]:
    """A function ``(key, draw) -> variates`` of one hash: two if "fast", else one.

    Arguments and errors as for ``from_words``.
    """
    transform = from_words(law, precision)
    return lambda key, draw: transform(*stream.words(key, draw))


def variate(law: str, key: stream.Key, draw, precision: str = "tail") -> Array:
    """One standard variate: the first of hash number ``draw``."""
    return variates(law, precision)(key, draw)[0]


def each_variate(
    law: str, key: stream.Key, draws: UInt32[Array, " n"], precision: str = "tail"
) -> Float[Array, " n"]:
    """``variate`` of many draws, one after another (see ``jaxsel.kernel.rows``)."""
    draw = variates(law, precision)
    return rows.by_row(lambda number: draw(key, number)[0], draws)
