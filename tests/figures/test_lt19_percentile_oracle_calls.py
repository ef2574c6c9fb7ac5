"""Where percentile sparse vectors halt, and how many runs they need."""

import math

import numpy as np
import pytest

from figures import lt19_oracle_calls, lt19_percentile
from tests.conftest import ALPHA
from tests.figures.sharing import check_laws, record_of

TRIALS = 4000
# Eight programs take most of the time of this file. That the samplers follow their exact
# laws is what the claims SIM-percentile_* and SIM-*_threshold say of each of them.
SIMULATED = pytest.mark.rare


@pytest.fixture(scope="module")
def halts():
    return record_of(lt19_percentile, TRIALS, at=1)


@pytest.fixture(scope="module")
def medians():
    return record_of(lt19_oracle_calls, TRIALS, at=1)


@SIMULATED
def test_simulated_runs_follow_their_exact_laws(halts, medians):
    for found in (*halts.values(), *medians.values()):
        check_laws(found, ALPHA / 10)


@SIMULATED
def test_nothing_good_is_released_as_often_as_the_figure_says(medians):
    bad = [str(number) for number in range(5)]  # scores up to 0.2
    for beta in medians["search"]["beta"].values:
        exact = lt19_oracle_calls.failures(beta)
        laws = [medians[name].frequency_exact.sel(beta=beta) for name in medians]
        outcomes = {"search": [*bad, "none"], "boosting": ["1", "none"]}
        for law, name, chance in zip(laws, medians, exact, strict=True):
            found = law.sel(outcome=outcomes[name]).sum()
            assert found == pytest.approx(chance, rel=1e-9)
            assert chance < beta
    found = lt19_oracle_calls.missed(**medians)
    expected = medians["search"].counts.sel(outcome=[*bad, "none"]).sum("outcome")
    np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("name", ["Algorithm 3", "Algorithm 4"])
def test_theorems_bound_the_exact_laws(name):
    log_odds = np.linspace(-12.0, 8.0, 21)
    bounds = lt19_percentile.bounds(name, log_odds)
    for number, x in enumerate(log_odds):
        law = lt19_percentile.law(name, np.full(10, x))
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
