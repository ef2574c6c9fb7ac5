"""Algorithm 6, percentiles and private amplification: samplers against exact laws."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing import audit
from jaxsel.catalogue import promised
from jaxsel.engine import simulate_grid
from jaxsel.errors import InputError
from jaxsel.families.amplification.amplification import private_amplification
from jaxsel.families.percentile.score_percentile import score_percentile
from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
from jaxsel.families.thresholds.entries import ENTRIES
from jaxsel.families.tuning import bases
from jaxsel.families.tuning.noised_bases import noised_score, random_candidate
from jaxsel.intervals import goodness_of_fit
from tests.conftest import ALPHA

EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
METHODS = {
    "decreasing_thresholds": ("literal", "jump"),
    "median_of_runs": ("literal", "jump"),
    "private_amplification": ("literal", "counts"),
}
# Other settings than the defaults, on which a sampler could be wrong.
SETTINGS = {
    "decreasing_thresholds": ({}, {"levels": "0"}, {"gamma": "1", "levels": "3"}),
    "median_of_runs": ({}, {"rank": "random"}, {"count": "6", "rank": "6"}),
    "private_amplification": ({}, {"score_epsilon": "inf"}, {"candidates": "1"}),
}


def _fits(mechanism, cells, seed, trials=60_000):
    tallies = simulate_grid(mechanism, cells, trials=trials, seed=seed, progress=False)
    for (data, params), counts in zip(cells, tallies.values, strict=True):
        expected = mechanism.law(data, params).probabilities
        assert expected.sum() == pytest.approx(1.0, abs=1e-10)
        assert goodness_of_fit(counts, expected) > ALPHA
        # Power: 12 standard deviations between the two likeliest outcomes are noticed.
        second, top = np.argsort(expected)[-2:]
        if trials * expected[second] < 200.0:
            continue
        moved = 12.0 * math.sqrt(expected[top] * expected[second] / trials)
        wrong = expected.copy()
        wrong[[second, top]] += [moved, -moved]
        assert goodness_of_fit(counts, wrong) < ALPHA


@EACH
def test_every_method_samples_the_exact_law(entry, seed):
    for method in METHODS[entry.name]:
        for given in SETTINGS[entry.name]:
            mechanism = entry.build(given | {"method": method}).mechanism
            pair = entry.pairs(given)[-1]
            cells = [(side, pair.params) for side in (pair.data, pair.neighbour)]
            _fits(mechanism, cells, seed)


@EACH
def test_promises_are_kept_and_hopes_are_dashed(entry, seed):
    mechanism = entry.build({}).mechanism
    losses = []
    for pair in entry.pairs({}):
        found = [
            mechanism.law(side, pair.params) for side in (pair.data, pair.neighbour)
        ]
        for law in found:
            assert len(law.labels) == law.probabilities.size
        exact = exact_epsilon(*(law.probabilities for law in found))
        losses.append(exact / promised(entry, {}, pair)[1])
        bound = audit(
            mechanism, pair, trials=40_000, seed=seed, confidence=1 - ALPHA,
            progress=False,
        ).bound  # fmt: skip
        assert bound.lower <= exact
    assert entry.broken == (entry.summary.startswith("BROKEN: "))
    assert (losses[0] > 1.0) == entry.broken
    if not entry.broken:
        assert max(losses) <= 1.0 + 1e-12


@pytest.mark.parametrize("method", ["literal", "jump"])
def test_falling_thresholds_over_noisy_scores(method, seed):
    """Scores below 0 may end in nothing; the base need not be finite."""
    base = random_candidate("laplace")
    mechanism = decreasing_thresholds(base, method=method)
    params = {"noise_scale": 0.5, "levels": 4, "gamma": 0.6}
    cells = [([0.9, -0.5], params), ([-2.0, -3.0], params)]
    _fits(mechanism, cells, seed)
    nothing = mechanism.law(*cells[1]).probabilities[-1]
    assert nothing > 0.3


def test_literal_and_jump_release_the_same_law_of_one_noisy_score(seed):
    params = {"noise_scale": 1.0, "edges": [0.0, 0.5, 1.0], "levels": 3, "gamma": 0.3}
    for method in ("literal", "jump"):
        mechanism = decreasing_thresholds(noised_score("laplace"), method=method)
        _fits(mechanism, [(0.2, params)], seed)


def test_grids_mix_levels_counts_and_ranks(seed):
    data = {"probabilities": [0.4, 0.6], "scores": [1.0, 0.0]}
    cells = [(data, {"levels": n, "gamma": 0.5}) for n in (0, 3, 50)]
    _fits(decreasing_thresholds(bases.finite()), cells, seed, 20_000)
    cells = [([0.5, 0.5], {"count": n, "rank": "random"}) for n in (1, 4, 31)]
    _fits(score_percentile(), cells, seed, 20_000)


SCORED = {"probabilities": [0.5, 0.5], "scores": [0.5, 0.0]}


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (
            decreasing_thresholds(bases.finite()),
            SCORED,
            {"levels": 2},
            "gamma is missing",
        ),
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
        (score_percentile(), [0.5, 0.5], {}, "count is missing"),
        (score_percentile(), [0.5, 0.6], {"count": 3}, "sum to 1"),
        (score_percentile(), [0.5, 0.5], {"count": 3, "rank": 4}, "at most the 3"),
        (private_amplification(), SCORED, {"candidates": 3}, "threshold is missing"),
        (
            private_amplification(),
            SCORED,
            {"candidates": 3, "threshold": 0.5, "gamma": 0.3},
            "gamma is 0.3",
        ),
        (
            private_amplification(),
            {"probabilities": [1.0], "scores": [0.0, 1.0]},
            {"candidates": 3, "threshold": 0.5},
            "equally many",
        ),
        (
            private_amplification(),
            {"probabilities": np.full(8, 0.125), "scores": np.arange(8.0)},
            {"candidates": 100, "threshold": 0.5},
            "fewer scores",
        ),
        (
            private_amplification(),
            SCORED,
            {"candidates": 3, "threshold": math.nan},
            "threshold is nan",
        ),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


def test_unknown_methods():
    for make in (
        lambda: decreasing_thresholds(bases.finite(), method="law"),
        lambda: score_percentile(method="counts"),
        lambda: private_amplification(method="jump"),
    ):
        with pytest.raises(InputError, match="method is"):
            make()
