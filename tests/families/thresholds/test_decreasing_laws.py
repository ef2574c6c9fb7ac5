"""Exact law of Liu & Talwar's Algorithm 6, a threshold that is lowered."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_claim
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
    level_chances,
    thresholds,
)
from jaxsel.host.errors import InputError


def test_law_of_the_paper_by_its_double_sum():
    """P[1 before the R-th decrement] = p sum_j sum_(i<R) C(j, i) a^(j-i) b^i."""
    p, levels, gamma = 0.3, 4, 0.25
    a, b = (1 - p) * (1 - gamma), (1 - p) * gamma
    early = p * sum(
        math.comb(j, i) * a ** (j - i) * b**i for j in range(400) for i in range(levels)
    )
    law = decreasing_threshold_law([p, 1 - p], [1.0, 0.0], levels, gamma)
    lowest = find_claim("LT-B.2").evaluate(success=p, levels=levels, gamma=gamma)
    assert law[1] == pytest.approx((1 - p) * (1 - early), rel=1e-12)
    assert law[1] == pytest.approx(lowest, rel=1e-13)
    np.testing.assert_allclose(law, [1 - law[1], law[1], 0.0], atol=1e-15)


def test_levels_meet_scores_written_in_decimals():
    # 0.29 * 100 is 28.999..., and 100 subtractions of 0.01 leave no 0.29 either.
    assert 0.29 * 100 < 29
    assert np.all(np.array([0.29, 0.57, 0.58]) >= thresholds(100)[[71, 43, 42]])
    assert thresholds(100)[-1] == 0.0
    np.testing.assert_array_equal(thresholds(0), [0.0])


def test_no_level_is_one_draw_and_negative_scores_may_end_in_nothing():
    q = np.array([0.1, 0.6, 0.3])
    found = decreasing_threshold_law(q, [0.9, 0.1, 0.5], 0, 0.3)
    np.testing.assert_allclose(found, [*q, 0.0], atol=1e-16)
    # Two levels that only 0.1 passes, left with gamma after a failure: exact by hand.
    found = decreasing_threshold_law([0.1, 0.9], [1.0, -1.0], 1, 0.5)
    lowered = 0.45 / 0.55
    assert found[2] == pytest.approx(lowered**2, rel=1e-14)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_gamma_zero_keeps_the_first_threshold():
    found = decreasing_threshold_law([0.2, 0.8], [1.0, 0.0], 3, 0.0)
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="take gamma > 0"):
        level_chances([0.0, 1.0], [1.0, 0.0], 0.0)
    with pytest.raises(InputError, match="equally many"):
        decreasing_threshold_law([1.0], [1.0, 0.0], 1, 0.5)


@pytest.mark.parametrize("levels", [1, 5, 40])
def test_the_bound_is_approached(levels):
    pair = pairs.randomised_response(0.7)
    found = [decreasing_threshold_law(q, [1.0, 0.0], levels, 1e-7) for q in pair]
    exact = exact_epsilon(found[0][:-1], found[1][:-1])
    bound = decreasing_threshold_pure(0.7, levels)
    assert bound * (1 - 1e-6) < exact <= bound
