"""Constructed pairs: they are what they claim to be."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.host.errors import InputError
from tests.accounting.worst_pair import approximate_pair

FIXED = [
    pairs.randomised_response(1.0),
    pairs.bernoulli(0.2, 0.5),
    pairs.three_outcome(1.0),
    pairs.approximate_three_outcome(0.3, 0.05, 1e-3, 0.01),
    approximate_pair(1.0, 0.01),
    pairs.fixed_runs_constant(0.3, 7),
    pairs.tight_conditional(1.0, 2.0),
    pairs.tight_generic(),
]


@pytest.mark.parametrize("pair", FIXED)
def test_are_laws(pair):
    for law in pair:
        assert np.all(law >= 0)
        assert law.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_pure_pairs_have_exactly_their_epsilon(epsilon):
    limit = 1 / (1 + math.exp(epsilon))
    for pair in (
        pairs.randomised_response(epsilon),
        pairs.three_outcome(epsilon, limit, 0.3 * limit),
        pairs.three_outcome(epsilon, limit / 3, 1e-9),
    ):
        assert divergences.exact_epsilon(*pair) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("p", [1e-12, 0.01, 0.3, 0.5, 0.9, 0.9999])
def test_extreme_neighbours_are_extreme(epsilon, p):
    for extreme, beyond in zip(
        pairs.extreme_neighbours(p, epsilon), (1 - 1e-6, 1 + 1e-6), strict=True
    ):
        close = divergences.exact_epsilon(*pairs.bernoulli(p, extreme))
        assert close == pytest.approx(epsilon, rel=1e-6)
        # one step further on the odds scale is not epsilon-close
        odds = extreme / (1 - extreme) * beyond
        further = pairs.bernoulli(p, odds / (1 + odds))
        assert divergences.exact_epsilon(*further) > close


def test_random_pure_pairs_are_close_and_reach_epsilon():
    generator = np.random.default_rng(21)
    reached = []
    for _ in range(200):
        size = int(generator.integers(2, 12))
        pair = pairs.random_pure_pair(generator, size, 0.7)
        epsilon = divergences.exact_epsilon(*pair)
        assert epsilon <= 0.7 * (1 + 1e-12)
        reached.append(epsilon > 0.7 * (1 - 1e-12))
    assert np.mean(reached) > 0.9


def test_random_pairs_are_reproducible_and_general():
    first = pairs.random_pair(np.random.default_rng(5), 6)
    again = pairs.random_pair(np.random.default_rng(5), 6)
    np.testing.assert_array_equal(first, again)
    assert divergences.exact_epsilon(*first) > 1.0


def test_approximate_pair_is_the_definition():
    p, q = approximate_pair(0.8, 0.1)
    np.testing.assert_allclose(p, q[::-1])
    assert divergences.profile_delta(p, q, 0.8) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pairs.randomised_response(0.0),
        lambda: pairs.bernoulli(1.2, 0.5),
        lambda: pairs.three_outcome(1.0, 0.3),
        lambda: pairs.three_outcome(1.0, 0.2, 0.3),
        lambda: pairs.fixed_runs_constant(1.0, 0),
        lambda: pairs.tight_conditional(1.0, 1.0, 0.3),
        lambda: pairs.random_pair(np.random.default_rng(0), 1),
        lambda: pairs.random_pure_pair(np.random.default_rng(0), 3, math.inf),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
