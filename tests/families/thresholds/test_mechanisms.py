"""Thresholds, known and falling: samplers against exact laws."""

import pytest

from jaxsel.families.private_tuning import bases
from jaxsel.families.private_tuning.noised_bases import noised_score, random_candidate
from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.errors import InputError
from tests.families.entry_checks import (
    check_guarantee,
    check_methods_follow_law,
    check_samples_follow_law,
    entries_of,
)

EACH = pytest.mark.parametrize("entry", entries_of("thresholds"), ids=lambda entry: entry.name)
# Other settings than the defaults, on which a sampler could be wrong.
SETTINGS = {
    "threshold_selection": ({}, {"base": "finite", "gamma": "1"}),
    "conditional_sampling": ({}, {"base": "noised_score_laplace"}),
    "decreasing_thresholds": ({}, {"levels": "0"}, {"gamma": "1", "levels": "3"}),
}


@EACH
def test_every_method_samples_the_exact_law(entry, seed):
    check_methods_follow_law(entry, SETTINGS[entry.name], seed)


@EACH
def test_promises_are_kept_and_hopes_are_dashed(entry):
    check_guarantee(entry)


@pytest.mark.parametrize("method", ["literal", "jump"])
def test_falling_thresholds_over_noisy_scores(method, seed):
    """Scores below 0 may end in nothing; the base need not be finite."""
    base = random_candidate("laplace")
    mechanism = decreasing_thresholds(base, method=method)
    params = {"noise_scale": 0.5, "levels": 4, "gamma": 0.6}
    cells = [([0.9, -0.5], params), ([-2.0, -3.0], params)]
    check_samples_follow_law(mechanism, cells, seed)
    assert mechanism.law is not None
    nothing = mechanism.law(*cells[1]).probabilities[-1]
    assert nothing > 0.3


def test_literal_and_jump_release_the_same_law_of_one_noisy_score(seed):
    params = {"noise_scale": 1.0, "edges": [0.0, 0.5, 1.0], "levels": 3, "gamma": 0.3}
    for method in ("literal", "jump"):
        mechanism = decreasing_thresholds(noised_score("laplace"), method=method)
        check_samples_follow_law(mechanism, [(0.2, params)], seed)


def test_grids_mix_levels(seed):
    data = {"probabilities": [0.4, 0.6], "scores": [1.0, 0.0]}
    cells = [(data, {"levels": n, "gamma": 0.5}) for n in (0, 3, 50)]
    check_samples_follow_law(decreasing_thresholds(bases.finite()), cells, seed, 20_000)


SCORED = {"probabilities": [0.5, 0.5], "scores": [0.5, 0.0]}


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (decreasing_thresholds(bases.finite()), SCORED, {"levels": 2}, "gamma is missing"),
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": 2, "gamma": 0.0},
            "take gamma > 0",
        ),
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": 2, "gamma": 1.5},
            "gamma is 1.5",
        ),
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": -1, "gamma": 0.5},
            "levels is -1",
        ),
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": 10**9, "gamma": 0.5},
            "levels is 1000000000",
        ),
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": 2, "gamma": 0.5, "R": 2},
            "R is no parameter",
        ),
        (threshold_selection(bases.finite()), [1.0], {}, "threshold is missing"),
        (
            threshold_selection(bases.finite()),
            [1.0],
            {"threshold": 0, "tau": 0},
            "tau is no parameter",
        ),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


def test_unknown_method():
    for make in (decreasing_thresholds, threshold_selection):
        with pytest.raises(InputError, match="method is"):
            make(bases.finite(), method="law")
