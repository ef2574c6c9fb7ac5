"""Laws of Cohen et al. 2022, Theorems 6 to 8, against independent routes."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_cdf
from jaxsel.errors import InputError
from jaxsel.families.choosing.laws import (
    NoisySelection,
    choosing_law,
    choosing_settings,
    clipped_scores,
    group_law,
    needed_lead,
    spent_delta,
    stable_settings,
)
from jaxsel.families.top_k.baselines import advanced_composition
from jaxsel.families.top_k.confident_laws import (
    confident_gap_bound,
    confident_lead,
    confident_settings,
    confident_settings_printed,
    confident_top_k_law,
    peeling_gap_bound,
    peeling_lead,
    set_gaps,
    smallest_gap_law,
    subsets,
)
from jaxsel.families.top_k.laws import top_k_set_law

CHOOSING = choosing_settings(1.0, 0.1, 0.5, 2)


# --- Theorems 7 and 8 -----------------------------------------------------------------


def test_settings_are_the_theorems():
    assert CHOOSING == NoisySelection(1.0 / 3.0, 0.1 * 0.5 / 10.0, 8)
    assert CHOOSING.support == pytest.approx(3.0 * math.log(200.0))
    made = stable_settings(0.6, 0.1, 0.3, 4)
    assert made == NoisySelection(pytest.approx(0.1), pytest.approx(0.03 / 40.0), 7)
    assert stable_settings(0.6, 0.1, 0.3, 4, shares=3).rate == pytest.approx(0.2)


def _brute_law(scores, settings: NoisySelection) -> np.ndarray:
    """Sums over the numbers of runs made; the best of n runs has distribution F^n."""
    tau, m = settings.runs, len(scores)
    law = np.zeros(m + 1)
    end = settings.support
    cuts = sorted({s + d for s in scores for d in (-end, 0.0, end)})
    for made in itertools.product(range(tau + 1), repeat=m):
        # Given p the numbers are binomial; p is uniform.
        successes, size = sum(made), tau * m
        ways = math.prod(math.comb(tau, n) for n in made)
        chance = ways / (math.comb(size, successes) * (size + 1))
        if successes == 0:
            law[-1] += chance
            continue
        for i, runs in enumerate(made):
            if runs == 0:
                continue

            def density(y, i=i, made=made):
                below = [
                    float(
                        truncated_laplace_cdf(y - s, settings.rate, settings.truncation)
                    )
                    for s in scores
                ]
                x = y - scores[i]
                slope = settings.rate * math.exp(-settings.rate * abs(x))
                slope /= 2.0 * (1.0 - settings.truncation)
                others = math.prod(b**n for b, n in zip(below, made, strict=True) if n)
                one = below[i]
                return made[i] * slope * others / one if one > 0.0 else 0.0

            inside = [c for c in cuts if scores[i] - end <= c <= scores[i] + end]
            for low, high in itertools.pairwise(inside):
                law[i] += chance * integrate.quad(density, low, high, epsabs=1e-12)[0]
    return law


@pytest.mark.parametrize("scores", [(0.0, 0.0), (2.0, 0.5), (4.0, 0.0)])
def test_group_law_against_enumeration(scores):
    settings = NoisySelection(0.7, 0.05, 3)
    exact = group_law(scores, [1.0, 1.0], settings)
    assert exact == pytest.approx(_brute_law(scores, settings), abs=1e-8)


def test_both_rules_of_p_agree():
    """63 possible runs: exact Gauss-Legendre; one more: panels."""
    for number in (7.0, 63.0):
        settings = NoisySelection(0.5, 0.01, 1)
        laws = [
            group_law([3.0, 1.0, 0.0], [1.0, 2.0, n], settings)
            for n in (number - 3.0, number - 2.0)
        ]
        # The next candidate changes the law by little, smoothly in n.
        third = group_law([3.0, 1.0, 0.0], [1.0, 2.0, number - 1.0], settings)
        second_difference = laws[0] - 2.0 * laws[1] + third
        assert np.abs(second_difference[:-2]).max() < 40.0 / number**3


def test_grouping_changes_nothing():
    settings = NoisySelection(0.5, 0.01, 5)
    split = group_law([3.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 4.0], settings)
    joined = group_law([3.0, 1.0, 0.0], [1.0, 2.0, 4.0], settings)
    assert split[0] == pytest.approx(joined[0], abs=1e-11)
    assert split[1] == pytest.approx(split[2], abs=1e-11)
    assert split[1] + split[2] == pytest.approx(joined[1], abs=1e-11)
    law = choosing_law([1.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0], settings)
    expected = joined[[1, 2, 0, 2, 1, 2, 2]] / np.array([2, 4, 1, 4, 2, 4, 4])
    assert law == pytest.approx([*expected, joined[-1]], abs=1e-12)
    assert law[-1] == pytest.approx(1.0 / 36.0)


def test_limits_of_the_law():
    settings = choosing_settings(1.0, 1e-3, 0.1, 1)
    # Leads beyond both noises: the best wins whenever it runs.
    law = group_law([3.0 * settings.support, 0.0], [1.0, 1e6], settings)
    assert law[0] == pytest.approx(1.0 - 1.0 / (settings.runs + 1.0), abs=1e-12)
    # So many others that one of them is at the end of its noise.
    law = group_law([settings.support, 0.0], [1.0, 1e18], settings)
    failing = (2.0 - 2.0**-settings.runs) / (settings.runs + 1.0)
    assert law[1] == pytest.approx(failing, abs=1e-9)
    # Equal scores: all alike.
    law = choosing_law(np.zeros(5), settings)
    assert law[:-1] == pytest.approx(np.full(5, law[0]), abs=1e-12)


def test_needed_lead_is_one():
    for first, others in ((1.0, 10.0), (3.0, 1e9)):
        settings = choosing_settings(1.0, 1e-3, 0.1, 1)
        lead = needed_lead(first, others, settings, 0.1)
        law = group_law([lead, 0.0], [first, others], settings)
        assert law[0] == pytest.approx(0.9, abs=1e-5)
    settings = NoisySelection(1.0, 0.1, 1)
    assert needed_lead(1.0, 5.0, settings, 0.1) == math.inf  # runs half the time
    assert needed_lead(5.0, 1.0, choosing_settings(1, 0.1, 0.5, 1), 0.9) == 0.0


def test_spent_delta_is_below_the_sum():
    for shifts in ([1.0], [1.0, 0.5, 0.0, 0.25], np.ones(30)):
        settings = choosing_settings(1.0, 0.2, 0.4, 30)
        spent = spent_delta(shifts, 1.0, settings)
        grown = math.expm1(1.0 / 3.0) / 2.0 / (1.0 - settings.truncation)
        largest = settings.runs * np.sum(shifts) * settings.truncation
        assert 0.0 < spent <= largest * grown / 2.0 * (1.0 + 1e-9)
    one = spent_delta([1.0], 1.0, CHOOSING)
    delta = CHOOSING.truncation * math.expm1(1.0 / 3.0)
    delta /= 2.0 * (1.0 - CHOOSING.truncation)
    exact = integrate.quad(lambda p: 1.0 - (1.0 - p * delta) ** CHOOSING.runs, 0, 1)[0]
    assert one == pytest.approx(exact, rel=1e-9)


def test_clipped_scores():
    assert clipped_scores([5, 3, 0], 1).tolist() == [2.0, 0.0, 0.0]
    assert clipped_scores([4, 4, 1], 1).tolist() == [0.0, 0.0, 0.0]
    assert clipped_scores([0, 7, 3], 2).tolist() == [0.0, 7.0, 3.0]
    assert clipped_scores([7, 3], 2, [1, 5]).tolist() == [4.0, 0.0]
    assert clipped_scores([7, 3, 1], 3, [1, 2, 9]).tolist() == [6.0, 2.0, 0.0]


# --- Theorem 6 ------------------------------------------------------------------------


def test_settings_of_theorem_6():
    made = confident_settings(1.0, 1e-6, 0.5, 2)
    assert (made.k, made.gap_scale, made.most_runs, made.pure) == (2, 12.0, 8, True)
    assert made.round_epsilon == pytest.approx(1.0 / 12.0)
    assert made.offset == pytest.approx(12.0 * math.log(32.0))
    many = confident_settings(1.0, 1e-2, 0.5, 500)
    spent = advanced_composition(many.round_epsilon, 500, 1e-2 / 8.0)
    assert spent == pytest.approx(1.0 / 6.0, rel=1e-9)
    assert not many.pure
    printed = confident_settings_printed(1.0, 1e-2, 0.5, 4)
    assert printed.round_epsilon == pytest.approx(1 / (80 * math.sqrt(math.log(100))))
    assert printed.most_runs == 2000
    assert printed.offset == pytest.approx(13.0 * math.log(2.0))


def test_sets_and_gaps():
    assert subsets(4, 2).tolist() == [0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100]
    gaps = set_gaps([3.0, 2.0, 1.0, 0.0], 2)
    assert gaps.tolist() == [-1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_smallest_gap_law_against_sums_over_the_number_of_draws():
    """P[the winner has gap g] by F^n differences on a fine grid of noisy gaps."""
    settings = confident_settings(2.0, 1e-6, 0.9, 1)
    gaps, weights = np.array([-3.0, 5.0]), np.array([0.7, 0.3])
    law = smallest_gap_law(gaps, weights, settings)
    scale = settings.gap_scale
    expected = np.zeros(3)
    numbers = range(settings.most_runs + 1)
    expected[-1] = 1.0 / len(numbers)
    for i, n in itertools.product(range(2), numbers):
        if n == 0:
            continue

        def density(y, i=i, n=n):
            above = stats.laplace.sf(y, gaps, scale) @ weights
            return n * stats.laplace.pdf(y, gaps[i], scale) * above ** (n - 1)

        mass = sum(
            integrate.quad(density, low, high)[0]
            for low, high in itertools.pairwise([-300.0, -30.0, -3.0, 5.0, 40.0, 300.0])
        )
        expected[i] += weights[i] * mass / len(numbers)
    assert law == pytest.approx(expected, abs=1e-8)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


def test_confident_law_limits():
    scores = [5.0, 3.0, 2.0, 0.0]
    settings = confident_settings(1.0, 1e-6, 0.9, 2)
    # One draw at most: the law of peeling, half the time.
    single = settings._replace(most_runs=1)
    levels = np.array(scores) * single.round_epsilon / 2.0
    peeled = top_k_set_law(levels, 2)[subsets(4, 2)]
    law = confident_top_k_law(scores, single)
    assert law == pytest.approx([*(0.5 * peeled), 0.5], abs=1e-12)
    # No noise on the gap, many draws: almost surely the true top k.
    sharp = settings._replace(most_runs=10**9, gap_scale=1e-3)
    assert confident_top_k_law(scores, sharp)[0] == pytest.approx(1.0, abs=1e-6)


def test_leads_of_theorem_6():
    for beta in (0.3, 1e-3, 1e-9):
        lead = peeling_lead(50, 4, 0.1, beta)
        left = np.arange(4, 0, -1)
        hit = np.prod(left / (left + 46 * math.exp(-0.05 * lead)))
        assert 1.0 - hit == pytest.approx(beta, rel=1e-4)
        assert lead <= peeling_gap_bound(50, 4, 0.1, beta)
        settings = confident_settings(1.0, 1e-6, beta, 4)
        assert confident_lead(50, settings, beta) <= confident_gap_bound(50, settings)
    scores = np.append(np.full(2, 60.0), np.zeros(4))
    settings = confident_settings(1.0, 1e-6, 0.5, 2)
    failing = 1.0 - confident_top_k_law(scores, settings)[0]
    assert confident_lead(6, settings, failing) == pytest.approx(60.0, rel=1e-6)
    assert confident_lead(6, settings, 1e-3) == math.inf  # nothing, 1 time in 9


def test_boosting_wins_for_small_beta_alone():
    """20 candidates, k = 5: peeling's lead grows by 10 for each unit of log(1/beta)."""
    peeled = [peeling_lead(20, 5, 0.2, beta) for beta in (1e-3, 1e-9)]
    boosted = [
        confident_lead(20, confident_settings(1.0, 1e-6, beta, 5), beta)
        for beta in (1e-3, 1e-9)
    ]
    slope = (peeled[1] - peeled[0]) / math.log(1e6)
    assert slope == pytest.approx(10.0, rel=1e-3)
    assert peeled[0] < boosted[0]
    assert peeled[1] > boosted[1]
    assert boosted[1] - boosted[0] < 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: choosing_settings(1.5, 0.1, 0.1, 1), "epsilon is 1.5"),
        (lambda: choosing_settings(1.0, 0.0, 0.1, 1), "delta is 0"),
        (lambda: choosing_settings(1.0, 0.1, 1.0, 1), "beta is 1"),
        (lambda: choosing_settings(1.0, 0.1, 0.1, 0), "bound is 0"),
        (lambda: stable_settings(1.0, 0.1, 0.1, 0), "rank is 0"),
        (lambda: stable_settings(1.0, 0.1, 0.1, 1, shares=0), "shares is 0"),
        (lambda: clipped_scores([1.0, 2.0], 2), "rank is 2"),
        (lambda: group_law([1.0, 2.0], [1.0], CHOOSING), "counts must hold"),
        (lambda: group_law([1.0], [0.5], CHOOSING), "counts must hold"),
        (lambda: needed_lead(1, 1, CHOOSING, 0.0), "failure is 0"),
        (lambda: confident_settings(0.0, 0.1, 0.1, 1), "epsilon is 0"),
        (lambda: set_gaps([1.0, 2.0], 2), "k is 2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
