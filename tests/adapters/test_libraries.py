"""OpenDP's measurements are audited as they are; OpenDP, autodp and jax_privacy in the table."""

import opendp.prelude as dp
import pytest

import jaxsel
from benchmarks.audit_tables import libraries
from jaxsel.auditing.functions.audited_function import load
from tests.adapters.tables import check, rows_of
from tests.conftest import ALPHA

dp.enable_features("contrib")
NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
SCORES = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)


def audited(measurement, claim, data, trials=10_000):
    """At the false-alarm rate of the tests, and from so many trials that a half is refuted."""
    return jaxsel.audit_function(
        measurement, data, relation="general", claim=claim, trials=trials, confidence=1 - ALPHA
    )


def test_a_measurement_runs_in_this_process_and_takes_one_argument():
    found = load(dp.m.make_laplace(*NUMBER, scale=1.0))
    assert (found.kind, found.path, found.name) == ("own", None, "Measurement")


@pytest.mark.parametrize("data", [0.0, 2.5])
def test_laplace_keeps_its_map_and_no_smaller_claim(data):
    measurement = dp.m.make_laplace(*NUMBER, scale=1.0)
    assert not audited(measurement, measurement.map(1.0), data).refuted
    assert audited(measurement, 0.5, data).refuted


def test_noisy_max_keeps_its_map_under_both_measures():
    scores = [1.0, 1.0, 1.0]
    pure = dp.m.make_noisy_max(*SCORES, dp.max_divergence(), scale=1.0)
    assert not audited(pure, pure.map(1.0), scores).refuted
    assert audited(pure, 0.5, scores).refuted
    curve = dp.m.make_noisy_max(*SCORES, dp.zero_concentrated_divergence(), scale=1.0)
    assert not audited(curve, f"zcdp:rho={curve.map(1.0)}", scores).refuted
    assert audited(curve, "zcdp:rho=0.05", scores).refuted
    # Permute-and-flip is no mechanism of bounded range, and has no such rho.
    assert audited(pure, f"zcdp:rho={curve.map(1.0)}", scores[:2], trials=40_000).refuted


def test_input_of_another_type_is_an_outcome_on_both_sides():
    measurement = dp.m.make_laplace(*NUMBER, scale=1.0)
    found = audited(measurement, 1.0, [1.0, 2.0])
    assert found.verdict == "failed"
    assert "raised" in found.event


@pytest.mark.parametrize("library", ["opendp", "autodp", "jax_privacy", "dp-accounting"])
def test_what_is_known_of_a_library_is_found_again(library):
    rows = rows_of(library)
    check(rows)
    known = {subject.name for subject in libraries.SUBJECTS if subject.broken}
    if library != "dp-accounting":
        assert known & {row["subject"] for row in rows}
