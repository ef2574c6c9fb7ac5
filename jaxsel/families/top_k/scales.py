"""Noise scales of the steps of top-k mechanisms.

Zhu & Wang 2022: Algorithm 1 adds Gumbel(2/epsilon) to the gaps; Algorithm 2 invokes it at
epsilon = 2 sqrt(rho) and tests the gap with sigma = sqrt(1/rho), half of rho each;
Algorithm 3 gives each of these a quarter of rho, and half to peeling.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxsel.families.top_k.baselines import exponential_top_k_scale
from jaxsel.families.top_k.parameters import AnyEpsilon, AnyRho, NoiseScale, check_noise_scale
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.signature import read_params, validated


def _read(params: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Reads those of a mechanism's parameters that set its scale."""
    return read_params({name: params[name] for name in known if name in params}, optional=known)


def largest_gap_scale(params: Mapping[str, Any], noise: str) -> float:
    """The scale of the noise on the gaps, in votes: ``noise_scale``, or 2/epsilon.

    Args:
      params: "noise_scale" or "epsilon"; others are left aside.
      noise: the law of the noise.

    Raises:
      InputError: unless exactly one of the two is given; for epsilon with Gaussian noise, which
        is not pure DP; for 2/epsilon beyond the range of scales.
    """
    read = _read(params, {"epsilon": AnyEpsilon, "noise_scale": NoiseScale})
    if len(read) != 1:
        raise InputError("noisy gaps take either epsilon or noise_scale, and not both")
    if "noise_scale" in read:
        return read["noise_scale"]
    if noise == "gaussian":
        raise InputError("Gaussian noise is not pure DP; give noise_scale, not epsilon")
    return check_noise_scale(2.0 / read["epsilon"])


def stable_top_k_scales(
    params: Mapping[str, Any], selection: str = "gumbel", test: str = "gaussian"
) -> tuple[float, float]:
    """The scales of the selecting and of the testing noise of StableTopK, in votes.

    If ``rho`` is given, for Gumbel selection and a Gaussian test, both are 1/sqrt(rho); else they
    are ``selection_scale`` and ``test_scale``.

    Args:
      params: "rho", or "selection_scale" and "test_scale"; others are left aside.
      selection, test: the laws of the two noises.

    Raises:
      InputError: unless rho alone or both scales are given; for 1/sqrt(rho) beyond the range of
        scales.
    """
    known = {"rho": AnyRho, "selection_scale": NoiseScale, "test_scale": NoiseScale}
    read = _read(params, known)
    if set(read) == {"rho"}:
        if selection != "gumbel" or test != "gaussian":
            raise InputError(
                "rho sets the noise of Gumbel selection and a Gaussian test; give "
                "selection_scale and test_scale for other noises"
            )
        scale = check_noise_scale(1.0 / math.sqrt(read["rho"]))
        return scale, scale
    if "rho" in read or len(read) != 2:
        raise InputError("give either rho, or both selection_scale and test_scale")
    return read["selection_scale"], read["test_scale"]


@validated
def fixed_top_k_scale(rho: AnyRho) -> float:
    """The scale, in votes, of the selecting and of the testing noise of StableTopK with a given k.

    It is sqrt(2/rho), as each of these steps of Algorithm 3 has a quarter of rho.
    """
    return check_noise_scale(math.sqrt(2.0 / rho))


@validated
def fixed_peel_scale(rho: AnyRho, picks: int) -> float:
    """The Gumbel scale, in votes, at which so many picks of Algorithm 3 cost half of rho."""
    return exponential_top_k_scale(rho / 2.0, picks)


def peel_scale(params: Mapping[str, Any], k: int, relation: Relation) -> float:
    """The Gumbel scale of peeling, in votes: ``noise_scale``, or that at which k picks cost rho.

    Args:
      params: "rho" or "noise_scale"; others are left aside.
      k: number of picks.
      relation: how counts may change, MONOTONE or GENERAL.

    Raises:
      InputError: unless exactly one of the two is given; for a scale beyond the range of scales.
    """
    read = _read(params, {"rho": AnyRho, "noise_scale": NoiseScale})
    if len(read) != 1:
        raise InputError("top-k takes either rho or noise_scale, and not both")
    if "noise_scale" in read:
        return read["noise_scale"]
    return check_noise_scale(exponential_top_k_scale(read["rho"], k, relation))
