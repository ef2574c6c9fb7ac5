"""The limit of privacy: by hand, and below every law of K that is known."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import jaxsel
from jaxsel import account
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.host.errors import InputError
from jaxsel.tuning.planning.frontier import frontiers, limit, most_runs_shown
from jaxsel.tuning.planning.limit import least_miss, least_rank
from jaxsel.tuning.planning.named_laws import FAMILIES

pytestmark = pytest.mark.usefixtures("coarse_prices")


def _by_hand(bad, epsilon, delta, mean, steps=60):
    """The bound at each number of steps, from its definition."""
    values = []
    for t in range(steps):
        group = delta * sum(math.exp(i * epsilon) for i in range(t))
        values.append(math.exp(-t * epsilon) * (bad(t) ** mean - group))
    return max(values)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_limit_of_gaussian_runs_by_hand(epsilon, delta):
    base, good, mean = parse_base("gdp:mu=0.4"), 0.05, 300.0
    found = least_miss(base, epsilon, delta, mean, good)

    def bad(t):  # normal laws that lie mu apart, step after step
        return stats.norm.cdf(stats.norm.ppf(1.0 - good) + 0.4 * t)

    hand = _by_hand(bad, epsilon, delta, mean)
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(hand, rel=1e-9)


def test_limit_of_pure_runs_by_hand():
    """The chance of a good output falls by e^-epsilon a step, once it is below a half."""
    base, good, mean = parse_base("pure:epsilon=0.3"), 0.2, 80.0
    hand = _by_hand(lambda t: 1.0 - good * math.exp(-0.3 * t), 0.9, 0.0, mean)
    assert least_miss(base, 0.9, 0.0, mean, good)[0, 0] == pytest.approx(hand)
    # Talwar's trade-off: polynomial in the number of runs, at the exponent epsilon/0.3.
    few, many = (least_miss(base, 0.9, 0.0, runs, good)[0, 0] for runs in (1e4, 1e4 * math.e**3))
    assert math.log(few / many) == pytest.approx(3.0 * 0.9 / 0.3, rel=0.02)


@pytest.mark.parametrize(
    ("text", "delta"), [("pure:epsilon=0.5", 0.0), ("pure:epsilon=0.5", 1e-6), ("gdp:mu=0.3", 1e-6)]
)
def test_no_law_of_k_is_below_its_limit(text, delta):
    base, shown = parse_base(text), 0
    for name in ("tnb:eta=-0.5", "logarithmic", "geometric", "tnb:eta=3", "poisson"):
        for mean in (1.5, 30.0, 3000.0):
            try:
                law = FAMILIES[name](mean)
            except InputError:
                continue
            epsilon = account(base, law, delta, attain=False).best.epsilon
            if not 0.0 < epsilon < 50.0:
                continue
            for good in (0.5, 0.05, 0.001):
                miss = float(law.pgf(np.asarray(1.0 - good)))
                least = least_miss(base, epsilon, delta, mean, good)[0, 0]
                assert least <= miss * (1.0 + 1e-9), (name, mean, good)
                # Not only because so few runs do no better.
                shown += least > 2.0 * (1.0 - good) ** mean
    assert shown >= 5


def test_limit_of_the_rank_by_quadrature():
    base = parse_base("gaussian:noise_multiplier=2")
    found = least_rank(base, [0.7, 5.0], 1e-6, 100.0, count=4000)
    for epsilon, least in zip((0.7, 5.0), found.tolist(), strict=True):
        exact, _ = integrate.quad(
            lambda t, e=epsilon: math.exp(t) * least_miss(base, e, 1e-6, 100.0, math.exp(t))[0, 0],
            math.log(1e-7),
            -1e-9,
            limit=200,
        )
        assert exact * 0.99 < least <= exact * (1.0 + 1e-6)
    # At a large epsilon privacy binds no more: 1/(m + 1), by Jensen's inequality.
    assert found[1] == pytest.approx(1.0 / 101.0, rel=0.02)


def test_a_plans_curves_stay_above_its_limit():
    found = jaxsel.plan("gaussian", epsilon=2.0, runs=20, winner="good=0.1", delta=1e-5)
    curves = frontiers(found)
    highest = max(float(curve.epsilon.max()) for curve in curves)
    bound = limit(found, highest)
    assert bound is not None
    assert bound.runs == most_runs_shown(found)
    for curve in curves:
        # Both fall in epsilon: the limit at the next point drawn is no more.
        place = np.searchsorted(bound.epsilon, curve.epsilon).clip(max=99)
        assert np.all(bound.rank[place] <= (1.0 - curve.quantile) * (1 + 1e-6))
        assert np.all(bound.miss[place] <= curve.miss * (1 + 1e-6))
        assert np.all(np.diff(curve.miss) < 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be > 0"),
        ({"good": 1.0}, "good inside"),
        ({"mean": 0.0}, "mean is 0"),
        ({"delta": 1.0}, "delta is 1"),
    ],
)
def test_bad_numbers_are_refused(options, message):
    numbers = {"epsilon": 1.0, "delta": 1e-6, "mean": 10.0, "good": 0.1} | options
    with pytest.raises(InputError, match=message):
        least_miss(parse_base("gdp:mu=1"), **numbers)
    no_curve = parse_base("gdp:mu=1")._replace(tradeoff=None)
    with pytest.raises(InputError, match="no trade-off curve"):
        least_miss(no_curve, 1.0, 1e-6, 10.0, 0.1)
