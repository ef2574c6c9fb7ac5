"""Numbers behind the errata and remarks of Zhu & Wang 2022."""

import itertools
import math
import operator

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.catalogue import find_claim
from jaxsel.families.top_k.claims import neighbours, noisy_gaps, stability
from jaxsel.families.top_k.gaps import pass_probability, threshold_factor
from jaxsel.host.intervals import clopper_pearson
from tests.conftest import ALPHA

# --- Lemma 10 (E-ZW-1) ----------------------------------------------------------------


def test_neighbours_by_brute_force():
    """Three candidates, counts up to 2: votes enumerated in plain Python."""
    first, second = neighbours.neighbours(3, 2)
    rows = zip(first.tolist(), second.tolist(), strict=True)
    found = {(tuple(a), tuple(b)) for a, b in rows}
    wanted = set()
    for counts in itertools.product(range(3), repeat=3):
        for vote in itertools.product((0, 1), repeat=3):
            if any(vote):
                wanted.add((counts, tuple(map(operator.add, counts, vote))))
    assert found == wanted
    assert len(first) == 27 * 7


def test_gap_and_set_of_the_counterexample():
    data = np.array([[9, 4], [8, 4]])
    assert neighbours.gaps_of(data).ravel().tolist() == [5, 4]
    assert neighbours.indicator(data, 1).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_sets_differ_only_if_both_gaps_are_at_most_one():
    pairs = neighbours.gap_pairs()
    differ = {(gap, other) for gap, other, same in pairs if not same}
    assert differ == {(0, 0), (0, 1), (1, 0)}  # (0, 0) by breaking ties
    assert any(same and gap > 1 for gap, _, same in pairs)


# --- Lemma 18 (E-ZW-2) ----------------------------------------------------------------


def test_hypothesis_of_lemma_18_in_high_precision():
    with mp.workdps(30):
        margin = mp.sqrt(2 * mp.log(10))
        printed = float(mp.ncdf(1 - margin))
        corrected = float(mp.ncdf(-margin))
    claimed = find_claim("ZW-Lem18-hypothesis-printed").evaluate()
    assert printed > 1.2 * claimed
    assert corrected <= find_claim("ZW-Lem18-hypothesis").evaluate()
    # The point of each check at q_k = 0, noise scale 1, delta_t = 0.1.
    above_gap = stability.chance_above_gap(delta_t=0.1, noise_scale=1.0, gap=0)
    assert above_gap == pytest.approx(printed, rel=1e-12)
    above_centre, _ = stability.chance_above_centre(delta_t=0.1)
    assert above_centre == pytest.approx(corrected, rel=1e-12)


def test_hypothesis_of_lemma_18_by_simulation():
    generator, trials, delta_t = np.random.default_rng(20240503), 10**6, 0.1
    noise = generator.standard_normal(trials)
    noisy_gap = max(1, 0) + noise - math.sqrt(2.0 * math.log(1.0 / delta_t))
    low, high = clopper_pearson(int(np.sum(noisy_gap >= 0)), trials, 1.0 - ALPHA)
    exact = float(special.ndtr(1.0 - math.sqrt(2.0 * math.log(10.0))))
    assert low > delta_t
    assert low <= exact <= high
    assert not low <= 1.02 * exact <= high  # power: 2 % off is seen
    _, high = clopper_pearson(int(np.sum(noisy_gap > 1)), trials, 1.0 - ALPHA)
    assert high < delta_t / 2


def test_release_delta_by_simulation():
    """The released set or nothing, on gaps 2 -> 1 with equal sets."""
    generator, trials = np.random.default_rng(20240504), 10**6
    factor, scale = threshold_factor(0.3), 1.0
    chances = pass_probability([2, 1], scale, 0.3).tolist()
    passed = []
    for gap in (2, 1):
        noisy = max(1, gap) + scale * generator.standard_normal(trials)
        passed.append(int(np.sum(noisy - scale * factor > 1.0)))
    for count, exact in zip(passed, chances, strict=True):
        low, high = clopper_pearson(count, trials, 1.0 - ALPHA)
        assert low <= exact <= high
        assert not low <= exact + 0.01 <= high
    pair = [[p, 1.0 - p] for p in chances]
    for epsilon in (0.0, 0.3):
        assert neighbours.release_delta(epsilon, chances[0], chances[1], True) == pytest.approx(
            float(hockey_stick(*pair, epsilon)), rel=1e-12
        )


# --- Theorem 8 and the experiment (R-ZW-3, R-ZW-4) ------------------------------------


def test_first_gap_wins_by_quadrature():
    """The Gaussian maximum of two gaps, integrated over the first one's noise."""
    histograms, scale = np.array([[5, 3, 0], [2, 2, 1]]), 1.5
    computed = noisy_gaps.first_gap_wins(histograms, scale)
    for value, (g1, g2) in zip(computed, neighbours.gaps_of(histograms).tolist(), strict=True):
        with mp.workdps(20):
            exact = mp.quad(
                lambda r, g1=g1, g2=g2: mp.npdf(r) * mp.ncdf(r + (g1 - g2) / scale),
                [-12, -4, 0, 4, 12],
            )
        assert value == pytest.approx(float(exact), rel=1e-10)


def test_experiment_on_a_grid_of_orders():
    """The multi-label setting, its parts spelled out at many orders."""
    orders = 1.0 + np.exp(np.linspace(-3.0, 8.0, 200_001))
    left = -math.log(1e-6 - 600 * 1e-9) / (orders - 1.0)
    test = 600 * orders / (2.0 * 60.0**2)
    gaussian = 600 * (2.0 * orders / 50.0**2 + math.log(40.0) / (orders - 1.0))
    gumbel = 600 * (4.0 / 50.0) ** 2 * orders / 8.0
    assert np.min(gaussian + test + left) == pytest.approx(
        find_claim("ZW-EXP3").evaluate(), rel=1e-8
    )
    assert np.min(gumbel + test + left) < 0.1 * np.min(gaussian + test + left)
