"""What events are worth: against definitions, candidate by candidate."""

import itertools

import numpy as np
import pytest

from jaxsel import catalogue
from jaxsel.language.utility import MEANINGS, UNITS, of_candidates, of_sets


def test_candidates_by_hand():
    found = of_candidates(np.array([3.0, 1.0, 3.0, 2.0]), ("0", "1", "2", "3"))
    assert found["success"].tolist() == [1, 0, 1, 0]
    # Worse than a 3: two of four; equal, itself among them: two, counting half.
    assert found["quantile"].tolist() == [0.75, 0.125, 0.75, 0.375]
    assert found["regret"].tolist() == [0, 2, 0, 1]
    assert "released" not in found


def test_nothing_is_worth_nothing():
    found = of_candidates(np.array([1.0, 2.0]), ("0", "1", "none"))
    assert found["success"].tolist() == [0, 1, 0]
    assert found["quantile"].tolist() == [0.25, 0.75, 0]
    assert found["released"].tolist() == [1, 1, 0]
    assert "regret" not in found


def test_a_single_run_has_mean_quantile_one_half():
    law = np.array([0.1, 0.2, 0.3, 0.4])
    for scores in ([4, 3, 2, 1], [1, 1, 2, 2], [5, 5, 5, 5]):
        found = of_candidates(np.array(scores), ("0", "1", "2", "3"), law)
        assert found["quantile"] @ law == pytest.approx(0.5, abs=1e-15)


def _best_sets(scores, k):
    """Every set of size k with the largest sum."""
    sets = list(itertools.combinations(range(len(scores)), k))
    most = max(sum(scores[i] for i in chosen) for chosen in sets)
    return [set(s) for s in sets if sum(scores[i] for i in s) == most]


@pytest.mark.parametrize("scores", [[5, 3, 1, 0], [5, 3, 3, 0], [2, 2, 2, 2]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sets_against_all_top_sets(scores, k):
    every = [s for n in range(5) for s in itertools.combinations(range(4), n)]
    labels = ["{" + ",".join(map(str, s)) + "}" for s in every]
    found = of_sets(np.array(scores), labels, k)
    top = _best_sets(scores, k)
    for number, chosen in enumerate(map(set, every)):
        # Among equal top sets, the one that agrees most.
        agreed = max(len(chosen & best) for best in top)
        assert found["recall"][number] == agreed / k
        assert found["success"][number] == (chosen in top)
        assert found["size"][number] == len(chosen)


def test_a_size_of_its_own_choice():
    labels = ("{}", "{0}", "{1}", "{0,1}", "{0,2}", "nothing, size 2")
    found = of_sets(np.array([5.0, 3.0, 1.0]), labels)
    assert found["success"].tolist() == [0, 1, 0, 1, 0, 0]
    assert found["released"].tolist() == [0, 1, 1, 1, 1, 0]
    assert "recall" not in found
    assert of_sets(np.array([5.0, 3.0]), ("size 1", "size 2")) == {}


RANKED = [e for e in catalogue.mechanisms() if e.name not in ("dp_sgd",)]


@pytest.mark.parametrize("entry", RANKED, ids=lambda entry: entry.name)
def test_every_mechanism_says_what_its_events_are_worth(entry):
    for given in ({}, entry.generic):
        built = entry.build(given)
        labels = built.mechanism.labels(built.data, built.params)
        for name, worth in built.utility().items():
            assert name in MEANINGS
            assert worth.shape == (len(labels),)
            assert np.isfinite(worth).all()
            assert (worth >= 0.0).all()
            assert name in UNITS or (worth <= 1.0).all()


# Scores are those of one run, or of lists, and events no candidates.
UNRANKED = {
    "noisy_max_composition",
    "percentile_pipeline",
    "decreasing_thresholds",
    "selection_smooth_sensitivity",
}


def test_mechanisms_that_release_a_candidate_are_ranked():
    """Who releases candidates by their number and knows their scores."""
    for entry in catalogue.mechanisms():
        built = entry.build({})
        labels = built.mechanism.labels(built.data, built.params)
        single = set(labels) <= {*map(str, range(len(labels))), "none"}
        known = "base" in entry.settings or "scores" in entry.settings
        sets = all(label.startswith(("{", "nothing")) for label in labels)
        if (single and known) or (sets and "histogram" in entry.settings):
            ranked = built.utility()
            assert bool(ranked) != (entry.name in UNRANKED), entry.name
