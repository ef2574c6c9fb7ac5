"""The noise that runs, against numbers worked out by hand from the papers' text."""

import math

import mpmath
import numpy as np
import pytest

from jaxsel.families.top_k import scales
from jaxsel.families.top_k.baselines import top_stable
from jaxsel.families.top_k.confident_laws import confident_settings, smallest_gap_law
from jaxsel.families.top_k.confident_top_k import confident_top_k
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.recall import Groups, hit_law
from jaxsel.families.top_k.stable import propose_test_release, stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.language.base import Relation

COUNTS = [9.0, 4.0, 3.0, 1.0]  # gaps 5, 1, 2
# Zhu & Wang 2022, Algorithm 4, step 4: the threshold sigma sqrt(2 log(1/delta_t)).
REACH = float(mpmath.sqrt(2 * mpmath.log(20)))  # delta_t = 0.05, in units of sigma

close = pytest.approx


def prepared(mechanism, data, params):
    return mechanism.prepare(data, params)[0]


# --- Formulas of the papers -----------------------------------------------------------


def test_scales_by_hand():
    # Algorithm 1, step 3: Gumbel(2/epsilon).
    assert scales.largest_gap_scale({"epsilon": 0.8}, "gumbel") == close(2.5)
    assert scales.largest_gap_scale({"noise_scale": 0.8}, "gaussian") == 0.8
    # Algorithm 2, steps 2 and 3: epsilon = 2 sqrt(rho) = .8, sigma = sqrt(1/rho).
    assert scales.stable_top_k_scales({"rho": 0.16}) == close((2.5, 2.5))
    own = {"selection_scale": 2.0, "test_scale": 5.0}
    assert scales.stable_top_k_scales(own) == (2.0, 5.0)
    # Algorithm 3, a quarter of rho = 1/2 each: epsilon^2/8 = 1/8, epsilon = 1, Gumbel(2);
    # 1/(2 sigma^2) = 1/8, sigma = 2.
    assert scales.fixed_top_k_scale(0.5) == close(2.0)
    # Half for k picks of k/(8 b^2)-zCDP: b = sqrt(k/(4 rho)).
    for k in (1, 2, 7):
        assert scales.fixed_peel_scale(0.5, k) == close(math.sqrt(k / 2.0))
    # Counts that move in one direction: k/(8 b^2) = rho; in any: k/(2 b^2) = rho.
    monotone = scales.peel_scale({"rho": 0.125}, 9, Relation.MONOTONE)
    general = scales.peel_scale({"rho": 0.125}, 9, Relation.GENERAL)
    assert (monotone, general) == close((3.0, 6.0))


def test_top_stable_by_hand():
    # Shares .37 and .63 of epsilon; Laplace noise 1/epsilon_1 on the threshold, 2/epsilon_2
    # on the gaps; the threshold is 2 log(1/delta_q)/epsilon_2.
    made = top_stable(2.0, 0.01, 3)
    assert made.threshold_scale == close(1 / 0.74)
    assert made.query_scale == close(2 / 1.26)
    assert made.threshold == close(-2 * math.log(made.delta_query) / 1.26)
    # Three tests, at each of which the noise on a gap may exceed that on the threshold,
    # spend delta at most, and nearly so.
    a, b, t = (mpmath.mpf(x) for x in (made.query_scale, 1 / 0.74, made.threshold))
    tail = (a**2 * mpmath.exp(-t / a) - b**2 * mpmath.exp(-t / b)) / 2 / (a**2 - b**2)
    assert 0.85 * 0.01 < 3 * float(tail) <= 0.01


# --- What the sampler gets ------------------------------------------------------------


@pytest.mark.parametrize("method", ["grouped", "literal"])
def test_sizes_compete_in_units_of_their_noise(method):
    contest = prepared(largest_gap(method=method), COUNTS, {"epsilon": 0.8})
    assert contest.levels[:3] == close([0.0, -3 / 2.5, -4 / 2.5])
    contest = prepared(largest_gap("gaussian", method=method), COUNTS, {"noise_scale": 3.0})
    assert contest.levels[:3] == close([0.0, -1.0, -4 / 3])
    limited = prepared(largest_gap(method=method), COUNTS, {"epsilon": 1, "max_size": 2})
    assert limited.levels[:2] == close([0.0, -2.0])
    assert np.all(np.isneginf(limited.levels[2:]))


@pytest.mark.parametrize("method", ["grouped", "literal"])
def test_stable_top_k_tests_with_its_own_noise(method):
    params = {"selection_scale": 2.0, "test_scale": 5.0, "delta_t": 0.05}
    data = prepared(stable_top_k(method=method), COUNTS, params)
    assert data["contest"].levels[:3] == close([0.0, -1.5, -2.0])
    # q-hat > 1: the noise exceeds REACH - (max{1, q} - 1)/sigma.
    assert data["needed"] == close([REACH - 4 / 5, REACH, REACH - 1 / 5], rel=1e-6)
    laplace = stable_top_k(selection="laplace", test="laplace", method=method)
    data = prepared(laplace, COUNTS, params)
    # Algorithm 5, step 4: q + Lap(b) - b log(1/delta_t).
    lead = math.log(20.0)
    assert data["needed"] == close([lead - 4 / 5, lead, lead - 1 / 5], rel=1e-6)
    # The exact law keeps the two noises apart, too: softmax(gaps/2), Phi of the rest.
    found = stable_top_k(method=method, events="sets").law(COUNTS, params)
    weights = [mpmath.exp(gap / 2) for gap in (5, 1, 2)]
    first = weights[0] / sum(weights) * mpmath.ncdf(0.8 - REACH)
    assert found.probabilities[0b0001] == close(float(first))
    kept = weights[2] / sum(weights) * mpmath.ncdf(REACH - 0.2)
    assert found.probabilities[-1] == close(float(kept))
    assert found.labels[-1] == "nothing, size 3"


def test_the_quantile_threshold_is_the_quantile():
    params = {"k": 2, "noise_scale": 5.0, "delta_t": 0.05}
    data = prepared(propose_test_release(threshold="quantile"), COUNTS, params)
    assert data["needed"] == close([1.6448536269514722], rel=1e-6)
    data = prepared(propose_test_release("laplace", threshold="quantile"), COUNTS, params)
    assert data["needed"] == close([math.log(10.0)], rel=1e-6)
    data = prepared(propose_test_release(), COUNTS, params | {"k": 1})
    assert data["needed"] == close([REACH - 0.8], rel=1e-6)


@pytest.mark.parametrize("beyond", ["keep", "drop"])
def test_fixed_top_k_spends_a_quarter_a_quarter_and_a_half(beyond):
    params = {"k": 2, "rho": 0.5, "delta_t": 0.05, "weight": 0.5}
    made = fixed_top_k(method="literal", beyond=beyond)
    data = prepared(made, COUNTS, params)
    # q_j - |j - 2|/2 = 4.5, 1, 1.5, in units of 2.
    assert data["contest"].levels[:3] == close([0.0, -1.5, -1.75])
    assert data["needed"] == close([REACH - 2.0, REACH, REACH - 0.5], rel=1e-6)
    # Two picks cost k/(8 b^2) = 1/4 at b = 1; one at b = sqrt(1/2).
    root = math.sqrt(2.0)
    last = 1.0 if beyond == "keep" else -root
    assert data["slope"] == close([1.0, root, root, last], rel=1e-6)
    picks = [2, 1, 0, 2 if beyond == "keep" else 1]
    assert data["picks"].tolist() == picks
    fast = prepared(fixed_top_k(method="arrivals", beyond=beyond), COUNTS, params)
    assert fast["races"].slope[fast["row"]] == close([1.0, root, root, last], rel=1e-6)


@pytest.mark.parametrize(("relation", "scale"), [("monotone", 1.0), ("general", 2.0)])
def test_peeling_runs_at_its_scale(relation, scale):
    params = {"k": 2, "rho": 0.25}  # k/(8 b^2) = 1/4 at b = 1
    for method in ("one_shot", "peeling"):
        made = exponential_top_k(method=method, relation=relation)
        data = prepared(made, COUNTS, params)
        assert data["levels"] == close(np.array([5, 0, -1, -3]) / scale)
    fast = exponential_top_k(method="arrivals", relation=relation)
    assert prepared(fast, COUNTS, params)["races"].slope == close([1 / scale])


def test_limited_domain_by_hand():
    # Durfee & Rogers 2019: count number k-bar + 1, plus 1 + log(k-bar/delta)/epsilon.
    params = {"k": 1, "epsilon": 0.5, "delta": 0.1, "domain": 2}
    data = prepared(limited_domain(), COUNTS, params)
    assert data["levels"] == close([0.0, -2.5])
    stop = 3.0 + 1.0 + math.log(20.0) / 0.5
    assert data["stop"] == close((stop - 9.0) * 0.5, rel=1e-6)


def test_top_stable_tests_in_units_of_its_noise():
    params = {"k": 2, "epsilon": 2.0, "delta": 0.01}
    made = top_stable(2.0, 0.01, 2)
    data = prepared(top_stable_sets(), COUNTS, params)
    lead = made.threshold * 0.63
    assert data["above"] == close([4 * 0.63 - lead, 0.0 - lead], rel=1e-6)
    assert data["threshold_noise"] == close(0.63 / 0.74, rel=1e-6)


def test_labels_are_released_with_the_noise_that_is_asked_for():
    data = {"votes": [6.0, 1.0], "truth": np.array([True, False])}
    params = {"noise_scale": 2.0, "threshold": 4.0}
    assert prepared(noisy_labels(), data, params)["levels"] == close([1.0, -1.5])
    law = noisy_labels(events="sets").law(data, params).probabilities
    assert law[0b01] == close(float(mpmath.ncdf(1) * mpmath.ncdf(1.5)))


def test_confident_top_k_runs_at_its_settings():
    # epsilon/6 for each pick of one, weights exp(epsilon_r score/2); Lap(12/epsilon).
    params = {"epsilon": 3.0, "delta": 1e-6, "beta": 0.1, "k": 1}
    _, given = confident_top_k().prepare([2.0, 1.0, 0.0], params)
    assert given["half_epsilon"] == close(0.25)
    assert given["gap_scale"] == close(4.0)
    assert given["most_runs"] == 40
    _, given = confident_top_k().prepare([2.0, 1.0, 0.0], params | {"k": 2})
    assert given["half_epsilon"] == close(0.125)


# --- What a claim says of its own slack -----------------------------------------------


@pytest.mark.parametrize(("k", "candidates"), [(200, 400), (200, 201)])
def test_no_set_of_many_loses_more_than_its_epsilon(k, candidates):
    """CL-Thm6: the chance is below 1e-13 where delta is nearly 1."""
    settings = confident_settings(0.5, 0.99, 0.99, k)
    assert k * settings.round_epsilon > 0.5  # the rounds alone might
    sides = []
    for lead in (0.0, 2.0):
        groups = Groups(
            np.array([lead, 0.0]), np.array([k, candidates - k]), np.array([True, False])
        )
        weights = hit_law(groups, k, 2.0 / settings.round_epsilon)
        gaps = np.full(k + 1, lead)
        gaps[-1] = -lead
        sides.append(smallest_gap_law(gaps, weights, settings))
    for first, second in (sides, sides[::-1]):
        assert np.maximum(first - math.exp(0.5) * second, 0.0).sum() < 1e-13
