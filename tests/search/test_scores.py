"""Scores: what is told, by how much one record moves it, and the noise on it."""

import math
import random

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.search import scores


def test_one_record_moves_a_count_by_at_most_one():
    count = scores.count(noise=3.0)
    right = np.array([True, False, True, True])
    assert count.units(right) == count.units(3) == 3
    assert count.sensitivity == 1
    assert abs(count.units(right[:-1]) - count.units(right)) <= 1


@pytest.mark.parametrize("told", [0.93, np.array([0.2, 0.4]), "7", None, np.array([[True]])])
def test_a_count_is_no_fraction(told):
    with pytest.raises(InputError, match="the noise is on the count"):
        scores.count(noise=3.0).units(told)


def test_one_record_moves_a_clipped_mean_by_its_range_however_large_its_value():
    score = scores.clipped_mean(-1.0, 1.0, size=5, noise=2.0)
    values = np.array([0.3, -0.2, 0.9, 0.0])
    for worst in (1e3, -1e3, math.inf, -math.inf, math.nan):
        moved = score.units(np.append(values, worst)) - score.units(values)
        assert 0 <= moved <= score.sensitivity
    assert score.units(np.append(values, math.nan)) == score.units(np.append(values, -1e3))
    assert score.units(np.append(values, 1e3)) - score.units(values) == score.sensitivity
    told = score.value(score.units(np.append(values, 0.0)))
    assert told == pytest.approx(1.0 / 5, abs=score.unit * 5)


def test_a_mean_is_no_value_for_each_record():
    with pytest.raises(InputError, match="a mean has no sensitivity"):
        scores.clipped_mean(0.0, 1.0, size=10, noise=1.0).units(0.7)


def test_rounding_is_within_the_stated_sensitivity():
    score = scores.stated(sensitivity=0.01, noise=5.0)
    generator = np.random.default_rng(0)
    low = generator.uniform(-1.0, 1.0, 10_000)
    moved = [abs(score.units(a + 0.01) - score.units(a)) for a in low.tolist()]
    assert max(moved) <= score.sensitivity
    # Without the one unit that is added for rounding, some would exceed it.
    assert max(moved) > score.sensitivity - 1.0 - 1e-9


@pytest.mark.parametrize("told", [math.nan, math.inf, 10**400, None, "0.5", b"1", 1j, []])
def test_a_score_that_is_no_number_is_none(told):
    for score in (scores.stated(sensitivity=1.0, noise=1.0), scores.public()):
        with pytest.raises((InputError, OverflowError, TypeError)):
            score.units(told)


def test_a_stated_score_ends_where_floats_are_coarser_than_its_unit():
    score = scores.stated(sensitivity=1.0, noise=1.0)
    most = 2.0**44
    assert score.units(most) == 2**52
    assert score.units(most) - score.units(most - 1.0) <= score.sensitivity
    for beyond in (math.nextafter(most, math.inf), -1e300):
        with pytest.raises(InputError, match="where floats are coarser"):
            score.units(beyond)


def test_a_mean_comes_out_as_it_was():
    values = np.full(10, 0.9)
    score = scores.clipped_mean(0.5, 1.0, size=10, noise=1.0)
    assert score.value(score.units(values)) == pytest.approx(0.9, abs=0.5 / 256)
    # Of those that are absent each counts as the lower end.
    assert score.value(score.units(values[:5])) == pytest.approx(0.7, abs=0.5 / 256)
    assert score.value(0) == 0.5
    assert scores.clipped_mean(-1.0, 1.0, size=4, noise=1.0).value(2 * 256) == 0.0


def test_equal_words_are_equal_numbers():
    """A folder tells its search from others by them."""
    wide = scores.clipped_mean(0.0, 1.0, size=10, noise=8.0).words
    others = {
        scores.clipped_mean(0.0, 1.0, size=11, noise=8.0).words,
        scores.clipped_mean(0.0, 1.0, size=10, noise=8.0000001).words,
        scores.clipped_mean(0.0, 1.00000001, size=10, noise=8.0).words,
        scores.clipped_mean(1e-30, 1.0, size=10, noise=8.0).words,
    }
    assert len(others | {wide}) == 5
    assert "sigma 8 ranges" in wide
    assert scores.count(8.0).words != scores.count(8.0000001).words
    assert scores.stated(1.0, 8.0).words != scores.stated(1.0000001, 8.0).words
    assert scores.stated(1.0, 8.0).words != scores.stated(1.0, 8.0000001).words


def test_noise_is_on_every_score_but_public_ones():
    generator = random.Random(1)
    noisy = [scores.count(noise=5.0).noisy(100, generator) for _ in range(400)]
    # Var of a sample variance of 400 normal numbers: 2 sigma^4 / 399; five standard deviations.
    assert np.var(noisy) == pytest.approx(25.0, abs=5 * 25.0 * math.sqrt(2 / 399))
    assert all(isinstance(each, int) for each in noisy)
    assert scores.public().noisy(0.25, generator) == 0.25


@pytest.mark.parametrize(
    "make",
    [
        lambda: scores.count(noise=0.0),
        lambda: scores.clipped_mean(1.0, 1.0, size=3, noise=1.0),
        lambda: scores.clipped_mean(0.0, math.inf, size=3, noise=1.0),
        lambda: scores.clipped_mean(0.0, 1.0, size=0, noise=1.0),
        lambda: scores.clipped_mean(-1e308, 1e308, size=3, noise=1.0),
        lambda: scores.clipped_mean(0.0, 1e308, size=3, noise=1.0),
        lambda: scores.clipped_mean(0.0, 5e-324, size=3, noise=1.0),
        lambda: scores.clipped_mean(1e300, math.nextafter(1e300, 0.0), size=3, noise=1.0),
        lambda: scores.clipped_mean("a", 1.0, size=3, noise=1.0),
        lambda: scores.stated(sensitivity=0.0, noise=1.0),
        lambda: scores.stated(sensitivity=5e-324, noise=1.0),
        lambda: scores.stated(sensitivity=1e308, noise=1.0),
    ],
)
def test_bad_scores_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_scores_at_the_ends_of_what_is_allowed():
    for low, high in ((-1e300, 1e300), (0.0, 1e-300), (-1e-300, 0.0)):
        score = scores.clipped_mean(low, high, size=1, noise=1.0)
        assert score.units(np.array([high])) == score.sensitivity == 256
        assert score.value(256) == pytest.approx(high, rel=1e-12, abs=1e-312)
    for moves in (1e-300, 1e300):
        score = scores.stated(sensitivity=moves, noise=1.0)
        assert score.units(moves) == 256
        assert score.value(256) == pytest.approx(moves, rel=1e-12)
