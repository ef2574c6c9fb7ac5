"""The claims on Theorems 9 to 12: verdicts, and that their checks can refute."""

import pytest

from jaxsel.base import Budget
from jaxsel.claims.checking import at_least, at_most
from jaxsel.claims.cohen import multiplicative_weights as topic
from jaxsel.claims.cohen import sample_complexity
from jaxsel.mechanisms.multiplicative_weights import hardt_rothblum

CLAIMS = topic.CLAIMS + sample_complexity.CLAIMS
BUDGET = Budget(trials=400, cases=60, seed=5)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_verdicts(claim):
    verdict = claim.check(BUDGET)
    assert verdict.outcome == ("holds" if claim.holds else "refuted"), verdict
    assert claim.evaluate() > 0.0 or claim.id == "CL-Thm9-drop"


def test_errata_name_their_claims():
    ids = {claim.id for claim in CLAIMS}
    for erratum in sample_complexity.ERRATA:
        assert {*erratum.refuted, *erratum.corrected} <= ids
    assert len(ids) == len(CLAIMS)


def test_a_twice_larger_drop_is_refuted():
    def doubled(**settings):
        return 1.01 * topic._drop_sharp(**settings)

    assert at_least(topic._drops(doubled))(BUDGET).outcome == "refuted"


def test_half_the_bound_on_updates_is_refuted():
    def halved(**settings):
        return topic._most_sharp(**settings) / 8.0

    check = at_most(topic._update_counts(halved, sharp=True, grid=60))
    assert check(BUDGET).outcome == "refuted"


def test_a_smaller_error_is_refuted():
    def optimistic(*arguments, **settings):
        found = topic.weights.hardt_rothblum(*arguments, **settings)
        return found._replace(error=0.3 * found.error)

    check = at_most(topic._errors(hardt_rothblum, optimistic))
    assert check(BUDGET).outcome == "refuted"
