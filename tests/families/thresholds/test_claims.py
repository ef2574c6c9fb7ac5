"""Claims of Liu & Talwar's Theorem 3.1 and Appendix B.2: numbers, and power."""

import pytest

from jaxsel.catalogue import find_claim
from jaxsel.families.thresholds.claims import decreasing_thresholds
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.checking import at_least, at_most


def value(claim: str, **settings) -> float:
    return find_claim(claim).evaluate(**settings)


def test_values():
    assert value("LT-Thm3.1(b)", epsilon=0.5, slack=0.1) == pytest.approx(1.1)
    assert value("LT-Alg6-sharp", epsilon=0.5, levels=4) == pytest.approx(4.5)
    limit = value("LT-Alg6-attained", epsilon=0.5, levels=4, gamma=1e-12)
    assert limit == pytest.approx(4.5, abs=1e-9)
    full = value("LT-Alg6-attained", epsilon=0.5, levels=4, gamma=1.0)
    assert full == pytest.approx(2.5)
    assert value("LT-B.2-growth", epsilon=0.5, levels=4) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("claim", "settings"),
    [
        ("LT-Alg6-hope", {"epsilon": 0.0}),
        ("LT-B.2", {"gamma": 0.0}),
        ("LT-Thm3.1(a)", {"share": 0.6, "success": 0.5}),
        ("LT-Thm3.1(e)", {"slack": 0.0}),
    ],
)
def test_bad_parameters(claim, settings):
    with pytest.raises(InputError):
        value(claim, **settings)


@pytest.mark.parametrize(
    ("cases", "factor", "lower"),
    [
        # (2 R + 1) epsilon cannot be 2 R epsilon, nor the lower bound a tenth more.
        (decreasing_thresholds._pure_cases, 0.99, False),
        (decreasing_thresholds._growth_cases, 1.01, True),
    ],
)
def test_checks_have_power(cases, factor, lower):
    """A slightly stronger statement is refuted."""

    def wrong(budget):
        return ((factor * claimed, seen, text) for claimed, seen, text in cases(budget))

    check = (at_least if lower else at_most)(wrong)
    assert check(Budget(cases=60)).outcome == "refuted"
