"""Sums over a block of trials, against sums in plain Python; and what lies outside a range."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.kernel import statistics
from jaxsel.kernel.engine import simulate
from tests.kernel.test_engine import counter_mechanism

OUTCOMES = np.array([0, 2, -1, 1, 2, 3, -3, 2, 0, 100])
VALID = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], bool)


def _sums(found, outcomes, valid):
    with jax.enable_x64(True):  # as the engine has it
        sums = found.batch(jnp.asarray(outcomes), jnp.asarray(valid))
    return jax.tree.map(np.asarray, sums)


def _outcome(outcome):
    return outcome


def _next(outcome):
    return outcome + 1


def test_an_event_outside_the_range_is_none_of_them():
    found = statistics.counts(_outcome, 3)
    sums = _sums(found, OUTCOMES, VALID)
    inside = OUTCOMES[VALID]
    assert sums.tolist() == [int((inside == event).sum()) for event in range(3)] == [1, 1, 2]
    # Three of the seven trials are missing: that is how the engine knows.
    assert [int(total) for total in found.totals(sums)] == [4]


def test_of_combined_statistics_every_total_is_told():
    parts = {"a": statistics.counts(_outcome, 3), "b": statistics.counts(_next, 3)}
    parts["c"] = statistics.histogram(_outcome, [0.5])
    found = statistics.combine(parts)
    sums = _sums(found, OUTCOMES, VALID)
    assert [int(total) for total in found.totals(sums)] == [4, 3, 7]


def _right(lane):
    return (lane % 3).astype(jnp.int32)


def _beyond(lane):
    return jnp.where(lane == 700, 3, lane % 3).astype(jnp.int32)


def _negative(lane):
    return jnp.where(lane == 700, -1, lane % 3).astype(jnp.int32)


@pytest.mark.parametrize("wrong", [_beyond, _negative])
@pytest.mark.parametrize("first", [True, False])
def test_one_trial_outside_the_range_of_any_part_is_refused(wrong, first):
    events = (wrong, _right) if first else (_right, wrong)
    parts = {key: statistics.counts(event, 3) for key, event in zip("ab", events, strict=True)}
    mechanism = counter_mechanism(_right)
    with pytest.raises(InputError, match="outside the range"):
        simulate(mechanism, 0.0, (), trials=1000, statistic=statistics.combine(parts))


@pytest.mark.parametrize("wrong", [_beyond, _negative])
def test_one_event_outside_the_range_is_refused(wrong):
    with pytest.raises(InputError, match="outside the range"):
        simulate(counter_mechanism(wrong), 0.0, (), trials=1000)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda lane: lane.astype(jnp.float32), "an event is a float32; it must be one whole"),
        (lambda lane: jnp.stack([lane, lane]), r"of shape \(2,\); it must be one whole"),
    ],
)
def test_an_event_that_is_no_whole_number_is_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        simulate(counter_mechanism(wrong), 0.0, (), trials=1000)


def test_an_outcome_of_text_and_labels_that_are_no_list_are_refused():
    mechanism = counter_mechanism(_right)
    with pytest.raises(InputError, match="draws 'a'; an outcome is made of numbers"):
        simulate(mechanism._replace(sample=lambda *_: "a"), 0.0, (), trials=1000)
    for labels in (3, "abc"):
        with pytest.raises(InputError, match="they must be a list of texts"):
            simulate(mechanism._replace(labels=lambda *_, found=labels: found), 0.0, (), trials=9)


def test_moments_are_those_of_the_values_inside():
    values = np.array([-1.0, 0.25, 0.5, 3.0, np.nan, 1.0, 0.0, 0.75, 0.5])
    valid = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0], bool)
    found = statistics.moments(_outcome, 0.0, 1.0)
    sums = _sums(found, values, valid)
    read = statistics.read_moments(sums, 0.0, 1.0)
    inside = np.array([0.25, 0.5, 1.0, 0.0])
    assert (read.count, read.outside) == (4, 3)
    assert read.mean == pytest.approx(inside.mean(), abs=2.0**-30)
    assert read.variance == pytest.approx(inside.var(), abs=2.0**-29)
    assert [int(total) for total in found.totals(sums)] == [7]


def test_a_bin_holds_its_lower_edge():
    values = np.array([-2.0, 1.0, 1.5, 2.0, np.nan, 5.0, 1.0])
    valid = np.array([1, 1, 1, 1, 1, 1, 0], bool)
    found = statistics.histogram(_outcome, [1.0, 2.0])
    sums = _sums(found, values, valid)
    assert sums.tolist() == [1, 2, 3]


def test_sums_leave_out_trials_that_are_not_valid():
    rows = np.arange(12).reshape(4, 3)
    valid = np.array([1, 0, 1, 0], bool)
    found = statistics.sums(_outcome)
    sums = _sums(found, rows, valid)
    assert sums.tolist() == rows[valid].sum(axis=0).tolist()
    assert sums.dtype == np.int64


@pytest.mark.parametrize(("low", "high"), [(-2.0, 3.0), (0.0, 2.0**-3), (5.0, 1029.0)])
def test_moments_are_sums_of_whole_steps(low, high):
    """Steps of 2**-30 of the range, in Python integers."""
    shares = [0.0, 1.0, 0.25, 1 / 3, 0.7, 2.0**-31 * 1.5]
    values = np.array([low + share * (high - low) for share in shares])
    found = statistics.moments(_outcome, low, high)
    sums = _sums(found, values, np.ones(6, bool))
    steps = [round((float(value) - low) / (high - low) * 2**30) for value in values]
    assert steps[:2] == [0, 2**30]
    assert int(sums["sum"]) == sum(steps)
    squares = [step * step for step in steps]
    assert int(sums["square_high"]) == sum(square >> 30 for square in squares)
    assert int(sums["square_low"]) == sum(square % 2**30 for square in squares)
    read = statistics.read_moments(sums, low, high)
    width = (high - low) * 2.0**-30
    assert read.mean == pytest.approx(values.mean(), abs=width)
    assert read.variance == pytest.approx(values.var(), rel=1e-8)
    assert found.name == f"moments({low},{high})"


def test_no_value_inside_has_no_moments():
    sums = _sums(statistics.moments(_outcome, 0.0, 1.0), np.array([2.0, 3.0]), np.ones(2, bool))
    read = statistics.read_moments(sums, 0.0, 1.0)
    assert (read.count, read.outside) == (0, 2)
    assert math.isnan(read.mean)
    assert math.isnan(read.variance)
    one = _sums(statistics.moments(_outcome, 0.0, 1.0), np.array([0.5]), np.ones(1, bool))
    assert statistics.read_moments(one, 0.0, 1.0) == (1, 0.5, 0.0, 0)


@pytest.mark.parametrize("limits", [(1.0, 1.0), (1.0, 0.0), (-np.inf, 0.0), (0.0, np.inf)])
def test_moments_need_a_range(limits):
    with pytest.raises(InputError, match="must be finite with low < high"):
        statistics.moments(_outcome, *limits)


@pytest.mark.parametrize("edges", [[1.0, 1.0], [2.0, 1.0], [1.0, 3.0, 2.0], [[1.0, 2.0]], 1.0])
def test_edges_increase(edges):
    with pytest.raises(InputError, match="edges must be a strictly increasing list of numbers"):
        statistics.histogram(_outcome, edges)


def test_a_bin_is_that_of_the_numbers_of_the_values():
    """Edges and outcomes of float32 and float64, at and between the edges."""
    edges = np.array([-1.0, 0.5, 0.75, 9.0])
    values = np.concatenate([edges, edges - 0.125, edges + 0.125])
    for dtype in (np.float32, np.float64):
        found = statistics.histogram(_outcome, edges)
        sums = _sums(found, values.astype(dtype), np.arange(12) != 11)
        wanted = [
            ((values[:11] >= a) & (values[:11] < b)).sum()
            for a, b in itertools.pairwise([-np.inf, *edges, np.inf])
        ]
        assert sums.tolist() == wanted
        assert found.totals(sums) == [11]
        assert found.name == "histogram((-1.0, 0.5, 0.75, 9.0))"


def test_statistics_are_named_by_what_they_are():
    found = statistics.counts(_outcome, 3)
    assert found.name == "counts(3)"
    parts = {"b": found, "a": statistics.sums(_outcome)}
    both = statistics.combine(parts)
    assert both.name == "combine(a=sums,b=counts(3))"
    # Made again, it is the same: the engine keeps one program for it.
    assert statistics.combine(dict(reversed(parts.items()))) is both
    with pytest.raises(InputError, match="num_events is 0"):
        statistics.counts(_outcome, 0)


def test_booleans_and_tables_are_summed_and_checked_against_nothing():
    outcomes = {"flag": np.array([True, False, True]), "table": np.arange(12).reshape(3, 2, 2)}
    found = statistics.sums(_outcome)
    with jax.enable_x64(True):
        sums = found.batch(jax.tree.map(jnp.asarray, outcomes), jnp.array([True, True, False]))
    assert int(sums["flag"]) == 1
    assert sums["flag"].dtype == np.int64
    assert sums["table"].tolist() == [[4, 6], [8, 10]]
    assert found.totals(sums) == []
