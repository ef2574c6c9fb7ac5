"""What events are made of, held to other routes: evidence, bins, the regression and its score."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from jaxsel.auditing.functions import events
from jaxsel.auditing.functions.events import Claim, Event, LargestBound, _edges, _Features
from jaxsel.auditing.functions.outcomes import table

NAMES = ["entry 0", "entry 1"]


def _given(size, seed=0):
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.normal(size=size), generator.integers(0, 3, size)], axis=1)
    rows[::11, 0] = np.nan
    rows[1::13, 0] = np.inf
    return table(rows)


def _design(features, given):
    """By plain loops: scaled columns, a column for each bin, and a constant."""
    rows = []
    for row in given.values:
        scaled, bins = [], np.zeros(int(features.starts[-1]))
        for place, value in enumerate(row):
            low, high = features.low[place], features.high[place]
            middle = (low + high) / 2 if math.isnan(value) else min(max(value, low), high)
            scaled.append(2 * (middle - low) / (high - low) - 1)
            edges = features.edges[place]
            among = len(edges) + 1 if math.isnan(value) else sum(edge < value for edge in edges)
            bins[features.starts[place] + among] = 1.0
        rows.append([*scaled, *bins, 1.0])
    return np.array(rows)


@pytest.mark.parametrize("block", [7, 40, 1000])
def test_a_score_is_a_sum_over_columns_and_bins_block_by_block(monkeypatch, block):
    monkeypatch.setattr(events, "_AT_ONCE", block)
    given = _given(95)
    features = _Features.fitted(NAMES, given)
    weights = np.random.default_rng(1).normal(size=len(NAMES) + int(features.starts[-1]) + 1)
    expected = _design(features, given) @ weights - weights[-1]
    assert features.score(given, weights) == pytest.approx(expected)


def test_the_regression_has_no_slope_left():
    given = _given(200)
    side = (np.arange(200) % 3 == 0).astype(float)
    features = _Features.fitted(NAMES, given)
    weights = features.regression(given, side, 500)
    design = _design(features, given)
    rest = scipy.special.expit(design @ weights) - side
    assert np.abs(design.T @ rest + weights).max() < 1e-2

    # It is the least: any other has a larger loss.
    def loss(at):
        total = design @ at
        return np.logaddexp(0.0, total).sum() - side @ total + 0.5 * at @ at

    generator = np.random.default_rng(2)
    for _ in range(20):
        assert loss(weights) < loss(weights + 0.1 * generator.normal(size=weights.size))


def test_bins_have_frequent_values_for_themselves():
    generator = np.random.default_rng(3)
    values = np.concatenate([np.full(50, 1.5), np.full(3, -2.0), generator.normal(size=1000)])
    edges = _edges(values)
    for atom in (1.5,):
        assert {atom, np.nextafter(atom, -np.inf)} <= set(edges)
    assert -2.0 not in edges  # thrice in a thousand is no atom
    rest = np.sort(values[values != 1.5])
    inner = [edge for edge in edges if edge not in (1.5, np.nextafter(1.5, -np.inf))]
    shares = [np.mean(rest <= edge) for edge in inner]
    assert shares == pytest.approx(np.arange(1, 16) / 16, abs=2e-3)
    assert _edges(np.zeros(0)).size == 0
    assert _edges(np.full(9, 4.0)).tolist() == [np.nextafter(4.0, -np.inf), 4.0]


@pytest.mark.parametrize("trials", [(400, 400), (300, 900)])
@pytest.mark.parametrize("claim", [Claim(0.5), Claim(0.5, 0.02), Claim(0.0, 0.1)])
def test_evidence_is_chernoffs_exponent(claim, trials):
    x, y = np.array([0.0, 40, 200, 300, 9]), np.array([0.0, 50, 60, 3, 0])
    added = y + trials[1] * claim.delta * math.exp(-claim.epsilon)
    ratio = math.exp(claim.epsilon) * trials[0] / trials[1]
    q = ratio / (1.0 + ratio)
    found = claim.evidence(x, y, trials)
    for a, b, evidence in zip(x, added, found, strict=True):
        seen = a / (a + b) if a + b else 0.0
        if seen <= q:
            assert evidence == 0.0
            continue
        exponent = seen * math.log(seen / q)
        if seen < 1.0:
            exponent += (1 - seen) * math.log((1 - seen) / (1 - q))
        assert evidence == pytest.approx((a + b) * exponent)
    assert claim.evidence(x, y, (0, 5)).tolist() == [0.0] * 5
    assert claim.eased(0.5) == Claim(0.5 * claim.epsilon, claim.delta)


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_largest_bound_ranks_by_a_limit_of_the_ratio(delta):
    x, y, trials = np.array([60.0, 5.0, 200.0]), np.array([12.0, 0.0, 250.0]), (400, 500)
    found = LargestBound(9.0, delta).evidence(x, y, trials)
    left = np.floor(np.maximum(x - 400 * delta, 0.0))
    for a, b, limit in zip(left, y, found, strict=True):
        share = scipy.stats.beta.ppf(1e-3, a, b + 1) if a else 0.0
        expected = math.log(share / (1 - share) * 500 / 400) if share else -math.inf
        assert limit == pytest.approx(expected, rel=1e-5)
    assert LargestBound(9.0).eased(0.1) == LargestBound(9.0)


def test_an_event_its_complement_and_two_together():
    given = table(np.array([1.0, 2.0, 3.0, 4.0]))
    low = Event("low", lambda given: given.values < 3)
    even = Event("even", lambda given: given.values % 2 == 0)
    assert low.complement().holds(given).tolist() == [False, False, True, True]
    assert low.both(even).holds(given).tolist() == [False, True, False, False]
    assert low.both(even).words == "low and even"
    assert low.complement().words == "not (low)"
    counts = events.counts_of([low, even, low.both(even)], given)
    assert np.asarray(counts).tolist() == [2, 2, 1]


def test_tables_are_halved_into_different_trials():
    tables = table(np.arange(11.0)), table(np.arange(6.0))
    first, second = events.halved(tables)
    for given, one, other in zip(tables, first, second, strict=True):
        both = [*one.values, *other.values]
        assert sorted(both) == sorted(given.values)
        assert abs(len(one) - len(other)) <= 1


def test_columns_are_scaled_between_their_hundredths():
    values = np.arange(1001.0)
    given = table(np.stack([values, np.full(1001, 7.0)], axis=1))
    features = _Features.fitted([*NAMES, "nowhere"], given)
    assert features.low.tolist() == [10.0, 7.0, 0.0]
    assert features.high.tolist() == [990.0, 8.0, 1.0]  # of one value alone, one unit


@pytest.mark.parametrize(
    ("sizes", "quickly", "rows"),
    [
        ((1000, 3000), True, 20),  # one of fifty on the smaller side
        ((300, 200), True, 10),  # an eighth of the most at least
        ((6000, 5000), True, 80),
        ((1000, 3000), False, 100),
    ],
)
def test_a_score_is_learned_of_so_many_trials(sizes, quickly, rows, monkeypatch):
    monkeypatch.setattr(events, "_ROWS", 80)
    monkeypatch.setattr(events, "_ROWS_OF_SCORE", 100)
    learned, fitted = [], _Features.fitted
    monkeypatch.setattr(
        _Features, "fitted", lambda names, both: learned.append(len(both)) or fitted(names, both)
    )
    generator = np.random.default_rng(6)
    tables = tuple(table(generator.normal(size=(size, 2))) for size in sizes)
    assert list(events._scores(tables, quickly))
    assert learned == [2 * rows]
