"""Sparse vectors: exact laws against mpmath and enumeration, privacy of pairs, bounds."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_claim
from jaxsel.families.sparse_vector import (
    bounds,
    patterns,
    profiles,
    stopping_laws,
    variant_settings,
)
from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.claims import accuracy
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.families.sparse_vector.patterns import SparseNoise, pattern_law, pattern_log_probability
from jaxsel.families.sparse_vector.profiles import outcomes, pair_epsilon
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation

GENERAL, MONOTONE = Relation.GENERAL, Relation.MONOTONE
LEVELS = np.array([0.3, -1.2, 2.0, -0.4])


def _cdf(x):
    return mp.e**x / 2 if x < 0 else 1 - mp.e ** (-x) / 2


def _mp_run(levels, answers, noise, low=None, factor=1):
    """P[these answers] with one threshold; the last value at most ``low`` if given."""
    b, s = mp.mpf(noise.threshold_scale), noise.query_scale

    def integrand(z):
        value = mp.e ** (-abs(z) / b) / (2 * b)
        for i, (level, above) in enumerate(zip(levels, answers, strict=True)):
            if s == 0:
                value *= (level >= z) == bool(above)
                continue
            gap = (z - mp.mpf(level)) / s
            if above and low is not None and i == len(answers) - 1:
                value *= max(0, _cdf((mp.mpf(low) - level) / s) - _cdf(gap))
            else:
                value *= _cdf(-gap) if above else _cdf(gap)
        return value

    kinks = [*map(float, levels), *([low] if low else [])]
    cuts = sorted({*map(float, range(-80, 81, 4)), *kinks})
    # its error is absolute: rare patterns need a factor
    return mp.quad(lambda z: integrand(z) * factor, cuts) / factor


@pytest.mark.parametrize(
    "noise", [SparseNoise(2.0, 4.0, 2), SparseNoise(1.0, 0.5, 3), SparseNoise(2.0, 0.0, 4)]
)
def test_pattern_law_is_the_integral(noise):
    table = patterns.all_patterns(LEVELS.size, noise.cutoff)
    law = np.exp(pattern_law(LEVELS, noise))
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    for row, probability in list(zip(table.tolist(), law, strict=True))[::3]:
        asked = [each for each in row if each != patterns.NOT_ANSWERED]
        exact = float(_mp_run(LEVELS[: len(asked)], asked, noise))
        assert probability == pytest.approx(exact, rel=1e-8, abs=1e-13)
        if exact > 0.0:
            single = pattern_log_probability(LEVELS[: len(asked)], asked, noise)
            assert single == pytest.approx(math.log(probability), abs=1e-9)


def test_a_redrawn_threshold_makes_parts_independent():
    noise = SparseNoise(2.0, 3.0, 2, redrawn=True)
    table = patterns.all_patterns(4, 2).tolist()
    law = np.exp(pattern_law(LEVELS, noise))
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    for row, cuts in (
        ([0, 1, 0, 1], [(0, 2), (2, 4)]),
        ([1, 0, 0, 0], [(0, 1), (1, 4)]),
        ([1, 1, -1, -1], [(0, 1), (1, 2)]),
    ):
        parts = [_mp_run(LEVELS[i:j], row[i:j], noise) for i, j in cuts]
        assert law[table.index(row)] == pytest.approx(float(mp.fprod(parts)), rel=1e-9)
    same = pattern_log_probability(LEVELS, [False, True, False, True], noise)
    assert same == pytest.approx(math.log(law[table.index([0, 1, 0, 1])]), abs=1e-10)


def test_rare_patterns_keep_their_relative_accuracy():
    noise = SparseNoise(0.5, 0.5, 3)
    levels = [20.0, 20.0, -20.0, -30.0]
    law = pattern_law(levels, noise)
    row = patterns.all_patterns(4, 3).tolist().index([0, 0, 0, 1])
    exact = mp.log(_mp_run(levels, [0, 0, 0, 1], noise, factor=mp.e**139))
    assert float(exact) < -139.0
    assert law[row] == pytest.approx(float(exact), abs=1e-8)


def test_released_values_refine_the_answers():
    noise = SparseNoise(2.0, 3.0, 2)
    edges = [-1.0, 0.0, 2.5]
    fine = np.exp(pattern_law(LEVELS, noise, edges))
    table = patterns.all_patterns(4, 2, 4)
    coarse = {tuple(row): 0.0 for row in patterns.all_patterns(4, 2).tolist()}
    for row, probability in zip(table.tolist(), fine, strict=True):
        coarse[tuple(min(each, 1) for each in row)] += probability
    law = np.exp(pattern_law(LEVELS, noise))
    np.testing.assert_allclose(list(coarse.values()), law, rtol=1e-10)
    single = np.exp(pattern_law(LEVELS[:3], noise._replace(cutoff=1), [-0.7]))
    row = patterns.all_patterns(3, 1, 2).tolist().index([0, 0, 1])
    exact = _mp_run(LEVELS[:3], [0, 0, 1], noise, low=-0.7)
    assert single[row] == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize(("queries", "cutoff", "kinds"), [(4, 2, 1), (3, 3, 2), (2, 5, 1)])
def test_patterns_are_all_patterns_in_order(queries, cutoff, kinds):
    rows = patterns.all_patterns(queries, cutoff, kinds).tolist()
    wanted = set()
    for said in itertools.product(range(kinds + 1), repeat=queries):
        tops = np.cumsum(np.array(said) > 0)
        done = np.flatnonzero(tops == cutoff)
        cut = done[0] + 1 if done.size else queries
        wanted.add(said[:cut] + (patterns.NOT_ANSWERED,) * (queries - cut))
    assert {tuple(row) for row in rows} == wanted
    assert rows == sorted(rows)
    counts = patterns.count_patterns(queries, cutoff, kinds)
    assert len(rows) == len(wanted) == counts[queries, cutoff]


@pytest.mark.parametrize("redrawn", [False, True])
def test_stopping_and_right_answers_are_sums_over_patterns(redrawn):
    noise = SparseNoise(1.5, 2.0, 2, redrawn)
    table = patterns.all_patterns(4, 2)
    law = np.exp(pattern_law(LEVELS, noise))
    stop = np.zeros(5)
    tops = table == 1
    last = np.where(tops.sum(axis=1) == 2, 3 - np.argmax(tops[:, ::-1], axis=1), 4)
    np.add.at(stop, last, law)
    np.testing.assert_allclose(stopping_laws.stopping_law(LEVELS, noise), stop, atol=1e-13)
    for alpha in (0.0, 0.35, 1.5, 5.0):
        wrong = (table == 0) & (alpha < LEVELS) | (table == 1) & (-alpha > LEVELS)
        expected = law[~wrong.any(axis=1)].sum()
        found = stopping_laws.right_probability(LEVELS, noise, alpha)
        assert found == pytest.approx(expected, abs=1e-12)


def test_stopping_of_one_answer_is_the_halting_law():
    generator = np.random.default_rng(3)
    levels = generator.normal(0.0, 4.0, 30)
    law = stopping_laws.stopping_law(levels, SparseNoise(2.0, 4.0))
    other = halting_law(levels.tolist(), 4.0, 2.0)
    np.testing.assert_allclose(law, other, atol=1e-14)
    # one query, threshold t scales above it, query noise twice the threshold's
    for t in (0.0, 1.0, 7.0):
        (above, _) = stopping_laws.stopping_law([-t], SparseNoise(1.0, 2.0))
        exact = (4.0 * math.exp(-t / 2.0) - math.exp(-t)) / 6.0
        assert above == pytest.approx(exact, rel=1e-10)


# --- Pairs ----------------------------------------------------------------------------


def _pairs():
    generator = np.random.default_rng(5)
    yield np.array([0.0, 0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    first = generator.normal(0.0, 2.0, 5)
    yield first, first + generator.uniform(-1.0, 1.0, 5)


@pytest.mark.parametrize("redrawn", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2, 5, 9])
def test_classes_of_patterns_give_the_exact_epsilon(redrawn, cutoff):
    noise = SparseNoise(1.0, 1.5, cutoff, redrawn)
    for first, second in _pairs():
        laws = [np.exp(pattern_law(row, noise)) for row in (first, second)]
        exact = exact_epsilon(*laws)
        assert pair_epsilon(first, second, noise) == pytest.approx(exact, rel=1e-9)


def test_dynamic_programming_over_restarts_is_the_maximum(monkeypatch):
    from jaxsel.families.sparse_vector import profiles

    noise = SparseNoise(1.0, 1.5, 3, redrawn=True)
    for first, second in _pairs():
        listed = pair_epsilon(first, second, noise)
        monkeypatch.setattr(profiles, "_LISTED", 0)
        assert pair_epsilon(first, second, noise) == pytest.approx(listed, rel=1e-9)
        monkeypatch.undo()


def test_an_answer_possible_on_one_side_only_costs_everything():
    noise = SparseNoise(2.0, 0.0, 2)
    assert pair_epsilon([0.0, 1.0], [1.0, 0.0], noise) == math.inf
    assert bounds.sparse_vector_epsilon(noise, GENERAL) == math.inf


@pytest.mark.parametrize("relation", [GENERAL, MONOTONE])
@pytest.mark.parametrize("cutoff", [1, 3])
def test_worst_pairs_approach_the_bound_from_below(relation, cutoff):
    for noise in (
        bounds.lyu_su_li_noise(1.0, cutoff, relation, 0.3),
        bounds.sparse_noise(1.0, cutoff, relation),
        variants.LEE_CLIFTON.design(1.0, cutoff, 0),
    ):
        bound = bounds.sparse_vector_epsilon(noise, relation)
        found = [
            pair_epsilon(*profiles.worst_pair(m, cutoff, relation, redrawn=noise.redrawn), noise)
            for m in (1, 5, 25)
        ]
        assert found == sorted(found)
        assert found[0] < 0.9 * bound
        assert 0.99 * bound < found[-1] <= bound * (1.0 + 1e-9)


def test_the_pattern_of_a_long_worst_pair_is_its_largest_loss():
    noise = variants.LEE_CLIFTON.design(1.0, 2, 0)
    pair = profiles.worst_pair(12, 2, GENERAL)
    above = np.arange(14) >= 12
    logs = [pattern_log_probability(row, above, noise) for row in pair]
    assert logs[0] - logs[1] == pytest.approx(pair_epsilon(*pair, noise), rel=1e-9)


def test_two_thousand_equal_queries_are_exact_too():
    noise = SparseNoise(1.0, 1.0)
    first, second = profiles.worst_pair(2000, 1, GENERAL)
    classes = outcomes(first, second, noise)
    law = stopping_laws.stopping_law(first, noise)
    np.testing.assert_allclose(np.sort(np.exp(classes.first)), np.sort(law), rtol=1e-9, atol=1e-18)
    assert pair_epsilon(first, second, noise) == pytest.approx(3.0, rel=1e-9)


# --- Bounds ---------------------------------------------------------------------------


def test_noise_scales_and_what_they_cost():
    assert bounds.above_threshold_noise(0.5) == SparseNoise(4.0, 8.0, 1, True)
    assert bounds.sparse_noise(1.0, 3) == SparseNoise(6.0, 12.0, 3, True)
    assert bounds.sparse_noise(1.0, 3, MONOTONE) == SparseNoise(6.0, 6.0, 3, True)
    scale = bounds.sparse_noise(1.0, 3, delta=1e-6).threshold_scale
    assert scale == pytest.approx(math.sqrt(96.0 * math.log(1e6)))
    assert bounds.lyu_su_li_noise(1.0, 3) == SparseNoise(2.0, 12.0, 3)
    for relation, share in ((GENERAL, 0.5), (MONOTONE, 0.2)):
        noise = bounds.lyu_su_li_noise(0.7, 4, relation, share)
        assert bounds.sparse_vector_epsilon(noise, relation) == pytest.approx(0.7)
        noise = bounds.sparse_noise(0.7, 4, relation)
        assert bounds.sparse_vector_epsilon(noise, relation) == pytest.approx(0.7)
    assert bounds.good_share(4) == pytest.approx(0.2)
    assert bounds.good_share(8, MONOTONE) == pytest.approx(0.2)
    equal = SparseNoise(2.0, 2.0)
    assert bounds.sparse_vector_epsilon(equal, GENERAL) == pytest.approx(1.5)
    assert bounds.sparse_vector_epsilon(equal, MONOTONE) == pytest.approx(1.0)


VARIANTS = [v for v in vars(variant_settings).values() if isinstance(v, variant_settings.Variant)]


def test_the_six_variants_have_the_noise_of_the_figure():
    found = [v.design(0.5, 3, 10)[:2] for v in VARIANTS]
    scales = [(4, 24), (12, 24), (4, 12), (8, 8 / 3), (4, 0), (4, 4)]
    np.testing.assert_allclose(np.array(found), scales)
    assert [v.number for v in VARIANTS] == [1, 2, 3, 4, 5, 6]
    assert [v.design(0.5, 3, 10).cutoff for v in VARIANTS] == [3, 3, 3, 3, 10, 10]
    proven = [[v.proven(0.5, 3, r) for v in VARIANTS] for r in (GENERAL, MONOTONE)]
    inf = math.inf
    assert proven[0] == [0.5, 0.5, inf, 2.375, inf, inf]
    assert proven[1] == [0.375, 0.375, inf, 1.25, inf, inf]
    for variant in VARIANTS[:2] + VARIANTS[3:4]:
        for relation in (GENERAL, MONOTONE):
            noise = variant.design(0.5, 3, 10)
            epsilon = bounds.sparse_vector_epsilon(noise, relation)
            assert variant.proven(0.5, 3, relation) == pytest.approx(epsilon)


def test_accuracies():
    alpha = find_claim("SVT-AboveThreshold-accuracy").evaluate(epsilon=2.0, queries=100, beta=0.1)
    assert alpha == pytest.approx(4.0 * (math.log(100) + math.log(20)))
    alpha = find_claim("SVT-Sparse-accuracy").evaluate(epsilon=2.0, cutoff=3, queries=100, beta=0.1)
    assert alpha == pytest.approx(12.0 * (math.log(100) + math.log(60)))
    alpha = accuracy._alpha(2.0, 100, 0.1)
    assert alpha == pytest.approx((math.log(99) + math.log(9)) / 2.0)
    assert accuracy._alpha(2.0, 2, 0.9) == 0.0


NOISE = SparseNoise(1.0, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pattern_law([], NOISE), "levels is empty"),
        (lambda: pattern_law([[1.0]], NOISE), "one list"),
        (lambda: pattern_law([np.nan], NOISE), "NaN"),
        (lambda: pattern_law([1.0] * 20, NOISE._replace(cutoff=20)), "at most 65536"),
        (lambda: pattern_law([1.0], SparseNoise(0.0, 1.0)), "threshold_scale is 0"),
        (lambda: pattern_law([1.0], SparseNoise(1.0, -1.0)), "query_scale is -1"),
        (lambda: pattern_law([1.0], SparseNoise(1.0, 1.0, 0)), "cutoff is 0"),
        (lambda: stopping_laws.right_probability([1.0], NOISE, -1.0), "alpha is -1"),
        (lambda: pair_epsilon([1.0], [1.0, 2.0], NOISE), "1 and 2 queries"),
        (lambda: outcomes(np.arange(30.0), np.ones(30), NOISE._replace(cutoff=9)), "fewer runs"),
        (lambda: pattern_log_probability([0.0, 0.0], [True, False], NOISE), "answered after 1"),
        (lambda: pattern_log_probability([0.0], [True, True], NOISE), "1 levels and 2"),
        (lambda: bounds.sparse_vector_epsilon(NOISE, Relation.BASE), "general, monotone"),
        (lambda: bounds.sparse_noise(1.0, 1, Relation.L1), "general, monotone"),
        (lambda: profiles.worst_pair(1, 1, Relation.L1), "general, monotone"),
        (lambda: bounds.sparse_noise(1.0, 1, delta=1.0), "delta is 1"),
        (lambda: bounds.lyu_su_li_noise(1.0, 1, share=1.0), "share is 1"),
        (lambda: pattern_law([0.0, 1e18], NOISE), "too far apart"),
        (lambda: profiles.worst_pair(-1, 1), "below is -1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
