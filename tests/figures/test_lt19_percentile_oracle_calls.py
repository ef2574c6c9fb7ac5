"""Where percentile sparse vectors halt, and how many runs they need."""

import math

import numpy as np
import pytest

from figures import FIGURES, lt19_oracle_calls, lt19_percentile
from figures.common.figure import render
from jaxsel.host.intervals import goodness_of_fit
from sims import lt19_percentile as percentile_halting
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

TRIALS = 4000
# Eight programs take most of the time of this file. That the samplers follow their exact
# laws is what the claims SIM-percentile_* and SIM-*_threshold say of each of them.
SIMULATED = pytest.mark.rare


@pytest.fixture(scope="module", name="record")
def _record():
    return record_of(percentile_halting, TRIALS, at=1)


@pytest.fixture
def loaded(record, monkeypatch):
    for module in (lt19_percentile, lt19_oracle_calls):
        monkeypatch.setattr(module, "load", lambda name: record)


@SIMULATED
@pytest.mark.parametrize("name", percentile_halting.MECHANISMS)
def test_simulated_halts_follow_the_exact_laws(name, record):
    short = name.replace("Algorithm ", "algorithm_")
    ladder = lt19_percentile.law(name, percentile_halting.LADDER)
    assert goodness_of_fit(record.arrays[f"ladder_{short}"][0], ladder) > ALPHA
    laws = lt19_percentile.equal_laws(name, False)
    for counts, law in zip(record.arrays[f"equal_{short}"], laws, strict=True):
        assert goodness_of_fit(counts, law) > ALPHA / 10


@SIMULATED
def test_simulated_medians_follow_the_exact_laws(record):
    base = percentile_halting.median_base()
    low = np.append(np.array(base["scores"]) < 0.25 - 1e-12, True)
    for number, beta in enumerate(percentile_halting.BETAS):
        exact = lt19_oracle_calls.failures(beta)
        counts = (
            record.arrays["search"][number] @ low,
            record.arrays["boosting"][number][1:].sum(),
        )
        for count, chance in zip(counts, exact, strict=True):
            law = np.array([chance, 1.0 - chance])
            assert goodness_of_fit(np.array([count, TRIALS - count]), law) > ALPHA / 10
            assert chance < beta


@pytest.mark.parametrize("name", ["Algorithm 3", "Algorithm 4"])
def test_theorems_bound_the_exact_laws(name):
    log_odds = np.linspace(-12.0, 8.0, 21)
    bounds = lt19_percentile.bounds(name, log_odds)
    for number, x in enumerate(log_odds):
        law = lt19_percentile.law(name, np.full(percentile_halting.QUERIES, x))
        assert 1.0 - law[-1] <= bounds["early"][number]
        assert 1.0 - law[0] <= min(bounds["late"][number], bounds["far"][number])


def test_numbers_of_runs():
    """At a total epsilon of 1.2 and failure probability 0.1."""
    found = lt19_oracle_calls.calls(10.0, 0.1)
    assert math.log10(found["corrected"]) == pytest.approx(32.29, abs=0.01)
    assert math.log10(found["sharp"]) == pytest.approx(23.62, abs=0.01)
    assert found["boosting"] == 16
    # The power of the search is 6 + 12/alpha, that of the boosting 1/alpha.
    for alpha in (1.0, 3.0):
        ratio = (
            lt19_oracle_calls.calls(alpha, 0.01)["sharp"]
            / lt19_oracle_calls.calls(alpha, 0.1)["sharp"]
        )
        assert math.log10(ratio) / (2 * (6 + 12 / alpha)) == pytest.approx(1, abs=0.06)


@SIMULATED
@pytest.mark.usefixtures("loaded")
def test_figures_are_drawn():
    canvas = render(FIGURES["lt19-percentile"])
    assert len(canvas.axes) == 3
    exact = lt19_percentile.law("Algorithm 3", percentile_halting.LADDER)[:-1]
    np.testing.assert_array_equal(canvas.axes[0].lines[0].get_ydata(), exact)
    canvas = render(FIGURES["lt19-oracle-calls"])
    assert len(canvas.axes) == 3
