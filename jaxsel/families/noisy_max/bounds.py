"""Report noisy max with additive noise (Koskela, Redberg & Wang 2024, Section 3).

Noise is added to each of m scores of sensitivity 1 and the index of the largest is
released. The theorems take the noise as the ``BaseGuarantee`` of one noisy score that changes
by 2, or by 1 if all scores change in one direction.

``noisy_max_guarantee`` is sharper than the theorems. Let s be 2 (1 if monotone), epsilon >= 0,
and S the event that the winner is one of n given candidates. Its proof has four parts:

  By Theorem 3.2's proof, S costs n times the delta of one noisy score. If n = m, S is certain
    and costs nothing. If n = m - 1, its complement is that one candidate j wins. Given all other
    scores, whether j wins is post-processing of j's noisy score, so that S costs one delta. The
    factor m of Theorem 3.2 is therefore max(1, m - 2).
  The winner depends on differences of scores alone. With Gaussian noise, a shift of one score
    among m by s therefore has the length s sqrt((m - 1)/m), since its component along
    (1, ..., 1) is not observed.
  All noisy scores together are a Gaussian mechanism, too. If n of them move by s against the
    others, the shift has the length s sqrt(n (m - n)/m), at most s sqrt(m)/2. The winner is
    post-processing, so there is no factor. This bound is better for small m or large delta.
  Noisy max with Laplace noise of scale b is (s/b, 0)-DP (Dwork & Roth 2014, Section 3.3).

For Gaussian noise and m = 2 the result is the exact profile of the worst pair.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import pair_from_profile, pair_tradeoff
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.families.noisy_max.parameters import (
    AnyCandidates,
    AnyScale,
    AnySeveral,
    Change,
    Delta,
    DeltaFromZero,
    Noise,
    Winners,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.signature import validated

_NOISES = {"gaussian": curves.gaussian, "laplace": curves.laplace}
_FARTHEST = 1e6  # the largest epsilon that is searched


@validated
def noisy_max_noise(
    noise: Noise, noise_scale: AnyScale, relation: Change = Relation.GENERAL
) -> BaseGuarantee:
    """The guarantee of one noisy score that moves against all others.

    Args:
      noise: law of the noise.
      noise_scale: standard deviation, or Laplace scale, in units of the sensitivity.
      relation: whether the score may move by 2 against the others (GENERAL) or by 1.
    """
    return _NOISES[noise](noise_scale / noisy_max_shift(relation))


def _profile(noise: BaseGuarantee) -> Callable[[np.ndarray], np.ndarray]:
    """The privacy profile of a guarantee.

    Raises:
      InputError: if it has none.
    """
    if noise.profile is None:
        raise InputError(
            f"{noise.name} has no privacy profile; give a base that has one, such as "
            "gaussian or laplace, or use the Renyi bound"
        )
    return noise.profile


def _smallest(profile: Callable[[np.ndarray], np.ndarray], target: float) -> float:
    """The smallest epsilon >= 0 at which a profile is at most ``target``, rounded up.

    It is inf if the profile is larger at every epsilon up to 1e6.
    """

    def above(epsilon: float) -> bool:
        return float(profile(np.asarray(epsilon))) > target

    if not above(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while above(high):
        low, high = high, 2.0 * high
        if low > _FARTHEST:
            return math.inf
    while high - low > 4.0 * np.spacing(high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


# --- Theorem 3.1 ----------------------------------------------------------------------


@validated
def noisy_max_renyi(
    order: npt.ArrayLike, noise: BaseGuarantee, candidates: AnyCandidates
) -> np.ndarray:
    """A bound on the Renyi divergence of noisy max (KRW Theorem 3.1; Zhu & Wang 2022, Theorem 8).

    It is the Renyi bound of one noisy score at the same order, plus log m/(order - 1).

    Args:
      order: in [1, inf], any shape, which the result has; at order 1 the bound is inf unless
        m = 1.
      noise: guarantee of one noisy score, see ``noisy_max_noise``.
      candidates: m, how many there are.
    """
    order = np.asarray(order, dtype=np.float64)
    if candidates == 1:
        return np.asarray(noise.renyi(order))[()]
    with np.errstate(divide="ignore"):
        return (noise.renyi(order) + math.log(candidates) / (order - 1.0))[()]


@validated
def noisy_max_renyi_epsilon(
    delta: DeltaFromZero, noise: BaseGuarantee, candidates: AnyCandidates, compositions: Winners = 1
) -> float:
    """The epsilon of k adaptive noisy maxima at delta, by Theorem 3.1 at the best Renyi order.

    Args:
      delta: at which epsilon is taken.
      noise, candidates: as in ``noisy_max_renyi``.
      compositions: k, how many winners are released.
    """

    def curve(order: np.ndarray) -> np.ndarray:
        return compositions * noisy_max_renyi(order, noise, candidates)

    return renyi_to_epsilon(curve, delta).epsilon


# --- Theorem 3.2 ----------------------------------------------------------------------


@validated
def noisy_max_delta(
    epsilon: npt.ArrayLike, noise: BaseGuarantee, candidates: AnyCandidates
) -> np.ndarray:
    """delta(epsilon) of noisy max by KRW Theorem 3.2: m times that of one noisy score, at most 1.

    Args:
      epsilon: any real numbers, any shape, which the result has.
      noise: guarantee of one noisy score, see ``noisy_max_noise``.
      candidates: m, how many there are.

    Raises:
      InputError: if the noise has no privacy profile.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    return (np.minimum(1.0, candidates * _profile(noise)(epsilon)) + 0.0)[()]  # no -0.0


@validated
def noisy_max_epsilon(delta: Delta, noise: BaseGuarantee, candidates: AnyCandidates) -> float:
    """Smallest epsilon >= 0 at which ``noisy_max_delta`` is at most delta.

    Args:
      delta: at which epsilon is taken.
      noise, candidates: as in ``noisy_max_delta``.
    """
    return _smallest(_profile(noise), delta / candidates)


# --- Sharper --------------------------------------------------------------------------


@validated
def all_scores_multiplier(
    noise_scale: AnyScale, candidates: AnySeveral, relation: Change = Relation.GENERAL
) -> float:
    """The noise multiplier (noise over shift) of releasing all differences of the noisy scores.

    The differences determine the winner; only the mean of the scores is not released. If n of m
    scores move by s against the others, the differences shift by s sqrt(n (m - n)/m), which is
    largest for n = m/2; scores that move by less never shift them more.

    Args:
      noise_scale: standard deviation, in units of the sensitivity.
      candidates: m, how many scores there are.
      relation: how they may change; s is 2, or 1 if MONOTONE.
    """
    m = candidates
    return noise_scale / (noisy_max_shift(relation) * math.sqrt((m // 2) * (m - m // 2) / m))


def _parts(noise, noise_scale, m, relation):
    """The two bounds of ``noisy_max_guarantee``, each as (factor, guarantee).

    A bound on delta is the factor times the guarantee's delta; the module's docstring proves them.
    Arguments as of ``noisy_max_guarantee``, m being the number of candidates.
    """
    one = noisy_max_noise(noise, noise_scale, relation)
    shift = noisy_max_shift(relation)
    if noise == "laplace":
        return [(max(1, m - 2), one), (1, curves.pure(shift / noise_scale))]
    seen = noise_scale / shift
    whole = all_scores_multiplier(noise_scale, m, relation)
    return [
        (max(1, m - 2), curves.gaussian(seen / math.sqrt((m - 1) / m))),
        (1, curves.gaussian(whole)),
    ]


@validated
def noisy_max_guarantee(
    noise: Noise, noise_scale: AnyScale, candidates: AnySeveral, relation: Change = Relation.GENERAL
) -> BaseGuarantee:
    """The best proved guarantee of one noisy maximum, for use as the base of a search.

    The proofs are in this module's docstring. The profile is never above Theorem 3.2's, nor the
    Renyi curve above Theorem 3.1's.

    Args:
      noise: law of the noise.
      noise_scale: standard deviation, or Laplace scale, in units of the sensitivity.
      candidates: m, how many there are.
      relation: how their scores may change.
    """
    parts = _parts(noise, noise_scale, candidates, relation)

    def from_zero(epsilon: np.ndarray) -> np.ndarray:
        bounds = [factor * _profile(part)(epsilon) for factor, part in parts]
        return np.minimum(1.0, np.minimum(*bounds))

    def profile(epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        # Below 0 the bound at -epsilon, with the two laws exchanged, is tighter: there delta is
        # 1 - e^epsilon (1 - the delta at -epsilon).
        below = np.minimum(epsilon, 0.0)
        value = from_zero(np.abs(epsilon))
        return np.where(epsilon < 0.0, np.exp(below) * value - np.expm1(below), value)[()]

    def renyi(order: np.ndarray) -> np.ndarray:
        (_, one), (_, whole) = parts
        return np.minimum(noisy_max_renyi(order, one, candidates), whole.renyi(order))

    pairs = functools.cache(lambda: (pair_from_profile(profile),))
    return BaseGuarantee(
        name=f"noisy_max:noise={noise},noise_scale={noise_scale!r},"
        f"candidates={candidates},relation={relation.value}",
        renyi=renyi,
        profile=profile,
        tradeoff=lambda x: pair_tradeoff(pairs()[0])(x),
        pairs=pairs,
    )


def noisy_max_sharp_delta(
    epsilon: npt.ArrayLike,
    noise: Noise,
    noise_scale: AnyScale,
    candidates: AnySeveral,
    relation: Change = Relation.GENERAL,
) -> np.ndarray:
    """The delta(epsilon) that ``noisy_max_guarantee`` proves.

    Args:
      epsilon: any real numbers, any shape, which the result has.
      noise, noise_scale, candidates, relation: as of ``noisy_max_guarantee``.
    """
    guarantee = noisy_max_guarantee(noise, noise_scale, candidates, relation)
    return _profile(guarantee)(np.asarray(epsilon, dtype=np.float64))


@validated
def noisy_max_sharp_epsilon(
    delta: Delta,
    noise: Noise,
    noise_scale: AnyScale,
    candidates: AnySeveral,
    relation: Change = Relation.GENERAL,
) -> float:
    """The smallest epsilon >= 0 that ``noisy_max_guarantee`` proves at delta.

    Args:
      delta: at which epsilon is taken.
      noise, noise_scale, candidates, relation: as of ``noisy_max_guarantee``.
    """
    guarantee = noisy_max_guarantee(noise, noise_scale, candidates, relation)
    return _smallest(_profile(guarantee), delta)


# --- Corollary 3.4 --------------------------------------------------------------------


def noisy_max_chernoff_epsilon(
    delta: npt.ArrayLike,
    noise_scale: npt.ArrayLike,
    candidates: npt.ArrayLike,
    relation: Change = Relation.GENERAL,
) -> np.ndarray:
    """epsilon(delta) of noisy max with Gaussian noise by KRW Corollary 3.4.

    It is s^2/(2 sigma^2) + (s/sigma) sqrt(2 log(m/delta)), where a score may shift by s = 2
    against the others (s = 1 if monotone). The numeric arguments broadcast.

    Args:
      delta: in (0, 1), any shape.
      noise_scale: sigma > 0, the standard deviation in units of the sensitivity.
      candidates: m >= 1, how many there are.
      relation: how the scores may change, GENERAL or MONOTONE.

    Raises:
      InputError: if an argument is out of range.
    """
    delta = np.asarray(delta, dtype=np.float64)
    ratio, m = _ratio(noise_scale, candidates, relation)
    if not np.all((delta > 0.0) & (delta < 1.0)):
        raise InputError(f"delta is {delta}; it must lie in (0, 1)")
    return (ratio**2 / 2.0 + ratio * np.sqrt(2.0 * (np.log(m) - np.log(delta))))[()]


def _ratio(noise_scale, candidates, relation) -> tuple[np.ndarray, np.ndarray]:
    """The shift over the noise, s/sigma, and m, both checked, as float64 arrays."""
    scale = np.asarray(noise_scale, dtype=np.float64)
    m = np.asarray(candidates, dtype=np.float64)
    if not np.all((scale > 0.0) & np.isfinite(scale)):
        raise InputError(f"noise_scale is {scale}; it must be finite and > 0")
    if not np.all((m >= 1.0) & np.isfinite(m)):
        raise InputError(f"candidates is {m}; it must be finite and >= 1")
    return noisy_max_shift(relation) / scale, m
