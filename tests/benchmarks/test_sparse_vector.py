"""Goal 6 of the bench: competitors sample one law, and rows say what was measured."""

import numpy as np
import pytest

from benchmarks import sparse_vector
from benchmarks.checks import chi_square_p_value
from benchmarks.timing import Settings
from tests.conftest import ALPHA


def test_the_numpy_scan_samples_the_exact_law():
    sampler = sparse_vector.numpy_scan(30)
    tallies = sampler.run(64 * 800)
    assert chi_square_p_value(tallies, sampler.law) > ALPHA
    wrong = sampler.law.copy()
    wrong[-2:] += np.array([-0.02, 0.02])
    assert chi_square_p_value(tallies, wrong) < ALPHA


def test_a_scan_of_the_workload_draws_nearly_all_noises():
    law = sparse_vector.numpy_scan().law
    assert law.size == sparse_vector.QUERIES + 1
    assert law[-2:].sum() > 0.9


def test_rows_compare_the_jump_with_the_scans():
    rows = sparse_vector.measure(Settings(1, 0.002), queries=40)
    assert [row.goal for row in rows] == [6] * 3
    assert [row.threshold for row in rows] == [10.0, None, None]
    assert rows[0].met == (rows[0].measured >= 10.0)
    assert "literal" in rows[0].detail


def test_memory_is_measured_in_fresh_processes(monkeypatch):
    calls = []

    def fake(module, *arguments):
        calls.append(arguments)
        return "2.5 300.0\n"

    monkeypatch.setattr(sparse_vector, "run_python", fake)
    rows = sparse_vector.measure_memory(1000)
    assert calls == [("1000", "jump"), ("50", "literal")]
    assert [row.met for row in rows] == [False, True, False]
    assert [row.measured for row in rows] == [300.0, 2.5, 300.0]


def test_what_a_process_prints_is_seconds_and_memory(capsys):
    sparse_vector.main(8192, "jump")
    seconds, growth = (float(part) for part in capsys.readouterr().out.split())
    assert seconds > 0.0
    assert growth == pytest.approx(growth)
    assert growth >= 0.0
