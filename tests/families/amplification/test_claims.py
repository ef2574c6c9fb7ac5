"""Claims of Liu & Talwar's Appendix C and Section 5.4: numbers, and power."""

import pytest

from jaxsel.catalogue import find_claim
from jaxsel.families.amplification.claims import amplification
from jaxsel.families.amplification.laws import two_value_amplified_law
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.checking import at_most, cases_at


def value(claim: str, **settings) -> float:
    return find_claim(claim).evaluate(**settings)


def test_values():
    assert value("LT-ThmC.1", epsilon=0.5, gamma=0.1) == pytest.approx(1.8)
    assert value("LT-ThmC.1-privacy-sharp", base_epsilon=1.0) == pytest.approx(2.0)
    assert value("LT-5.4", gamma=0.01, factor=2.0) == pytest.approx(0.02)
    settings = {"gamma": 0.1, "candidates": 10, "mean_weight": 0.3}
    low, high = (value(claim, **settings) for claim in ("LT-ThmC.1-dummy-least", "LT-ThmC.1-dummy"))
    assert (low, high) == pytest.approx((11 / 14, 1.1 / 1.3))
    assert low < two_value_amplified_law(0.1, 10, 0.3, 0.0)[0] < high


@pytest.mark.parametrize(
    ("claim", "settings"), [("LT-ThmC.1", {"gamma": 0.25}), ("LT-5.4", {"factor": 1.0})]
)
def test_bad_parameters(claim, settings):
    with pytest.raises(InputError):
        value(claim, **settings)


def test_check_of_the_lemma_has_power():
    def wrong(budget):
        inverse = amplification.inverse
        cases = cases_at(inverse, inverse.parameters, amplification.links(budget))
        return ((0.9 * claimed, seen, text) for claimed, seen, text, *_ in cases)

    assert at_most(wrong)(Budget(cases=60)).outcome == "refuted"
