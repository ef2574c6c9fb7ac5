"""Noise scales of the steps of top-k mechanisms.

Zhu & Wang 2022: Algorithm 1 adds Gumbel(2/epsilon) to the gaps; Algorithm 2 invokes it at
epsilon = 2 sqrt(rho) and tests the gap with sigma = sqrt(1/rho), half of rho each;
Algorithm 3 gives each of these a quarter of rho, and half to peeling.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxsel.families.top_k.baselines import exponential_top_k_scale
from jaxsel.families.top_k.limits import check_scale
from jaxsel.host.errors import InputError, check_positive
from jaxsel.language.base import Relation


def largest_gap_scale(params: Mapping[str, Any], noise: str) -> float:
    """Scale of the noise on the gaps: ``noise_scale``, or 2/epsilon for noises of pure DP.

    Raises:
      InputError: unless exactly one of the two is given and positive.
    """
    if ("noise_scale" in params) == ("epsilon" in params):
        raise InputError("noisy gaps take either epsilon or noise_scale, and not both")
    if "noise_scale" in params:
        return check_scale("noise_scale", params["noise_scale"])
    if noise == "gaussian":
        raise InputError("Gaussian noise is not pure DP; give noise_scale, not epsilon")
    epsilon = check_positive("epsilon", params["epsilon"])
    return check_scale("the noise scale", 2.0 / epsilon)


def stable_top_k_scales(
    params: Mapping[str, Any], selection: str = "gumbel", test: str = "gaussian"
) -> tuple[float, float]:
    """Scales of the selecting and of the testing noise of Algorithm 2.

    Both 1/sqrt(rho) if ``rho`` is given, for Gumbel selection and a Gaussian test; else
    ``selection_scale`` and ``test_scale``.

    Raises:
      InputError: unless rho alone or both scales are given, each positive.
    """
    own = {"selection_scale", "test_scale"} & set(params)
    if "rho" in params and not own:
        if selection != "gumbel" or test != "gaussian":
            raise InputError(
                "rho sets the noise of Gumbel selection and a Gaussian test; give "
                "selection_scale and test_scale for other noises"
            )
        scale = 1.0 / math.sqrt(check_positive("rho", params["rho"]))
        scale = check_scale("the noise scale", scale)
        return scale, scale
    if "rho" in params or len(own) != 2:
        raise InputError("give either rho, or both selection_scale and test_scale")
    return (
        check_scale("selection_scale", params["selection_scale"]),
        check_scale("test_scale", params["test_scale"]),
    )


def fixed_top_k_scale(rho: float) -> float:
    """Scale of the selection noise and of the test noise of Algorithm 3: a quarter of rho each."""
    scale = math.sqrt(2.0 / check_positive("rho", rho))
    return check_scale("the noise scale", scale)


def fixed_peel_scale(rho: float, picks: int) -> float:
    """Gumbel scale at which ``picks`` picks of Algorithm 3 cost half of rho."""
    return exponential_top_k_scale(rho / 2.0, picks)


def peel_scale(params: Mapping[str, Any], k: int, relation: Relation) -> float:
    """The Gumbel scale: ``noise_scale``, or the one at which k picks cost ``rho``.

    Raises:
      InputError: unless exactly one of the two is given and positive.
    """
    if ("rho" in params) == ("noise_scale" in params):
        raise InputError("top-k takes either rho or noise_scale, and not both")
    if "noise_scale" in params:
        return check_scale("noise_scale", params["noise_scale"])
    scale = exponential_top_k_scale(params["rho"], k, relation)
    return check_scale("the noise scale", scale)
