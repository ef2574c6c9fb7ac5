"""Poisson batches: the law of their sizes and of their members."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from jaxsel.training.sampling import batch_capacity, poisson_batch
from tests.conftest import ALPHA, seed

EXAMPLES, RATE, BATCHES = 50, 0.13, 20_000


@pytest.fixture(scope="module")
def batches():
    capacity = batch_capacity(EXAMPLES, RATE)
    run = stream.make_key(seed(), 7)

    def one(step):
        return poisson_batch(stream.at_round(run, step, first=0), EXAMPLES, RATE, capacity)

    return jax.jit(jax.vmap(one))(jnp.arange(BATCHES, dtype=jnp.uint32))


def member_counts(batches) -> np.ndarray:
    rows, count = np.asarray(batches.rows), np.asarray(batches.count)
    inside = np.arange(rows.shape[1]) < count[:, None]
    return np.bincount(rows[inside], minlength=EXAMPLES)


def size_pvalue(sizes: np.ndarray) -> float:
    """Chi-squared test of Bin(EXAMPLES, RATE), cells of expected count at least 50."""
    low, high = stats.binom.ppf([0.01, 0.99], EXAMPLES, RATE).astype(int)
    edges = np.arange(low, high + 1)
    cdf = stats.binom.cdf(edges[:-1], EXAMPLES, RATE)
    expected = np.diff(np.concatenate([[0.0], cdf, [1.0]])) * sizes.size
    seen = np.bincount(np.clip(sizes, low, high) - low, minlength=expected.size)
    assert expected.min() > 50
    return float(stats.chisquare(seen, expected).pvalue)


def test_sizes_are_binomial_and_fixed_sizes_are_not(batches):
    sizes = np.asarray(batches.count)
    assert size_pvalue(sizes) > ALPHA
    fixed = np.full(BATCHES, round(EXAMPLES * RATE))
    assert size_pvalue(fixed) < ALPHA
    # power: a rate 3 % too high is seen
    other = np.random.default_rng(0).binomial(EXAMPLES, 1.03 * RATE, BATCHES)
    assert size_pvalue(other) < ALPHA


def test_every_example_is_drawn_as_often_and_independently(batches):
    for seen in member_counts(batches):
        assert stats.binomtest(int(seen), BATCHES, RATE).pvalue > ALPHA / EXAMPLES
    rows, count = np.asarray(batches.rows), np.asarray(batches.count)
    inside = np.arange(rows.shape[1]) < count[:, None]
    pair = [((rows == i) & inside).any(axis=1) for i in (3, 4)]
    both = int(np.sum(pair[0] & pair[1]))
    assert stats.binomtest(both, BATCHES, RATE**2).pvalue > ALPHA
    # consecutive steps are independent, too
    again = int(np.sum(pair[0][1:] & pair[0][:-1]))
    assert stats.binomtest(again, BATCHES - 1, RATE**2).pvalue > 1e-9


def test_rows_are_distinct_and_padding_is_marked(batches):
    rows, count = np.asarray(batches.rows), np.asarray(batches.count)
    assert not np.any(batches.overflow)
    for row, number in zip(rows[:200], count[:200], strict=True):
        assert len(set(row[:number].tolist())) == number
        assert np.all(np.diff(row[:number]) > 0)


def test_overflow_is_said():
    key = stream.make_key(0, 0)
    batch = poisson_batch(key, 100, 1.0, 30)
    assert bool(batch.overflow)
    assert int(batch.count) == 30


def test_capacity_leaves_out_less_than_it_says():
    cases = (60_000, 256 / 60_000), (50_000, 0.01), (1437, 0.2), (10, 1.0), (5, 1e-9), (5, 1e-12)
    for examples, rate in cases:
        capacity = batch_capacity(examples, rate)
        assert 1 <= capacity <= examples
        assert stats.binom.sf(capacity, examples, rate) <= 1e-18
        assert capacity == 1 or stats.binom.sf(capacity - 1, examples, rate) > 1e-18
    assert batch_capacity(60_000, 256 / 60_000) == 408  # by the sum of the binomial law


@pytest.mark.parametrize(("examples", "rate"), [(0, 0.1), (10, 0.0), (10, 1.1)])
def test_bad_input_is_refused(examples, rate):
    with pytest.raises(InputError):
        batch_capacity(examples, rate)
