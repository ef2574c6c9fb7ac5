"""Settings and displays of private multiplicative weights against direct evaluation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.families.multiplicative_weights import sample_complexity as sizes
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights import updates as updates_of
from jaxsel.families.multiplicative_weights.claims import sample_complexity as displays
from jaxsel.families.multiplicative_weights.laws import hardt_rothblum_law, repetitive_law
from jaxsel.families.selection_and_test.bounds import tests_epsilon as epsilon_of_tests
from jaxsel.families.top_k.baselines import advanced_composition
from jaxsel.host.errors import InputError

CELLS, QUERIES, EPSILON, DELTA = 64, 1000, 1.0, 1e-6
GRID = list(itertools.product((0.3, 0.01, 1e-9), (DELTA, 0.0), (False, True)))


def test_entropy_drop_is_best_at_the_learning_rate():
    for sharp, best in ((False, 0.25), (True, 2.0)):
        rate = updates_of.learning_rate(0.2, sharp=sharp)
        top = updates_of.entropy_drop(rate, 0.2, sharp=sharp)
        assert top == pytest.approx(best * 0.04)
        for other in (0.9 * rate, 1.1 * rate):
            assert updates_of.entropy_drop(other, 0.2, sharp=sharp) < top
        count = updates_of.max_updates(CELLS, 0.2, sharp=sharp)
        # KL >= 0: so many whole drops fit into log(64), 415.89 (51.99 if sharp)
        assert count == (51 if sharp else 415)


def test_update_and_relative_entropy():
    h = np.array([0.5, 0.3, 0.2])
    found = updates_of.updated(h, np.array([1.0, 0.0, 0.5]), 0.7)
    raw = [0.5 * math.exp(-0.7), 0.3, 0.2 * math.exp(-0.35)]
    np.testing.assert_allclose(found, np.array(raw) / sum(raw), rtol=1e-14)
    assert updates_of.relative_entropy([1.0, 0.0], [0.25, 0.75]) == pytest.approx(math.log(4.0))
    assert updates_of.relative_entropy([0.5, 0.5], [1.0, 0.0]) == math.inf


@pytest.mark.parametrize("times", [1, 3, 40, 5000])
def test_composition_share_keeps_the_budget_and_nearly_spends_it(times):
    share = float(updates_of.composition_share(EPSILON, times, DELTA))
    spent = advanced_composition(share, times, DELTA)
    assert 0.9 * EPSILON < spent <= EPSILON * (1.0 + 1e-12)
    assert updates_of.composition_share(EPSILON, times, 0.0) == EPSILON / times


@pytest.mark.parametrize("tops", [1, 30, 2000])
def test_share_of_tests_keeps_the_budget(tops):
    for delta in (0.0, DELTA):
        share = updates_of.tests_share(EPSILON, tops, 1.5, delta)
        spent = epsilon_of_tests(share, 1.5, tops, delta)
        assert 0.5 * EPSILON < spent <= EPSILON * (1.0 + 1e-9)


@pytest.mark.parametrize(("beta", "delta", "sharp"), GRID)
def test_hardt_rothblum_settings_satisfy_the_derivation(beta, delta, sharp):
    n = 3e6
    found = weights.hardt_rothblum(CELLS, n, QUERIES, EPSILON, delta, beta, sharp=sharp)
    k = found.updates
    assert k >= min(updates_of.max_updates(CELLS, min(found.gap, 1.0), sharp=sharp), QUERIES)
    test = 2.0 / (n * found.threshold_scale)
    assert found.query_scale == pytest.approx(4.0 / (n * test))
    for each in (test, 1.0 / (n * found.answer_scale)):
        spent = advanced_composition(each, k, delta / 2.0) if delta > 0.0 else k * each
        assert spent <= EPSILON / 2.0 * (1.0 + 1e-9)
    # All noises of the interaction, by their exact tails, at the largest that is kept.
    noise = (found.threshold - found.gap) / found.query_scale
    a = 2.0 * found.answer_scale * math.log(3.0 * k / beta)
    b = noise * found.query_scale - a
    c = found.answer_scale * math.log(3.0 * k / beta)
    missed = k * math.exp(-a / found.threshold_scale)
    missed += QUERIES * math.exp(-b / found.query_scale)
    missed += k * math.exp(-c / found.answer_scale)
    assert missed == pytest.approx(beta)
    assert found.error == pytest.approx(found.threshold + a + b)
    assert found.gap >= c  # an answer tells on which side of h the truth lies
    # Least: no other gap with its own budget does better.
    for factor in (0.7, 1.4):
        gap = found.gap * factor
        other = min(updates_of.max_updates(CELLS, min(gap, 1.0), sharp=sharp), QUERIES)
        share = float(updates_of.composition_share(EPSILON / 2.0, other, delta / 2.0))
        spread = 2.0 * math.log(3.0 * other / beta) + 4.0 * math.log(3 * QUERIES / beta)
        allowed = gap >= math.log(3.0 * other / beta) / (n * share)
        better = gap + 2.0 * spread / (n * share) < found.error * (1.0 - 1e-9)
        assert not (allowed and better)


@pytest.mark.parametrize(("beta", "delta", "sharp"), GRID)
def test_repetitive_settings_satisfy_the_derivation(beta, delta, sharp):
    n = 3e6
    found = weights.repetitive(CELLS, n, QUERIES, EPSILON, delta, beta, sharp=sharp)
    plan = weights.repetitive_plan(QUERIES, beta)
    questions = plan.questions
    k, mistakes = found.updates, plan.mistakes
    assert k <= QUERIES
    if k < QUERIES:
        gap = min(found.gap * (1.0 + 1e-12), 1.0)  # k may be exact
        assert k >= updates_of.max_updates(CELLS, gap, sharp=sharp)
    assert found.failures == k + 2 * mistakes + 1 <= questions
    assert 2 * QUERIES + mistakes < questions  # one question and one check a query
    assert 20.0 * math.exp(-found.gamma * math.log(questions)) == pytest.approx(beta)
    tests, answers = 1.0 / (n * found.test_scale), 1.0 / (n * found.answer_scale)
    spent = epsilon_of_tests(tests, found.gamma, found.failures, delta / 2.0)
    assert spent <= EPSILON / 2.0 * (1.0 + 1e-9)
    spent = found.answers * answers
    if delta > 0.0:
        spent = advanced_composition(answers, found.answers, delta / 2.0)
    assert spent <= EPSILON / 2.0 * (1.0 + 1e-9)
    assert found.distance == found.error / 2.0
    size = 1.0 - 1e-12
    assert found.distance >= size * 10.0 * math.log(questions) * found.test_scale
    # A noisy answer off by more than alpha/4 is a mistake of chance 5/M^3 at most.
    assert math.exp(-found.error / 4.0 / found.answer_scale) <= 5.0 / questions**3
    # A wrong answer needs tau Tests to say bottom, each with chance 1 - 1/(2 M) or less.
    batches = questions + found.failures
    wrong = batches * math.exp(found.repetitions * math.log1p(-0.5 / questions))
    slips = stats.binom.sf(mistakes, 3 * questions, 5.0 / questions**3)
    assert beta / 20.0 + 2.0 * wrong + slips <= beta


@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_rows_are_the_inverse_of_errors(delta, sharp):
    for settings, rows in (
        (weights.hardt_rothblum, weights.hardt_rothblum_rows),
        (weights.repetitive, weights.repetitive_rows),
    ):
        n = rows(512, 10**5, 0.1, 0.1, delta, 1e-6, sharp=sharp)
        error = settings(512, n, 10**5, 0.1, delta, 1e-6, sharp=sharp).error
        # k is a step function, which the two searches meet on different grids.
        assert error == pytest.approx(0.1, rel=1e-3)
        fewer = settings(512, 0.97 * n, 10**5, 0.1, delta, 1e-6, sharp=sharp).error
        assert fewer > 0.1 * (1.0 + 5e-3)


def test_repetitive_wins_at_high_confidence_only():
    """The point of Theorem 11, with all constants."""
    at = [
        [
            rows(512, 10**6, 0.1, 0.1, 0.1 * beta, beta, sharp=True)
            for rows in (weights.hardt_rothblum_rows, weights.repetitive_rows)
        ]
        for beta in (0.3, 1e-30, 1e-200)
    ]
    assert at[0][0] < at[0][1]
    assert at[1][0] > 2.0 * at[1][1]
    assert at[2][0] > 10.0 * at[2][1]


def test_displays_by_hand():
    log_x, log_m, log_b = math.log(100), math.log(1000), math.log(50)
    log_d = math.log(500)  # 1/(alpha beta)
    assert sizes.theorem_10(100, 1000, 0.1, 0.02) == pytest.approx(
        math.sqrt(log_x * log_d) * (log_m + log_b) / 1e-3
    )
    assert sizes.theorem_12(100, 1000, 0.1, 0.02) == pytest.approx(
        math.sqrt(log_x * log_d) * log_m / 1e-3 + log_b / 1e-2
    )
    printed = sizes.first_bound(100, 1000, 0.1, 0.02, printed=True)
    assert printed == pytest.approx(math.sqrt(log_x * log_b) * log_m / 1e-3 + log_b / 1e-2)
    assert sizes.first_bound(100, 1000, 0.1, 0.02) > printed
    pure = sizes.theorem_12(100, 1000, 0.9, 1e-300)
    assert pure == pytest.approx(log_x * log_m / 0.9**4 + 300 * math.log(10.0) / 0.9**2)
    # The displays, as corrected, give the error that their n is for.
    for solve in (displays.nine, displays.eleven):
        assert solve(100, 1000, 0.1, 0.02, printed=False) == pytest.approx(0.1)
    alpha = displays._theorem_11(100, 1e5, 1000, 0.5, 1e-6, 0.02)
    first = math.sqrt(log_x * math.log(1e6)) * log_m / (5e4 * alpha)
    assert alpha == pytest.approx(first + log_b / 5e4)
    found = sizes.sample_sizes(100, 1000, 0.1, math.log(0.02))
    assert found.theorem_10 == sizes.theorem_10(100, 1000, 0.1, 0.02)


TABLE = {
    "shares": np.array([0.5, 0.3, 0.2]),
    "queries": np.tri(2, 3),
    "reference": np.array([0.5, 0.3, 0.2]),
}


def test_law_of_one_query_is_the_tail_of_a_difference_of_noises():
    from jaxsel.families.sparse_vector.halting_law import laplace_difference_tail

    settings = {
        "threshold": 0.1,
        "rate": 1.0,
        "max_updates": 1,
        "threshold_scale": 0.2,
        "query_scale": 0.4,
        "answer_scale": 0.3,
    }
    law = hardt_rothblum_law(TABLE, settings, 1, paths=True)
    error = 0.5 - 1.0 / 3.0
    fires = float(laplace_difference_tail(0.1 - error, 0.4, 0.2))
    below = 0.5 * math.exp(-error / 0.3)
    np.testing.assert_allclose(law, [1.0 - fires, fires * below, fires * (1.0 - below)], rtol=1e-9)


def test_law_of_one_question_that_may_halt():
    """k' = 1: an update needs a failed batch, which halts; so there is none."""
    settings = {
        "threshold": 0.2,
        "check_threshold": 0.1,
        "distance": 0.1,
        "rate": 1.0,
        "gamma": 1.0,
        "repetitions": 3,
        "max_failures": 1,
        "max_answers": 1,
        "test_scale": 0.1,
        "answer_scale": 0.1,
    }
    law = repetitive_law(TABLE, settings, 2, paths=True)
    np.testing.assert_allclose(law, np.eye(1, 9)[0], atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: updates_of.max_updates(1, 0.1), "cells is 1"),
        (lambda: updates_of.max_updates(8, 1.5), "gap is 1.5"),
        (lambda: updates_of.entropy_drop(0.0, 0.1), "rate is 0"),
        (lambda: updates_of.composition_share(1.0, 3, 1.0), "delta is 1"),
        (lambda: weights.hardt_rothblum(8, 100, 10, 1.0, 1e-6, 0.0), "beta is 0"),
        (lambda: weights.repetitive_rows(8, 20, -1.0, 1.0, 1e-6, 0.1), "alpha is -1"),
        (lambda: weights.repetitive_plan(20, 2.0), "beta is 2"),
        (lambda: updates_of.tests_share(1.0, 2, -1.0, 0.1), "gamma is -1"),
        (lambda: weights.repetitive(8, 100, 9, 1.0, 1e-6, 0.1), "at least 10 queries"),
        (lambda: weights.repetitive(8, 100, 20, 1.0, 1e-6, 1e-9), "beta >= 2\\^-queries"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
