"""Numbers behind the errata of Cohen et al. 2022 on Selection, Test and the coin game."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from jaxsel.families.selection_and_test import bounds
from jaxsel.families.selection_and_test.claims import many_tests
from jaxsel.families.selection_and_test.coin_game_laws import close_coins, coin_renyi, game_renyi
from tests.conftest import ALPHA


@mp.workdps(30)
def test_private_outcome_in_ten_calls():
    exact = 1 - mp.quad(lambda p: (1 - p / 100) ** 50, [0, 1])
    assert float(exact) == pytest.approx(0.2136, abs=1e-4)
    generator = np.random.default_rng(6)
    trials = 200_000
    p = generator.random((trials, 1))
    met = generator.binomial(5, p * 0.01, (trials, 10)).any(axis=1)
    assert stats.binomtest(int(met.sum()), trials, float(exact)).pvalue > ALPHA


def test_learning_adversary_by_playing_the_game():
    # 100 answers "top" of tests with chance 1e-3 p, then 100 more with e^-0.5 of it on
    # the second side; the event is that the second wait is short for the first.
    generator = np.random.default_rng(7)
    trials, half, epsilon = 200_000, 100, 0.5
    p = generator.random(trials)
    first = generator.negative_binomial(half, 1e-3 * p)
    waits = {
        share: generator.negative_binomial(half, 1e-3 * share * p)
        for share in (1.0, math.exp(-epsilon))
    }
    # loss > 6: (1 + w)/(1 + w e^-0.5) < exp((half epsilon - 6)/(2 half))
    grown = math.exp((half * epsilon - 6.0) / (2 * half))
    cut = (grown - 1.0) / (1.0 - grown * math.exp(-epsilon))
    chances = {}
    for share, wait in waits.items():
        exact = float(stats.betaprime.cdf(cut * share, half, half))
        hits = int(np.sum(wait <= cut * first))
        # Waiting times are whole numbers: the law is exact up to order 1e-3.
        low, high = stats.binomtest(hits, trials).proportion_ci(1 - ALPHA)
        assert low - 2e-3 < exact < high + 2e-3
        chances[share] = exact
    found = many_tests._ratio_delta(epsilon, half, 6.0)
    shown = chances[1.0] - math.exp(6.0) * chances[math.exp(-epsilon)]
    assert found == pytest.approx(shown, rel=1e-9)
    # No other event of the ratio is better.
    grid = np.geomspace(0.01, 10.0, 2000)
    other = stats.betaprime.cdf(grid, half, half)
    other -= math.exp(6.0) * stats.betaprime.cdf(grid * math.exp(-epsilon), half, half)
    assert other.max() <= found + 1e-12


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.3])
def test_renyi_rate_covers_close_coins(epsilon):
    bias, low, high = close_coins(epsilon)
    for order in (1.001, 1.5, 2.0, 1 / (3 * epsilon)):
        if order * epsilon > 1 / 3 + 1e-12:
            continue
        rate = float(bounds.tests_renyi_rate(np.array(order), epsilon))
        for other in (low, high):
            exact = coin_renyi(other, bias, order) * (order - 1.0)
            assert np.all(exact <= rate * (1 + 1e-9) + 1e-15)
            assert np.all(exact <= 1.54 * order * (order - 1.0) * epsilon**2 + 1e-14)


def test_coin_renyi_by_summing_the_game():
    p, q, order = 0.3, 0.25, 3.0
    rounds = np.arange(400)
    first, second = p * (1 - p) ** rounds, q * (1 - q) ** rounds
    exact = math.log(np.sum(first**order * second ** (1 - order))) / (order - 1)
    assert float(coin_renyi(p, q, order)) == pytest.approx(exact, rel=1e-12)
    long = game_renyi(np.full((1, 400), p), np.full((1, 400), q), order)
    assert long == pytest.approx(exact, rel=1e-12)


def test_coin_renyi_at_order_infinity_is_the_largest_loss():
    # 0^j 1 has loss log(p/q) + j log((1-p)/(1-q)): largest at j = 0 where p >= q
    assert float(coin_renyi(0.4, 0.35, math.inf)) == pytest.approx(math.log(0.4 / 0.35))
    assert float(coin_renyi(0.35, 0.4, math.inf)) == math.inf
    near = float(coin_renyi(0.4, 0.35, 1e6))
    assert near == pytest.approx(math.log(0.4 / 0.35), rel=1e-4)
