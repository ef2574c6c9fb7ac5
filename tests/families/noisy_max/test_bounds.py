"""Bounds for report noisy max, its compositions, and the worst pairs that are known."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.closed_forms import gaussian_delta, gaussian_epsilon
from jaxsel.accounting.single_run.conversions import renyi_to_delta
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, profile_delta
from jaxsel.accounting.single_run.dominating import pair_delta
from jaxsel.families.noisy_max.bounds import (
    noisy_max_chernoff_epsilon,
    noisy_max_delta,
    noisy_max_epsilon,
    noisy_max_guarantee,
    noisy_max_noise,
    noisy_max_renyi,
    noisy_max_renyi_epsilon,
    noisy_max_sharp_delta,
    noisy_max_sharp_epsilon,
)
from jaxsel.families.noisy_max.composition_bounds import (
    composed_pair_delta,
    composed_pair_epsilon,
    dominated_composition_delta,
    dominated_composition_epsilon,
    noisy_max_composed_delta,
    noisy_max_composed_epsilon,
    noisy_max_composed_log_delta,
)
from jaxsel.families.noisy_max.group_bounds import (
    group_delta,
    group_epsilon,
    group_win_probability,
    grouped_law,
    single_pair,
    worst_composed_group_pair,
    worst_group_pair,
)
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_shift
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation

RELATIONS = (Relation.GENERAL, Relation.MONOTONE)
GAUSSIAN = noisy_max_noise("gaussian", 4.0)


# --- one release ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "profile", "renyi", "chernoff"),
    [
        (10, 2.490, 2.649, 2.964),
        (100, 2.708, 2.861, 3.160),
        (1000, 2.910, 3.058, 3.344),
        (10_000, 3.099, 3.244, 3.518),
    ],
)
def test_values_of_figure_1(m, profile, renyi, chernoff):
    assert noisy_max_epsilon(1e-6, GAUSSIAN, m) == pytest.approx(profile, abs=5.1e-4)
    assert noisy_max_renyi_epsilon(1e-6, GAUSSIAN, m) == pytest.approx(renyi, abs=5.1e-4)
    assert noisy_max_chernoff_epsilon(1e-6, 4.0, m) == pytest.approx(chernoff, abs=5.1e-4)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_theorems_are_their_formulas(noise, relation):
    s = 2.0 if relation is Relation.GENERAL else 1.0
    base = noisy_max_noise(noise, 3.0, relation)
    same = getattr(curves, noise)(3.0 / s)
    assert noisy_max_shift(relation) == s
    epsilon, order = np.array([-0.5, 0.0, 0.3, 0.6]), np.array([1.5, 4.0, math.inf])
    np.testing.assert_allclose(
        noisy_max_delta(epsilon, base, 7), np.minimum(1.0, 7 * same.profile(epsilon))
    )
    np.testing.assert_allclose(
        noisy_max_renyi(order, base, 7), same.renyi(order) + np.log(7) / (order - 1.0)
    )
    assert noisy_max_renyi(1.0, base, 7) == math.inf
    assert noisy_max_renyi(1.0, base, 1) == same.renyi(np.asarray(1.0))


def test_corollary_against_its_two_readings():
    general = 2 / 16 + (2 / 4) * math.sqrt(2 * math.log(10 / 1e-6))
    monotone = 1 / 32 + (1 / 4) * math.sqrt(2 * math.log(10 / 1e-6))
    assert noisy_max_chernoff_epsilon(1e-6, 4.0, 10) == pytest.approx(general)
    found = noisy_max_chernoff_epsilon(1e-6, 4.0, 10, Relation.MONOTONE)
    assert found == pytest.approx(monotone)


@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 0.01, 0.5])
@pytest.mark.parametrize("m", [1, 2, 10, 10_000])
@pytest.mark.parametrize("relation", RELATIONS)
def test_epsilon_inverts_delta(delta, m, relation):
    noise = noisy_max_noise("gaussian", 2.0, relation)
    epsilon = noisy_max_epsilon(delta, noise, m)
    assert epsilon == pytest.approx(gaussian_epsilon(delta / m, 2.0 / noisy_max_shift(relation)))
    assert noisy_max_delta(epsilon, noise, m) <= delta
    if epsilon > 0.0:
        assert noisy_max_delta(epsilon * (1 - 1e-9) - 1e-12, noise, m) > delta
    assert epsilon <= noisy_max_chernoff_epsilon(delta, 2.0, m, relation)
    if m > 1:
        sharp = noisy_max_sharp_epsilon(delta, "gaussian", 2.0, m, relation)
        assert noisy_max_sharp_delta(sharp, "gaussian", 2.0, m, relation) <= delta
        assert sharp <= epsilon


def test_laplace_epsilon_ends_at_the_pure_one():
    noise = noisy_max_noise("laplace", 4.0)
    assert noisy_max_epsilon(1e-300, noise, 5) == pytest.approx(0.5, rel=1e-12)
    assert noisy_max_delta(0.5, noise, 5) == 0.0
    # Near zero the randomised-response bound has the smaller delta.
    assert noisy_max_delta(0.1, noise, 50) == 1.0
    assert noisy_max_sharp_delta(0.1, "laplace", 4.0, 50) == pytest.approx(
        float(curves.pure(0.5).profile(np.asarray(0.1)))
    )


@pytest.mark.parametrize("m", [2, 3, 10, 1000])
def test_bounds_are_ordered(m):
    epsilon = np.linspace(0.0, 4.0, 17)
    sharp = noisy_max_sharp_delta(epsilon, "gaussian", 4.0, m)
    profile = noisy_max_delta(epsilon, GAUSSIAN, m)
    renyi = renyi_to_delta(lambda order: noisy_max_renyi(order, GAUSSIAN, m), epsilon)
    assert np.all(sharp <= profile)
    # Both may exceed 1 or say nothing where m delta does.
    assert np.all((profile <= renyi * (1 + 1e-9)) | (profile > 0.05))


# --- sharper --------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_sharp_is_exact_for_two_candidates(relation):
    s = noisy_max_shift(relation)
    for scale, epsilon in itertools.product((0.5, 4.0), (0.0, 0.3, 2.0)):
        exact = gaussian_delta(epsilon, scale * math.sqrt(2.0) / s)
        found = noisy_max_sharp_delta(epsilon, "gaussian", scale, 2, relation)
        assert found == pytest.approx(exact, rel=1e-12)
        assert group_delta(epsilon, 1, 1, scale, relation) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_exact_law_exceeds_the_bounds(noise, relation):
    generator = np.random.default_rng(7)
    low = -1.0 if relation is Relation.GENERAL else 0.0
    levels = np.array([-1.0, -0.2, 0.0, 0.05, 0.5, 1.0, 2.0])
    closest = 0.0
    for _ in range(60):
        m = int(generator.integers(2, 6))
        scale = float(generator.choice([0.7, 2.0]))
        scores = generator.choice([0.0, -1.0, -2.0, -6.0], m) * scale
        moved = scores + generator.choice([low, 1.0], m)
        laws = [noisy_max_law(x / scale, noise) for x in (scores, moved)]
        exact = profile_delta(*laws, levels)
        base = noisy_max_noise(noise, scale, relation)
        sharp = noisy_max_sharp_delta(levels, noise, scale, m, relation)
        assert np.all(exact <= noisy_max_delta(levels, base, m) + 1e-11)
        assert np.all(exact <= sharp + 1e-11)
        closest = max(closest, float(np.max(exact[3:] / np.maximum(sharp[3:], 1e-9))))
    # Power: bounds twice as small would be violated.
    assert closest > 0.5


def test_guarantee_is_consistent():
    for relation, noise in itertools.product(RELATIONS, ("gaussian", "laplace")):
        found = noisy_max_guarantee(noise, 2.0, 6, relation)
        base = noisy_max_noise(noise, 2.0, relation)
        order = np.array([1.5, 3.0, 20.0])
        assert np.all(found.renyi(order) <= noisy_max_renyi(order, base, 6))
        assert noise in found.name
        # Both directions: delta(-e) = 1 - e^-e (1 - delta(e)), never above theorem's.
        epsilon = np.array([0.1, 0.7])
        below = found.profile(-epsilon)
        np.testing.assert_allclose(
            below, 1 - np.exp(-epsilon) * (1 - found.profile(epsilon)), rtol=1e-12
        )
        (pair,) = found.pairs()
        at = np.linspace(0.0, 1.5, 7)
        assert np.all(pair_delta(pair, at) <= found.profile(at) * (1 + 1e-3) + 1e-12)
        x = np.array([0.0, 1e-3, 0.2, 1.0])
        assert np.all(found.tradeoff(x) >= x)
        assert np.all(found.tradeoff(x) - np.exp(0.7) * x <= found.profile(0.7) + 1e-9)


# --- groups ---------------------------------------------------------------------------


def test_group_chances_against_the_literal_law_and_mpmath():
    levels = np.array([0.7, 0.7, 0.0, 0.0, 0.0])
    law = noisy_max_law(levels, "gaussian")
    assert group_win_probability(2, 3, 0.7) == pytest.approx(law[:2].sum(), rel=1e-11)
    np.testing.assert_allclose(
        grouped_law([2, 3], [0.7, 0.0]), [law[:2].sum(), law[2:].sum()], rtol=1e-11
    )
    np.testing.assert_allclose(grouped_law(np.ones(5), levels), law, rtol=1e-11)
    with mpmath.workdps(30):
        tiny = mpmath.quad(
            lambda x: 3 * mpmath.npdf(x) * mpmath.ncdf(x) ** 2 * mpmath.ncdf(x - 9) ** 50,
            [0, 4, 7, 9, 10, 11, 12, 14, 20],
        )
    assert group_win_probability(3, 50, -9.0) == pytest.approx(float(tiny), rel=1e-11)
    lead = np.linspace(-8.0, 8.0, 9)
    both = group_win_probability(700, 300, lead) + group_win_probability(300, 700, -lead)
    np.testing.assert_allclose(both, 1.0, rtol=1e-11)


def test_numbers_of_the_single_candidate_and_the_groups():
    assert group_delta(1.0, 1, 9, 4.0) == pytest.approx(0.00298, abs=5e-6)
    assert noisy_max_delta(1.0, GAUSSIAN, 10) == pytest.approx(0.068, abs=5e-4)
    worst = worst_group_pair(1e-6, 10_000, 4.0)
    share = worst.epsilon / noisy_max_epsilon(1e-6, GAUSSIAN, 10_000)
    assert 0.96 < share < 1.0
    assert worst.first + worst.second == 10_000


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [2, 3, 7])
def test_worst_groups_are_the_best_of_all_sizes_and_exact(m, relation):
    delta, scale = 1e-3, 2.0
    worst = worst_group_pair(delta, m, scale, relation)
    every = [group_epsilon(delta, n, m - n, scale, relation) for n in range(1, m)]
    best = max(pair.epsilon for pair in every)
    assert worst.epsilon == pytest.approx(best, rel=1e-7)
    single = single_pair(delta, m, scale, relation)
    assert single.epsilon == max(every[0].epsilon, every[-1].epsilon)
    # By an independent route: the two score vectors and the literal law.
    shift = noisy_max_shift(relation)
    levels = np.where(np.arange(m) < worst.first, worst.lead, 0.0)
    moved = levels + np.where(np.arange(m) < worst.first, shift / scale, 0.0)
    laws = [noisy_max_law(x, "gaussian") for x in (moved, levels)]
    assert epsilon_at_delta(*laws, delta) >= worst.epsilon * (1 - 1e-9)
    assert worst.epsilon <= noisy_max_sharp_epsilon(delta, "gaussian", scale, m, relation) * (
        1 + 1e-9
    )


# --- composition ----------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_theorem_3_3_in_logarithms(relation):
    s = noisy_max_shift(relation)
    for m, k, epsilon in ((3, 2, 1.0), (10, 5, 9.0)):
        plain = m**k * gaussian_delta(epsilon, 4.0 / (s * math.sqrt(k)))
        found = noisy_max_composed_delta(epsilon, 4.0, m, k, relation)
        assert found == pytest.approx(min(1.0, plain), rel=1e-12)
    # m^k is far beyond the largest floating-point number.
    log_delta = noisy_max_composed_log_delta(20_000.0, 4.0, 10_000, 1000, relation)
    assert -1e8 < log_delta < -1e3
    epsilon = noisy_max_composed_epsilon(1e-6, 4.0, 10_000, 1000, relation)
    at = noisy_max_composed_log_delta(epsilon, 4.0, 10_000, 1000, relation)
    assert at == pytest.approx(math.log(1e-6), abs=1e-6)
    one = noisy_max_composed_epsilon(1e-6, 4.0, 10, 1, relation)
    base = noisy_max_noise("gaussian", 4.0, relation)
    assert one == pytest.approx(noisy_max_epsilon(1e-6, base, 10), rel=1e-12)


def test_dominated_composition_of_one_is_the_profile():
    one = noisy_max_guarantee("gaussian", 4.0, 10)
    levels = np.array([0.5, 1.0, 2.0])
    found = dominated_composition_delta(levels, one, 1)
    # Chords lie above a convex profile, and below the cap where it is not convex.
    np.testing.assert_allclose(found[1:], one.profile(levels)[1:], rtol=1e-3)
    assert np.all(found <= one.profile(levels) * (1 + 1e-3))


def test_dominated_composition_of_two_candidates_is_gaussian_composition():
    one = noisy_max_guarantee("gaussian", 4.0, 2)
    for k in (2, 7):
        exact = gaussian_delta(1.5, 4.0 * math.sqrt(2.0) / (2.0 * math.sqrt(k)))
        found = dominated_composition_delta(1.5, one, k)
        assert exact <= found <= exact * 1.01


@pytest.mark.parametrize(("m", "k"), [(2, 10), (10, 5), (10, 50)])
def test_composition_bounds_are_ordered(m, k):
    sharp = noisy_max_guarantee("gaussian", 4.0, m)
    dominated = dominated_composition_epsilon(1e-6, sharp, k)
    theorem = noisy_max_composed_epsilon(1e-6, 4.0, m, k)
    renyi = noisy_max_renyi_epsilon(1e-6, GAUSSIAN, m, k)
    exact = worst_composed_group_pair(1e-6, m, 4.0, k).epsilon
    assert exact < dominated < theorem < renyi
    at = dominated_composition_delta(dominated, sharp, k)
    assert at == pytest.approx(1e-6, rel=1e-3)


def _enumerated(first, second, k):
    laws = []
    for law in (first, second):
        whole = np.ones(1)
        for _ in range(k):
            whole = np.multiply.outer(whole, law).ravel()
        laws.append(whole)
    return laws


@pytest.mark.parametrize(("size", "k"), [(2, 6), (3, 5), (4, 4)])
def test_composed_pair_against_enumeration(size, k):
    generator = np.random.default_rng(3)
    first, second = generator.dirichlet(np.ones(size), 2)
    laws = _enumerated(first, second, k)
    levels = np.array([0.0, 0.4, 1.3])
    found = composed_pair_delta(levels, first, second, k)
    np.testing.assert_allclose(found, profile_delta(*laws, levels), rtol=1e-10)
    for delta in (0.0, 1e-3, 0.1):
        assert composed_pair_epsilon(delta, first, second, k) == pytest.approx(
            epsilon_at_delta(*laws, delta), rel=1e-9
        )


def test_composed_pair_with_outcomes_of_one_side_only():
    first, second = [0.1, 0.4, 0.5, 0.0], [0.0, 0.5, 0.4, 0.1]
    laws = _enumerated(first, second, 3)
    found = composed_pair_delta([0.0, 1.0], first, second, 3)
    np.testing.assert_allclose(found, profile_delta(*laws, [0.0, 1.0]), rtol=1e-10)
    assert composed_pair_epsilon(1e-3, first, second, 3) == math.inf
    at = composed_pair_epsilon(0.3, first, second, 3)
    assert at == pytest.approx(epsilon_at_delta(*laws, 0.3), rel=1e-9)


def test_two_hundred_releases_do_not_underflow():
    # The counterexample to Theorem 3.3 as printed, E-KRW-3: delta is a matter of counts.
    p, q = special.ndtr(np.array([1.0, -1.0]) / math.sqrt(2.0))
    wins = np.arange(201)
    first, second = (stats.binom.pmf(wins, 200, x) for x in (p, q))
    exact = np.sum(np.maximum(first - np.exp(100.0) * second, 0.0))
    found = composed_pair_delta(100.0, [p, 1 - p], [q, 1 - q], 200)
    assert found == pytest.approx(exact, rel=1e-9)
    assert found == pytest.approx(0.91335, abs=5e-6)
    epsilon = composed_pair_epsilon(float(found), [p, 1 - p], [q, 1 - q], 200)
    assert epsilon == pytest.approx(100.0, rel=1e-9)


def test_worst_composed_pair_is_at_least_the_worst_of_one_release():
    one = worst_composed_group_pair(1e-3, 10, 4.0, 1)
    assert one.epsilon == pytest.approx(worst_group_pair(1e-3, 10, 4.0).epsilon, rel=1e-6)
    several = worst_composed_group_pair(1e-3, 10, 4.0, 5)
    law = grouped_law([several.first, several.second], [several.lead + 0.5, 0.0])
    other = grouped_law([several.first, several.second], [several.lead, 0.0])
    again = composed_pair_epsilon(1e-3, law / law.sum(), other / other.sum(), 5)
    assert several.epsilon == pytest.approx(again, rel=1e-7)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noisy_max_noise("gumbel", 1.0), "noise is 'gumbel'"),
        (lambda: noisy_max_noise("gaussian", 0.0), "noise_scale is 0"),
        (lambda: noisy_max_noise("gaussian", 1.0, Relation.BASE), "relation is"),
        (lambda: noisy_max_delta(1.0, GAUSSIAN, 0), "candidates is 0"),
        (lambda: noisy_max_delta(1.0, curves.zcdp(0.1), 2), "no privacy profile"),
        (lambda: noisy_max_epsilon(0.0, GAUSSIAN, 2), "delta is 0"),
        (lambda: noisy_max_renyi(2.0, GAUSSIAN, 1.5), "candidates is 1.5"),
        (lambda: noisy_max_renyi_epsilon(1e-6, GAUSSIAN, 2, 0), "compositions is 0"),
        (lambda: noisy_max_guarantee("gaussian", 1.0, 1), "candidates is 1"),
        (lambda: noisy_max_chernoff_epsilon(1.0, 1.0, 2), "delta is 1"),
        (lambda: noisy_max_chernoff_epsilon(0.1, -1.0, 2), "noise_scale is -1"),
        (lambda: noisy_max_chernoff_epsilon(0.1, 1.0, 0), "candidates is 0"),
        (lambda: noisy_max_composed_epsilon(2.0, 1.0, 2, 2), "delta is 2"),
        (lambda: dominated_composition_delta(-1.0, GAUSSIAN, 2), "epsilon is -1"),
        (lambda: dominated_composition_delta(1.0, curves.zcdp(0.1), 2), "no privacy"),
        (lambda: dominated_composition_epsilon(1e-13, GAUSSIAN, 2), "delta is 1e-13"),
        (lambda: composed_pair_delta(1.0, [1.0], [0.5, 0.5], 2), "as many"),
        (
            lambda: composed_pair_delta(1.0, np.arange(1, 11) / 55, np.arange(10, 0, -1) / 55, 60),
            "are listed",
        ),
        (lambda: group_win_probability(1, 1, 40.0), "lead is 40"),
        (lambda: grouped_law([1, 2], [0.0]), "one size and one level"),
        (lambda: grouped_law([0, 2], [0.0, 1.0]), "whole numbers >= 1"),
        (lambda: worst_group_pair(0.1, 1, 1.0), "candidates is 1"),
        (lambda: group_delta(-0.1, 1, 1, 1.0), "epsilon is -0.1"),
        (lambda: worst_group_pair(0.1, 3, 0.05), "at most 20 standard deviations"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
