"""Figures of Cohen et al. 2022, Theorems 6 to 8: lines, points, drawing."""

import math

import numpy as np
import pytest

from figures import clnss22_choosing, clnss22_stable, clnss22_top_k
from figures.clnss22_choosing import Requirement, chosen_lead, estimate
from figures.clnss22_stable import stable_lead
from jaxsel.families.choosing.laws import choosing_settings
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import drawn

FEW = {"bits": [4, 16, 30]}


@pytest.fixture(scope="module", autouse=True)
def _smaller():
    """Fewer candidates and knots: each lead takes a quarter of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clnss22_choosing, "_BOUND_BITS", 30)
        patch.setattr(clnss22_stable, "_RANK_BITS", 30)
        for figure in (clnss22_choosing, clnss22_stable):
            patch.setattr(figure, "_KNOTS", (4, 16, 30, 64))
        patch.setattr(clnss22_choosing, "_BOUNDS", (1, 10_000))
        patch.setattr(clnss22_stable, "_KNOT_RANKS", (1, 100))
        patch.setattr(clnss22_top_k, "LARGE_K", 20)
        yield


def simulated(module, trials, **values):
    """The data set of each function of a figure, by name."""
    return {
        name: compute(getattr(module, name), few, trials=trials, seed=seed(), progress=False)
        for name, few in values.items()
    }


def _brackets(found, won="0") -> None:
    """Every exact lead lies between those surely too small and surely enough."""
    if found.lead.ndim == 1:
        found = found.expand_dims("place")
    name = found.lead.dims[0]
    confidence = 1.0 - ALPHA / found.lead.size
    for place in range(found.sizes[name]):
        row = found.isel({name: place})
        seen = estimate(row, 0.1, confidence, won)
        assert seen.low <= 1.0 <= seen.high
        # Power: a lead 10 % off is noticed.
        assert seen.low > 0.9 or place == 0


def test_choosing(monkeypatch, tmp_path):
    found = simulated(
        clnss22_choosing,
        100_000,
        by_candidates=FEW,
        by_bound={"bound": [1, 10_000]},
        exponential=FEW,
    )
    for each in found.values():
        _brackets(each)
    figure = drawn(clnss22_choosing, found, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    x, y = lines["Exponential mechanism, exact"].get_data()
    assert y[-1] == pytest.approx(2.0 * math.log((2.0 ** x[-1] - 1.0) * 9.0))
    x, y = lines["Choosing mechanism, k = 1, exact"].get_data()
    assert y[-1] < choosing_settings(1.0, 1e-6, 0.1, 1).support
    assert y[-1] == pytest.approx(chosen_lead(64, 1), rel=1e-6)


def test_flat_in_the_number_of_candidates():
    """2^33 candidates are where the exponential mechanism needs more."""
    exponential_lead = Requirement().exponential_lead
    flat = chosen_lead(64, 1)
    assert chosen_lead(48, 1) == pytest.approx(flat, abs=1e-3)
    assert exponential_lead(33) < flat < exponential_lead(34)
    stable = stable_lead(64, 1)
    assert exponential_lead(76) < stable < exponential_lead(77)
    assert clnss22_stable.gap_test_lead() < stable
    assert clnss22_stable.gap_test_lead() == pytest.approx(
        2.0 * (1.0 + math.log(0.5e6) + math.log(5.0))
    )
    assert stable_lead(64, 1, shares=3) < stable


def test_stable(monkeypatch, tmp_path):
    ranks = {"rank": [1, 100]}
    found = simulated(
        clnss22_stable,
        100_000,
        stable_by_candidates=FEW,
        stable_by_rank=ranks,
        exponential_by_candidates=FEW,
        exponential_by_rank=ranks,
        gap_test={},
    )
    for name, each in found.items():
        _brackets(each, "1 of 1 found" if name == "gap_test" else "0")
    figure = drawn(clnss22_stable, found, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[1].get_lines()}
    y = lines["Stable selection, noise at ε/6, exact"].get_ydata()
    assert y[0] == pytest.approx(stable_lead(30, 1), rel=1e-6)
    y = lines["Gap that is enough (Theorem 8)"].get_ydata()
    assert y[0] == pytest.approx(6.0 * math.log(1e8))


def test_top_k(monkeypatch, tmp_path):
    few = {"confident_beta": [0.8, 0.4]}
    found = simulated(clnss22_top_k, 4000, peeling={}, boosted=few)
    for name, axis, right in (
        ("peeling", "beta", "5 of 5 found"),
        ("boosted", "confident_beta", "5 hits"),
    ):
        number = found[name].attrs["trials"]
        assert number == (16 * 4000 if name == "peeling" else 4000)
        failures, betas = (clnss22_top_k.failures(found[name], right), found[name][axis].values)
        spread = np.sqrt(number * betas * (1.0 - betas))
        # 5.2 standard errors: two-sided chance 2e-7 each, rare ones a little more.
        assert np.all(np.abs(failures - number * betas) < 5.2 * spread + 12)
    figure = drawn(clnss22_top_k, found, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    x, y = lines["Peeling, exact"].get_data()
    assert (y[-1] - y[-5]) / (x[-1] - x[-5]) == pytest.approx(10.0, rel=1e-3)
    x, z = lines["Theorem 6 set up for β, exact"].get_data()
    assert z[-1] < y[-1]
    # The slope of the noise on the gap, 6/epsilon, in the end.
    assert (z[-1] - z[-3]) / (x[-1] - x[-3]) < 6.2
