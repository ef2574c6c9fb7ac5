"""Claims of Liu & Talwar's Appendices B and C and Section 5.4."""

import math

import pytest

from jaxsel.base import Budget
from jaxsel.checking import at_least, at_most
from jaxsel.errors import InputError
from jaxsel.families.amplification.claims import amplification
from jaxsel.families.thresholds.claims import negative_examples

CLAIMS = (
    *negative_examples.CLAIMS,
    *amplification.CLAIMS,
)


def value(claim_id: str, **settings) -> float:
    return next(c for c in CLAIMS if c.id == claim_id).evaluate(**settings)


def test_values():
    assert value("LT-Alg6-sharp", epsilon=0.5, levels=4) == pytest.approx(4.5)
    limit = value("LT-Alg6-attained", epsilon=0.5, levels=4, gamma=1e-12)
    assert limit == pytest.approx(4.5, abs=1e-9)
    assert value("LT-Alg6-attained", epsilon=0.5, levels=4, gamma=1.0) == pytest.approx(
        2.5
    )
    assert value("LT-B.2-growth", epsilon=0.5, levels=4) == pytest.approx(2.5)
    assert value("LT-B.3", shift=0.5, count=101) == pytest.approx(
        50.5 * math.log(4 / 3) - math.log(2)
    )
    assert value("LT-ThmC.1", epsilon=0.5, gamma=0.1) == pytest.approx(1.8)
    assert value("LT-5.4", gamma=0.01, factor=2.0) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("claim_id", "settings"),
    [
        ("LT-Alg6-hope", {"epsilon": 0.0}),
        ("LT-B.2", {"gamma": 0.0}),
        ("LT-B.3", {"shift": 1.0}),
        ("LT-ThmC.1", {"gamma": 0.25}),
        ("LT-5.4", {"factor": 1.0}),
    ],
)
def test_bad_parameters(claim_id, settings):
    with pytest.raises(InputError):
        value(claim_id, **settings)


@pytest.mark.parametrize(
    ("cases", "change", "lower"),
    [
        # (2 R + 1) epsilon cannot be 2 R epsilon, nor the lower bounds a tenth more.
        (negative_examples._pure_cases, lambda c: 0.99 * c, False),
        (negative_examples._growth_cases, lambda c: 1.01 * c, True),
        (amplification._inverse_cases, lambda c: 0.9 * c, False),
    ],
)
def test_checks_have_power(cases, change, lower):
    """A slightly stronger statement is refuted."""

    def wrong(budget):
        return ((change(claimed), seen, text) for claimed, seen, text in cases(budget))

    check = (at_least if lower else at_most)(wrong)
    assert check(Budget(cases=60)).outcome == "refuted"
