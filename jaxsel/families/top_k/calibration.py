"""Noise for a target (epsilon, delta) over several releases (Zhu & Wang 2022, Section 5).

delta is split. One part is for the failure of tests, in all releases together; the rest is for the
conversion from concentrated or Renyi differential privacy.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy import optimize

from jaxsel.accounting.single_run.conversions import (
    optimal_epsilon_at_order,
    renyi_to_epsilon,
    zcdp_rho,
)
from jaxsel.families.top_k.curves import (
    ApproximateRenyiCurve,
    approximate_renyi_to_epsilon,
    compose_curves,
    stable_top_k_curve,
)
from jaxsel.families.top_k.parameters import AnyDelta, AnyEpsilon, Times
from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice, probability
from jaxsel.language.signature import validated

_CONVERSIONS = ("zcdp", "tight", "sharp")

Conversion = Annotated[str, choice(_CONVERSIONS, "from zCDP to epsilon and delta")]
OfZcdp = Annotated[str, choice(_CONVERSIONS[:2], "from zCDP to epsilon and delta")]
TestShare = Annotated[float, probability("of delta, that the tests may fail with")]


class StableTopK(NamedTuple):
    """The settings of StableTopK for a target (epsilon, delta); each number is of ONE release.

    Attributes:
      rho: zCDP parameter.
      delta_t: failure probability of the test.
      selection_epsilon: epsilon of Algorithm 1, 2 sqrt(rho).
      selection_scale: scale 2/epsilon = 1/sqrt(rho) of its Gumbel noise.
      test_scale: standard deviation 1/sqrt(rho) of the test's noise.
    """

    rho: float
    delta_t: float
    selection_epsilon: float
    selection_scale: float
    test_scale: float


@validated
def largest_rho(epsilon: AnyEpsilon, delta: AnyDelta, *, conversion: OfZcdp = "zcdp") -> float:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-DP.

    Args:
      epsilon, delta: of approximate DP.
      conversion: "zcdp", epsilon = rho + 2 sqrt(rho log(1/delta)) as in Theorem 11; or
        "tight", the best conversion of the curve rho * order.
    """
    if conversion == "zcdp":
        return zcdp_rho(epsilon, delta)

    def cost(rho: float) -> float:
        return renyi_to_epsilon(lambda order: rho * np.asarray(order), delta).epsilon

    # Bracketed by the simple conversion from below, and by epsilon from above.
    low = zcdp_rho(epsilon, delta)
    return _last_below(cost, epsilon, low, low)


def _last_below(cost: Callable[[float], float], target: float, low: float, step: float):
    """The largest x >= low with cost(x) <= target, to a relative 1e-12.

    The cost must increase, and cost(low) must be at most the target; ``step`` is the first try.
    """
    high = low + step
    while cost(high) <= target:
        low, step = high, 2.0 * step
        high = low + step
        if not math.isfinite(high):
            raise InputError("every amount of noise meets this target")
    return _crossing(cost, target, low, high, 1e-12)


def _crossing(
    cost: Callable[[float], float], target: float, meets: float, exceeds: float, to: float
) -> float:
    """The point, to a relative ``to``, at which a monotone cost meets the target.

    Args:
      cost: a monotone function.
      target: of the cost.
      meets, exceeds: points at which the cost is at most the target, and above it.
      to: the relative precision. The cost of the point returned is at most the target.
    """

    def excess(x: float) -> float:
        return min(cost(x), 4.0 * target) - target  # an infinite cost has no secant

    root = float(
        optimize.brentq(excess, meets, exceeds, xtol=0.1 * to * meets, rtol=0.1 * to)  # type: ignore
    )
    step = 0.0
    while excess(root + step) > 0.0:
        step = 2.0 * step + math.copysign(0.4 * to * root, meets - exceeds)
    return root + step


@validated
def stable_top_k_calibration(
    epsilon: AnyEpsilon,
    delta: AnyDelta,
    *,
    releases: Times = 1,
    test_share: TestShare = 0.5,
    conversion: Conversion = "zcdp",
) -> StableTopK:
    """The least noise of StableTopK for which all releases are (epsilon, delta)-DP.

    StableTopK with a given k (Algorithm 3) takes the same rho.

    Args:
      epsilon, delta: of all releases together.
      releases: how many there are.
      test_share: share of delta that the tests may fail with; one half in the experiments.
      conversion: "zcdp" (the papers'), "tight" (best conversion of rho * order), or
        "sharp" (best conversion of the sharper curve of StableTopK; not for given k).
    """
    delta_t = delta * test_share / releases
    left = delta * (1.0 - test_share)
    if conversion == "sharp":

        def cost(rho: float) -> float:
            one = stable_top_k_curve(rho, delta_t, as_zcdp=False)
            # Failures are accounted for above; rounding must not reduce the rest of delta.
            total = compose_curves(one, times=releases)._replace(failure=0.0)
            return approximate_renyi_to_epsilon(total, left).epsilon

        low = largest_rho(epsilon, left, conversion="tight") / releases
        rho = _last_below(cost, epsilon, low, 0.1 * low)
    else:
        rho = largest_rho(epsilon, left, conversion=conversion) / releases
    root = math.sqrt(rho)
    return StableTopK(rho, delta_t, 2.0 * root, 1.0 / root, 1.0 / root)


@validated
def calibrate(
    curve_of: Callable[[float], ApproximateRenyiCurve],
    epsilon: AnyEpsilon,
    delta: AnyDelta,
    *,
    releases: Times = 1,
    rule: Callable[..., np.ndarray] = optimal_epsilon_at_order,
) -> float:
    """The least noise scale for which all releases are (epsilon, delta)-DP.

    Args:
      curve_of: noise scale -> curve of one release, which must not increase with noise.
      epsilon: of all releases together.
      delta: of all releases together, above their failure.
      releases: how many there are.
      rule: conversion, see ``approximate_renyi_to_epsilon``.

    Returns:
      The scale, to a relative 1e-10, rounded so that the guarantee holds.

    Raises:
      InputError: if no scale up to 1e12 suffices, or delta is not above the failure.
    """

    def cost(scale: float) -> float:
        total = compose_curves(curve_of(scale), times=releases)
        return approximate_renyi_to_epsilon(total, delta, rule=rule).epsilon

    high = 1.0
    while cost(high) > epsilon:
        high *= 2.0
        if high > 1e12:
            raise InputError(f"epsilon is {epsilon:g}; no noise makes {releases} releases meet it")
    low = high / 2.0
    while low > 1e-12 and cost(low) <= epsilon:
        low, high = low / 2.0, low
    return _crossing(cost, epsilon, high, low, 1e-10)
