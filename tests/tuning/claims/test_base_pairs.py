"""Pairs of base laws on which the claims about tuning are put to the test."""

import numpy as np
import pytest

from jaxsel.language.base import Budget
from jaxsel.repetitions import point_mass
from jaxsel.tuning.claims.base_pairs import (
    approximate_pairs,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
)


def test_pairs_are_laws_and_follow_the_budget():
    for make in (base_pairs, pure_pairs):
        few, more = (list(make(Budget(cases=n))) for n in (3, 9))
        assert len(more) == len(few) + 6
        for pair in more:
            for law in (pair.first, pair.second):
                assert law.sum() == pytest.approx(1.0, abs=1e-12)
                assert np.all(law > 0.0)
    for pair in approximate_pairs(Budget(cases=20)):
        for law, core in ((pair.first, pair.core.first), (pair.second, pair.core.second)):
            # 1 - delta of the law is the core; the rest is what fails
            assert np.all(law - (1.0 - pair.delta) * core > -1e-15)
            assert law.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_gaussian_run_has_the_gaussian_divergence(sign):
    for order, scale in ((1.5, 4.0), (20.0, 1.0)):
        seen = gaussian_tuned_renyi(order, scale, point_mass(1), sign)
        assert seen == pytest.approx(order / (2.0 * scale**2), rel=1e-12)
