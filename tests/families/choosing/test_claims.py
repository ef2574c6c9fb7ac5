"""Claims on Cohen et al. 2022, Theorems 7 and 8: numbers, and what is attained."""

import math

import pytest

from jaxsel.catalogue import find_claim
from jaxsel.families.choosing.laws import group_law, stable_settings
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget

BUDGET = Budget(cases=20)


def test_counterexample_of_theorem_8():
    """Numbers of CL-E20, and that half the rate repairs it."""
    wins = {
        shares: [
            group_law([lead, 0.0], [1, 6608], stable_settings(1, 1e-3, 1e-3, 1, shares=shares))[1]
            for lead in (30.0, 32.0)
        ]
        for shares in (3, 6)
    }
    assert wins[3] == pytest.approx([0.0935, 0.0311], abs=5e-5)
    assert wins[3][0] - math.e * wins[3][1] == pytest.approx(0.0090, abs=5e-5)
    assert math.log(wins[3][0] / wins[3][1]) > 1.1
    assert wins[6][0] < math.exp(0.5) * wins[6][1]


def test_sharp_claims_are_attained():
    verdict = find_claim("CL-Thm7-sharp").check(BUDGET)
    assert verdict.observed == pytest.approx(verdict.claimed, rel=1e-9)
    verdict = find_claim("CL-Thm7-utility-sharp").check(BUDGET)
    assert verdict.observed == pytest.approx(verdict.claimed, rel=1e-6)
    assert find_claim("CL-Thm7-utility-sharp").evaluate(beta=0.1) < 0.05


def test_scores_that_move_as_said_are_those_that_move_by_default():
    claim = find_claim("CL-Thm7-sharp")
    assert claim(bound=2, moves="1,-1,0") == pytest.approx(claim(bound=2), rel=1e-12)
    assert claim(bound=2, moves="1") < claim(bound=2)
    with pytest.raises(InputError, match="moves add up to 2"):
        claim(bound=1, moves="1,-1")


def test_huge_settings_are_no_burden():
    """k = 1e18 candidates that move are one number, not an array."""
    for name, number in (("CL-Thm7-sharp", "bound"), ("CL-Thm8-sharp", "rank")):
        assert 0.0 < find_claim(name).evaluate(**{number: 1e18}) < 0.1
