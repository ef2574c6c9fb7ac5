"""The claims on Theorems 9 to 12: verdicts, and that their checks can refute."""

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.claims import errors, updates
from jaxsel.language.base import Budget
from jaxsel.language.checking import bound_verdict, cases_at

BUDGET = Budget(trials=400, cases=60, seed=5)


def test_a_twice_larger_drop_is_refuted():
    def doubled(**settings):
        return 1.01 * updates.drop_sharp(**settings)

    cases = cases_at(doubled, updates.drop_sharp.parameters, updates.drops(BUDGET))
    assert bound_verdict(cases, lower=True).outcome == "refuted"


def test_half_the_bound_on_updates_is_refuted():
    def halved(**settings):
        return updates.most_sharp(**settings) / 8.0

    found = updates.update_counts(BUDGET, sharp=True, most=60)
    cases = cases_at(halved, updates.most_sharp.parameters, found)
    assert bound_verdict(cases).outcome == "refuted"


def test_half_the_error_is_refuted():
    def halved(**settings):
        return 0.5 * errors.alpha(**settings)

    found = errors.errors(BUDGET, "hardt_rothblum", weights.hardt_rothblum)
    cases = cases_at(halved, errors.alpha.parameters, found)
    assert bound_verdict(cases).outcome == "refuted"
