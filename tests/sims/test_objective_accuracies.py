"""The comparison of untuned and tuned objective perturbation: its record, budget and table."""

import json
from pathlib import Path

import numpy as np
import pytest

from jaxsel.training.objective_privacy import guarantee
from sims.data import objective_accuracies as comparison

ROOT = Path(__file__).parent.parent.parent
RECORD = json.loads(comparison._FILE.read_text(encoding="utf-8"))


def test_the_page_has_the_table_of_the_record():
    page = (ROOT / "docs" / "objective-perturbation.md").read_text(encoding="utf-8")
    assert comparison.table() in page


def test_the_record_has_every_way_and_seed():
    rows = RECORD["rows"]
    assert len(rows) == 2 * (1 + 3 * len(comparison.EPSILONS))
    for row in rows:
        assert len(row["accuracies"]) == comparison.SEEDS >= 20
        assert all(0.0 <= each <= 1.0 for each in row["accuracies"])


@pytest.mark.parametrize("total", comparison.EPSILONS)
def test_both_ways_spend_no_more_than_the_total(total):
    one, noise = RECORD["of_one"][str(total)]
    search = comparison._search(one, scoring={"noise": noise})._search(None, True)
    assert 0.9 * total < search.guarantee.epsilon <= total
    untuned = comparison._model(**comparison.settings(total, *comparison.UNTUNED))
    assert 0.99 * total < guarantee(untuned.settings).epsilon(comparison.DELTA) <= total


def test_a_fit_of_the_record_is_made_again():
    """Seeds draw the same noise; another BLAS may label a record or two otherwise."""
    found = comparison.untuned(comparison.problems()["digits"], 0, 8.0, *comparison.UNTUNED)
    (row,) = [
        each
        for each in RECORD["rows"]
        if (each["data"], each.get("epsilon"), each["way"]) == ("digits", 8.0, "untuned")
    ]
    assert found == pytest.approx(row["accuracies"][0], abs=0.01)


def test_features_are_scaled_without_the_data():
    for name, problem in comparison.problems().items():
        again = comparison.problems()[name]
        np.testing.assert_array_equal(problem.features, again.features)
        assert np.abs(problem.features).max() < 1.2
