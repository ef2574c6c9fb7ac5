"""A limit on attacks, and the one point of a profile that keeps it."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.host.errors import InputError
from jaxsel.tuning.planning.attack_limit import ATTACK, AttackLimit, read_attack_limit

LIMITS = [
    AttackLimit(0.1),
    AttackLimit(0.9),
    AttackLimit(0.1, 0.01),
    AttackLimit(0.95, 0.2),
    AttackLimit(1e-3, 1e-9),
    AttackLimit(0.999, 0.998),
]


def _mu(limit: AttackLimit) -> float:
    """Of the Gaussian whose attacks just reach the limit."""
    if limit.false_positive_rate is None:
        return 2.0 * stats.norm.ppf(0.5 * (1.0 + limit.most))
    return stats.norm.ppf(limit.most) - stats.norm.ppf(limit.false_positive_rate)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    low, high = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(stats.norm.cdf(low) - math.exp(epsilon) * stats.norm.cdf(high))


@pytest.mark.parametrize("limit", LIMITS)
def test_the_gaussian_that_reaches_the_limit_is_at_the_point(limit):
    """No other point is kept by so little noise, so that none is lost on a Gaussian."""
    assert limit.delta == pytest.approx(_gaussian_delta(_mu(limit), limit.epsilon), rel=1e-6)
    assert limit.reached(limit.delta) == pytest.approx(limit.most, rel=1e-12)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("share", [0.1, 0.7, 2.0])
def test_what_is_reached_is_what_a_private_pair_allows(limit, share):
    """Both lines that bound the trade-off of an (epsilon, delta)-private pair."""
    delta = min(share * limit.delta, 0.9)
    if limit.false_positive_rate is None:
        rates = np.linspace(0.0, 1.0, 1001)
        lines = delta + rates, 1.0 - (1.0 - delta - rates)
        assert limit.reached(delta) == pytest.approx(np.max(np.minimum(*lines) - rates))
        return
    rate, weight = limit.false_positive_rate, math.exp(limit.epsilon)
    lines = delta + weight * rate, 1.0 - (1.0 - delta - rate) / weight, 1.0
    assert limit.reached(delta) >= min(lines) * (1.0 - 1e-12)
    assert any(limit.reached(delta) == pytest.approx(line) for line in lines)


@pytest.mark.parametrize("limit", LIMITS)
def test_the_steepness_is_that_of_the_gaussian(limit):
    mu, step = _mu(limit), 1e-5

    def gain(mu: float) -> float:
        if limit.false_positive_rate is None:
            return 2.0 * stats.norm.cdf(0.5 * mu) - 1.0
        false = limit.false_positive_rate
        return stats.norm.cdf(stats.norm.ppf(false) + mu) - false

    slope = math.log(gain(mu * (1 + step)) / gain(mu * (1 - step))) / (2 * step)
    assert limit.steepness == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0.1, 0.1, 0.01), "give an advantage or a true positive rate, not both"),
        ((None, 0.1, None), "give both of them"),
        ((None, None, 0.1), "give both of them"),
        ((0.1, None, 0.1), "give both of them"),
        ((None, 0.01, 0.1), "an attack that guesses reaches 0.1"),
        ((None, 0.1, 0.1), "an attack that guesses reaches 0.1"),
        ((1.0, None, None), "advantage is 1"),
        ((0.0, None, None), "advantage is 0"),
        ((None, 1.5, 0.1), "true_positive_rate is 1.5"),
        ((None, 0.5, 0.0), "false_positive_rate is 0"),
        ((math.nan, None, None), "advantage is nan"),
    ],
)
def test_what_is_no_limit_is_one_sentence(given, message):
    with pytest.raises(InputError, match=message):
        read_attack_limit(dict(zip(ATTACK, given, strict=True)))
    assert read_attack_limit(None) is None
