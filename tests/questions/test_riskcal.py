"""riskcal (extra ``peers``) reads rates and advantage off the loss distribution of a search."""

import numpy as np
import pytest

import jaxsel

RATES = np.array([0.001, 0.01, 0.1])


@pytest.mark.parametrize(
    ("base", "law", "advantage", "power"),
    [
        ("gaussian:noise_multiplier=4", "geometric:mean=30", 0.2598, 0.0391),
        ("gaussian:noise_multiplier=8", "poisson:mean=10", 0.1172, 0.0209),
        ("laplace:noise_scale=8", "geometric:mean=10", 0.0628, 0.0139),
    ],
)
def test_riskcal_finds_our_advantage_and_rates(base, law, advantage, power):
    """By its own algorithm; the distribution has its losses rounded up to steps of 1e-4."""
    analysis = pytest.importorskip("riskcal.analysis")
    search = jaxsel.search_cost(base, law)
    distribution = search.pld()
    found = analysis.get_advantage_from_pld(distribution)
    assert found == pytest.approx(search.advantage(), rel=1e-12)
    assert round(found, 4) == advantage
    rates = 1.0 - analysis.get_beta_from_pld(distribution, alpha=RATES)
    ours = search.true_positive_rate(RATES)
    assert round(float(ours[1]), 4) == power
    np.testing.assert_allclose(rates, ours, rtol=3e-5)
    assert np.all(rates >= ours * (1.0 - 1e-12))  # of two upper bounds the rounded one
