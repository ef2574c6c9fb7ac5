"""Delta of a composition at an epsilon, bound by bound, where closed forms know it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

import jaxsel
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.repetitions import parse
from jaxsel.tuning import composing_searches
from jaxsel.tuning.composing_searches import Release
from tests.releases import one_release

_EVERY = {"JX-Composition", "composed-renyi", "composed-sum"}
_EPSILONS = (0.5, 1.5, 3.0)


pytestmark = pytest.mark.usefixtures("coarse_prices")


def _gaussian(mu: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    normal = stats.norm.cdf
    return float(normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu))


def _renyi(rho: float, epsilon: float) -> float:
    """Canonne, Kamath & Steinke 2020, Proposition 12, of the curve order * rho."""
    order = 1.0 + np.exp(np.linspace(-6.0, 6.0, 200_001))
    log = (order - 1.0) * (order * rho - epsilon + np.log1p(-1.0 / order))
    return float(np.exp(np.min(log - np.log(order))))


def _by(found) -> dict[str, float]:
    """Every bound by its theorem."""
    return {bound.theorem: bound[0] for bound in found.bounds}


@pytest.mark.parametrize("law", [None, "pmf:1=1", "point_mass:count=1"])
@pytest.mark.parametrize("epsilon", _EPSILONS)
def test_three_gaussian_runs_are_one_of_a_larger_shift(law, epsilon):
    """Each bound is the number that is worked out for it, and none is below delta."""
    release = one_release("gaussian:noise_multiplier=2", law, 3)
    found = _by(jaxsel.compose(release, epsilon=epsilon))
    exact = _gaussian(math.sqrt(3.0) / 2.0, epsilon)
    assert set(found) == _EVERY
    for delta in found.values():
        assert delta >= exact * (1.0 - 1e-9)
    assert found["JX-Composition"] == pytest.approx(exact, rel=2e-3)
    summed = min(3.0 * _gaussian(0.5, epsilon / 3.0), 1.0)
    assert found["composed-sum"] == pytest.approx(summed, rel=1e-6)
    renyi = _renyi(3.0 / 8.0, epsilon)
    if renyi < 0.1:  # or the Bretagnolle-Huber inequality says more
        assert found["composed-renyi"] == pytest.approx(renyi, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("law", [None, "pmf:1=1"])
def test_unlike_gaussian_runs_share_out_one_epsilon(law, epsilon):
    """The sum is above that of the best split, which is above what both cost exactly."""
    noises = (1.0, 9.0)
    releases = [one_release(f"gaussian:noise_multiplier={s}", law) for s in noises]
    found = _by(jaxsel.compose(releases, epsilon=epsilon))
    exact = _gaussian(math.hypot(*(1.0 / s for s in noises)), epsilon)
    for delta in found.values():
        assert delta >= exact * (1.0 - 1e-9)

    def split(share: float) -> float:
        return _gaussian(1.0, share) + _gaussian(1.0 / 9.0, epsilon - share)

    best = optimize.minimize_scalar(split, bounds=(0.0, epsilon), method="bounded")
    least, equal = best.fun, split(epsilon / 2.0)  # type: ignore[attr-defined]
    assert least * (1.0 - 1e-9) <= found["composed-sum"] <= min(3.0 * least, equal)
    assert found["JX-Composition"] == pytest.approx(exact, rel=2e-3)


def test_answers_of_randomised_response_cost_their_sum_and_no_less():
    """Just below the sum of two pure epsilons only the likeliest outcome is left."""
    releases = [one_release(f"randomised_response:epsilon={e}") for e in (0.3, 0.7)]
    likeliest = 1.0 / ((1.0 + math.exp(-0.3)) * (1.0 + math.exp(-0.7)))
    for epsilon in (0.9, 0.99, 0.999):
        exact = likeliest * -math.expm1(epsilon - 1.0)
        found = _by(jaxsel.compose(releases, epsilon=epsilon))
        for delta in found.values():
            assert delta >= exact * (1.0 - 1e-9)
        assert found["JX-Composition"] == pytest.approx(exact, rel=1e-2)
    at_the_sum = jaxsel.compose(releases, 0.0).best.epsilon
    assert at_the_sum == pytest.approx(1.0, rel=1e-12)
    assert jaxsel.compose(releases, epsilon=at_the_sum).best.delta == 0.0


@pytest.mark.parametrize("law", [None, "pmf:1=1"])
def test_failures_of_every_release_are_part_of_delta(law):
    """Beyond all good losses what is left is that one of the releases fails."""
    releases = [
        one_release("approximate:epsilon=0.25,delta=0.01", law, 3),
        one_release("approximate:epsilon=0.1,delta=0.2", law),
    ]
    exact = 1.0 - 0.99**3 * 0.8
    found = _by(jaxsel.compose(releases, epsilon=0.9))
    if law is None:  # of a search of one run no Renyi bound is that of the run
        assert found["composed-renyi"] == pytest.approx(exact, rel=1e-9)
    assert found["JX-Composition"] == pytest.approx(exact, rel=1e-6)
    assert found["composed-sum"] == pytest.approx(0.23, rel=1e-6)
    assert min(found.values()) >= exact * (1.0 - 1e-9)


def _random_releases(generator: np.random.Generator):
    texts = (
        "gaussian:noise_multiplier={}",
        "laplace:noise_scale={}",
        "zcdp:rho={}",
        "pure:epsilon={}",
        "randomised_response:epsilon={}",
        "gdp:mu={}",
    )
    count = int(generator.integers(1, 5))
    return [
        one_release(
            str(generator.choice(texts)).format(float(np.exp(generator.normal()))),
            "geometric:mean=3" if generator.random() < 0.3 else None,
            int(generator.integers(1, 6)),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_shares_sum_to_no_more_than_epsilon(seed):
    generator = np.random.default_rng(seed)
    releases = _random_releases(generator)
    epsilon = float(np.exp(generator.normal(1.0, 1.5)))
    shares = composing_searches._shares(releases, epsilon)
    spent = sum(Fraction(s) * r.times for s, r in zip(shares, releases, strict=True))
    assert len(shares) == len(releases)
    assert min(shares) >= 0.0
    assert (1.0 - 1e-6) * epsilon <= spent <= epsilon


@pytest.mark.parametrize(
    "releases",
    [
        [("gaussian:noise_multiplier=3", "geometric:mean=4", 3)],
        [("gaussian:noise_multiplier=2", None, 5), ("laplace:noise_scale=3", None, 1)],
        [("pure:epsilon=0.1", None, 3), ("pure:epsilon=0.7", None, 1)],
        [("pure:epsilon=0.1", "geometric:mean=2", 10)],
        [("zcdp:rho=0.01", "logarithmic:mean=5", 2), ("gdp:mu=0.1", None, 1)],
        [("approximate:epsilon=0.3,delta=1e-9", None, 7)],
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_there_and_back(releases, delta):
    """Delta at the epsilon that compose answers is the delta asked for, or less."""
    listed = [one_release(*each) for each in releases]
    asked = jaxsel.compose(listed, delta).best
    if not math.isfinite(asked.epsilon):
        assert delta == 0.0
        return
    back = jaxsel.compose(listed, epsilon=asked.epsilon)
    assert back.best.delta <= delta * (1.0 + 1e-9)
    if back.best.delta > 0.0:
        again = jaxsel.compose(listed, back.best.delta).best.epsilon
        assert again <= asked.epsilon * (1.0 + 1e-9)
    larger = jaxsel.compose(listed, epsilon=1.1 * asked.epsilon + 0.1)
    assert larger.best.delta <= back.best.delta


def test_best_comes_first_and_is_between_0_and_1():
    release = one_release("gaussian:noise_multiplier=0.5", "geometric:mean=5", 4)
    for epsilon in (0.0, 10.0, 1000.0):
        deltas = [b.delta for b in jaxsel.compose(release, epsilon=epsilon).bounds]
        assert deltas == sorted(deltas)
        assert 0.0 <= deltas[0] <= deltas[-1] <= 1.0


@pytest.mark.parametrize("epsilon", [-1.0, math.inf, math.nan])
def test_an_epsilon_out_of_range_is_one_sentence(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        jaxsel.compose(one_release("gdp:mu=1"), epsilon=epsilon)


def test_a_search_of_which_nothing_is_known_proves_nothing():
    """K of infinite mean, as a law of one's own may have: the others tell nothing."""
    endless = parse("poisson:mean=3")._replace(mean=math.inf)
    releases = [one_release("gdp:mu=1"), Release(curves.gaussian(2.0), endless)]
    assert composing_searches.composed_delta(releases, 1.0) == 1.0
    assert composing_searches.composed_epsilon(releases, 0.1) == math.inf
