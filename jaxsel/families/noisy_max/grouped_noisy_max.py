"""Noisy max over groups of equal scores, with one draw per group.

The largest of n Gaussian draws has distribution function F^n, so one uniform number per
group is enough. What is released has the law of the winner's group in ``noisy_max("gaussian")``.
Within its group the winner is uniform, which would reveal nothing more about the data.
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxsel.families.noisy_max.group_bounds import grouped_law
from jaxsel.families.noisy_max.parameters import AnyScale
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise as noises
from jaxsel.kernel import stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

_SMALLEST = 2.0**-65  # least tail that the normal quantile resolves


@factory
def grouped_noisy_max(
    *, precision: Annotated[str, choice(("tail", "float64"))] = "tail"
) -> Mechanism:
    """Report the group of the largest noisy score, with Gaussian noise.

    Args:
      precision: of the draws, see ``jaxsel.kernel.noise``.

    Data: ``{"sizes": Int["groups"], "levels": Float["groups"]}``: the number of candidates
      in each group and their common score, in units of the sensitivity.
    Params: ``{"noise_scale": sigma}``, the standard deviation in units of the sensitivity.
    Outcome and event: Int[Array, ""], index of the group.

    Formal guarantees: those of noisy max with as many candidates as there are in all.

    Raises:
      InputError: for sizes that are not whole numbers >= 1, one for each level.
    """
    dtype = np.float64 if precision == "float64" else np.float32

    def checked(data, params) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(data, dict) or set(data) != {"sizes", "levels"}:
            raise InputError('data must be {"sizes": ..., "levels": ...}')
        scale = read_params(params, {"noise_scale": AnyScale})["noise_scale"]
        sizes = check_finite("sizes", data["sizes"])
        levels = check_finite("levels", data["levels"]) / scale
        grouped_law(sizes, levels)  # raises InputError for an invalid grouping
        return sizes, levels

    def prepare(data, params):
        sizes, levels = checked(data, params)
        return {"sizes": sizes.astype(dtype), "levels": (levels - levels.max()).astype(dtype)}, ()

    def sample(key: stream.Key, data, params) -> Int[Array, ""]:
        del params
        sizes, levels = jnp.asarray(data["sizes"]), jnp.asarray(data["levels"])
        best, index = jnp.asarray(-jnp.inf, levels.dtype), jnp.int32(0)
        for group in range(sizes.shape[0]):
            value = levels[group] + _largest(key, group, sizes[group], precision)
            index = jnp.where(value > best, jnp.int32(group), index)
            best = jnp.maximum(value, best)
        return index

    def law(data, params) -> FiniteLaw:
        found = grouped_law(*checked(data, params))
        return FiniteLaw(found / found.sum(), labels(data, params))

    def labels(data, params) -> tuple[str, ...]:
        del params
        return tuple(f"group {i}" for i in range(np.size(data["sizes"])))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )


def _largest(key: stream.Key, draw: int, size: Array, precision: str) -> Array:
    """The largest of ``size`` standard normal draws, by one draw from its distribution F^size.

    Args:
      key: of the trial.
      draw: number of the group, by which its draw is addressed.
      size: Float[""], how many normal draws it stands for.
      precision: of the draw, see ``jaxsel.kernel.noise``.
    """
    # The largest, Z, has F(Z) = U^(1/size) = e^(-E/size) for uniform U and exponential E. Both
    # tails are computed from E, so that neither is lost to rounding.
    waiting = noises.exponential(noises.number(key, draw, precision)) / size
    below, above = jnp.exp(-waiting), -jnp.expm1(-waiting)
    upper = below > above
    nearer = jnp.maximum(jnp.where(upper, above, below), _SMALLEST)
    return noises.normal(noises.Ends(upper, nearer))
