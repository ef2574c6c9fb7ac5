"""From the rows' to the population's: constants by hand, and rows that are given."""

import math

import numpy as np
import pytest

from jaxsel.families.multiplicative_weights.adaptive_analysis import adaptive_analysis
from jaxsel.families.multiplicative_weights.transfer import Accuracy, transferred
from jaxsel.host.errors import InputError


def test_constants_by_hand():
    # Section 4.3.2: alpha' = O(alpha + epsilon), beta' = O(beta + delta/epsilon)
    found = transferred(Accuracy(0.05, 1e-4), 0.2, 1e-7, posterior=0.01, slack=1e-3)
    assert found.error == pytest.approx(0.05 + 0.01 + (math.e**0.2 - 1.0) + 0.002)
    assert found.failure == pytest.approx(1e-2 + 1e-4)
    pure = transferred(Accuracy(0.05, 1e-4), 0.2)
    assert pure.error == pytest.approx(0.06 + math.e**0.2 - 1.0)
    assert transferred(Accuracy(0.05, 0.5), 0.2).failure == 1.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"population": [0.5, 0.5]}, "the table"),
        ({"population": [0.5, 0.5], "table": [1, 2, 3]}, "one number each a cell"),
        ({"population": [0.5, 0.5], "table": [1, 1]}, "3 in all"),
        ({"population": [0.5, 0.5], "table": [1.5, 1.5]}, "whole numbers"),
    ],
)
def test_bad_rows_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        adaptive_analysis(3).prepare(data, {"queries": 1})


def test_given_rows_are_the_shares_that_are_asked():
    data, _ = adaptive_analysis(4).prepare(
        {"population": [0.5, 0.5], "table": [1, 3]}, {"queries": 1}
    )
    np.testing.assert_array_equal(data["means"], [0.25, 0.75])
