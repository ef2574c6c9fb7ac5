"""Few digits, on the safe side."""

import math

import numpy as np
import pytest

from jaxsel.accounting.numerics.digits import to_digits


@pytest.mark.parametrize("digits", [4, 6, 9])
def test_it_is_near_and_on_its_side(digits):
    for value in np.exp(np.random.default_rng(0).uniform(-20, 20, 300)).tolist():
        low, high = (to_digits(value, digits, up) for up in (False, True))
        assert low <= value <= high
        assert math.isclose(low, high, rel_tol=1.01 * 10.0 ** (1 - digits))
        assert float(f"{high:.{digits}g}") == high


def test_slack_lets_go_of_what_a_search_is_off_by():
    assert to_digits(100.00000001, 4, up=True) == 100.1
    assert to_digits(100.00000001, 4, up=True, slack=1e-6) == 100.0
    assert to_digits(99.99999999, 4, up=False) == 99.99
    assert to_digits(99.99999999, 4, up=False, slack=1e-6) == 100.0
