"""Privacy profiles of a tuned algorithm from the profile of its base.

Koskela, Redberg & Wang (2024), Section 5. All bounds have the form delta(epsilon) <=
E[K] base(epsilon - shift), for outputs ranked in any way; they are valid in both
directions, as the base's profile is.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee, Profile, epsilon_at
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError, check_interval, check_positive
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.profile_ratios import (
    SlopeRatio,
    binomial_ratio,
    negative_binomial_ratio,
    poisson_ratio,
)
from jaxsel.tuning.bounds.tradeoff_ratio import tradeoff_ratio


class ProfileBound(NamedTuple):
    """A bound on the privacy profile of a tuned algorithm.

    Attributes:
      theorem: id of the claim that states it.
      shift: the increase of epsilon by tuning; inf if the bound is trivial.
      level: the epsilon_1 that gives the shift; NaN if there is none.
      mean: E[K], the factor of delta.
      delta: real epsilon -> delta in both directions, element by element.
    """

    theorem: str
    shift: float
    level: float
    mean: float
    delta: Profile

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon >= 0 of the bound at delta; see epsilon_at."""
        return epsilon_at(self.delta, delta)


def _bound(
    theorem: str, profile: Profile, repetitions: Repetitions, ratio: SlopeRatio
) -> ProfileBound:
    """E[K] base(epsilon - shift); "no run" adds (1 - e^epsilon) P[K = 0] below 0."""
    mean, none = repetitions.mean, repetitions.probability_zero

    def delta(epsilon: npt.ArrayLike) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if not math.isfinite(ratio.shift) or not math.isfinite(mean):
            return np.ones(epsilon.shape)[()]
        run = mean * np.asarray(profile(epsilon - ratio.shift), dtype=np.float64)
        return np.minimum(run - none * np.expm1(np.minimum(epsilon, 0.0)), 1.0)[()]

    return ProfileBound(theorem, ratio.shift, ratio.level, mean, delta)


def negative_binomial_profile(profile: Profile, eta: float, gamma: float) -> ProfileBound:
    """Theorem 5.2, K ~ D(eta, gamma), at its best epsilon_1.

    E[K] base(epsilon - (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma)
    base(epsilon_1))).

    Args:
      profile: of the base: real epsilon -> delta in both directions, element by
        element, not increasing.
      eta: > -1; 1 is the geometric law, 0 the logarithmic law.
      gamma: in (0, 1).

    Raises:
      InputError: if eta or gamma is out of range, or the profile increases.
    """
    ratio = negative_binomial_ratio(profile, eta, gamma)
    law = laws.truncated_negative_binomial(eta, gamma)
    return _bound("KRW-Thm5.2", profile, law, ratio)


def binomial_profile(profile: Profile, count: int, probability: float) -> ProfileBound:
    """Theorem 5.7, K ~ Bin(count, probability), at its best epsilon_1.

    Args:
      profile: as in negative_binomial_profile.
      count: >= 1.
      probability: in (0, 1).

    Raises:
      InputError: if a parameter is out of range, or the profile increases.
    """
    ratio = binomial_ratio(profile, count, probability)
    return _bound("KRW-Thm5.7", profile, laws.binomial(count, probability), ratio)


def poisson_profile(profile: Profile, mean: float) -> ProfileBound:
    """Corollary 5.8, K ~ Poisson(mean), at its best epsilon_1, usually 0.

    Args:
      profile: as in negative_binomial_profile.
      mean: > 0.

    Raises:
      InputError: if the mean is not positive, or the profile increases.
    """
    ratio = poisson_ratio(profile, mean)
    return _bound("KRW-Cor5.8", profile, laws.poisson(mean), ratio)


def tradeoff_profile(profile: Profile, tradeoff: Profile, repetitions: Repetitions) -> ProfileBound:
    """The bounds above with the least shift that a trade-off curve allows, for any K.

    A result of this project: never worse than Theorems 5.2 and 5.7 and Corollary 5.8.

    Args:
      profile: as in negative_binomial_profile.
      tradeoff: x -> largest Q'(S) over events with Q(S) <= x, in both directions.
      repetitions: law of K.
    """
    ratio = tradeoff_ratio(tradeoff, repetitions)
    return _bound("KRW-N2", profile, repetitions, ratio)


def profile_bounds(base: BaseGuarantee, repetitions: Repetitions) -> tuple[ProfileBound, ...]:
    """Every bound of this module that applies to a base and a law of K.

    Raises:
      InputError: if the base has no profile.
    """
    profile = base.profile
    if profile is None:
        raise InputError(
            f"base {base.name} has no profile; give one such as gaussian, laplace or pure"
        )
    parameters, found = repetitions.parameters, []
    match repetitions.family:
        case "truncated_negative_binomial":
            found.append(negative_binomial_profile(profile, parameters["eta"], parameters["gamma"]))
        case "binomial" if 0.0 < parameters["probability"] < 1.0:
            count = int(parameters["count"])
            found.append(binomial_profile(profile, count, parameters["probability"]))
        case "poisson":
            found.append(poisson_profile(profile, parameters["mean"]))
    if base.tradeoff is not None:
        found.append(tradeoff_profile(profile, base.tradeoff, repetitions))
    return tuple(found)


# --- From one or two points of the profile, and for a Gaussian base -------------------


def _base_point(epsilon: float, delta: float) -> tuple[float, float]:
    return (
        check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False),
        check_interval("delta", delta, 0.0, 1.0, low_open=False),
    )


def point_negative_binomial(
    epsilon: float, delta: float, eta: float, gamma: float
) -> ApproximateGuarantee:
    """((eta + 2) epsilon + delta/gamma, E[K] delta): Corollary 5.4.

    True, although its proof gives (eta + 1) delta/gamma (E-KRW-1).

    Args:
      epsilon, delta: guarantee of the base, epsilon >= 0, delta in [0, 1).
      eta, gamma: law of K ~ D(eta, gamma), eta > -1, gamma in (0, 1).
    """
    epsilon, delta = _base_point(epsilon, delta)
    law = laws.truncated_negative_binomial(eta, gamma)
    return ApproximateGuarantee((eta + 2.0) * epsilon + delta / gamma, min(1.0, law.mean * delta))


def point_negative_binomial_sharp(
    epsilon: float, delta: float, eta: float, gamma: float
) -> ApproximateGuarantee:
    """((eta + 2) epsilon, 1 - f(1 - delta)), f being the generating function of K.

    At most Corollary 5.4 in both numbers. The base is an epsilon-DP pair with weight
    1 - delta (Kairouz, Oh & Viswanath 2015), and given that no run fails K is again
    truncated negative binomial with the same eta (Papernot & Steinke 2022, Lemma 20).
    Arguments as in point_negative_binomial.
    """
    epsilon, delta = _base_point(epsilon, delta)
    law = laws.truncated_negative_binomial(eta, gamma)
    return ApproximateGuarantee((eta + 2.0) * epsilon, float(law.pgf_gap(delta)))


def gaussian_negative_binomial_epsilon(
    delta: float, noise_multiplier: float, mean: float, eta: float, *, corrected: bool = True
) -> float:
    """Epsilon at delta for a Gaussian base in closed form: Corollary 5.5.

    (eta + 2)(1/(2 s^2) + sqrt(2 log(mean/delta))/s) + 2 delta.

    Args:
      delta: in (0, 1).
      noise_multiplier: s, standard deviation over sensitivity, > 0.
      mean: E[K] of K ~ D(eta, gamma), >= 1.
      eta: >= 1.
      corrected: False gives the factor eta + 1 as printed, which is false (E-KRW-2).
    """
    delta = check_interval("delta", delta, 0.0, 1.0)
    scale = check_positive("noise_multiplier", noise_multiplier)
    mean = check_interval("mean", mean, 1.0, math.inf, low_open=False)
    eta = check_interval("eta", eta, 1.0, math.inf, low_open=False)
    level = 0.5 / scale**2 + math.sqrt(2.0 * math.log(mean / delta)) / scale
    return (eta + (2.0 if corrected else 1.0)) * level + 2.0 * delta


def two_point_epsilon(
    epsilon: float, first_epsilon: float, first_delta: float, eta: float, gamma: float
) -> float:
    """Epsilon at delta from two points of the base's profile: Corollary 6.2.

    epsilon + (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma) delta_1).

    Args:
      epsilon: the base is (epsilon, delta/E[K])-DP, >= 0.
      first_epsilon, first_delta: and also (epsilon_1, delta_1)-DP, epsilon_1 >= 0,
        delta_1 in [0, 1].
      eta, gamma: law of K ~ D(eta, gamma), eta > -1, gamma in (0, 1).
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    level = check_interval("first_epsilon", first_epsilon, 0.0, math.inf, low_open=False)
    extra = check_interval("first_delta", first_delta, 0.0, 1.0, low_open=False, high_open=False)
    eta = check_interval("eta", eta, -1.0, math.inf)
    gamma = check_interval("gamma", gamma, 0.0, 1.0)
    # log(e^level + odds delta_1) without overflow
    inside = math.log1p((1.0 - gamma) / gamma * extra * math.exp(-level))
    return epsilon + (eta + 1.0) * (level + inside)
