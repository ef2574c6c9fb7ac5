"""The noise on a score beside what one record moves: what is drawn is what is accounted."""

import math
import random

import numpy as np
import pytest

from jaxsel.search import scores

TIMES = 1.5  # standard deviations of the noise over what one record moves
SCORES = {
    "count": (scores.count(noise=TIMES), 1.0),
    "clipped mean": (scores.clipped_mean(-1.0, 3.0, size=50, noise=TIMES), 4.0 / 50),
    "stated": (scores.stated(sensitivity=0.02, noise=TIMES), 0.02),
}


def _delta(sigma, shift, epsilon):
    """Of the discrete Gaussian law and the same, moved; the sum over whole numbers."""
    x = np.arange(-math.ceil(12 * sigma) - shift, math.ceil(12 * sigma) + 2 * shift)
    first, second = (np.exp(-0.5 * ((x - at) / sigma) ** 2) for at in (0, shift))
    first, second = first / first.sum(), second / second.sum()
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("name", SCORES)
def test_a_guarantee_is_of_the_noise_and_of_what_a_record_moves(name):
    score, _ = SCORES[name]
    assert not score.is_public
    assert score.sigma == pytest.approx(TIMES * score.sensitivity, rel=1e-12)
    base = score.guarantee()
    for epsilon in (0.0, 0.3, 1.0):
        exact = _delta(score.sigma, score.sensitivity, epsilon)
        assert base.delta(epsilon) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", SCORES)
def test_units_are_what_a_record_moves_in_values(name):
    score, moved = SCORES[name]
    # Rounding of a stated score may move it by one of its 256 units more.
    assert score.sensitivity * score.unit == pytest.approx(moved, rel=1 / 200)
    assert score.sensitivity * score.unit >= moved * (1 - 1e-12)


def test_noise_is_added_in_units():
    generator = random.Random(5)
    for name, (score, moved) in SCORES.items():
        told = {"count": 40, "clipped mean": np.full(50, 1.0), "stated": 0.5}[name]
        drawn = [score.noisy(told, generator) for _ in range(600)]
        assert all(isinstance(one, int) for one in drawn)
        values = score.unit * (np.array(drawn) - score.units(told))
        # A sample variance of 600 normal numbers, five standard deviations.
        assert values.var() == pytest.approx(
            (TIMES * moved) ** 2, rel=5 * math.sqrt(2 / 599) + 0.01
        )
        assert abs(values.mean()) < 5 * TIMES * moved / math.sqrt(600)


def test_a_public_score_has_no_noise():
    score = scores.public()
    assert score.is_public
    assert score.noisy(0.123, random.Random(0)) == score.units(0.123) == 0.123
    assert score.value(0.123) == 0.123
