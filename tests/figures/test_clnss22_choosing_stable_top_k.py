"""Figures of Cohen et al. 2022, Theorems 6 to 8: lines, points, drawing."""

import math

import numpy as np
import pytest

from figures import clnss22_choosing, clnss22_stable, clnss22_top_k
from jaxsel.families.choosing.laws import choosing_settings
from sims import (
    clnss22_choosing as choosing,
)
from sims import (
    clnss22_stable as stable_selection,
)
from sims import (
    clnss22_top_k as confident_top_k,
)
from tests.conftest import ALPHA
from tests.figures.sharing import drawn, record_of


@pytest.fixture(scope="module", autouse=True)
def _smaller():
    """Fewer cells and knots: each lead takes a quarter of a second."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (choosing, stable_selection):
            patch.setattr(module, "BITS", (4, 16, 30))
        patch.setattr(choosing, "BOUND_BITS", 30)
        patch.setattr(choosing, "BOUNDS", (1, 10_000))
        patch.setattr(stable_selection, "RANK_BITS", 30)
        patch.setattr(stable_selection, "RANKS", (1, 100))
        patch.setattr(confident_top_k, "CONFIDENT_BETAS", (0.8, 0.4))
        for figure in (clnss22_choosing, clnss22_stable):
            patch.setattr(figure, "_KNOTS", (4, 16, 30, 64))
        patch.setattr(clnss22_choosing, "_BOUNDS", (1, 10_000))
        patch.setattr(clnss22_stable, "_RANKS", (1, 100))
        patch.setattr(clnss22_top_k, "LARGE_K", 20)
        yield


def _brackets(tallies, record) -> None:
    """Every exact lead lies between those surely too small and surely enough."""
    confidence = 1.0 - ALPHA / tallies.size
    for row in tallies:
        found = clnss22_choosing.estimate(
            row, int(record.values["trials"]), record.arrays["factors"], confidence
        )
        assert found.low <= 1.0 <= found.high
        # Power: a lead 10 % off is noticed.
        assert found.low > 0.9 or row is tallies[0]


def test_choosing(monkeypatch, tmp_path):
    record = record_of(choosing, 100_000)
    _brackets(record.arrays["chosen"], record)
    _brackets(record.arrays["exponential"], record)
    figure = drawn(clnss22_choosing, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    x, y = lines["Exponential mechanism, exact"].get_data()
    assert y[-1] == pytest.approx(2.0 * math.log((2.0 ** x[-1] - 1.0) * 9.0))
    x, y = lines["Choosing mechanism, k = 1, exact"].get_data()
    assert y[-1] < choosing_settings(1.0, 1e-6, 0.1, 1).support
    assert y[-1] == pytest.approx(choosing.chosen_lead(64, 1), rel=1e-6)


def test_flat_in_the_number_of_candidates():
    """2^33 candidates are where the exponential mechanism needs more."""
    flat = choosing.chosen_lead(64, 1)
    assert choosing.chosen_lead(48, 1) == pytest.approx(flat, abs=1e-3)
    assert choosing.exponential_lead(33) < flat < choosing.exponential_lead(34)
    stable = stable_selection.stable_lead(64, 1)
    assert choosing.exponential_lead(76) < stable < choosing.exponential_lead(77)
    assert stable_selection.tested_lead() < stable
    assert stable_selection.tested_lead() == pytest.approx(
        2.0 * (1.0 + math.log(0.5e6) + math.log(5.0))
    )
    assert stable_selection.stable_lead(64, 1, 3) < stable


def test_stable(monkeypatch, tmp_path):
    record = record_of(stable_selection, 100_000)
    for name in ("stable", "exponential", "tested"):
        _brackets(record.arrays[name], record)
    figure = drawn(clnss22_stable, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
    y = lines["Stable selection, noise at ε/6, exact"].get_ydata()
    assert y[0] == pytest.approx(stable_selection.stable_lead(30, 1), rel=1e-6)
    y = lines["Gap that is enough (Theorem 8)"].get_ydata()
    assert y[0] == pytest.approx(6.0 * math.log(1e8))


def test_top_k(monkeypatch, tmp_path):
    record = record_of(confident_top_k, 4000)
    trials = int(record.values["trials"])
    for name, betas, number in (
        ("peeling", confident_top_k.PEELING_BETAS, 16 * trials),
        ("confident", confident_top_k.CONFIDENT_BETAS, trials),
    ):
        failures = record.arrays[name]
        spread = np.sqrt(number * np.array(betas) * (1.0 - np.array(betas)))
        # 5.2 standard errors: two-sided chance 2e-7 each, rare ones a little more.
        assert np.all(np.abs(failures - number * np.array(betas)) < 5.2 * spread + 12)
    figure = drawn(clnss22_top_k, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    x, y = lines["Peeling, exact"].get_data()
    assert (y[-1] - y[-5]) / (x[-1] - x[-5]) == pytest.approx(10.0, rel=1e-3)
    x, z = lines["Theorem 6 set up for β, exact"].get_data()
    assert z[-1] < y[-1]
    # The slope of the noise on the gap, 6/epsilon, in the end.
    assert (z[-1] - z[-3]) / (x[-1] - x[-3]) < 6.2
