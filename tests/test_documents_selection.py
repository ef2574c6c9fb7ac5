"""The numbers of docs/selection-and-testing.md are those of the code."""

import math
from pathlib import Path

import pytest

from jaxsel.families.choosing.laws import choosing_settings, needed_lead, stable_settings
from jaxsel.families.percentile.median_laws import median_rounds
from jaxsel.families.percentile.pipeline_laws import most_calls, pipeline
from jaxsel.families.percentile.settings import algorithm_4
from jaxsel.families.score_selection.classical_laws import margin_needed
from jaxsel.families.selection_and_test.bounds import tests_epsilon as epsilon_of_tests
from jaxsel.tuning.bounds.random_stopping import hard_stop_steps_pure, hard_stop_steps_sharp

TEXT = " ".join(
    (Path(__file__).parent.parent / "docs" / "selection-and-testing.md")
    .read_text(encoding="utf-8")
    .replace("**", "")
    .split()
)


def power(number: float, digits: int) -> str:
    """2.9·10⁹, as the page writes large numbers."""
    exponent = math.floor(math.log10(number))
    raised = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number / 10**exponent:.{digits}f}·10{raised}"


def test_oracle_calls():
    settings = {
        "base_epsilon": 0.1,
        "slack": 0.1,
        "beta": 0.1,
        "delta": 1e-3,
        "queries": 10,
        "target": 0.5,
        "corrected": True,
    }
    few = algorithm_4(**settings, final_epsilon=1.0).samples
    many = algorithm_4(**settings, final_epsilon=0.1).samples
    assert f"{power(few, 1)} runs a query" in TEXT
    assert f"at ε₃ = 0.1 it is {power(many, 0)}" in TEXT
    for reading in ("corrected", "sharp"):
        calls = most_calls(pipeline(reading=reading))
        assert power(calls, 0) in TEXT
    assert f"in at most {median_rounds(0.1, 10.0)} (" in TEXT


def test_hard_stops():
    gamma = 1e-4
    assert f"T = {hard_stop_steps_sharp(gamma, 0.1) * gamma:.1f}/γ is enough" in TEXT
    printed = hard_stop_steps_pure(gamma, 0.1) * gamma
    assert f"takes {printed:.0f}/γ at γ = 10⁻⁴" in TEXT


def test_tests_of_many_answers():
    found = epsilon_of_tests(0.1, 0.0001, 100, 1e-6)
    assert f"{found:.2f}, against" in TEXT
    assert f"{2 * 100 * 0.1 + 0.1:.1f} (pure)" in TEXT


def test_needed_leads_have_a_limit():
    limits = {}
    for name, settings in (
        ("choosing", choosing_settings(1.0, 1e-6, 0.1, 1)),
        ("stable", stable_settings(1.0, 1e-6, 0.1, 1)),
    ):
        found = [needed_lead(1, count, settings, 0.1) for count in (1e3, 1e12, 1e40)]
        assert found[0] < 0.6 * found[1]
        assert found[1] == pytest.approx(found[2], rel=1e-3)
        limits[name] = found[2]
    assert f"at most {limits['choosing']:.1f} and {limits['stable']:.1f}." in TEXT
    assert f"needs {margin_needed(1.0, 1.0, 1e-6, 0.1):.1f}." in TEXT
    # the exponential mechanism needs 2 (log m + log(1/beta - 1)) at epsilon = 1
    for lead, power_of_two in ((limits["choosing"], 33), (limits["stable"], 76)):
        candidates = math.exp(lead / 2.0) / (1.0 / 0.1 - 1.0)
        assert math.floor(math.log2(candidates)) == power_of_two
