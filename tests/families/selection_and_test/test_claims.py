"""Claims of Cohen et al. 2022 about Selection, Test, the coin game and the median."""

import math

import numpy as np
import pytest
from scipy import special

from jaxsel.base import Budget
from jaxsel.checking import bound_verdict
from jaxsel.families.percentile.claims import better_than_median
from jaxsel.families.selection_and_test.claims import (
    coin_game,
    interleaved,
    selections,
)
from jaxsel.families.selection_and_test.claims import (
    many_tests as tests,
)

CLAIMS = (
    *selections.CLAIMS,
    *tests.CLAIMS,
    *interleaved.CLAIMS,
    *coin_game.CLAIMS,
    *better_than_median.CLAIMS,
)


def named(claim_id):
    return next(claim for claim in CLAIMS if claim.id == claim_id)


@pytest.mark.parametrize(
    ("cases", "share"),
    [
        (selections._pure_cases, 0.99),
        (selections._sharp_cases, 0.99),
        (tests._pure_cases, 0.99),
        (interleaved._charged_cases, 0.95),
        (coin_game._pure_cases, 0.99),
        (coin_game._exact_cases, 0.99),
        (coin_game._known_cases, 0.99),
    ],
)
def test_searches_reject_a_smaller_bound(cases, share):
    """Power: the same cases refute a slightly smaller bound than the one claimed."""
    found = list(cases(Budget(cases=100)))
    assert bound_verdict(found).outcome == "holds"
    shrunk = [(share * claimed, seen, text) for claimed, seen, text in found]
    assert bound_verdict(shrunk).outcome == "refuted"


def test_recursions_agree_with_the_game_they_describe():
    """One repeated coin: largest loss and moment in closed form."""
    p, q, n = 0.3, 0.25, 40
    one = np.full((1, n), p), np.full((1, n), q)
    losses = [
        (i - 1) * math.log((1 - p) / (1 - q)) + math.log(p / q) for i in range(1, n + 1)
    ]
    assert coin_game.largest_loss(*one) == pytest.approx(max(losses))
    places = np.arange(n)
    first = np.append((1 - p) ** places * p, (1 - p) ** n)
    other = np.append((1 - q) ** places * q, (1 - q) ** n)
    exact = math.log(np.sum(first**3 / other**2))
    assert coin_game.game_moment(*one, 3.0) == pytest.approx(exact)
    # Until three ones: three games in a row, if there are coins enough.
    p, q = 0.6, 0.5
    three = np.full((3, 400), p), np.full((3, 400), q)
    single = coin_game.game_moment(*(x[:1] for x in three), 3.0)
    assert coin_game.game_moment(*three, 3.0) == pytest.approx(3 * single)


def test_randomised_tests_are_a_law():
    """Waiting for two tops of randomised response: P[the second is the third test]."""
    epsilon = 0.7
    found = np.exp(tests._randomised_tests(epsilon, 2, 60, tests._CERTAIN))
    low = special.expit(-epsilon)
    assert found[0][3] == pytest.approx(2.0 * low**2 * (1.0 - low))
    assert found[1][0] == pytest.approx(low**60)


def test_hundreds_of_tops_do_not_underflow():
    """Chances of e^-800 are told from 0: at these seeds the check once called it 1."""
    claim = named("CL-Thm2-approximate-sharp")
    for seed in (4, 6):
        assert claim.check(Budget(cases=100, seed=seed)).outcome == "holds"
