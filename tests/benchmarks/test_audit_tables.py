"""Tables that judge the auditor: their laws, a smaller half of each, and the command."""

import math

import numpy as np
import pytest

from benchmarks.audit_tables import TABLES, calibration, zoo
from jaxsel.host.intervals import binomial_p_value
from tests.cli.test_cli import run, run_json
from tests.conftest import ALPHA

MEMBERS = {member.function.__name__: member for member in zoo.ZOO}


@pytest.mark.parametrize("name", ["noisy_max_1", "noisy_max_2"])
def test_laws_of_places_are_those_of_what_is_sampled(name, seed):
    data, trials = [1.0, 0.0, 9.0, 0.0, 2.0], 40_000
    kind = "laplace" if name == "noisy_max_1" else "exponential"
    law = zoo._places(kind, data)
    assert sum(law) == pytest.approx(1.0)
    found = MEMBERS[name].function(np.random.default_rng(seed), data, trials)
    counts = np.bincount(found, minlength=5)
    p = binomial_p_value(counts, np.full(5, trials), law)
    assert np.all(p >= ALPHA / 5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sparse_vector_1", (0.5, 0.5, 40.0, 1)),
        ("sparse_vector_4", (1.0, 0.25, 1 / 0.075, 1)),
        ("sparse_vector_6", (1.0, 0.5, 20.0, 4)),
    ],
)
def test_laws_of_patterns_are_those_of_what_is_sampled(name, settings, seed):
    data, trials = [30.0, 0.0, 2.0, 9.0], 40_000
    threshold, part, scale, most = settings
    law = zoo._patterns(data, threshold=threshold, part=part, scale=scale, most=most)
    assert sum(law) == pytest.approx(1.0)
    found = MEMBERS[name].function(np.random.default_rng(seed), data, trials)
    # Patterns end where the mechanism stops; sorted as the law is.
    patterns = [tuple(int(x) for x in row if x >= 0) for row in found]
    every = sorted(set(patterns))
    assert len(every) == len(law)
    counts = np.array([patterns.count(one) for one in every])
    p = binomial_p_value(counts, np.full(len(law), trials), law)
    assert np.all(p >= ALPHA / len(law))


def test_the_exact_values_are_known_where_they_are():
    assert MEMBERS["laplace"].exact([0.0], [1.0]) == pytest.approx(0.1)
    # The largest of five shifted alike: five half epsilons, at the far tail.
    shifted = MEMBERS["noisy_max_3"].exact([1.0] * 5, [2.0] * 5)
    assert shifted == pytest.approx(0.25, abs=0.005)
    # Exponential noise is nearly exact where one is raised and the others are lowered.
    raised = MEMBERS["noisy_max_2"].exact([1.0] * 5, [2.0, 0.0, 0.0, 0.0, 0.0])
    assert 0.0999 < raised <= 0.1
    alike = MEMBERS["noisy_max_2"].exact([1.0] * 5, [2.0] * 5)
    assert alike == pytest.approx(0.0, abs=1e-9)
    for name in ("sparse_vector_1", "sparse_vector_2"):
        half = [1.0] * 5 + [2.0] * 5, [2.0] * 5 + [1.0] * 5
        assert 0.08 < MEMBERS[name].exact(*half) <= 0.1


def test_the_zoo_is_bounded_below_the_exact_values_and_near_them(monkeypatch):
    chosen = tuple(MEMBERS[name] for name in ("noisy_max_3", "sparse_vector_6"))
    monkeypatch.setattr(zoo, "ZOO", chosen)
    rows = list(zoo.rows(400_000, 1, None, 1))
    for row in rows:
        # Each is above the truth with probability 0.1; far above it with far less.
        assert row["bound"] < 1.2 * row["exact on the pair"]
    assert rows[0]["bound"] > 0.5 * rows[0]["exact on the pair"]
    said, reached = zoo.judged([{"reached": True}] * 12 + [{"reached": False}])
    assert said.startswith("12 of 13")
    assert not reached


def test_kept_claims_fall_no_more_often_than_is_said(seed):
    rows = list(calibration.rows(10_000, seed, None, 200))
    assert len(rows) == 2 * 2 + 4
    said, reached = calibration.judged(rows)
    assert said.startswith("8 of 8")
    assert reached
    unfair = calibration._row("a", 190, 200, 0.1, 0.0)
    assert not unfair["fair"]
    assert not calibration.judged([*rows, unfair])[1]
    assert math.isclose(unfair["share"], 0.95)


def test_each_table_is_a_command(capsys):
    code, found = run_json(capsys, "audit", "--calibration", "--trials", "1e4", "--runs", "20")
    assert (code, len(found["rows"])) == (0, 8)
    for words in (("--bugs", "--zoo"), (), ("noisy_max", "--bugs")):
        code, _, said = run(capsys, "audit", *words)
        assert (code, "--calibration" in said) == (2, True)
    assert run(capsys, "audit", "noisy_max", "--runs", "3")[0] == 2
    assert set(TABLES) == {"bugs", "zoo", "calibration"}
