"""The digits candidates: the stored record, its checks, and training again."""

import copy
import itertools
import json
import sys

import pytest

from jaxsel.host.errors import InputError
from sims.data import digits_candidates as digits

# Logistic regression and support vector machines minimise a strictly convex objective,
# so another version or machine differs only in where its solver stops: at a tolerance
# of 1e-8 in place of the default at most 2 of the 500 labels change. Nearest neighbours
# have no solver.
TOLERANCE = 2
RETRAINED = (
    "logistic_regression(C=1)",
    "support_vector_machine(C=1,gamma=0.01)",
    "nearest_neighbours(n_neighbors=27)",
)


@pytest.fixture
def record():
    return digits.load()


def _candidate(record, name):
    return next(c for c in record["candidates"] if c["name"] == name)


def test_stored_record_covers_the_settings(record):
    stored = [(c["family"], c["hyperparameters"]) for c in record["candidates"]]
    assert stored == list(digits.settings())
    assert len(stored) >= 40
    assert {key: record[key] for key in digits.SIZES} == digits.SIZES
    assert sum(digits.SIZES.values()) == 1797
    assert record["sensitivity"] == 1 / 500
    assert {"scikit-learn", "numpy", "scipy", "python"} == set(record["versions"])
    # Qualities vary: from near guessing to nearly all right, most of them distinct.
    correct = [c["validation_correct"] for c in record["candidates"]]
    assert min(correct) < 100
    assert max(correct) > 480
    assert len(set(correct)) >= 40


def test_load_needs_no_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert digits.load()["candidates"]
    with pytest.raises(InputError, match="pip install scikit-learn"):
        digits.run(progress=False)


@pytest.mark.parametrize("name", RETRAINED)
def test_training_again_gives_the_stored_counts(record, name):
    stored = _candidate(record, name)
    again = digits.train(stored["family"], stored["hyperparameters"], record["split_seed"])
    assert abs(again["validation_correct"] - stored["validation_correct"]) <= TOLERANCE
    test_correct = stored["test_accuracy"] * record["n_test"]
    assert abs(again["test_correct"] - test_correct) <= TOLERANCE + 1e-6


def test_tolerance_tells_the_retrained_candidates_apart(record):
    counts = [_candidate(record, name)["validation_correct"] for name in RETRAINED]
    assert all(abs(a - b) > TOLERANCE for a, b in itertools.combinations(counts, 2))


def test_run_makes_what_load_accepts(monkeypatch, tmp_path):
    # The smallest network stops before it converges: no warning may escape.
    grid = list(digits.settings())
    monkeypatch.setattr(digits, "settings", lambda: iter([grid[0], grid[-1]]))
    record = digits.run(seed=1, progress=False)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    assert digits.load(path) == record
    assert record["split_seed"] == 1
    # Another split is another record.
    assert record["candidates"][0] != digits.load()["candidates"][0]


def _set(key, value):
    return lambda record: record.__setitem__(key, value)


def _set_first(key, value):
    return lambda record: record["candidates"][0].__setitem__(key, value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda record: record.pop("candidates"), "candidates"),
        (lambda record: record["candidates"][0].pop("family"), "family"),
        (_set("candidates", []), "at least one"),
        (_set("candidates", 3), "not a record"),
        (_set("n_validation", 0), "n_validation"),
        (_set("n_validation", 400), "sensitivity"),
        (_set("sensitivity", float("nan")), "sensitivity"),
        (_set("sensitivity", "0.002"), "not a record"),
        (lambda record: record["candidates"].append(record["candidates"][0]), "differ"),
        (_set_first("family", 7), "family"),
        (_set_first("hyperparameters", [1]), "hyperparameters"),
        (_set_first("validation_correct", 1.5), "validation_correct"),
        (_set_first("validation_correct", 501), "at most 500"),
        (_set_first("validation_correct", -1), "validation_correct"),
        (_set_first("validation_accuracy", 0.999), "validation_accuracy"),
        (_set_first("validation_accuracy", float("nan")), "validation_accuracy"),
        (_set_first("test_accuracy", 1.2), "test_accuracy"),
    ],
)
def test_malformed_records_are_refused(record, tmp_path, spoil, message):
    spoiled = copy.deepcopy(record)
    spoil(spoiled)
    path = tmp_path / "spoiled.json"
    path.write_text(json.dumps(spoiled))
    with pytest.raises(InputError, match=message):
        digits.load(path)


@pytest.mark.parametrize("text", [None, "not json", "[1, 2]", "null", "3"])
def test_unreadable_files_are_refused(tmp_path, text):
    path = tmp_path / "file.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError):
        digits.load(path)


def test_bad_seed():
    with pytest.raises(InputError, match="seed"):
        digits.run(seed=-1, progress=False)
