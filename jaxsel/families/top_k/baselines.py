"""Privacy of the baselines for private top-k sets.

These are peeling by exponential mechanisms, the limited domain of Durfee & Rogers 2019, Top Stable
of Carvalho, Wang, Gondara & Miao 2020, and the Gaussian answers of PATE (Papernot et al.
2018; Zhu & Wang 2022, Example 13).
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.closed_forms import gaussian_renyi
from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.parameters import AnyEpsilon, AnyScale, Change, Picks, Slack
from jaxsel.host import floats
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.signature import validated

EpsilonFromZero = Annotated[float, number("of each release", at_least=0.0)]
SquaredSensitivity = Annotated[float, positive("of all counts together")]
Tests = Annotated[int, whole("largest number of gaps tested", at_least=1, at_most=1e15)]

# Fractions of epsilon in the authors' code: threshold noise, query noise.
_SHARES = (0.37, 0.63)


# --- Peeling --------------------------------------------------------------------------


@validated
def pick_range(noise_scale: AnyScale, relation: Change = Relation.MONOTONE) -> float:
    """The length of an interval in which all privacy losses of one pick lie.

    It is 1/noise_scale if all counts move in one direction, and 2/noise_scale if in any (Durfee &
    Rogers 2019).

    Args:
      noise_scale: Gumbel scale of the one-shot form, in votes.
      relation: MONOTONE (one user more or less) or GENERAL.
    """
    return (1.0 if relation is Relation.MONOTONE else 2.0) / noise_scale


@validated
def exponential_top_k_rho(
    noise_scale: float, k: Picks, relation: Relation = Relation.MONOTONE
) -> float:
    """The rho of zCDP of k picks with weights exp(count/noise_scale), peeled or in one shot.

    It is k r^2/8, where r is the ``pick_range``: a pick whose losses lie in an interval of length r
    is r^2/8-zCDP (Cesar & Rogers 2021, Lemma 17), and picks compose.

    Args:
      noise_scale, relation: as in ``pick_range``.
      k: number of picks.
    """
    return k * floats.square(pick_range(noise_scale, relation)) / 8.0


@validated
def exponential_top_k_scale(
    rho: parameters.AnyRho, k: Picks, relation: Change = Relation.MONOTONE
) -> float:
    """The Gumbel scale, in votes, at which k picks cost rho.

    It is sqrt(k/(8 rho)), or twice that for the relation GENERAL: the inverse of
    ``exponential_top_k_rho``.

    Args:
      rho: zCDP parameter of all picks.
      k: number of picks.
      relation: as in ``pick_range``.
    """
    return pick_range(1.0, relation) * math.sqrt(k / (8.0 * rho))


# --- Composition of what has no concentrated analysis ---------------------------------


@validated
def advanced_composition(epsilon: EpsilonFromZero, times: parameters.Times, slack: Slack) -> float:
    """The epsilon of several releases of pure or approximate DP, at an additional delta of slack.

    It is the smaller one of times * epsilon and times * epsilon tanh(epsilon/2) + epsilon
    sqrt(2 times log(1/slack)) (Kairouz, Oh & Viswanath 2015, Theorem 3.4). The deltas of the
    releases add to this.

    Args:
      epsilon: of each release.
      times: number of releases.
      slack: delta that composing adds.
    """
    return _composed(epsilon, times, slack)


def _composed(epsilon: float, times: int, slack: float) -> float:
    """``advanced_composition`` without checks."""
    spread = epsilon * math.sqrt(-2.0 * times * math.log(slack))
    return min(times * epsilon, times * epsilon * math.tanh(epsilon / 2.0) + spread)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy import optimize  # imported where it is needed: it takes long, and few need it

    found = optimize.root_scalar(
        function, bracket=(low, high), method="brentq", xtol=1e-300, rtol=1e-14
    )
    return float(found.root)


def _largest_share(cost: Callable[[float], float], target: float) -> float:
    """The largest x with cost(x) <= target, cost continuous and increasing."""
    high = target  # no composition has a smaller epsilon than one release
    if cost(high) <= target:
        return high
    root = _root(lambda x: cost(x) - target, 0.0, high)
    while cost(root) > target:
        root = math.nextafter(root, 0.0)
    return root


@validated
def advanced_composition_share(epsilon: AnyEpsilon, times: parameters.Times, slack: Slack) -> float:
    """The largest epsilon of one release with which all of them compose to ``epsilon``.

    Args:
      epsilon: of all releases together.
      times, slack: as in ``advanced_composition``.
    """
    return _largest_share(lambda x: _composed(x, times, slack), epsilon)


# --- Limited domain -------------------------------------------------------------------


@validated
def limited_domain_epsilon(epsilon: EpsilonFromZero, picks: Picks, slack: Slack) -> float:
    """The epsilon of all picks of limited-domain top-k, at the delta of the restriction plus slack.

    For n picks it is the least of n epsilon, n epsilon tanh(epsilon/2) + epsilon
    sqrt(2 n log(1/slack)), and n epsilon^2/2 + epsilon sqrt(n log(1/slack)/2). The last holds as
    picks have bounded range (Durfee & Rogers 2019, Theorem 1).

    Args:
      epsilon: of one pick; counts get Gumbel noise of scale 1/epsilon.
      picks: n, the k of the top-k set, or all picks of several releases.
      slack: delta that composing adds.
    """
    return _picked(epsilon, picks, slack)


def _picked(epsilon: float, picks: int, slack: float) -> float:
    """``limited_domain_epsilon`` without checks."""
    basic = _composed(epsilon, picks, slack)
    spread = epsilon * math.sqrt(-0.5 * picks * math.log(slack))
    return min(basic, picks * floats.square(epsilon) / 2.0 + spread)


@validated
def limited_domain_share(epsilon: AnyEpsilon, picks: Picks, slack: Slack) -> float:
    """The largest epsilon of one pick with which all of them have at most ``epsilon``.

    Args:
      epsilon: of all picks together.
      picks, slack: as in ``limited_domain_epsilon``.
    """
    return _largest_share(lambda x: _picked(x, picks, slack), epsilon)


@validated
def limited_domain_threshold(
    epsilon: AnyEpsilon, delta: parameters.Restriction, domain: parameters.DomainSize
) -> float:
    """By how many votes the element "nothing more" exceeds the largest count left out.

    It is 1 + log(domain/delta)/epsilon, before Gumbel noise of scale 1/epsilon is added (Durfee &
    Rogers 2019).

    Args:
      epsilon: of one pick.
      delta: of the restriction to the largest counts.
      domain: how many counts compete.
    """
    return 1.0 + math.log(domain / delta) / epsilon


# --- Top Stable -----------------------------------------------------------------------


class TopStable(NamedTuple):
    """Settings of Top Stable (Carvalho et al. 2020).

    Attributes:
      threshold: with which, after noise, the noisy distance max(gap - 1, 0) is compared.
      threshold_scale: Laplace scale of the noise on the threshold, drawn once.
      query_scale: Laplace scale of the noise on each distance.
      delta_query: delta_q, failure probability that sets the threshold.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    delta_query: float


@validated
def top_stable(epsilon: AnyEpsilon, delta: parameters.DeltaOfAll, tests: Tests) -> TopStable:
    """Settings of Top Stable for (epsilon, delta)-DP (Carvalho et al. 2020).

    Args:
      epsilon: of the whole; 37 % is for the threshold, 63 % for the tests.
      delta: of the whole.
      tests: largest number of gaps tested (k-bar).

    Raises:
      InputError: for a noise scale 1/epsilon beyond the range of scales, or a delta so large
        that no failure probability of a test fits it.
    """
    parameters.check_noise_scale(1.0 / epsilon)
    first, second = _SHARES[0] * epsilon, _SHARES[1] * epsilon
    # c = 2 epsilon_1/epsilon_2. A test errs if its noise exceeds that of the threshold too far;
    # ``total`` is the delta of all tests.
    c = 2.0 * first / second

    def total(log_query: float) -> float:
        q, power = math.exp(log_query), math.exp(c * log_query)
        return tests * (2.0 * power + q - c * (power + 2.0 * q)) / (4.0 - 4.0 * c)

    if total(0.0) < delta:
        raise InputError(f"delta is {delta:g}; it is too large for {tests} tests")
    log_query = _root(lambda x: math.log(total(x)) - math.log(delta), -690.0, 0.0)
    return TopStable(-2.0 * log_query / second, 1.0 / first, 2.0 / second, math.exp(log_query))


# --- PATE -----------------------------------------------------------------------------


@validated
def labels_renyi(
    order: npt.ArrayLike, noise_scale: AnyScale, squared_sensitivity: SquaredSensitivity
) -> np.ndarray:
    """A bound on the Renyi divergence of PATE with Gaussian noise on the votes for many labels.

    It is order * squared_sensitivity/(2 noise_scale^2), for one teacher who is added or removed.
    The votes of a teacher for m labels have a squared l2 norm of at most m. Votes that are scaled
    down to an l1 norm of at most tau have one of at most tau, and of less unless the teacher votes
    for exactly tau labels.

    Args:
      order: in (0, inf], any shape.
      noise_scale: standard deviation of the noise on each count, in votes.
      squared_sensitivity: m, or tau.
    """
    return gaussian_renyi(order, noise_scale / math.sqrt(squared_sensitivity))
