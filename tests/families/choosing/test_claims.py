"""Claims on Cohen et al. 2022, Theorems 6 to 8: verdicts and numbers."""

import inspect
import math

import pytest

from jaxsel.base import Budget
from jaxsel.errors import InputError
from jaxsel.families.choosing.claims import choosing, stable_selection
from jaxsel.families.choosing.laws import group_law, stable_settings
from jaxsel.families.top_k.claims import confident_top_k

CLAIMS = choosing.CLAIMS + stable_selection.CLAIMS + confident_top_k.CLAIMS
BY_ID = {claim.id: claim for claim in CLAIMS}
BUDGET = Budget(cases=20)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_numbers_are_positive_and_refuse_bad_input(claim):
    assert claim.evaluate() > 0.0
    names = inspect.signature(claim.evaluate).parameters
    with pytest.raises(InputError):
        claim.evaluate(**{next(iter(names)): -1.0})


def test_ids_are_different_and_errata_are_wired():
    assert len(BY_ID) == len(CLAIMS)
    (erratum,) = stable_selection.ERRATA
    for name in erratum.refuted:
        assert not BY_ID[name].holds
        assert BY_ID[name].erratum == erratum.id
    for name in erratum.corrected:
        assert BY_ID[name].holds


def test_counterexample_of_theorem_8():
    """Numbers of CL-E20, and that half the rate repairs it."""
    wins = {
        shares: [
            group_law(
                [lead, 0.0], [1, 6608], stable_settings(1, 1e-3, 1e-3, 1, shares=shares)
            )[1]
            for lead in (30.0, 32.0)
        ]
        for shares in (3, 6)
    }
    assert wins[3] == pytest.approx([0.0935, 0.0311], abs=5e-5)
    assert wins[3][0] - math.e * wins[3][1] == pytest.approx(0.0090, abs=5e-5)
    assert math.log(wins[3][0] / wins[3][1]) > 1.1
    assert wins[6][0] < math.exp(0.5) * wins[6][1]


def test_sharp_claims_are_attained():
    verdict = BY_ID["CL-Thm7-sharp"].check(BUDGET)
    assert verdict.observed == pytest.approx(verdict.claimed, rel=1e-9)
    verdict = BY_ID["CL-Thm7-utility-sharp"].check(BUDGET)
    assert verdict.observed == pytest.approx(verdict.claimed, rel=1e-6)
    assert BY_ID["CL-Thm7-utility-sharp"].evaluate(beta=0.1) < 0.05
    verdict = BY_ID["CL-Sec1.4.2-peeling"].check(BUDGET)
    assert verdict.observed > 0.9 * verdict.claimed
