"""Exact laws of top-k sets, and exact privacy of StableTopK on small histograms."""

import itertools
import math

import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, profile_delta
from jaxsel.families.top_k.baseline_laws import limited_domain_law, top_stable_law
from jaxsel.families.top_k.baselines import exponential_top_k_scale, top_stable
from jaxsel.families.top_k.calibration import largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.gaps import pass_probability
from jaxsel.families.top_k.laws import (
    first_arrivals,
    fixed_top_k_law,
    gaps_of,
    largest_gap_law,
    peeled_law,
    prefix_masks,
    released_law,
    set_labels,
    set_size,
    top_k_set_law,
    vote_neighbours,
)
from jaxsel.families.top_k.parameters import BEYOND
from jaxsel.families.top_k.recall import Groups, group_counts, hit_law
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.language.base import Relation
from tests.conftest import ALPHA

HISTOGRAM = np.array([4.0, 3, 2, 1, 0, 2])


def masks_of(sequences):
    return [sum(1 << i for i in sequence) for sequence in sequences]


# --- Sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 6])
def test_set_law_is_the_sum_over_orders(k):
    found = top_k_set_law(HISTOGRAM / 1.5, k)
    orders = masks_of(itertools.permutations(range(6), k))
    summed = np.bincount(orders, weights=peeled_law(HISTOGRAM / 1.5, k), minlength=64)
    assert found == pytest.approx(summed, abs=1e-14)
    assert found.sum() == pytest.approx(1.0)


def test_arrivals_far_apart_do_not_cancel():
    law = first_arrivals([0.0, -800.0, -1600.0])
    assert law[[1, 3, 7]] == pytest.approx([1.0, 1.0, 1.0])
    assert law[4] == 0.0


def test_one_shot_sets_against_simulation(seed):
    generator = np.random.default_rng(seed)
    noisy = HISTOGRAM + 1.5 * generator.gumbel(size=(200_000, 6))
    chosen = np.argpartition(-noisy, 3, axis=1)[:, :3]
    seen = np.bincount((1 << chosen).sum(axis=1), minlength=64)
    assert goodness_of_fit(seen, top_k_set_law(HISTOGRAM / 1.5, 3)) > ALPHA
    assert goodness_of_fit(seen, top_k_set_law(HISTOGRAM / 1.6, 3)) < ALPHA


def test_neighbours():
    assert len(list(vote_neighbours([2, 2, 2]))) == 14
    assert len(list(vote_neighbours([1, 0, 0]))) == 7 + 1
    assert set_labels(2, kept_back=True)[-2:] == ("{0,1}", "nothing, size 1")
    assert prefix_masks([5.0, 7.0, 5.0]).tolist() == [2, 3, 7]


# --- Recall ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "recall"),
    [
        (10, 0.986),
        (20, 0.827),
        (50, 0.420),
        (100, 0.240),
        (200, 0.172),
        (500, 0.160),
        (1500, 0.223),
    ],
)
def test_recall_on_the_synthetic_histogram(k, recall):
    groups = Groups(np.array([700.0, 0.0]), np.array([k, 15_000 - k]), np.array([True, False]))
    rho = largest_rho(0.15, 1e-6)
    law = hit_law(groups, k, exponential_top_k_scale(rho, k))
    assert law @ np.arange(k + 1) / k == pytest.approx(recall, abs=5e-4)
    if k == 10:
        scale = exponential_top_k_scale(rho, k, Relation.GENERAL)
        general = hit_law(groups, k, scale) @ np.arange(k + 1) / k
        assert general == pytest.approx(0.243, abs=5e-4)


def test_recall_of_stable_top_k_on_the_synthetic_histogram():
    noise = stable_top_k_calibration(0.15, 1e-6)
    gaps = np.zeros(14_999)
    gaps[9] = 700.0
    chosen = largest_gap_law(gaps, noise.selection_scale)[9]
    passed = pass_probability(700.0, noise.test_scale, noise.delta_t)
    assert chosen == pytest.approx(0.984, abs=5e-4)
    assert passed == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("k", "scale"), [(1, 0.5), (4, 2.0), (8, 30.0), (10, 1.0)])
def test_hit_law_is_that_of_the_sets(k, scale):
    """The integral against enumeration, ties across the border included."""
    counts = np.array([9.0, 7, 7, 5, 4, 3, 3, 3, 1, 0, 0])
    wanted = np.array([1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1], dtype=bool)
    law = top_k_set_law(counts / scale, k)
    bits = np.arange(law.size)[:, None] >> np.arange(11) & 1
    exact = np.bincount((bits * wanted).sum(axis=1), weights=law, minlength=k + 1)
    groups = group_counts(counts, wanted)
    found = hit_law(groups, k, scale)
    assert found == pytest.approx(exact[: k + 1], abs=1e-11)


def test_hit_law_with_a_stop_is_that_of_the_limited_domain():
    counts, k, epsilon, delta = np.array([9.0, 7, 7, 5, 4]), 3, 0.6, 0.05
    sets = limited_domain_law(counts, k, epsilon, delta, 4)
    wanted = np.arange(5) < k
    bits = np.arange(32)[:, None] >> np.arange(5) & 1
    exact = np.bincount((bits * wanted).sum(axis=1), weights=sets, minlength=4)
    stop = 4.0 + 1.0 + math.log(4 / delta) / epsilon
    groups = group_counts(counts[:4], wanted[:4])
    assert hit_law(groups, k, 1 / epsilon, stop=stop) == pytest.approx(exact, abs=1e-11)


# --- Baselines ------------------------------------------------------------------------


def test_top_stable_against_simulation(seed):
    generator = np.random.default_rng(seed)
    settings, gaps = top_stable(1.0, 0.01, 3), np.array([12.0, 3.0, 7.0])
    trials = 200_000
    level = settings.threshold + settings.threshold_scale * generator.laplace(size=trials)
    size = np.zeros(trials, dtype=int)
    for k in (3, 2, 1):
        noisy = gaps[k - 1] - 1 + settings.query_scale * generator.laplace(size=trials)
        size[(size == 0) & (noisy > level)] = k
    law = top_stable_law(gaps, settings, 3)
    assert goodness_of_fit(np.bincount(size, minlength=4), law) > ALPHA
    wrong = top_stable_law(gaps + 0.3, settings, 3)
    assert goodness_of_fit(np.bincount(size, minlength=4), wrong) < ALPHA


# --- StableTopK -----------------------------------------------------------------------

BORDERLINE = [(5, 5, 0), (6, 5, 5, 2, 1), (9, 8, 4, 3, 3), (5, 5, 2, 2, 0), (4, 3, 2, 1, 0)]


def stable_law(counts, rho, delta_t):
    scale = 1.0 / math.sqrt(rho)
    chosen = largest_gap_law(gaps_of(counts), scale)
    return released_law(counts, chosen, scale, delta_t)


@pytest.mark.parametrize("unit", [1.0, 1e8, 1e18, 1e150])
def test_ties_stay_ties_at_any_level(unit):
    law = top_k_set_law(unit * np.array([6.0, 5, 5, 2]), 2)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert law[0b011] == pytest.approx(law[0b101], rel=1e-12)


@pytest.mark.parametrize("counts", BORDERLINE)
def test_exact_privacy_of_stable_top_k_is_below_the_claim(counts):
    """All sets of votes, added and removed; the released sets may differ."""
    counts = np.array(counts, dtype=float)
    for rho, delta_t in ((0.5, 0.1), (0.1, 1e-3), (2.0, 0.01)):

        def law(histogram, rho=rho, delta_t=delta_t):
            return stable_law(histogram, rho, delta_t)

        assert law(counts).sum() == pytest.approx(1.0)
        for delta in (0.01, 1e-6):
            claimed = rho + 2 * math.sqrt(rho * math.log(1 / delta))
            spent, others = delta + delta_t, [law(x) for x in vote_neighbours(counts)]
            epsilon = max(epsilon_at_delta(law(counts), other, spent) for other in others)
            assert 0.0 < epsilon < claimed
            for other in others:
                assert profile_delta(law(counts), other, claimed) < spent
                assert profile_delta(law(counts), other, epsilon) <= spent + 1e-12


def test_a_set_that_changes_costs_delta():
    """(5, 5, 0) against (5, 6, 0): the two sets that may be released do not overlap."""
    first = stable_law(np.array([5.0, 5, 0]), 0.5, 0.05)
    second = stable_law(np.array([5.0, 6, 0]), 0.5, 0.05)
    assert first[1] > 0 == second[1]
    assert second[2] > 0 == first[2]
    assert profile_delta(first, second, 50.0) >= max(first[1], second[2])


def test_sizes_excluded_by_the_regulariser_are_not_selected():
    law = largest_gap_law([1.0, 5.0, 2.0], 1.0, [0.0, -np.inf, 0.0])
    assert law[1] == 0.0
    assert law[2] / law[0] == pytest.approx(math.e)


@pytest.mark.parametrize("beyond", BEYOND)
def test_fixed_law_has_k_candidates_and_adds_up(beyond):
    def law(rho):
        scale = math.sqrt(2 / rho)
        chosen = largest_gap_law(gaps_of(HISTOGRAM), scale)
        return fixed_top_k_law(
            HISTOGRAM,
            2,
            chosen,
            scale,
            0.1,
            lambda picks: exponential_top_k_scale(rho / 2, picks),
            beyond=beyond,
        )

    found = law(0.5)
    assert found.shape == (5, 2, 64)
    released = found.sum(axis=(0, 1))
    assert released.sum() == pytest.approx(1.0)
    assert np.all(set_size(np.flatnonzero(released)) == 2)
    # with hardly any noise the true top 2 come out
    assert law(1e5).sum(axis=(0, 1))[0b11] == pytest.approx(1.0)


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaps_of([1.0, -2.0]), "negative counts"),
        (lambda: prefix_masks(np.ones(13)), "at most 12"),
        (lambda: first_arrivals(np.ones(13)), "at most 12"),
        (lambda: released_law([3.0, 1.0, 0.0], [1.0], 1.0, 0.1), "one probability a gap"),
        (
            lambda: fixed_top_k_law([3.0, 1.0], 2, [1.0], 1.0, 0.1, lambda c: 1.0),
            "k is 2; it must be below",
        ),
        (lambda: largest_gap_law([1.0], 1.0, [-np.inf]), "excludes every size"),
        (lambda: limited_domain_law([3.0, 1.0], 2, 1.0, 0.1, 1), "domain is 1"),
        (lambda: top_stable_law([1.0], top_stable(1.0, 0.1, 1), 2), "only 1 gaps"),
        (lambda: hit_law(group_counts([3.0, 1.0], [True, False]), 2, 1.0), "k is 2"),
        (lambda: group_counts([3.0, 1.0], [True]), "equal length"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
