"""Dominating pairs: they dominate, tightly, in both directions, whatever they come from."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import closed_forms, curves, divergences, pairs
from jaxsel.accounting.single_run.dominating import (
    pair_delta,
    pair_from_laws,
    pair_from_points,
    pair_from_profile,
    pair_renyi,
    pair_tradeoff,
    reversed_pair,
)
from jaxsel.host.errors import InputError
from tests.accounting.worst_pair import approximate_pair


def gaussian(scale):
    return (
        lambda level: closed_forms.gaussian_delta(level, scale),
        lambda x: closed_forms.gaussian_tradeoff(x, scale),
    )


def laplace(scale):
    return (
        lambda level: closed_forms.laplace_delta(level, scale),
        lambda x: closed_forms.laplace_tradeoff(x, scale),
    )


SMOOTH = {
    "gaussian 4": gaussian(4.0),
    "gaussian 0.5": gaussian(0.5),
    "gaussian 50": gaussian(50.0),
    "laplace 2": laplace(2.0),
    "laplace 0.3": laplace(0.3),
    "laplace 0.01": laplace(0.01),  # delta rounds to 1 up to epsilon = 26
    "gaussian 0.1": gaussian(0.1),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_connected_profile_is_above_the_true_one_and_tight(name):
    profile, _ = SMOOTH[name]
    pair = pair_from_profile(profile)
    generator = np.random.default_rng(1)
    reach = float(pair.loss[np.isfinite(pair.loss)].max())
    levels = generator.uniform(-1.3 * reach, 1.3 * reach, 10_000)
    true, found = profile(levels), pair_delta(pair, levels)
    assert np.all(found >= true * (1 - 1e-9))
    relevant = (levels >= 0) & (true >= 1e-12)
    assert relevant.sum() > 1000
    assert np.all(found[relevant] <= true[relevant] * (1 + 1e-3))
    # at the knots the profile is met exactly: nothing is added but between them
    knots = np.abs(pair.loss[np.isfinite(pair.loss)][::50])
    ends = pair_delta(pair, knots)
    np.testing.assert_allclose(ends, profile(knots), rtol=1e-7, atol=2e-30)


@pytest.mark.parametrize("name", SMOOTH)
def test_tradeoff_is_above_the_true_one_and_tight(name):
    profile, tradeoff = SMOOTH[name]
    found = pair_tradeoff(pair_from_profile(profile))
    logits = np.linspace(-60, 30, 2001)
    x = np.concatenate([[0.0], 1 / (1 + np.exp(-logits)), [1.0]])
    true = tradeoff(x)
    # Sums of up to 8,193 rounded masses.
    assert np.all(found(x) >= true - 2e-15)
    assert np.all(found(x)[true > 1e-12] <= true[true > 1e-12] * (1 + 1e-3))
    assert found(np.array(1.0)) == 1.0


@pytest.mark.parametrize("name", SMOOTH)
def test_masses_are_laws_and_agree_with_the_losses(name):
    pair = pair_from_profile(SMOOTH[name][0])
    assert np.all(np.diff(pair.loss) > 0)
    for masses in (pair.first, pair.second):
        assert np.all(masses >= 0)
        assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    inner = np.isfinite(pair.loss) & (pair.first > 0) & (pair.second > 0)
    np.testing.assert_allclose(
        np.log(pair.first[inner]) - np.log(pair.second[inner]),
        pair.loss[inner],
        rtol=1e-9,
        atol=1e-9,
    )


def test_finite_laws_keep_their_profile_renyi_and_tradeoff():
    generator = np.random.default_rng(2)
    levels = np.linspace(-4, 4, 41)
    orders = np.array([1.0, 1.3, 2.0, 30.0, math.inf])
    for size in range(2, 9):
        p, r = pairs.random_pair(generator, size)
        pair = pair_from_laws(p, r)
        np.testing.assert_allclose(
            pair_delta(pair, levels), divergences.hockey_stick(p, r, levels), rtol=1e-10, atol=1e-15
        )
        np.testing.assert_allclose(
            pair_renyi(pair)(orders),
            divergences.renyi_divergence(p, r, orders),
            rtol=1e-9,
            atol=1e-12,
        )
        back = reversed_pair(pair)
        np.testing.assert_allclose(
            pair_delta(back, levels), divergences.hockey_stick(r, p, levels), rtol=1e-10, atol=1e-15
        )
        again = reversed_pair(back)
        for one, other in zip(pair, again, strict=True):
            np.testing.assert_array_equal(one, other)
        # Neyman-Pearson: every event, here all of them, is below the curve
        events = np.array(
            [[(k >> i) & 1 for i in range(size)] for k in range(2**size)], dtype=float
        )
        x, y = np.minimum(events @ p, 1.0), events @ r
        curve = pair_tradeoff(pair)(x)
        assert np.all(y <= curve + 1e-12)
        assert np.max(y / np.maximum(curve, 1e-300)) > 1 - 1e-9


def test_equal_losses_are_merged_and_impossible_outcomes_dropped():
    pair = pair_from_laws([0.2, 0.2, 0.0, 0.6, 0.0], [0.1, 0.1, 0.3, 0.5, 0.0])
    np.testing.assert_allclose(pair.loss, [-math.inf, math.log(1.2), math.log(2)])
    np.testing.assert_allclose(pair.first, [0.0, 0.6, 0.4])
    np.testing.assert_allclose(pair.second, [0.3, 0.5, 0.2])
    assert pair_tradeoff(pair)(np.array(0.0)) == pytest.approx(0.3)
    assert pair_renyi(reversed_pair(pair))(np.array(2.0)) == math.inf
    assert math.isfinite(pair_renyi(pair)(np.array(2.0)))


def test_points_give_the_least_pair_that_satisfies_them():
    """Points read off random pairs: the hull is above those pairs and below the points."""
    generator = np.random.default_rng(3)
    levels = np.linspace(-5, 5, 201)
    for _ in range(60):
        p, r = pairs.random_pair(generator, int(generator.integers(2, 8)), 0.4)
        first = 0.0 if generator.random() < 0.5 else 0.1
        knots = first + np.concatenate([[0.0], np.cumsum(generator.exponential(0.5, 4))])
        forward = divergences.hockey_stick(p, r, knots)
        backward = divergences.hockey_stick(r, p, knots)
        pair = pair_from_points(knots, forward, backward)
        for masses in (pair.first, pair.second):
            assert masses.sum() == pytest.approx(1.0, abs=1e-12)
        truth = divergences.hockey_stick(p, r, levels)
        assert np.all(pair_delta(pair, levels) >= truth - 1e-13)
        np.testing.assert_allclose(pair_delta(pair, knots), forward, atol=1e-13)
        np.testing.assert_allclose(
            pair_delta(pair, -knots) - 1 + np.exp(-knots), np.exp(-knots) * backward, atol=1e-13
        )


def test_points_of_both_directions_bound_each_other():
    # P' from P is within (0.1, 0), so P from P' cannot exceed 1 - e^-0.1 at any epsilon
    pair = pair_from_points([0.1], [0.9], [0.0])
    assert pair.first.sum() == pytest.approx(1.0)
    assert pair.second.sum() == pytest.approx(1.0)
    assert pair_delta(pair, 0.1) == pytest.approx(-math.expm1(-0.1))
    # a loose total variation distance is tightened by the next point
    loose, tight = (
        pair_from_points(*args) for args in (([0.0, 1e-3], [0.9, 1e-6]), ([1e-3], [1e-6]))
    )
    for one, other in zip(loose, tight, strict=True):
        np.testing.assert_allclose(one, other)


def test_one_point_is_the_worst_pair_of_kairouz():
    pair = pair_from_points([1.0], [0.01])
    worst = pair_from_laws(*approximate_pair(1.0, 0.01))
    for one, other in zip(pair, worst, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)


def test_extreme_points():
    void = pair_from_points([0.0], [1.0])
    np.testing.assert_array_equal(void.loss, [-math.inf, math.inf])
    none = pair_from_points([0.0], [0.0])
    assert pair_delta(none, 0.0) == 0.0
    assert pair_delta(none, -1.0) == pytest.approx(-math.expm1(-1.0))
    tiny = pair_from_points([690.0], [1e-200])
    assert pair_delta(tiny, 690.0) == pytest.approx(1e-200)
    # e^epsilon beyond float64: the point is not used, and the pair is larger
    np.testing.assert_array_equal(pair_from_points([1000.0], [0.0]).loss, void.loss)
    kept = pair_from_points([1.0, 1000.0], [0.01, 0.0])
    assert pair_delta(kept, 1000.0) == pytest.approx(0.01)


def test_a_profile_that_is_zero_or_constant():
    nothing = pair_from_profile(lambda level: np.zeros(np.shape(level)))
    assert pair_delta(nothing, 0.0) == 0.0
    constant = pair_from_profile(lambda level: np.full(np.shape(level), 0.25))
    assert pair_delta(constant, 5.0) == pytest.approx(0.25)
    assert constant.first.sum() == pytest.approx(1.0)


def test_oriented_profiles():
    """Two different directions: each is met, and the reversed pair swaps them."""
    p, r = np.array([0.5, 0.3, 0.2]), np.array([0.05, 0.35, 0.6])
    pair = pair_from_profile(
        lambda level: divergences.hockey_stick(p, r, level),
        lambda level: divergences.hockey_stick(r, p, level),
    )
    levels = np.linspace(-4, 4, 500)
    truth = divergences.hockey_stick(p, r, levels)
    found = pair_delta(pair, levels)
    assert np.all(found >= truth - 1e-12)
    np.testing.assert_allclose(found, truth, atol=1e-3)
    np.testing.assert_allclose(
        pair_delta(reversed_pair(pair), levels), divergences.hockey_stick(r, p, levels), atol=1e-3
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: pair_from_points([], []),
        lambda: pair_from_points([0.1, 0.1], [0.1, 0.1]),
        lambda: pair_from_points([0.2, 0.1], [0.1, 0.1]),
        lambda: pair_from_points([-0.1], [0.1]),
        lambda: pair_from_points([math.inf], [0.1]),
        lambda: pair_from_points([math.nan], [0.1]),
        lambda: pair_from_points([0.1, 0.2], [0.1]),
        lambda: pair_from_points([0.1], [1.1]),
        lambda: pair_from_points([0.1], [-1e-9]),
        lambda: pair_from_points([0.1], [math.nan]),
        lambda: pair_from_points([0.1, 0.2], [0.1, 0.2]),
        lambda: pair_from_points([0.1, 0.2], [0.1, 0.1], [0.1, 0.2]),
        lambda: pair_from_points([0.1, 0.2], [0.1, 0.1], [0.1]),
        lambda: pair_from_laws([0.5, 0.5], [1.0]),
        lambda: pair_from_laws([0.5, 0.6], [0.5, 0.5]),
        lambda: pair_from_profile(lambda level: 0.1 + 0.001 * np.minimum(level, 50.0)),
        lambda: pair_from_profile(lambda level: 2.0 * np.exp(-level)),
        lambda: curves.from_profile("x", lambda level: 0.1 + 0.1 * (level > 1)).pairs(),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) > 20


def test_the_hull_is_that_of_every_triple():
    """By the definition: a knot stays unless two others have a chord below it."""
    generator = np.random.default_rng(7)
    for case in range(40):
        count = 150 if case < 4 else int(generator.integers(2, 30))
        levels = np.unique(generator.uniform(0.0, generator.choice([1.0, 8.0]), count))
        if case % 2:
            levels[0] = 0.0
        deltas = np.sort(generator.uniform(0.0, 0.5, (2, levels.size)), axis=1)[:, ::-1]
        pair = pair_from_points(levels, *deltas)
        # h(r) of P from P' at r = e^epsilon, and what is known of it: at 0, too.
        ratios = np.concatenate([[0.0], np.exp(-levels[::-1]), np.exp(levels)])
        heights = np.concatenate(
            [[1.0], 1.0 - np.exp(-levels[::-1]) * (1.0 - deltas[1][::-1]), deltas[0]]
        )
        heights = np.minimum.accumulate(heights)  # it does not increase
        wanted = np.min(
            [
                np.interp(ratios, ratios[[i, j]], heights[[i, j]], np.inf, np.inf)
                for i in range(ratios.size)
                for j in range(i, ratios.size)
                if i == j or ratios[i] < ratios[j]
            ],
            axis=0,
        )
        wanted = np.minimum(wanted, np.minimum.accumulate(wanted))
        found = pair_delta(pair, np.log(ratios[1:]))
        assert np.all(found >= 0.0)
        # Beyond the last knot it is constant, so that the last height bounds all after.
        np.testing.assert_allclose(found, wanted[1:], rtol=1e-9, atol=1e-12)
