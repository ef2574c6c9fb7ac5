"""Private top-k sets of a histogram: Renyi curves of each step (Zhu & Wang 2022).

A histogram counts the votes of users for m candidates; a user votes for any of them, and
neighbours differ in one user. The gap q_j is the j-th largest count minus the next. One
user changes every gap by at most 1; some gaps may rise while others fall.

Three steps are accounted for: selecting the size k of the set by noisy gaps, testing the
gap at k before the set is released, and peeling by exponential mechanisms. A test fails
with a small probability, so that the guarantee is delta-approximate Renyi DP (Definition 5): a
Renyi bound that holds conditionally on events of probability at least 1 - failure.
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
from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.baselines import pick_range
from jaxsel.families.top_k.parameters import AnyEpsilon, AnyScale, Change, DeltaT, Test
from jaxsel.host import floats
from jaxsel.host.errors import InputError, check_integer
from jaxsel.language.base import Relation
from jaxsel.language.signature import validated


class ApproximateRenyiCurve(NamedTuple):
    """delta-approximate Renyi DP at every order (Zhu & Wang 2022, Definition 5).

    For each pair of inputs there are two events, one on each input, of probability at least 1 -
    failure.

    Attributes:
      renyi: order in (1, inf] -> bound on both Renyi divergences between the output laws
        conditional on these events.
      failure: delta.
    """

    renyi: RenyiCurve
    failure: float = 0.0


def compose_curves(*parts: ApproximateRenyiCurve, times: int = 1) -> ApproximateRenyiCurve:
    """The guarantee of all parts, run one after another: curves and failures add.

    Zhu & Wang 2022, Lemma 16: adaptive composition.

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


@validated
def approximate_renyi_to_epsilon(
    curve: ApproximateRenyiCurve,
    delta: parameters.AnyDelta,
    *,
    rule: Callable[..., np.ndarray] = optimal_epsilon_at_order,
) -> Conversion:
    """The least epsilon at delta over all orders, and the order that has it.

    Delta minus the failure is what the conversion may spend (Zhu & Wang 2022, Lemma 17).

    Args:
      curve: the guarantee.
      delta: of (epsilon, delta)-DP, above the failure.
      rule: conversion at one order: ``conversions.optimal_epsilon_at_order`` (tight), or
        ``conversions.mironov_epsilon_at_order`` (the lemma's own).

    Raises:
      InputError: if delta is not above the failure.
    """
    left = delta - curve.failure
    if left <= 0.0:
        raise InputError(
            f"delta is {delta:g}; it must exceed the failure probability "
            f"{curve.failure:g} of the tests"
        )
    found = renyi_to_epsilon(curve.renyi, left, rule=rule)
    return found._replace(delta=delta)


# --- Selecting the size ---------------------------------------------------------------


@validated
def largest_gap_renyi(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    """The Renyi bound of selecting the size by the largest gap with Gumbel(2/epsilon) noise.

    Zhu & Wang 2022, Proposition 7: at order a it is the smaller one of epsilon^2 a/8 and the
    divergence of randomised response, log((sinh(a epsilon) - sinh((a - 1) epsilon))/sinh(epsilon))/
    (a - 1), which is epsilon at order inf.

    Args:
      order: > 1, inf allowed, any shape.
      epsilon: of pure DP.
    """
    order = np.asarray(order, dtype=np.float64)
    pure = randomised_response_renyi(order, epsilon)
    with np.errstate(over="ignore"):  # inf where it is no float
        return np.minimum(floats.square(epsilon) / 8.0 * order, pure)[()]


@validated
def largest_gap_bounded_range_renyi(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    """The sharp Renyi bound if all privacy losses lie in an interval of length epsilon.

    They do for Algorithm 1 of Zhu & Wang 2022 (Durfee & Rogers 2019). The divergence is largest for
    two outcomes with losses t - epsilon and t (Dong, Durfee & Rogers 2020). With a the order, A =
    e^epsilon - e^(-(a-1) epsilon) and B = 1 - e^(-(a-1) epsilon), the moment of such a pair is
    (A e^((a-1) t) - B e^(a t))/(e^epsilon - 1), which is largest at e^t = (a - 1) A/(a B). The
    bound is never above ``largest_gap_renyi``.

    Args:
      order: > 1, inf allowed, any shape.
      epsilon: length of the interval.
    """
    order = np.asarray(order, dtype=np.float64)
    bound = np.asarray(largest_gap_renyi(order, epsilon))
    # Where the differences below would cancel, epsilon^2 a/8 is equally tight.
    with np.errstate(over="ignore"):  # a product that is no float leaves no more than e^-inf
        plain = np.isinf(order) | (order * epsilon < 0.01) | (order <= 1.0)
        a = np.where(plain, 2.0, order)
        high, low = np.log(-np.expm1(-a * epsilon)), np.log(-np.expm1(-(a - 1.0) * epsilon))
    t = epsilon + np.log1p(-1.0 / a) + high - low
    value = t + (high - np.log(a) - math.log(-math.expm1(-epsilon))) / (a - 1.0)
    # Rounded up, since the terms of order epsilon cancel.
    value = value + 1e-15 * (1.0 + np.abs(high) + np.log(a)) / (a - 1.0)
    return np.minimum(np.where(plain, bound, value), bound)[()]


@validated
def peeled_curve(
    noise_scale: AnyScale, k: parameters.Picks, relation: Change = Relation.MONOTONE
) -> ApproximateRenyiCurve:
    """The Renyi bound of k picks with weights exp(count/noise_scale), peeled or in one shot.

    The privacy losses of a pick lie in an interval of length ``baselines.pick_range``, so that its
    sharp bound is ``largest_gap_bounded_range_renyi``; picks compose. The result is never above
    order times ``baselines.exponential_top_k_rho``.

    Args:
      noise_scale: Gumbel scale of the one-shot form, in votes.
      k: number of picks.
      relation: MONOTONE (one user more or less) or GENERAL.
    """
    epsilon = pick_range(noise_scale, relation)
    one = ApproximateRenyiCurve(lambda order: largest_gap_bounded_range_renyi(order, epsilon))
    return compose_curves(one, times=k)


@validated
def noisy_gap_renyi(
    order: npt.ArrayLike,
    noise: parameters.Selection,
    noise_scale: AnyScale,
    candidates: parameters.Candidates,
    *,
    sharp: bool = False,
) -> np.ndarray:
    """The Renyi bound of selecting the size by noisy gaps, for each kind of noise.

    With Gaussian or Laplace noise it is the Renyi divergence of the noise for a shift by 2, plus
    log(m)/(order - 1) (Zhu & Wang 2022, Theorem 8); for Gaussian noise of deviation s that is 2
    order/s^2 + log(m)/(order - 1) (Corollary 9). With Laplace noise it is at most the bound of
    (2/noise_scale)-DP. With Gumbel noise it is that of Proposition 7, and with exponential noise
    (permute-and-flip) that of pure DP, both with epsilon = 2/noise_scale and without m.

    Args:
      order: > 1, inf allowed, any shape.
      noise: "gumbel", "gaussian", "laplace" or "exponential".
      noise_scale: of the noise on each gap, in votes.
      candidates: m; if the sizes are restricted to 1, ..., k-bar, this is k-bar.
      sharp: whether to take log(m - 1) in place of log(m), as only m - 1 gaps compete (R-ZW-3).
        If the sizes are restricted to k-bar, all k-bar gaps compete, so give k-bar + 1 for m.
    """
    order = np.asarray(order, dtype=np.float64)
    if noise == "gumbel":
        return largest_gap_renyi(order, 2.0 / noise_scale)
    pure = randomised_response_renyi(order, 2.0 / noise_scale)
    if noise == "exponential":
        return pure
    with np.errstate(divide="ignore", invalid="ignore"):
        pole = math.log(candidates - 1 if sharp else candidates) / (order - 1.0)
    if noise == "gaussian":
        return (gaussian_renyi(order, noise_scale / 2.0) + pole)[()]
    return np.minimum(laplace_renyi(order, noise_scale / 2.0) + pole, pure)[()]


# --- Testing the gap, and whole algorithms --------------------------------------------


@validated
def gap_test_curve(
    noise_scale: AnyScale, delta_t: DeltaT, *, noise: Test = "gaussian"
) -> ApproximateRenyiCurve:
    """The guarantee of releasing a set if its gap passes a noisy test (Algorithms 4 and 5).

    It is delta_t-approximate Renyi DP, with the curve of the Gaussian mechanism, order/(2
    noise_scale^2), or of the Laplace mechanism, for a sensitivity of 1 (Zhu & Wang 2022, Lemma 18
    and Corollary 19).

    Args:
      noise_scale: standard deviation, or Laplace scale, of the noise, in votes.
      delta_t: failure probability of the test.
      noise: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
    """
    curve = gaussian_renyi if noise == "gaussian" else laplace_renyi
    return ApproximateRenyiCurve(lambda order: curve(order, noise_scale), delta_t)


@validated
def stable_top_k_curve(
    rho: parameters.AnyRho, delta_t: DeltaT, *, as_zcdp: bool = True
) -> ApproximateRenyiCurve:
    """The guarantee of StableTopK, delta_t-approximate rho-zCDP.

    Zhu & Wang 2022, Algorithm 2 and Theorem 11.

    Args:
      rho: of the whole; half is for selecting the size (epsilon = 2 sqrt(rho)), half for the test.
      delta_t: failure probability of the test.
      as_zcdp: whether the curve is rho * order, as in the theorem. If not, it is the sum of the
        sharper curve of the selection (``largest_gap_bounded_range_renyi``) and rho/2 * order.
    """
    if as_zcdp:
        return ApproximateRenyiCurve(lambda order: rho * np.asarray(order), delta_t)
    select = ApproximateRenyiCurve(
        lambda order: largest_gap_bounded_range_renyi(order, 2.0 * math.sqrt(rho))
    )
    return compose_curves(select, gap_test_curve(1.0 / math.sqrt(rho), delta_t))


@validated
def stable_top_k_variant_curve(
    selection_scale: AnyScale,
    test_scale: AnyScale,
    delta_t: DeltaT,
    candidates: parameters.Candidates,
    *,
    selection: parameters.Selection = "gaussian",
    test: Test = "gaussian",
    sharp: bool = False,
) -> ApproximateRenyiCurve:
    """The guarantee of StableTopK with other noises: that of its selection and test, composed.

    The Gaussian variant of Zhu & Wang's experiment with many labels has selection = test =
    "gaussian".

    Args:
      selection_scale, candidates, selection, sharp: see ``noisy_gap_renyi``.
      test_scale, delta_t, test: see ``gap_test_curve``.
    """

    def select(order: np.ndarray) -> np.ndarray:
        return noisy_gap_renyi(order, selection, selection_scale, candidates, sharp=sharp)

    return compose_curves(
        ApproximateRenyiCurve(select), gap_test_curve(test_scale, delta_t, noise=test)
    )


def fixed_top_k_curve(rho: float, delta_t: float) -> ApproximateRenyiCurve:
    """The guarantee of StableTopK with a given k, delta_t-approximate rho-zCDP.

    Zhu & Wang 2022, Algorithm 3 and Theorem 12: a quarter of rho is for selecting the size, a
    quarter for testing the gap, and half for peeling.
    """
    return stable_top_k_curve(rho, delta_t)
