"""Privacy of the baselines for private top-k sets.

These are peeling by exponential mechanisms, the limited domain of Durfee & Rogers 2019, Top Stable
of Carvalho, Wang, Gondara & Miao 2020, and the Gaussian answers of PATE (Papernot et al.
2018; Zhu & Wang 2022, Example 13).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from jaxsel.accounting.single_run.closed_forms import gaussian_renyi
from jaxsel.families.top_k.limits import LEAST_PROBABILITY, check_scale
from jaxsel.host.errors import (
    InputError,
    check_choice,
    check_integer,
    check_interval,
    check_positive,
)
from jaxsel.language.base import Relation

# Fractions of epsilon in the authors' code: threshold noise, query noise.
_SHARES = (0.37, 0.63)


# --- Peeling --------------------------------------------------------------------------


def _range_factor(relation: Relation) -> float:
    """Range of one pick's privacy loss, in units of 1/scale."""
    check_choice("relation", relation, (Relation.MONOTONE, Relation.GENERAL))
    return 1.0 if relation is Relation.MONOTONE else 2.0


def pick_range(noise_scale: float, relation: Relation = Relation.MONOTONE) -> float:
    """Length of the interval that the privacy losses of one pick lie in.

    Args:
      noise_scale: Gumbel scale of the one-shot form, > 0.
      relation: MONOTONE (one user more or less) or GENERAL.
    """
    return _range_factor(relation) / check_positive("noise_scale", noise_scale)


def exponential_top_k_rho(
    noise_scale: float, k: int, relation: Relation = Relation.MONOTONE
) -> float:
    """rho-zCDP of k picks with weights exp(count/noise_scale), peeled or in one shot.

    A pick has bounded range r = 1/noise_scale if counts move in one direction (2/
    noise_scale if in any), hence r^2/8-zCDP (Cesar & Rogers 2021, Lemma 17), and picks
    compose: k r^2/8.

    Args:
      noise_scale: Gumbel scale of the one-shot form, > 0.
      k: picks, >= 1.
      relation: MONOTONE (one user more or less) or GENERAL.
    """
    return check_integer("k", k, 1) * pick_range(noise_scale, relation) ** 2 / 8.0


def exponential_top_k_scale(rho: float, k: int, relation: Relation = Relation.MONOTONE) -> float:
    """Noise scale at which k picks cost rho: sqrt(k/(8 rho)), twice that if GENERAL."""
    rho = check_positive("rho", rho)
    k = check_integer("k", k, 1)
    return _range_factor(relation) * math.sqrt(k / (8.0 * rho))


# --- Composition of what has no concentrated analysis ---------------------------------


def advanced_composition(epsilon: float, times: int, slack: float) -> float:
    """epsilon of a composition of pure or approximate DP, at an additional delta of ``slack``.

    The least of times * epsilon and times * epsilon tanh(epsilon/2) + epsilon
    sqrt(2 times log(1/slack)) (Kairouz, Oh & Viswanath 2015, Theorem 3.4); deltas add.

    Args:
      epsilon: of each release, >= 0.
      times: number of releases, >= 1.
      slack: in (0, 1).
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    times = check_integer("times", times, 1)
    slack = check_interval("slack", slack, 0.0, 1.0)
    spread = epsilon * math.sqrt(-2.0 * times * math.log(slack))
    return min(times * epsilon, times * epsilon * math.tanh(epsilon / 2.0) + spread)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
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


def advanced_composition_share(epsilon: float, times: int, slack: float) -> float:
    """The largest epsilon of each of ``times`` releases that compose to ``epsilon``."""
    epsilon = check_positive("epsilon", epsilon)
    return _largest_share(lambda x: advanced_composition(x, times, slack), epsilon)


# --- Limited domain -------------------------------------------------------------------


def limited_domain_epsilon(epsilon: float, picks: int, slack: float) -> float:
    """epsilon of limited-domain top-k with ``epsilon`` per pick, at delta + slack.

    With n picks: the least of n epsilon, n epsilon tanh(epsilon/2) + epsilon
    sqrt(2 n log(1/slack)), and n epsilon^2/2 + epsilon sqrt(n log(1/slack)/2), the last
    by bounded range (Durfee & Rogers 2019, Theorem 1).

    Args:
      epsilon: per pick, > 0; counts get Gumbel noise of scale 1/epsilon.
      picks: n, the k of the top-k set, or all picks of several releases, >= 1.
      slack: in (0, 1).
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    basic = advanced_composition(epsilon, picks, slack)
    spread = epsilon * math.sqrt(-0.5 * picks * math.log(slack))
    return min(basic, picks * epsilon**2 / 2.0 + spread)


def limited_domain_share(epsilon: float, picks: int, slack: float) -> float:
    """The largest epsilon per pick for which ``picks`` picks have at most ``epsilon``."""
    epsilon = check_positive("epsilon", epsilon)
    return _largest_share(lambda x: limited_domain_epsilon(x, picks, slack), epsilon)


def limited_domain_threshold(epsilon: float, delta: float, domain: int) -> float:
    """By how much the element "nothing more" exceeds count number domain + 1.

    1 + log(domain/delta)/epsilon, before Gumbel noise of scale 1/epsilon.

    Args:
      epsilon: per pick, > 0.
      delta: of the restriction to the largest counts, in (0, 1).
      domain: k-bar, number of counts that compete, >= 1.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0)
    return 1.0 + math.log(check_integer("domain", domain, 1) / delta) / epsilon


# --- Top Stable -----------------------------------------------------------------------


class TopStable(NamedTuple):
    """Settings of Top Stable.

    Attributes:
      threshold: the threshold for the noisy distance to instability.
      threshold_scale: Laplace scale of the noise on the threshold, drawn once.
      query_scale: Laplace scale of the noise on each distance.
      delta_query: delta_q, failure probability that sets the threshold.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    delta_query: float


def top_stable(epsilon: float, delta: float, tests: int) -> TopStable:
    """Settings of Top Stable for (epsilon, delta)-DP (Carvalho et al. 2020).

    Args:
      epsilon: > 0; 37 % is for the threshold, 63 % for the tests.
      delta: in (1e-150, 1).
      tests: largest number of gaps tested (k-bar), >= 1.

    Raises:
      InputError: for parameters out of range, or a delta so large that no failure
        probability of a test fits it.
    """
    epsilon = check_positive("epsilon", epsilon)
    check_scale("the noise scale", 1.0 / epsilon)
    delta = check_interval("delta", delta, LEAST_PROBABILITY, 1.0)
    tests = check_integer("tests", tests, 1)
    first, second = _SHARES[0] * epsilon, _SHARES[1] * epsilon
    # c = 2 epsilon_1/epsilon_2; a test errs if its noise exceeds the threshold's.
    c = 2.0 * first / second

    def total(log_query: float) -> float:
        q, power = math.exp(log_query), math.exp(c * log_query)
        return tests * (2.0 * power + q - c * (power + 2.0 * q)) / (4.0 - 4.0 * c)

    if total(0.0) < delta:
        raise InputError(f"delta is {delta:g}; it is too large for {tests} tests")
    log_query = _root(lambda x: math.log(total(x)) - math.log(delta), -690.0, 0.0)
    return TopStable(-2.0 * log_query / second, 1.0 / first, 2.0 / second, math.exp(log_query))


# --- PATE -----------------------------------------------------------------------------


def labels_renyi(
    order: npt.ArrayLike, noise_scale: float, squared_sensitivity: float
) -> np.ndarray:
    """Renyi bound of PATE on many labels: order * squared_sensitivity/(2 s^2).

    One teacher is added or removed. With m labels a teacher's votes have squared l2 norm
    at most m; with votes scaled down to an l1 norm of at most tau, at most tau (and less
    than tau unless exactly tau labels are voted for).

    Args:
      order: in (0, inf], any shape.
      noise_scale: standard deviation s of the noise on each count, > 0.
      squared_sensitivity: m, or tau, > 0.
    """
    scale = check_positive("noise_scale", noise_scale)
    square = check_positive("squared_sensitivity", squared_sensitivity)
    return gaussian_renyi(order, scale / math.sqrt(square))
