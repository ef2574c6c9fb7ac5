"""Drawing the number of repetitions K, and the best of K runs, without a loop over K.

Every run of a base algorithm has a *tail rank*, the probability that another run is
better; ranks are uniform. The best of K runs has the least rank U, P(U > u) = f(1 - u) for
the generating function f of K, so U is drawn by inverting f: no K is needed. Where the
number of runs itself is wanted, K comes from a table and U given K from 1 - V^(1/K).

All computations use the tail rank, which is relatively accurate for the best ranks, in
float64 inside ``simulate``.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError, check_choice
from jaxsel.kernel import look_up, noise, stream
from jaxsel.kernel.exponential import one_minus_exp
from jaxsel.kernel.logarithm import log, log1p

_FEWEST = 16  # entries of a table of K


class Rank(NamedTuple):
    """The least tail rank among K runs.

    Attributes:
      value: Float[Array, ""] in (0, 1), the probability that a fresh run is better.
      none: Bool[Array, ""]: True where K = 0 and there is no best run.
    """

    value: Float[Array, ""]
    none: Bool[Array, ""]


def _number(key: stream.Key, draw: int) -> noise.Ends:
    return noise.number(key, draw, noise.widest_precision())


def _negative_log(number: noise.Ends) -> Array:
    """-log V for the uniform V = 1 - t (upper) or t, accurate at both ends."""
    return noise.exponential(number.flipped)


def rank_given_count(count: Int[Array, ""], number: noise.Ends) -> Rank:
    """The least rank of ``count`` runs: 1 - V^(1/K) for the uniform V."""
    runs = jnp.maximum(count, 1).astype(number.t.dtype)
    return Rank(one_minus_exp(_negative_log(number) / runs), count == 0)


def _truncated_negative_binomial(key, p) -> Rank:
    number = _number(key, 0)
    # ``cond`` runs one branch only, since eta is the same for all trials of a block; the
    # geometric law, the most common one, needs no logarithm.
    u = lax.cond(p["eta"] == 1.0, _geometric, _any_negative_binomial, number, p)
    return Rank(jnp.minimum(u, 1.0), jnp.zeros_like(number.upper))


# With w = gamma + (1 - gamma) u (eta, gamma as in Papernot & Steinke 2022, Definition 1),
# f(1 - u) = V reads w^-eta = 1 + V (gamma^-eta - 1). V = 1 - s, each accurate near 0.


def _geometric(number: noise.Ends, p) -> Array:
    """The rank at eta = 1, where w = gamma / (gamma + V (1 - gamma))."""
    v, s = noise.uniform(number), noise.uniform(number.flipped)
    return p["gamma"] * s / (p["gamma"] + p["one_minus_gamma"] * v)


def _any_negative_binomial(number: noise.Ends, p) -> Array:
    eta, big_l, gamma = p["eta"], p["log_inverse_gamma"], p["gamma"]
    v, s = noise.uniform(number), noise.uniform(number.flipped)
    growth = jnp.expm1(-eta * big_l)  # gamma^eta - 1
    # log(1 + s (gamma^eta - 1)): the first form near 0, also where gamma is near 1 and
    # growth near 0; the second where its argument v + s gamma^eta may be near 0.
    near = log1p(jnp.maximum(s * growth, -0.5))
    far = log(v + s * jnp.exp(-eta * big_l))
    inverse = jnp.where(s * growth > -0.5, near, far)
    safe_eta = jnp.where(eta == 0, 1.0, eta)
    log_ratio = jnp.where(eta == 0, big_l * s, -inverse / safe_eta)  # log(w / gamma)
    return gamma * jnp.expm1(log_ratio) / p["one_minus_gamma"]


def _poisson(key, p) -> Rank:
    u = _negative_log(_number(key, 0)) / p["mean"]
    return Rank(jnp.minimum(u, 1.0), u > 1)


def _binomial(key, p) -> Rank:
    u = one_minus_exp(_negative_log(_number(key, 0)) / p["count"]) / p["probability"]
    return Rank(jnp.minimum(u, 1.0), u > 1)


def _beta_binomial(key, p) -> Rank:
    # p = U^(1/gamma) is drawn once and K is Bin(count, p) (Cohen et al. 2022, Alg. 1).
    log_probability = -_negative_log(_number(key, 1)) / p["gamma"]
    u = one_minus_exp(_negative_log(_number(key, 0)) / p["count"]) * jnp.exp(-log_probability)
    return Rank(jnp.minimum(u, 1.0), u > 1)


def _point_mass(key, p) -> Rank:
    u = one_minus_exp(_negative_log(_number(key, 0)) / p["count"])
    return Rank(u, jnp.zeros_like(u, dtype=bool))


_RANK: dict[str, Callable[[stream.Key, Mapping[str, Any]], Rank]] = {
    "truncated_negative_binomial": _truncated_negative_binomial,
    "poisson": _poisson,
    "binomial": _binomial,
    "beta_binomial": _beta_binomial,
    "point_mass": _point_mass,
}
RANK_FAMILIES = tuple(_RANK)


def prepare_rank(law: laws.Repetitions) -> dict[str, np.ndarray]:
    """The numbers that ``sample_rank`` needs, as float64 scalars.

    Raises:
      InputError: if the family's generating function has no closed-form inverse; use
        ``prepare_count`` instead.
    """
    if law.family not in _RANK:
        raise InputError(f'{law.family} has no closed-form rank; use method "count" or "literal"')
    numbers = {name: np.float64(value) for name, value in law.parameters.items()}
    if law.family == "truncated_negative_binomial":
        gamma = numbers["gamma"]
        numbers["log_inverse_gamma"] = np.float64(-np.log(gamma))
        numbers["one_minus_gamma"] = np.float64(1.0 - gamma)
    return {name: np.asarray(value) for name, value in numbers.items()}


def sample_rank(family: str, key: stream.Key, numbers: Mapping[str, Any]) -> Rank:
    """The tail rank of the best of K runs, K of the given family."""
    check_choice("repetitions", family, RANK_FAMILIES)
    return _RANK[family](key, numbers)


def prepare_count(law: laws.Repetitions) -> dict[str, np.ndarray]:
    """The look-up table of K: its first value and distribution function.

    The function is 1 on past its end, up to a power of two of entries, so that laws of about equal
    length share a compiled program and can be cells of one grid; no number lies there.

    Raises:
      InputError: if K takes too many values for a table.
    """
    first, cdf = laws.quantile_table(law)
    entries = max(_FEWEST, 1 << (cdf.size - 1).bit_length())
    cdf = np.pad(cdf, (0, entries - cdf.size), constant_values=1.0)
    return {"first": np.asarray(first, dtype=np.int64), "cdf": cdf}


def sample_count(key: stream.Key, table: Mapping[str, Any]) -> Int[Array, ""]:
    """K by inversion of its distribution function."""
    number = _number(key, 0)
    position = look_up.position(table["cdf"], noise.uniform(number))
    last = table["cdf"].shape[-1] - 1
    first = jnp.asarray(table["first"])
    return first + jnp.minimum(position, last).astype(first.dtype)
