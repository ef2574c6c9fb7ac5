"""Privacy profiles of a tuned algorithm from the profile of its base.

Koskela, Redberg & Wang (2024), Section 5. All bounds have the form delta(epsilon) <=
E[K] base(epsilon - shift), for outputs ranked in any way; they are valid in both
directions, as the base's profile is.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee, Profile, epsilon_at
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.papers import JX, KRW
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.repetitions.parameters import Eta, Gamma
from jaxsel.tuning.bounds.profile_ratios import (
    SlopeRatio,
    binomial_ratio,
    negative_binomial_ratio,
    poisson_ratio,
)
from jaxsel.tuning.bounds.tradeoff_ratio import tradeoff_ratio
from jaxsel.tuning.parameters import Delta, Epsilon, NoiseMultiplier, ProperDelta
from jaxsel.tuning.search_bounds import (
    PROFILE,
    Former,
    Needs,
    Search,
    SearchBound,
    applicable,
    bound,
)

# Of Corollary 5.5, and of Corollary 6.2.
MeanFromOne = Annotated[float, number("E[K]", at_least=1.0)]
EtaFromOne = Annotated[float, number("shape of K", at_least=1.0)]
LevelEpsilon = Annotated[float, number("at delta/E[K]", at_least=0.0)]
FirstEpsilon = Annotated[float, number("epsilon_1", at_least=0.0)]
FirstDelta = Annotated[float, number("delta_1, at epsilon_1", at_least=0.0, at_most=1.0)]


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
    """Profile of the best of K ~ D(eta, gamma) runs, by Theorem 5.2 at its best epsilon_1.

    E[K] base(epsilon - (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma)
    base(epsilon_1))).

    Args:
      profile: of the base: real epsilon -> delta in both directions, element by
        element, not increasing.
      eta, gamma: of K; eta = 1 is the geometric law, 0 the logarithmic law.
    """
    ratio = negative_binomial_ratio(profile, eta, gamma)
    law = laws.truncated_negative_binomial(eta, gamma)
    return _bound("KRW-Thm5.2", profile, law, ratio)


def binomial_profile(profile: Profile, count: int, probability: float) -> ProfileBound:
    """Profile of the best of K ~ Bin(count, probability) runs, by Theorem 5.7.

    At its best epsilon_1.

    Args:
      profile: as in negative_binomial_profile.
      count, probability: of K; the probability below 1.
    """
    ratio = binomial_ratio(profile, count, probability)
    return _bound("KRW-Thm5.7", profile, laws.binomial(count, probability), ratio)


def poisson_profile(profile: Profile, mean: float) -> ProfileBound:
    """Profile of the best of K ~ Poisson(mean) runs, by Corollary 5.8 at its best epsilon_1.

    That is usually 0.
    """
    ratio = poisson_ratio(profile, mean)
    return _bound("KRW-Cor5.8", profile, laws.poisson(mean), ratio)


def tradeoff_profile(profile: Profile, tradeoff: Profile, repetitions: Repetitions) -> ProfileBound:
    """Profile of the best of K runs, with the least shift that a trade-off curve allows.

    A result of this project: never worse than Theorems 5.2 and 5.7 and Corollary 5.8.

    Args:
      profile: as in negative_binomial_profile.
      tradeoff: x -> largest Q'(S) over events with Q(S) <= x, in both directions.
      repetitions: law of K.
    """
    ratio = tradeoff_ratio(tradeoff, repetitions)
    return _bound("KRW-N2", profile, repetitions, ratio)


# --- what is stated of a search ----------------------------------------------------------

_COIN = "randomised_response:epsilon={base_epsilon}"


@bound(
    KRW,
    "KRW-Thm5.2",
    "Theorem 5.2",
    PROFILE,
    needs=Needs(law="truncated_negative_binomial", uses=("profile",)),
    words="Koskela, Redberg & Wang 2024: profile, truncated negative binomial",
    label="KRW, Thm 5.2",
    at=Former(
        {"base_epsilon": "1", "eta": "1", "gamma": "0.1"},
        _COIN,
        "tnb:eta={eta},gamma={gamma}",
        {"epsilon": 2.95},
    ),
)
def theorem_5_2(search: Search) -> ProfileBound:
    """The best of K ~ D(eta, gamma) runs has delta(epsilon) <= E[K] base(epsilon - (eta + 1)
    log(e^epsilon_1 + ((1 - gamma)/gamma) base(epsilon_1))) for every real epsilon and epsilon_1 >=
    0, base being the privacy profile of one run.

    At the best epsilon_1."""
    return negative_binomial_profile(_profile(search), **search.law.parameters)


def _proper(search: Search) -> str | None:
    """What a search lacks for a binomial K that is neither 0 nor its count."""
    probability = search.law.parameters["probability"]
    return None if 0.0 < probability < 1.0 else "a probability strictly between 0 and 1"


@bound(
    KRW,
    "KRW-Thm5.7",
    "Theorem 5.7",
    PROFILE,
    needs=Needs(law="binomial", lacks=_proper, uses=("profile",)),
    words="Koskela, Redberg & Wang 2024: profile, binomial",
    label="KRW, Thm 5.7",
    at=Former(
        {"base_epsilon": "1", "count": "20", "probability": "0.1"},
        _COIN,
        "binomial:count={count},probability={probability}",
        {"epsilon": 1.9},
    ),
)
def theorem_5_7(search: Search) -> ProfileBound:
    """The best of K ~ Bin(n, p) runs has delta(epsilon) <= n p base(epsilon - (n - 1) log(1 + p
    (e^epsilon_1 - 1) + p base(epsilon_1))) for every epsilon_1 >= log(1 + (p/(1 - p))
    base(epsilon_1)); below epsilon = 0 the outcome 'no run' adds (1 - e^epsilon)(1 - p)^n.

    At the least epsilon_1 that meets the side condition, which is the best."""
    count, probability = (search.law.parameters[name] for name in ("count", "probability"))
    return binomial_profile(_profile(search), int(count), probability)


@bound(
    KRW,
    "KRW-Cor5.8",
    "Corollary 5.8",
    PROFILE,
    needs=Needs(law="poisson", uses=("profile",)),
    words="Koskela, Redberg & Wang 2024: profile, Poisson",
    label="KRW, Cor. 5.8",
    at=Former({"base_epsilon": "1", "mean": "2"}, _COIN, "poisson:mean={mean}", {"epsilon": 1.9}),
)
def corollary_5_8(search: Search) -> ProfileBound:
    """The best of K ~ Poisson(m) runs has delta(epsilon) <= m base(epsilon - m (e^epsilon_1 - 1) -
    m base(epsilon_1)) for every epsilon_1 >= 0, m > 0; epsilon_1 = 0 is the best and costs m times
    the base's total variation; below epsilon = 0 the outcome 'no run' adds (1 - e^epsilon) e^-m.

    At epsilon_1 = 0."""
    return poisson_profile(_profile(search), search.law.parameters["mean"])


@bound(
    JX,
    "KRW-N2",
    "after Theorem 4.1 of Koskela, Redberg & Wang 2024",
    PROFILE,
    needs=Needs(uses=("profile", "tradeoff")),
    words="E[K] times the profile, shifted by the least uniform ratio; this project",
    label="uniform ratio*",
    at=Former(
        {"base_epsilon": "1", "repetitions": "geometric:gamma=0.1"},
        _COIN,
        "{repetitions}",
        {"epsilon": 2.55},
    ),
)
def least_shift(search: Search) -> ProfileBound:
    """For any K, delta(epsilon) <= E[K] base(epsilon - sup_x log(f'(1 - x)/f'(1 - T(x)))) + (1 -
    e^epsilon)_+ P[K = 0], T being the base's trade-off curve; the shift is at most that of Theorem
    5.2."""
    tradeoff = search.base.tradeoff
    assert tradeoff is not None  # ``uses``
    return tradeoff_profile(_profile(search), tradeoff, search.law)


def _profile(search: Search) -> Profile:
    assert search.base.profile is not None  # ``uses``
    return search.base.profile


def _checked(stated: SearchBound) -> None:
    """Exact deltas of pairs, with laws of the bound's family."""

    @stated.bounds(tolerance=1e-12)
    def deltas_of_pairs(budget):
        from jaxsel.tuning.claims.searches import profile_cases

        assert stated.family is not None
        return profile_cases(stated, budget, stated.family)


for _stated in (theorem_5_2, theorem_5_7, corollary_5_8):
    _checked(_stated)


@least_shift.bounds(tolerance=1e-12)
def every_law(budget):
    """Valid for every law of K; and for truncated negative binomial K no larger than
    Theorem 5.2."""
    from jaxsel.tuning.claims.searches import OTHER_LAWS, profile_cases, profile_cases_of, shifts

    families = ("truncated_negative_binomial", "poisson", "binomial")
    yield from profile_cases_of(least_shift, budget, *OTHER_LAWS)
    yield from profile_cases(least_shift, budget, *families)
    yield from shifts(budget, theorem_5_2, least_shift)


def profile_bounds(base: BaseGuarantee, repetitions: Repetitions) -> tuple[ProfileBound, ...]:
    """Every bound on the profile that applies to a base and a law of K.

    Raises:
      InputError: if the base has no profile.
    """
    if base.profile is None:
        raise InputError(
            f"base {base.name} has no profile; give one such as gaussian, laplace or pure"
        )
    search = Search(base, repetitions)
    return tuple(
        each.formula(search) for each in applicable(search).values() if each.states is PROFILE
    )


# --- From one or two points of the profile, and for a Gaussian base -------------------


@validated
def point_negative_binomial(
    epsilon: Epsilon, delta: Delta, eta: Eta, gamma: Gamma
) -> ApproximateGuarantee:
    """What K ~ D(eta, gamma) runs of an (epsilon, delta)-DP base guarantee, by Corollary 5.4.

    ((eta + 2) epsilon + delta/gamma, E[K] delta). True, although its proof gives
    (eta + 1) delta/gamma (E-KRW-1).

    Args:
      epsilon, delta: guarantee of the base.
      eta, gamma: of K.
    """
    law = laws.truncated_negative_binomial(eta, gamma)
    return ApproximateGuarantee((eta + 2.0) * epsilon + delta / gamma, min(1.0, law.mean * delta))


@validated
def point_negative_binomial_sharp(
    epsilon: Epsilon, delta: Delta, eta: Eta, gamma: Gamma
) -> ApproximateGuarantee:
    """A guarantee that is at most that of ``point_negative_binomial`` in both numbers.

    ((eta + 2) epsilon, 1 - f(1 - delta)), f being the generating function of K. The base is an
    epsilon-DP pair with weight 1 - delta (Kairouz, Oh & Viswanath 2015), and given that no run
    fails K is again truncated negative binomial with the same eta (Papernot & Steinke 2022,
    Lemma 20).
    Arguments as in point_negative_binomial.
    """
    law = laws.truncated_negative_binomial(eta, gamma)
    return ApproximateGuarantee((eta + 2.0) * epsilon, float(law.pgf_gap(delta)))


@validated
def gaussian_negative_binomial_epsilon(
    delta: ProperDelta,
    noise_multiplier: NoiseMultiplier,
    mean: MeanFromOne,
    eta: EtaFromOne,
    *,
    corrected: bool = True,
) -> float:
    """Epsilon of the tuned algorithm at delta for a Gaussian base, in closed form: Corollary 5.5.

    (eta + 2)(1/(2 s^2) + sqrt(2 log(mean/delta))/s) + 2 delta.

    Args:
      delta: where epsilon is taken.
      noise_multiplier: s, standard deviation over sensitivity.
      mean, eta: E[K] and shape of K ~ D(eta, gamma).
      corrected: False gives the factor eta + 1 as printed, which is false (E-KRW-2).
    """
    scale = noise_multiplier
    level = 0.5 / scale**2 + math.sqrt(2.0 * math.log(mean / delta)) / scale
    return (eta + (2.0 if corrected else 1.0)) * level + 2.0 * delta


@validated
def two_point_epsilon(
    epsilon: LevelEpsilon,
    first_epsilon: FirstEpsilon,
    first_delta: FirstDelta,
    eta: Eta,
    gamma: Gamma,
) -> float:
    """Epsilon of the tuned algorithm from two points of the base's profile: Corollary 6.2.

    epsilon + (eta + 1) log(e^epsilon_1 + ((1 - gamma)/gamma) delta_1).

    Args:
      epsilon: the base is (epsilon, delta/E[K])-DP.
      first_epsilon, first_delta: and also (epsilon_1, delta_1)-DP.
      eta, gamma: of K ~ D(eta, gamma).
    """
    # log(e^epsilon_1 + odds delta_1) without overflow
    inside = math.log1p((1.0 - gamma) / gamma * first_delta * math.exp(-first_epsilon))
    return epsilon + (eta + 1.0) * (first_epsilon + inside)
