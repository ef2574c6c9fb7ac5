"""Selection of Cohen et al.: audits, exact values, the envelope, and their Theorem 1."""

import numpy as np
import pytest

from figures import krw24_beta_binomial as beta
from jaxsel.pictures import style
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws

TRIALS = 100_000
GAMMAS = (0.5, 1.0, 2.0)


@pytest.fixture(scope="module")
def selections():
    few = {"most": (3, 300)}
    return {
        grid.__name__: compute(grid, few, trials=TRIALS, seed=seed(), progress=False)
        for grid in (beta.ranked, beta.pure)
    }


@pytest.mark.parametrize("gamma", GAMMAS)
def test_envelope_is_met_and_below_the_theorem(gamma):
    for count in beta.RUNS[::4]:
        found = beta.gaussian_rungs(count, gamma)
        assert found["adversarial"] <= found["envelope"]
        assert found["adversarial"] >= 0.995 * found["envelope"]
        assert found["envelope"] < found["RDP"] < found["Cohen"]
    limit = (2.0 + gamma) * beta.PURE
    values = [beta.pure_rungs(count, gamma) for count in beta.PURE_RUNS]
    for found in values:
        assert found["Cohen"] == limit
        # the cover rounds up
        assert found["adversarial"] <= found["envelope"] <= limit * (1.0 + 2e-6)
        assert found["adversarial"] >= (1.0 - 1e-5) * found["envelope"]
    assert values[0]["envelope"] == pytest.approx(beta.PURE, rel=1e-6)
    assert values[-1]["adversarial"] > 0.9999 * limit
    assert values[3]["envelope"] < 0.95 * limit


def test_tallies_follow_their_exact_laws(selections):
    for found in selections.values():
        check_laws(found, ALPHA)


def test_selection_audits_lie_below_exact_values(selections):
    confidence = 1.0 - ALPHA / 12
    for gamma in GAMMAS:
        for grid, delta, rungs in (
            ("ranked", beta.DELTA, beta.gaussian_rungs),
            ("pure", 0.0, beta.pure_rungs),
        ):
            found = selections[grid].sel(gamma=gamma)
            bounds = beta.lower_bounds(found, delta, confidence)
            for most, lower in zip((3, 300), bounds, strict=True):
                assert 0.0 < lower <= rungs(most, gamma)["adversarial"]


def test_selection_audits_have_power(selections):
    for gamma in GAMMAS:
        # more than one run of the base may lose
        bounds = beta.lower_bounds(selections["pure"].sel(gamma=gamma), 0.0)
        assert bounds[1] > beta.PURE


def test_drawing_selections(selections, monkeypatch):
    monkeypatch.setattr(beta, "RUNS", beta.RUNS[::4])
    with style.applied():
        canvas = beta.draw(**selections)
    for axes, gamma in zip(canvas.axes, GAMMAS, strict=False):
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
        expected = [beta.gaussian_rungs(count, gamma) for count in beta.RUNS]
        for name in ("Cohen", "RDP", "envelope", "adversarial"):
            values = [each[name] for each in expected]
            assert any(np.array_equal(line.get_ydata(), values) for line in lines)
