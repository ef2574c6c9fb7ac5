"""Sums over a block of trials, against sums in plain Python; and what lies outside a range."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    with pytest.raises(RuntimeError, match="outside the range"):
        simulate(mechanism, 0.0, (), trials=1000, statistic=statistics.combine(parts))


@pytest.mark.parametrize("wrong", [_beyond, _negative])
def test_one_event_outside_the_range_is_refused(wrong):
    with pytest.raises(RuntimeError, match="outside the range"):
        simulate(counter_mechanism(wrong), 0.0, (), trials=1000)


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
