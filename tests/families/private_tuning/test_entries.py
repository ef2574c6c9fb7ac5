"""The entries as shipped: laws of K and orders worked out by hand from the papers."""

import math

import jax
import numpy as np
import pytest

from jaxsel import catalogue
from jaxsel.families.private_tuning.noised_bases import random_candidate
from jaxsel.kernel import stream
from jaxsel.tuning.base_laws import ordered_law, survival


def _law(name, **settings):
    return catalogue.find_mechanism(name).build(settings).params["repetitions"]


def _pmf(law, most):
    return np.array([float(law.pmf(np.array(k))) for k in range(1, most + 1)])


@pytest.mark.parametrize("gamma", [0.1, 0.3])
def test_random_stopping_stops_with_probability_gamma(gamma):
    """Liu & Talwar 2019, Algorithm 2: after each run a coin shows heads with gamma."""
    wanted = [gamma * (1 - gamma) ** (k - 1) for k in range(1, 9)]
    assert _pmf(_law("random_stopping", gamma=gamma), 8) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("gamma", "delta"), [(0.1, 1e-6), (0.3, 0.01)])
def test_the_hard_stop_of_theorem_3_4(gamma, delta):
    """T = ceil((1/gamma) log(1/delta)) runs at most."""
    law = _law("random_stopping_capped", gamma=gamma, stop_delta=delta)
    most = math.ceil(math.log(1 / delta) / gamma)
    assert law.maximum == most
    # What random stopping would have done beyond is one more run at the stop.
    assert _pmf(law, most)[-1] == pytest.approx((1 - gamma) ** (most - 1), rel=1e-12)
    assert _pmf(law, 3) == pytest.approx([gamma * (1 - gamma) ** k for k in range(3)])


# X = 2 (1 + gamma)^2 / (slack gamma^2) is 2420 and 125.185; T = ceil((ln X + ln ln X)
# / gamma) = ceil((7.7915 + 2.0530) / 0.1) and ceil((4.8298 + 1.5748) / 0.3).
@pytest.mark.parametrize(("gamma", "slack", "most"), [(0.1, 0.1, 99), (0.3, 0.3, 22)])
def test_the_hard_stop_of_theorem_3_5(gamma, slack, most):
    law = _law("random_stopping_capped_pure", gamma=gamma, slack=slack)
    assert law.maximum == most


def test_the_best_of_three_finite_runs():
    """P(best of three is the first outcome) = 1 - (1 - p)^3; the last only if all are."""
    built = catalogue.find_mechanism("private_tuning").build(
        {"base": "finite", "probabilities": "0.2,0.3,0.5", "repetitions": "point_mass:count=3"}
    )
    assert built.mechanism.law is not None
    law = built.mechanism.law(built.data, built.params).probabilities
    assert law == pytest.approx([1 - 0.8**3, 0.8**3 - 0.5**3, 0.5**3, 0.0], abs=1e-15)


def test_outcomes_are_ordered_best_first():
    found = ordered_law([0.2, 0.3, 0.5], [1.0, 7.0, 7.0])
    assert found.labels.tolist() == [1, 2, 0]
    assert found.scores.tolist() == [7.0, 7.0, 1.0]
    assert found.probabilities.tolist() == [0.3, 0.5, 0.2]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("scores", [[0.9, 0.8, 0.5], [4.0, 0.0, -3.0], [1.0, 1.0]])
def test_the_run_of_a_rank_is_beaten_with_that_probability(noise, scores):
    """A fresh run of a random candidate is better with probability ``rank``."""
    base, scale = random_candidate(noise), 0.7
    with jax.enable_x64(True):
        prepared = base.prepare(np.array(scores), {"noise_scale": scale})
        ranks = np.concatenate([np.geomspace(1e-9, 0.05, 9), np.linspace(0.06, 0.999, 40)])
        key = stream.Key(np.uint32(1), np.uint32(2), np.uint32(3))
        # One program for all ranks: eagerly, each would be a program of its own.
        at_rank = jax.jit(lambda rank: base.at_rank(key, rank, *prepared).score)
        found = [at_rank(jax.numpy.float64(rank)) for rank in ranks]
    above = survival(noise, (np.array(found)[:, None] - scores) / scale).mean(axis=1)
    assert above == pytest.approx(ranks, rel=1e-7)
