"""The picture of a plan: its curves by the accountant, its limit below them."""

import numpy as np
import pytest

from figures.jx_plan import Search
from jaxsel import account
from jaxsel.tuning.planning.frontier import frontiers, limit
from jaxsel.tuning.planning.planned import single_run


@pytest.mark.parametrize("delta", [1e-6])
def test_curves_and_limit(delta):
    # A quicker base than the picture's; the code is the same.
    search = Search(epochs=2)
    chosen = search.plan()
    base = single_run(chosen)
    curves = frontiers(chosen)
    assert {curve.family for curve in curves} >= {"geometric", "poisson"}
    bound = limit(chosen, max(float(c.epsilon.max()) for c in curves))
    assert bound is not None
    for curve in curves:
        place = np.searchsorted(bound.epsilon, curve.epsilon).clip(max=99)
        assert np.all(bound.rank[place] <= (1.0 - curve.quantile) * (1 + 1e-6))
        assert np.all(bound.miss[place] <= curve.miss * (1 + 1e-6))
    # The plan's own point: epsilon is proved, and the star lies on the better side.
    best = account(base, chosen.chosen.law, delta, attain=False).best
    assert best.epsilon == pytest.approx(chosen.epsilon, rel=1e-9)
    assert chosen.epsilon <= search.epsilon
    geometric = next(c for c in curves if c.family == "geometric")
    # With the runs of the plan, a geometric K costs no less than the law that was chosen.
    there = np.interp(
        chosen.chosen.utility.expected_quantile, geometric.quantile, geometric.epsilon
    )
    assert chosen.epsilon <= there * (1.0 + 1e-2)
