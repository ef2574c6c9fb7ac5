"""Private top-k sets of a histogram: Renyi curves of each step (Zhu & Wang 2022).

A histogram counts the votes of users for m candidates; a user votes for any of them, and
neighbours differ in one user. The gap q_j is the j-th largest count minus the next. One
user changes every gap by at most 1, gaps in different directions at once.

Three steps are accounted for: selecting the size k of the set by noisy gaps, testing the
gap at k before the set is released, and peeling by exponential mechanisms. A test fails
with a small probability, hence delta-approximate Renyi DP (Definition 5):
conditional on events of probability at least 1 - failure the Renyi bound holds.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.closed_forms import (
    gaussian_renyi,
    laplace_renyi,
    randomised_response_renyi,
)
from jaxsel.accounting.single_run.conversions import (
    Conversion,
    RenyiCurve,
    optimal_epsilon_at_order,
    renyi_to_epsilon,
)
from jaxsel.families.top_k.baselines import pick_range
from jaxsel.host.errors import (
    InputError,
    check_choice,
    check_integer,
    check_interval,
    check_positive,
)
from jaxsel.language.base import Relation

SELECTION_NOISES = ("gumbel", "gaussian", "laplace", "exponential")
TEST_NOISES = ("gaussian", "laplace")


class ApproximateRenyiCurve(NamedTuple):
    """delta-approximate Renyi DP at every order (Zhu & Wang 2022, Definition 5).

    Attributes:
      renyi: order in (1, inf] -> bound on both Renyi divergences of the output laws
        conditional on two events, one per input.
      failure: delta; each event has probability at least 1 - failure.
    """

    renyi: RenyiCurve
    failure: float = 0.0


def compose_curves(*parts: ApproximateRenyiCurve, times: int = 1) -> ApproximateRenyiCurve:
    """Adaptive composition adds curves and failures (Zhu & Wang 2022, Lemma 16).

    Args:
      parts: the guarantees, each for every result of those before.
      times: how often the whole sequence is run.

    Raises:
      InputError: if ``times`` is not a whole number >= 1.
    """
    times = check_integer("times", times, 1)

    def renyi(order: np.ndarray) -> np.ndarray:
        return times * np.sum([part.renyi(order) for part in parts], axis=0)

    return ApproximateRenyiCurve(renyi, times * sum(part.failure for part in parts))


def _left(curve: ApproximateRenyiCurve, delta: float) -> float:
    delta = check_interval("delta", delta, 0.0, 1.0)
    left = delta - curve.failure
    if left <= 0.0:
        raise InputError(
            f"delta is {delta:g}; it must exceed the failure probability "
            f"{curve.failure:g} of the tests"
        )
    return left


def approximate_renyi_to_epsilon(
    curve: ApproximateRenyiCurve,
    delta: float,
    *,
    rule: Callable[..., np.ndarray] = optimal_epsilon_at_order,
) -> Conversion:
    """Best epsilon at delta, over all orders.

    Zhu & Wang 2022, Lemma 17: delta minus the failure is the delta of the conversion.

    Args:
      curve: the guarantee.
      delta: in (0, 1), above the failure.
      rule: conversion at one order: ``conversions.optimal_epsilon_at_order`` (tight), or
        ``conversions.mironov_epsilon_at_order`` (the lemma's own).

    Raises:
      InputError: if delta is not above the failure.
    """
    found = renyi_to_epsilon(curve.renyi, _left(curve, delta), rule=rule)
    return found._replace(delta=delta)


# --- Selecting the size ---------------------------------------------------------------


def largest_gap_renyi(order: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """Renyi bound of Algorithm 1, noisy gaps with Gumbel(2/epsilon) noise.

    Proposition 7: min{epsilon^2 a/8, D_a of randomised response}, a the order; the second
    is log((sinh(a epsilon) - sinh((a - 1) epsilon)) / sinh(epsilon)) / (a - 1), and
    epsilon at order inf.

    Args:
      order: > 1, inf allowed, any shape.
      epsilon: > 0.
    """
    epsilon = check_positive("epsilon", epsilon)
    order = np.asarray(order, dtype=np.float64)
    pure = randomised_response_renyi(order, epsilon)
    return np.minimum(epsilon**2 / 8.0 * order, pure)[()]


def largest_gap_bounded_range_renyi(order: npt.ArrayLike, epsilon: float) -> np.ndarray:
    """Sharp Renyi bound of every epsilon-bounded-range mechanism, Algorithm 1 among them.

    Its privacy losses lie in an interval of length epsilon (Durfee & Rogers 2019), and
    among such pairs the divergence is largest for two outcomes with losses t - epsilon
    and t (Dong, Durfee & Rogers 2020). With a the order, A = e^epsilon -
    e^(-(a-1) epsilon) and B = 1 - e^(-(a-1) epsilon), the moment of such a pair is
    (A e^((a-1) t) - B e^(a t))/(e^epsilon - 1), largest at e^t = (a - 1) A/(a B). Never
    above ``largest_gap_renyi``.

    Args:
      order: > 1, inf allowed, any shape.
      epsilon: > 0.
    """
    epsilon = check_positive("epsilon", epsilon)
    order = np.asarray(order, dtype=np.float64)
    bound = np.asarray(largest_gap_renyi(order, epsilon))
    # Where the differences below would cancel, epsilon^2 a/8 is equally tight.
    plain = np.isinf(order) | (order * epsilon < 0.01) | (order <= 1.0)
    a = np.where(plain, 2.0, order)
    high, low = np.log(-np.expm1(-a * epsilon)), np.log(-np.expm1(-(a - 1.0) * epsilon))
    t = epsilon + np.log1p(-1.0 / a) + high - low
    value = t + (high - np.log(a) - math.log(-math.expm1(-epsilon))) / (a - 1.0)
    # Rounded up, since the terms of order epsilon cancel.
    value = value + 1e-15 * (1.0 + np.abs(high) + np.log(a)) / (a - 1.0)
    return np.minimum(np.where(plain, bound, value), bound)[()]


def peeled_curve(
    noise_scale: float, k: int, relation: Relation = Relation.MONOTONE
) -> ApproximateRenyiCurve:
    """k picks with weights exp(count/noise_scale), peeled or in one shot.

    Each pick has losses in a range, 1/noise_scale if counts move in one direction (twice
    that if in any); its sharp bound is ``largest_gap_bounded_range_renyi``, and picks
    compose. Never above order times ``baselines.exponential_top_k_rho``.

    Args:
      noise_scale: Gumbel scale of the one-shot form, > 0.
      k: picks, >= 1.
      relation: MONOTONE (one user more or less) or GENERAL.
    """
    epsilon = pick_range(noise_scale, relation)
    one = ApproximateRenyiCurve(lambda order: largest_gap_bounded_range_renyi(order, epsilon))
    return compose_curves(one, times=k)


def noisy_gap_renyi(
    order: npt.ArrayLike, noise: str, noise_scale: float, candidates: int, *, sharp: bool = False
) -> np.ndarray:
    """Renyi bound of selecting the size by noisy gaps with any noise.

    Gaussian and Laplace noise by Theorem 8, the noise's bound for a shift by 2 plus
    log(m)/(order - 1) (Corollary 9: 2 order/s^2 + log(m)/(order - 1)); Laplace noise also
    by pure DP, 2/noise_scale, if less. Gumbel noise by Proposition 7, exponential noise
    (permute-and-flip) as pure DP, both with epsilon = 2/noise_scale and no m.

    Args:
      order: > 1, inf allowed, any shape.
      noise: "gumbel", "gaussian", "laplace" or "exponential".
      noise_scale: of the noise on each gap, > 0.
      candidates: m >= 2; with the sizes restricted to 1, ..., k-bar, the number k-bar
        takes its place.
      sharp: log(m - 1) in place of log(m): only m - 1 gaps compete (R-ZW-3). With a
        restriction to k-bar sizes all of them compete, so give k-bar + 1.

    Raises:
      InputError: for an unknown noise or parameters out of range.
    """
    check_choice("noise", noise, SELECTION_NOISES)
    scale = check_positive("noise_scale", noise_scale)
    m = check_integer("candidates", candidates, 2)
    order = np.asarray(order, dtype=np.float64)
    if noise == "gumbel":
        return largest_gap_renyi(order, 2.0 / scale)
    pure = randomised_response_renyi(order, 2.0 / scale)
    if noise == "exponential":
        return pure
    with np.errstate(divide="ignore", invalid="ignore"):
        pole = math.log(m - 1 if sharp else m) / (order - 1.0)
    if noise == "gaussian":
        return (gaussian_renyi(order, scale / 2.0) + pole)[()]
    return np.minimum(laplace_renyi(order, scale / 2.0) + pole, pure)[()]


# --- Testing the gap, and whole algorithms --------------------------------------------


def gap_test_curve(
    noise_scale: float, delta_t: float, *, noise: str = "gaussian"
) -> ApproximateRenyiCurve:
    """Algorithm 4 (Gaussian test) or 5 (Laplace test) (Lemma 18, Corollary 19).

    delta_t-approximate (order, order/(2 noise_scale^2))-Renyi DP, and delta_t-approximate
    Renyi DP with the Laplace mechanism's curve.

    Args:
      noise_scale: standard deviation, or Laplace scale 1/epsilon, of the noise, > 0.
      delta_t: failure probability of the test, in (0, 1).
      noise: "gaussian" or "laplace".
    """
    check_choice("noise", noise, TEST_NOISES)
    scale = check_positive("noise_scale", noise_scale)
    delta_t = check_interval("delta_t", delta_t, 0.0, 1.0)
    curve = gaussian_renyi if noise == "gaussian" else laplace_renyi
    return ApproximateRenyiCurve(lambda order: curve(order, scale), delta_t)


def stable_top_k_curve(
    rho: float, delta_t: float, *, as_zcdp: bool = True
) -> ApproximateRenyiCurve:
    """Algorithm 2, StableTopK (Theorem 11): delta_t-approximate rho-zCDP.

    Args:
      rho: > 0; half selects the size (epsilon = 2 sqrt(rho)), half tests the gap.
      delta_t: failure probability of the test, in (0, 1).
      as_zcdp: rho * order as in the theorem; False adds the sharper curve of the
        selection (``largest_gap_bounded_range_renyi``) and rho/2 * order.
    """
    rho = check_positive("rho", rho)
    if as_zcdp:
        delta_t = check_interval("delta_t", delta_t, 0.0, 1.0)
        return ApproximateRenyiCurve(lambda order: rho * np.asarray(order), delta_t)
    select = ApproximateRenyiCurve(
        lambda order: largest_gap_bounded_range_renyi(order, 2.0 * math.sqrt(rho))
    )
    return compose_curves(select, gap_test_curve(1.0 / math.sqrt(rho), delta_t))


def stable_top_k_variant_curve(
    selection_scale: float,
    test_scale: float,
    delta_t: float,
    candidates: int,
    *,
    selection: str = "gaussian",
    test: str = "gaussian",
    sharp: bool = False,
) -> ApproximateRenyiCurve:
    """StableTopK with other noises: ``noisy_gap_renyi`` composed with ``gap_test_curve``.

    The Gaussian variant of the multi-label experiment has selection = test = "gaussian".
    """

    def select(order: np.ndarray) -> np.ndarray:
        return noisy_gap_renyi(order, selection, selection_scale, candidates, sharp=sharp)

    select(np.asarray(2.0))  # raises InputError for bad settings now, not when the curve is used
    return compose_curves(
        ApproximateRenyiCurve(select), gap_test_curve(test_scale, delta_t, noise=test)
    )


def fixed_top_k_curve(rho: float, delta_t: float) -> ApproximateRenyiCurve:
    """Algorithm 3, StableTopK with a given k (Theorem 12): delta_t-approximate rho-zCDP.

    A quarter of rho selects the size, a quarter tests the gap, half peels.
    """
    return stable_top_k_curve(rho, delta_t)
