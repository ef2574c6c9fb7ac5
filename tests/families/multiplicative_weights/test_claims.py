"""The claims on Theorems 9 to 12: verdicts, and that their checks can refute."""

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.claims import errors, updates
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.language.base import Budget
from jaxsel.language.checking import at_least, at_most

BUDGET = Budget(trials=400, cases=60, seed=5)


def test_a_twice_larger_drop_is_refuted():
    def doubled(**settings):
        return 1.01 * updates._drop_sharp(**settings)

    assert at_least(updates._drops(doubled))(BUDGET).outcome == "refuted"


def test_half_the_bound_on_updates_is_refuted():
    def halved(**settings):
        return updates._most_sharp(**settings) / 8.0

    check = at_most(updates._update_counts(halved, sharp=True, grid=60))
    assert check(BUDGET).outcome == "refuted"


def test_a_smaller_error_is_refuted():
    def optimistic(*arguments, **settings):
        found = weights.hardt_rothblum(*arguments, **settings)
        return found._replace(error=0.3 * found.error)

    check = at_most(errors._errors(hardt_rothblum, optimistic))
    assert check(BUDGET).outcome == "refuted"
