"""Claims of Cohen et al. 2022 about Selection, Test and the coin game."""

import math

import numpy as np
import pytest
from scipy import special

from jaxsel.catalogue import find_claim
from jaxsel.families.selection_and_test.claims import (
    coin_game,
    interleaved,
    known_chance,
    many_tests,
    selections,
)
from jaxsel.families.selection_and_test.coin_game_laws import game_renyi
from jaxsel.language.base import Budget
from jaxsel.repetitions import beta_binomial


@pytest.mark.parametrize(
    ("claim", "share"),
    [
        (selections.pure, 0.99),
        (selections.sharp, 0.99),
        (many_tests.pure, 0.99),
        (interleaved.charged, 0.95),
        (coin_game.pure, 0.99),
        (coin_game.exact_rate, 0.99),
        (known_chance.exact_rate, 0.99),
    ],
)
def test_searches_reject_a_smaller_bound(claim, share):
    """Power: the same cases refute a slightly smaller bound than the one claimed."""
    verdict = claim.check(Budget(cases=100))
    assert verdict.outcome == "holds"
    assert verdict.tightness is not None
    assert verdict.tightness > share


def test_recursions_agree_with_the_game_they_describe():
    """One repeated coin: largest loss and moment in closed form."""
    p, q, n = 0.3, 0.25, 40
    one = np.full((1, n), p), np.full((1, n), q)
    losses = [(i - 1) * math.log((1 - p) / (1 - q)) + math.log(p / q) for i in range(1, n + 1)]
    assert coin_game.largest_loss(*one) == pytest.approx(max(losses))
    places = np.arange(n)
    first = np.append((1 - p) ** places * p, (1 - p) ** n)
    other = np.append((1 - q) ** places * q, (1 - q) ** n)
    exact = math.log(np.sum(first**3 / other**2)) / 2.0
    assert game_renyi(*one, 3.0) == pytest.approx(exact)
    # Until three ones: three games in a row, if there are coins enough.
    p, q = 0.6, 0.5
    three = np.full((3, 400), p), np.full((3, 400), q)
    single = game_renyi(*(x[:1] for x in three), 3.0)
    assert game_renyi(*three, 3.0) == pytest.approx(3 * single)


def testrandomised_tests_are_a_law():
    """Waiting for two tops of randomised response: P[the second is the third test]."""
    epsilon = 0.7
    found = np.exp(many_tests.randomised_tests(epsilon, 2, 60, many_tests._CERTAIN))
    low = special.expit(-epsilon)
    assert found[0][3] == pytest.approx(2.0 * low**2 * (1.0 - low))
    assert found[1][0] == pytest.approx(low**60)


def test_hundreds_of_tops_do_not_underflow():
    """Chances of e^-800 are told from 0: at these seeds the check once called it 1."""
    claim = find_claim("CL-Thm2-approximate-sharp")
    for seed in (4, 6):
        assert claim.check(Budget(cases=100, seed=seed)).outcome == "holds"


def test_sharp_delta_is_the_chance_of_a_private_outcome():
    """Summed over all calls (R-CL-2): c = 10 calls of tau = 5 at d = 0.01 have 0.2136."""
    once = selections.some_run_private(50, 0.01, 1.0)
    assert once == pytest.approx(float(beta_binomial(50, 1.0).pgf_gap(0.01)), rel=1e-11)
    calls = find_claim("CL-Thm1-delta-sharp").evaluate(calls=10, rounds=5, delta=0.01)
    assert round(calls, 4) == 0.2136
    assert selections.some_run_private([5] * 10, 0.01, 1.0) == pytest.approx(calls)
    assert find_claim("CL-Thm1-delta").evaluate() == pytest.approx(0.5)
