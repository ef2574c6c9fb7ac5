"""The tail bound of one-run audits: proved, attained, and what follows from it."""

import math

import numpy as np
import pytest
import scipy.sparse
from scipy import optimize, stats

from jaxsel.accounting.single_run.curves import gaussian
from jaxsel.auditing.one_run_audit import (
    guess_membership,
    one_run_bound,
    one_run_epsilon,
    one_run_p_value,
)
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from tests.conftest import ALPHA, seed


def accuracy(epsilon: float) -> float:
    return 1.0 / (1.0 + math.exp(-epsilon))


def worst_case(v: int, r: int, m: int, epsilon: float, delta: float) -> float:
    """max P[V >= v] over all (epsilon, delta)-DP guessers of r coins among m, by LP.

    The constraints are convex and the objective is symmetric, so that a mixture of all
    permutations and flips of a guesser is as good: the chance of a guess is a function
    of how many of its r signs are right. G(w) is the chance that w are.
    """
    boost = math.exp(epsilon)
    costs = np.zeros(3 * r + 1)
    costs[v : r + 1] = -1.0
    rows = scipy.sparse.lil_matrix((2 * r + 1, 3 * r + 1))
    for w in range(1, r + 1):
        rows[w - 1, w], rows[w - 1, w - 1] = w, -boost * (r - w + 1)
        rows[r + w - 1, w - 1], rows[r + w - 1, w] = r - w + 1, -boost * w
        rows[w - 1, r + w] = rows[r + w - 1, 2 * r + w] = -1.0
    rows[2 * r, r + 1 :] = 1.0
    total = np.zeros((1, 3 * r + 1))
    total[0, : r + 1] = 1.0
    found = optimize.linprog(
        costs,
        A_ub=rows.tocsr(),
        b_ub=np.append(np.zeros(2 * r), m * delta),
        A_eq=total,
        b_eq=[1.0],
        method="highs",
    )
    return -found.fun


def published(v: int, r: int, m: int, epsilon: float, delta: float) -> float:
    """The bound of Steinke, Nasr & Jagielski 2023, as in the code that they printed."""
    law = stats.binom(r, accuracy(epsilon))
    below = np.cumsum(law.pmf(np.arange(v - 1, -1, -1)))
    return law.sf(v - 1) + 2 * m * delta * np.max(below / np.arange(1, v + 1))


CASES = [
    (v, r, m, epsilon, delta)
    for r in (1, 2, 5, 20)
    for m in (r, 3 * r)
    for epsilon in (0.0, 0.7, 2.0)
    for delta in (0.0, 1e-3 / m, 0.02 / m)
    for v in sorted({1, max(1, r // 2), max(1, 4 * r // 5), r})
]


def test_no_guesser_beats_the_bound_and_the_best_one_attains_it():
    attained = 0
    for v, r, m, epsilon, delta in CASES:
        bound = one_run_p_value(v, r, m, epsilon, delta)
        worst = worst_case(v, r, m, epsilon, delta)
        assert worst <= bound + 1e-8
        if bound < 0.9:
            assert worst >= bound - 1e-8
            attained += 1
    assert attained > len(CASES) / 3


def test_the_bound_is_below_the_published_one_where_tests_are_made():
    for v, r, m, epsilon, delta in CASES:
        ours = one_run_p_value(v, r, m, epsilon, delta)
        if ours < 0.5:
            assert ours <= published(v, r, m, epsilon, delta) + 1e-15


def test_the_published_bound_fails_far_below_the_mean():
    """Two coins: the truth with chance 0.8, each single error with chance 0.1.

    (ln 8, 0.1)-DP, and one guess at least is always right.
    """
    law = {0: 0.8, 1: 0.1, 2: 0.1, 3: 0.0}  # by which coins are wrong, as bits
    for flip in (1, 2):
        over = sum(max(law[t] - 8.0 * law[t ^ flip], 0.0) for t in law)
        assert over == pytest.approx(0.1)
    assert published(1, 2, 2, math.log(8.0), 0.1) < 0.993
    assert one_run_p_value(1, 2, 2, math.log(8.0), 0.1) == pytest.approx(1.0)


def test_without_delta_the_bound_is_binomial():
    for r in (1, 7, 300):
        law = stats.binom(r, accuracy(1.3))
        for v in (0, 1, r // 2, r):
            assert one_run_p_value(v, r, r + 5, 1.3) == pytest.approx(law.sf(v - 1))
    # no rounding to 1 where guesses are nearly always right
    found = one_run_p_value(10, 10, 10, 45.0)
    assert 1.0 - found == pytest.approx(10 * math.exp(-45.0), rel=0.5, abs=2e-16)


def test_p_values_of_extreme_tallies_are_finite():
    assert one_run_p_value(5000, 5000, 9000, 0.0, 1e-5) == pytest.approx(1.8e-5)
    assert one_run_p_value(1, 5000, 9000, 8.0, 1e-5) == 1.0
    assert one_run_p_value(0, 0, 3, 1.0, 0.1) == 1.0


def test_what_may_be_lost_whole_is_guessed_right_always():
    """(epsilon, 1)-DP lets every coin be known; no bound on a chance is above 1."""
    for v, r, m, epsilon in ((3, 4, 6, 0.5), (4, 4, 4, 0.0), (1, 9, 9, 3.0)):
        assert worst_case(v, r, m, epsilon, 1.0) == pytest.approx(1.0)
        assert one_run_p_value(v, r, m, epsilon, 1.0) == 1.0


def test_bounds_cover_randomised_response_exactly():
    """Against the worst case, the error probability is met, and nearly used up."""
    for r in (5, 60, 400):
        for epsilon in (0.0, 0.5, 2.0):
            law = stats.binom(r, accuracy(epsilon))
            for error in (0.1, 0.01):
                lower = np.asarray(
                    [one_run_epsilon(v, r, r, delta=0.0, error=error) for v in range(r + 1)]
                )
                assert np.all(np.diff(lower) >= 0.0)
                wrong = law.pmf(np.arange(r + 1))[lower > epsilon + 1e-9].sum()
                assert wrong <= error
                if r == 400 and epsilon > 0.0:
                    assert wrong > error / 2.0


def test_epsilon_is_where_the_p_value_crosses():
    for v, r, m, delta in ((40, 50, 80, 1e-4), (50, 50, 50, 0.0), (300, 400, 900, 1e-5)):
        epsilon = one_run_epsilon(v, r, m, delta=delta, error=0.05)
        assert one_run_p_value(v, r, m, epsilon, delta) <= 0.05
        above = one_run_p_value(v, r, m, epsilon * (1 + 1e-9), delta)
        assert above == pytest.approx(0.05, rel=1e-6)
    assert one_run_epsilon(25, 50, 50, delta=0.0, error=0.05) == 0.0
    assert one_run_epsilon(50, 50, 1000, delta=0.5, error=0.05) == 0.0


def test_right_guesses_about_randomised_response_are_binomial():
    """Scores of a simulated epsilon-DP run, guesses with abstentions."""
    generator = np.random.default_rng(seed())
    m, members, others, epsilon = 60, 9, 6, 1.1
    seen = np.zeros(members + others + 1, dtype=int)
    for _ in range(4000):
        coins = generator.random(m) < 0.5
        kept = generator.random(m) < accuracy(epsilon)
        scores = (coins == kept) + 0.5 * generator.random(m)
        said = guess_membership(scores, members, others)
        seen[np.sum(np.where(coins, said == 1, said == -1))] += 1
    law = stats.binom(members + others, accuracy(epsilon))
    values = np.arange(seen.size)
    assert goodness_of_fit(seen, law.pmf(values)) > ALPHA
    for v in values:
        beyond = int(seen[v:].sum())
        claimed = one_run_p_value(int(v), members + others, m, epsilon)
        test = stats.binomtest(beyond, 4000, min(claimed, 1.0), "greater")
        assert test.pvalue > ALPHA
    # power: the bound of a smaller epsilon is exceeded
    beyond = int(seen[11:].sum())
    less = one_run_p_value(11, members + others, m, 0.8 * epsilon)
    assert stats.binomtest(beyond, 4000, less, "greater").pvalue < ALPHA


def gaussian_scores(generator, coins, mean) -> np.ndarray:
    return mean * coins + generator.standard_normal(coins.size)


def test_one_run_bounds_cover_the_gaussian_mechanism():
    generator = np.random.default_rng(seed())
    mean, delta, runs, confidence = 1.0, 1e-2, 400, 0.8
    truth = gaussian(1.0 / mean).epsilon(delta)
    wrong, positive = 0, 0
    for _ in range(runs):
        coins = generator.random(200) < 0.5
        bound = one_run_bound(
            gaussian_scores(generator, coins, mean),
            coins,
            guesses=[(15, 15), (5, 5)],
            delta=delta,
            confidence=confidence,
        )
        wrong += bound.lower > truth
        positive += bound.lower > 0.0
    assert stats.binomtest(wrong, runs, 1 - confidence, "greater").pvalue > ALPHA
    # and are of use
    assert positive > runs / 2


def test_guesses_are_the_extremes_and_ties_go_by_position():
    scores = [0.3, 5.0, -1.0, 0.3, 0.2, 0.3]
    assert guess_membership(scores, 1, 2).tolist() == [0, 1, -1, 0, -1, 0]
    assert guess_membership(scores, 2, 0).tolist() == [0, 1, 0, 0, 0, 1]
    assert guess_membership(scores, 0, 0).tolist() == [0] * 6


def test_several_numbers_of_guesses_share_the_error():
    coins = np.arange(40) % 2 == 0
    scores = np.where(coins, 1.0, -1.0)
    one = one_run_bound(scores, coins, guesses=[(20, 20)], delta=0.0)
    two = one_run_bound(scores, coins, guesses=[(2, 2), (20, 20)], delta=0.0)
    assert (two.correct, two.guesses, two.comparisons) == (40, (20, 20), 2)
    q = 0.025 ** (1.0 / 40.0)
    assert two.lower == pytest.approx(math.log(q / (1.0 - q)))
    assert two.lower < one.lower


@pytest.mark.parametrize("order", [[(8, 8), (20, 20)], [(20, 20), (8, 8)]])
def test_the_best_of_several_numbers_counts_be_it_the_smallest(order):
    # the eight surest of either kind are right, the other 24 wrong
    ranks = np.arange(40)
    coins = (ranks >= 32) | ((ranks >= 8) & (ranks < 20))
    found = one_run_bound(ranks.astype(float), coins, guesses=order, delta=0.0)
    assert (found.guesses, found.correct, found.canaries) == ((8, 8), 16, 40)
    q = 0.025 ** (1.0 / 16.0)
    assert found.lower == pytest.approx(math.log(q / (1.0 - q)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: one_run_epsilon(5, 4, 9, delta=0.0, error=0.1), "impossible"),
        (lambda: one_run_epsilon(1, 4, 3, delta=0.0, error=0.1), "impossible"),
        (lambda: one_run_epsilon(1, 2, 3, delta=1.0, error=0.1), "delta"),
        (lambda: guess_membership([1.0, np.nan], 1, 0), "scores"),
        (lambda: guess_membership([1.0, 2.0], 2, 1), "guesses"),
        (lambda: one_run_bound([1.0], [1], guesses=[(1, 0)], delta=0.0), "bool"),
        (lambda: one_run_bound([1.0], [True], guesses=[], delta=0.0), "empty"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_one_canary_is_enough_to_guess_about():
    for epsilon in (0.0, 0.7, 3.0):
        found = one_run_p_value(1, 1, 1, epsilon)
        assert found == pytest.approx(1.0 / (1.0 + math.exp(-epsilon)))
    assert one_run_p_value(0, 1, 1, 0.5) == one_run_p_value(0, 0, 1, 0.5) == 1.0
    # Of the error .9, the odds that one right guess refutes: 9 to 1.
    assert one_run_epsilon(1, 1, 1, delta=0.0, error=0.9) == pytest.approx(math.log(9.0))
