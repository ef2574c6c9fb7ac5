"""Laws of Cohen et al. 2022, Theorems 7 and 8, against independent routes."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_cdf
from jaxsel.families.choosing.laws import (
    NoisySelection,
    choosing_settings,
    clipped_scores,
    group_law,
    needed_lead,
    spent_delta,
    stable_settings,
)
from jaxsel.host.errors import InputError

CHOOSING = choosing_settings(1.0, 0.1, 0.5, 2)


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
                    float(truncated_laplace_cdf(y - s, settings.rate, settings.truncation))
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


def choosing_law(scores, settings):
    """Exact law of the selected index, nothing last: Float["candidates + 1"]."""
    levels, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    law = group_law(levels, counts, settings)
    return np.append(law[group] / counts[group], law[-1])


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
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
