"""Private amplification: exact laws by enumeration, samplers against them."""

import itertools
import math

import numpy as np
import pytest

from jaxsel.families.amplification.amplification import private_amplification
from jaxsel.families.amplification.laws import (
    amplified_law,
    amplified_law_of_different,
    capped_weights,
    compositions,
    two_value_amplified_law,
)
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate
from tests.conftest import ALPHA
from tests.families.entry_checks import check_guarantee, check_methods_follow_law, entries_of


def test_amplified_law_by_enumeration():
    q, weights, gamma = [0.2, 0.5, 0.3], np.array([1.0, 0.4, 0.01]), 0.1
    dummy, expected = 11.0, np.zeros(4)
    for draws in itertools.product(range(3), repeat=4):
        chance = math.prod(q[i] for i in draws)
        total = dummy + sum(weights[i] for i in draws)
        for i in draws:
            expected[i] += chance * weights[i] / total
        expected[3] += chance * dummy / total
    np.testing.assert_allclose(amplified_law(q, weights, 4, gamma), expected, rtol=1e-13)
    different = amplified_law_of_different([q] * 4, weights, gamma)
    np.testing.assert_allclose(different, expected, rtol=1e-13)


DIFFERENT = {
    "probabilities": [[0.1, 0.3, 0.6], [0.7, 0.2, 0.1], [0.05, 0.05, 0.9], [0, 0, 1.0]],
    "scores": [1.0, 0.4, -1.0],
}
TUNED = {"threshold": 0.8, "score_epsilon": 2.0, "gamma": 0.2}


def enumerated():
    """The law of DIFFERENT, by all scores of all candidates."""
    weights, dummy = [1.0, math.exp(-0.8), math.exp(-3.6)], 6.0
    expected = np.zeros(4)
    for draws in itertools.product(range(3), repeat=4):
        laws = DIFFERENT["probabilities"]
        chance = math.prod(laws[i][x] for i, x in enumerate(draws))
        total = dummy + sum(weights[x] for x in draws)
        for x in draws:
            expected[x] += chance * weights[x] / total
        expected[3] += chance * dummy / total
    return expected


def test_different_candidates(seed):
    wrong = private_amplification().law(
        DIFFERENT | {"probabilities": np.mean(DIFFERENT["probabilities"], axis=0)},
        TUNED | {"candidates": 6},
    )
    for method in ("literal", "counts"):
        mechanism = private_amplification(method=method)
        exact = mechanism.law(DIFFERENT, TUNED).probabilities
        np.testing.assert_allclose(exact, enumerated(), rtol=1e-12)
        found = simulate(mechanism, DIFFERENT, TUNED, trials=100_000, seed=seed)
        assert goodness_of_fit(found.values[0], exact) > ALPHA
        assert goodness_of_fit(found.values[0], wrong.probabilities) < ALPHA


def test_two_values_are_the_general_law():
    expected = amplified_law([0.3, 0.7], [1.0, 0.2], 30, 0.2)
    dummy, high, low = two_value_amplified_law(0.2, 30, 0.3, 0.2)
    np.testing.assert_allclose([high, low, dummy], expected, rtol=1e-12)


def test_compositions_are_all_of_them():
    found = compositions(5, 3)
    assert len(found) == math.comb(7, 2) == len(np.unique(found, axis=0))
    assert np.all(found.sum(axis=1) == 5)
    assert np.all(found >= 0)
    np.testing.assert_array_equal(compositions(4, 1), [[4]])
    with pytest.raises(InputError, match="fewer scores"):
        compositions(500, 5)


def test_an_infinite_parameter_keeps_what_reaches_the_threshold():
    weights = capped_weights([1.5, 1.0, 0.999], 1.0, math.inf)
    np.testing.assert_array_equal(weights, [1.0, 1.0, 0.0])
    near = capped_weights([1.5, 1.0, 0.999], 1.0, 1e5)
    np.testing.assert_allclose(near, weights, atol=1e-40)


def test_every_method_samples_the_exact_law(seed):
    (entry,) = entries_of("amplification")
    settings = ({}, {"score_epsilon": "inf"}, {"candidates": "1"})
    check_methods_follow_law(entry, settings, seed)


def test_the_promise_is_kept(seed):
    (entry,) = entries_of("amplification")
    check_guarantee(entry)


SCORED = {"probabilities": [0.5, 0.5], "scores": [0.5, 0.0]}


@pytest.mark.parametrize(
    ("data", "params", "message"),
    [
        (SCORED, {"candidates": 3}, "threshold"),
        (SCORED, {"candidates": 3, "threshold": 0.5, "tau": 1}, "tau is no parameter"),
        (SCORED, {"candidates": 3, "threshold": 0.5, "gamma": 0.3}, "gamma is 0.3"),
        (SCORED, {"candidates": 3, "threshold": math.nan}, "threshold is nan"),
        (SCORED, {"candidates": 10**9, "threshold": 0.5}, "candidates is 1000000000"),
        (SCORED, {"threshold": 0.5}, "candidates is missing"),
        (DIFFERENT, TUNED | {"candidates": 3}, "there are 4 laws"),
        (
            {"probabilities": [1.0], "scores": [0.0, 1.0]},
            {"candidates": 3, "threshold": 0.5},
            "equally many",
        ),
        (
            {"probabilities": np.full(8, 0.125), "scores": np.arange(8.0)},
            {"candidates": 100, "threshold": 0.5},
            "fewer scores",
        ),
    ],
)
def test_bad_input(data, params, message):
    with pytest.raises(InputError, match=message):
        private_amplification().prepare(data, params)


def test_unknown_method():
    with pytest.raises(InputError, match="method is"):
        private_amplification(method="jump")
