"""Exact laws of Liu & Talwar's negative examples, amplification and packing bound."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.errors import InputError
from jaxsel.families.amplification.laws import (
    amplified_law,
    amplified_law_of_different,
    amplified_pure,
    capped_weights,
    compositions,
    dummy_chance_bounds,
    two_value_amplified_law,
    utility_level,
)
from jaxsel.families.percentile.score_percentile_laws import percentile_law, rank_range
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
    level_chances,
    lowest_score_chance,
    thresholds,
)
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.attained.packing import (
    packing_bound,
    packing_distance,
    packing_law,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_excess,
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from jaxsel.families.tuning.claims.hard_stop import hard_stop_law
from jaxsel.families.tuning.claims.packing import (
    dominance,
    large_candidates,
    packing_path,
)

# --- Algorithm 6 ----------------------------------------------------------------------


def test_law_of_the_paper_by_its_double_sum():
    """P[1 before the R-th decrement] = p sum_j sum_(i<R) C(j, i) a^(j-i) b^i."""
    p, levels, gamma = 0.3, 4, 0.25
    a, b = (1 - p) * (1 - gamma), (1 - p) * gamma
    early = p * sum(
        math.comb(j, i) * a ** (j - i) * b**i for j in range(400) for i in range(levels)
    )
    law = decreasing_threshold_law([p, 1 - p], [1.0, 0.0], levels, gamma)
    assert law[1] == pytest.approx((1 - p) * (1 - early), rel=1e-12)
    assert law[1] == pytest.approx(lowest_score_chance(p, levels, gamma), rel=1e-13)
    np.testing.assert_allclose(law, [1 - law[1], law[1], 0.0], atol=1e-15)


def test_levels_meet_scores_written_in_decimals():
    # 0.29 * 100 is 28.999..., and 100 subtractions of 0.01 leave no 0.29 either.
    assert 0.29 * 100 < 29
    assert np.all(np.array([0.29, 0.57, 0.58]) >= thresholds(100)[[71, 43, 42]])
    assert thresholds(100)[-1] == 0.0
    np.testing.assert_array_equal(thresholds(0), [0.0])


def test_no_level_is_one_draw_and_negative_scores_may_end_in_nothing():
    q = np.array([0.1, 0.6, 0.3])
    found = decreasing_threshold_law(q, [0.9, 0.1, 0.5], 0, 0.3)
    np.testing.assert_allclose(found, [*q, 0.0], atol=1e-16)
    # Two levels that only 0.1 passes, left with gamma after a failure: exact by hand.
    found = decreasing_threshold_law([0.1, 0.9], [1.0, -1.0], 1, 0.5)
    lowered = 0.45 / 0.55
    assert found[2] == pytest.approx(lowered**2, rel=1e-14)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_gamma_zero_keeps_the_first_threshold():
    found = decreasing_threshold_law([0.2, 0.8], [1.0, 0.0], 3, 0.0)
    np.testing.assert_allclose(found, [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="take gamma > 0"):
        level_chances([0.0, 1.0], [1.0, 0.0], 0.0)
    with pytest.raises(InputError, match="equally many"):
        decreasing_threshold_law([1.0], [1.0, 0.0], 1, 0.5)


@pytest.mark.parametrize("levels", [1, 5, 40])
def test_the_bound_is_approached(levels):
    pair = pairs.randomised_response(0.7)
    found = [decreasing_threshold_law(q, [1.0, 0.0], levels, 1e-7) for q in pair]
    exact = exact_epsilon(found[0][:-1], found[1][:-1])
    bound = decreasing_threshold_pure(0.7, levels)
    assert bound * (1 - 1e-6) < exact <= bound


# --- Percentiles ----------------------------------------------------------------------


@pytest.mark.parametrize("rank", ["median", "random", 1, 3, 5])
def test_percentile_law_by_enumeration(rank):
    q, count = np.array([0.2, 0.5, 0.3]), 5
    low, high = rank_range(count, rank)
    expected = np.zeros(3)
    for draws in itertools.product(range(3), repeat=count):
        chance = math.prod(q[i] for i in draws)
        for k in range(low, high + 1):
            expected[sorted(draws)[k - 1]] += chance / (high - low + 1)
    np.testing.assert_allclose(percentile_law(q, count, rank), expected, rtol=1e-12)


def test_first_rank_is_the_best_of_a_fixed_number():
    q = np.array([1e-9, 0.3, 0.6999999990])
    best = tuned_law(q, laws.point_mass(40))[:-1]
    np.testing.assert_allclose(percentile_law(q, 40, 1), best, rtol=1e-7)


def test_rare_medians_are_accurate():
    found = percentile_law([0.7, 0.3], 1001)[1]
    expected = stats.binom.cdf(500, 1001, 0.7)
    assert expected < 1e-35
    assert found == pytest.approx(expected, rel=1e-9)
    found = percentile_law([0.3, 0.7], 1001)[0]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("rank", "message"), [("best", "median, random"), (0, ">= 1"), (6, "at most the 5")]
)
def test_bad_ranks(rank, message):
    with pytest.raises(InputError, match=message):
        rank_range(5, rank)


# --- Appendix C -----------------------------------------------------------------------


def test_amplified_law_by_enumeration():
    q, weights, gamma = [0.2, 0.5, 0.3], np.array([1.0, 0.4, 0.01]), 0.1
    dummy, expected = 11.0, np.zeros(4)
    for draws in itertools.product(range(3), repeat=4):
        chance = math.prod(q[i] for i in draws)
        total = dummy + sum(weights[i] for i in draws)
        for i in draws:
            expected[i] += chance * weights[i] / total
        expected[3] += chance * dummy / total
    np.testing.assert_allclose(
        amplified_law(q, weights, 4, gamma), expected, rtol=1e-13
    )
    different = amplified_law_of_different([q] * 4, weights, gamma)
    np.testing.assert_allclose(different, expected, rtol=1e-13)


def test_two_values_are_the_general_law():
    expected = amplified_law([0.3, 0.7], [1.0, 0.2], 30, 0.2)
    dummy, high, low = two_value_amplified_law(0.2, 30, 0.3, 0.2)
    np.testing.assert_allclose([high, low, dummy], expected, rtol=1e-12)


def test_compositions_are_all_of_them():
    found = compositions(5, 3)
    assert len(found) == math.comb(7, 2) == len(np.unique(found, axis=0))
    assert np.all(found.sum(axis=1) == 5)
    assert np.all(found >= 0)
    np.testing.assert_array_equal(compositions(4, 1), [[4]])
    with pytest.raises(InputError, match="fewer scores"):
        compositions(500, 5)


def test_an_infinite_parameter_keeps_what_reaches_the_threshold():
    weights = capped_weights([1.5, 1.0, 0.999], 1.0, math.inf)
    np.testing.assert_array_equal(weights, [1.0, 1.0, 0.0])
    near = capped_weights([1.5, 1.0, 0.999], 1.0, 1e5)
    np.testing.assert_allclose(near, weights, atol=1e-40)


def test_bounds_of_appendix_c():
    low, high = dummy_chance_bounds(0.1, 10, 0.3)
    assert (low, high) == pytest.approx((11 / 14, 1.1 / 1.3))
    assert low < two_value_amplified_law(0.1, 10, 0.3, 0.0)[0] < high
    assert utility_level(2.0, 4.0, 0.5, 0.25) == pytest.approx(
        2.0 - math.log(8.0) / 4.0
    )
    assert amplified_pure(1.0, 0.1) == pytest.approx(2.4)
    with pytest.raises(InputError, match=r"gamma is 0.25"):
        amplified_pure(1.0, 0.25)


# --- Theorem D.2 ----------------------------------------------------------------------


def test_packing_numbers():
    assert packing_distance(0.1, 1000, 0.1) == math.ceil(6.0 * math.log(1000))
    assert packing_bound(0.1, 1000, 0.1) == pytest.approx(0.9 * math.log(1000) / 42)
    assert packing_successes(100, 0.5) == pytest.approx((0.05, 0.95, 0.0005, 0.05))
    assert dominance(100, 0.5) == pytest.approx(0.95 * (1 - 0.0005) ** 99)
    assert large_candidates(0.1, 0.1) == pytest.approx(0.07 / 0.03)
    law = packing_law(0.9, 0.1, 4)
    assert law == pytest.approx([0.075, 0.225, 0.675, 0.025])


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0])
@pytest.mark.parametrize("candidates", [2, 50, 1e9])
def test_paths_are_private_and_no_longer_than_said(epsilon, candidates):
    start, winner, loser, miss = packing_successes(candidates, 0.2)
    distance = packing_distance(epsilon, candidates, 0.2)
    for end, rest in ((winner, miss), (loser, None)):
        path = packing_path(start, end, epsilon, rest)
        np.testing.assert_allclose(path.sum(axis=1), 1.0, atol=1e-12)
        steps = np.abs(np.diff(np.log(path), axis=0))
        assert steps.max() <= epsilon * (1 + 1e-9)
        assert len(path) - 1 <= distance
        # No step is wasted: every one but the last is as large as it may be.
        assert np.all(steps[:-1].max(axis=1) >= epsilon * (1 - 1e-9))


def test_the_least_exponential_mechanism_is_just_useful():
    least = smallest_exponential_epsilon(0.1, 1000, 0.1)
    odds = math.exp(least * packing_distance(0.1, 1000, 0.1))
    assert odds / (odds + 999) == pytest.approx(1000**-0.1, rel=1e-12)
    assert least > packing_bound(0.1, 1000, 0.1)


# --- Hard stops -----------------------------------------------------------------------


def test_worst_case_of_a_hard_stop():
    # One draw at most loses epsilon; two at most, with little stopping, nearly twice.
    assert hard_stop_worst(0.5, 0.1, 1) == pytest.approx(0.5, abs=1e-12)
    assert 0.9 < hard_stop_worst(0.5, 1e-3, 2) <= 1.0
    # Far away the cap is not felt: the worst of random stopping, 3 epsilon at most.
    assert hard_stop_worst(0.3, 1e-3, 10**5) == pytest.approx(0.9, abs=2e-3)
    # Above 3 epsilon at a short stop, as on the pair of LT-E13, and never below a pair.
    pair = pairs.three_outcome(0.3, 0.064, 1e-3)
    seen = exact_epsilon(*(hard_stop_law(side, 0.003, 36) for side in pair))
    worst = hard_stop_worst(0.3, 0.003, 36)
    assert 1.07 < seen < worst
    small = pairs.three_outcome(0.3, 0.1337, 1e-8)
    seen = exact_epsilon(*(hard_stop_law(side, 0.003, 36) for side in small))
    assert worst * 0.97 < seen <= worst


@pytest.mark.parametrize(("gamma", "steps"), [(0.3, 6), (0.01, 250), (0.04, 90)])
def test_the_factor_of_a_hard_stop(gamma, steps):
    """f_T'/f' lies between the two numbers whose logarithms make the excess."""
    mpmath.mp.dps = 50
    seen = []
    for g in np.concatenate([[0.0], np.geomspace(gamma / 100, 0.9, 60)]):
        s = 1 - mpmath.mpf(float(g))
        again = 1 - mpmath.mpf(gamma)
        capped = sum(
            k * gamma * again ** (k - 1) * s ** (k - 1) for k in range(1, steps)
        )
        capped += steps * again ** (steps - 1) * s ** (steps - 1)
        seen.append(float(capped / (gamma / (1 - again * s) ** 2)))
    low = -math.expm1(steps * math.log1p(-gamma))
    high = 1 + steps * gamma * (1 - gamma) ** (steps - 1)
    assert min(seen) == pytest.approx(low, rel=1e-12)
    assert low * (1 - 1e-12) <= min(seen)
    assert max(seen) <= high
    assert hard_stop_excess(gamma, steps) == pytest.approx(math.log(high / low))


@pytest.mark.parametrize("slack", [0.3, 0.1, 1e-3])
def test_the_sharp_hard_stop_is_least_and_early(slack):
    for gamma in (0.1, 1e-3, 1e-5):
        steps = hard_stop_steps_sharp(gamma, slack)
        assert hard_stop_excess(gamma, steps) <= 3 * slack
        if (steps - 1) >= 2 / gamma - 1:
            assert hard_stop_excess(gamma, steps - 1) > 3 * slack
        assert steps < hard_stop_steps_pure(gamma, slack)
    # No log(1/gamma): T gamma hardly changes.
    assert 1e-5 * steps == pytest.approx(
        1e-3 * hard_stop_steps_sharp(1e-3, slack), rel=0.01
    )
    with pytest.raises(InputError, match="steps is 5"):
        hard_stop_excess(0.1, 5)
