"""Selection of Cohen et al.: audits, exact values, the envelope, and their Theorem 1."""

import numpy as np
import pytest

from figures import krw24_beta_binomial as beta
from jaxsel.pictures import style
from sims import (
    krw24_beta_binomial as beta_binomial_profiles,
)
from sims import (
    krw24_profile as tuned_profiles,
)
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

TRIALS = 100_000


@pytest.fixture(scope="module")
def selections():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_profiles, "_POINTS", 17)
        patch.setattr(beta_binomial_profiles, "COUNTS", (3, 300))
        return record_of(beta_binomial_profiles, TRIALS)


@pytest.mark.parametrize("gamma", beta_binomial_profiles.GAMMAS)
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


def test_selection_audits_lie_below_exact_values(selections):
    confidence = 1.0 - ALPHA / 12
    for row in range(len(beta_binomial_profiles.GAMMAS)):
        for column in (0, 1):
            for pure in (False, True):
                lower, exact = beta.audited(
                    selections, row, column, pure=pure, confidence=confidence
                )
                assert 0.0 < lower <= exact


def test_selection_audits_have_power(selections):
    for row in range(len(beta_binomial_profiles.GAMMAS)):
        # more than one run of the base may lose
        assert beta.audited(selections, row, 1, pure=True)[0] > beta.PURE


def test_drawing_selections(selections, monkeypatch):
    monkeypatch.setattr(beta, "RUNS", beta.RUNS[::4])
    monkeypatch.setattr(beta, "load", lambda name: selections)
    with style.applied():
        canvas = beta.draw()
    *gaussian, pure = canvas.axes
    for axes, gamma in zip(gaussian, beta_binomial_profiles.GAMMAS, strict=True):
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
        expected = [beta.gaussian_rungs(count, gamma) for count in beta.RUNS]
        for name in ("Cohen", "RDP", "envelope", "adversarial"):
            values = [each[name] for each in expected]
            assert any(np.array_equal(line.get_ydata(), values) for line in lines)
    assert "Pure base" in pure.get_title()
    texts = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert len(texts) == 5
