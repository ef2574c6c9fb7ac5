"""Claims of Liu & Talwar's Theorem 3.1 and Appendices B.2 and D: numbers, and power."""

import pytest

from jaxsel.catalogue import find_claim
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from tests.families.power import judged_with


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


def test_law_of_algorithm_6_is_any_or_that_of_three_scores():
    law = {"probabilities": [0.3, 0.2, 0.5], "scores": [1.0, 0.5, 0.0]}
    assert value("LT-Alg6", **law) == pytest.approx(value("LT-Alg6"))
    assert sum(value("LT-Alg6", **law, outcome=x) for x in range(4)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("claim", "settings"),
    [
        ("LT-Alg6", {"probabilities": [0.5, 0.5]}),
        ("LT-Alg6", {"outcome": 4}),
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
    ("claim", "factor"),
    [
        # (2 R + 1) epsilon cannot be 2 R epsilon, nor the lower bound a tenth more.
        ("LT-Alg6-sharp", 0.99),
        ("LT-B.2-growth", 1.01),
        ("LT-ThmD.2", 1.01),
        ("LT-ThmD.2-packing", 0.99),
    ],
)
def test_checks_have_power(claim, factor):
    """A slightly stronger statement is refuted."""
    assert judged_with(claim, factor, Budget(cases=60)) == "refuted"
