"""The packing bound of Liu & Talwar's Theorem D.2, and the cost of hard stops."""

import math

import mpmath
import numpy as np
import pytest

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.thresholds.claims.packing import dominance, large_candidates, packing_path
from jaxsel.families.thresholds.packing_laws import (
    packing_bound,
    packing_distance,
    packing_law,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.random_stopping import (
    hard_stop_excess,
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from jaxsel.tuning.claims.stopping.hard_stop import hard_stop_law

# --- Theorem D.2 ----------------------------------------------------------------------


def test_packing_numbers():
    assert packing_distance(0.1, 1000, 0.1) == math.ceil(6.0 * math.log(1000))
    assert packing_bound(0.1, 1000, 0.1) == pytest.approx(0.9 * math.log(1000) / 42)
    assert packing_successes(100, 0.5) == pytest.approx((0.05, 0.95, 0.0005, 0.05))
    assert dominance(100, 0.5) == pytest.approx(0.95 * (1 - 0.0005) ** 99)
    assert large_candidates(0.1, 0.1) == pytest.approx(0.07 / 0.03)
    law = packing_law(0.9, 0.1, 4)
    assert law == pytest.approx([0.075, 0.225, 0.675, 0.025])


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0])
@pytest.mark.parametrize("candidates", [2, 50, 1e9])
def test_paths_are_private_and_no_longer_than_said(epsilon, candidates):
    start, winner, loser, miss = packing_successes(candidates, 0.2)
    distance = packing_distance(epsilon, candidates, 0.2)
    for end, rest in ((winner, miss), (loser, None)):
        path = packing_path(start, end, epsilon, rest)
        np.testing.assert_allclose(path.sum(axis=1), 1.0, atol=1e-12)
        steps = np.abs(np.diff(np.log(path), axis=0))
        assert steps.max() <= epsilon * (1 + 1e-9)
        assert len(path) - 1 <= distance
        # No step is wasted: every one but the last is as large as it may be.
        assert np.all(steps[:-1].max(axis=1) >= epsilon * (1 - 1e-9))


def test_the_least_exponential_mechanism_is_just_useful():
    least = smallest_exponential_epsilon(0.1, 1000, 0.1)
    odds = math.exp(least * packing_distance(0.1, 1000, 0.1))
    assert odds / (odds + 999) == pytest.approx(1000**-0.1, rel=1e-12)
    assert least > packing_bound(0.1, 1000, 0.1)


# --- Hard stops -----------------------------------------------------------------------


def test_worst_case_of_a_hard_stop():
    # One draw at most loses epsilon; two at most, with little stopping, nearly twice.
    assert hard_stop_worst(0.5, 0.1, 1) == pytest.approx(0.5, abs=1e-12)
    assert 0.9 < hard_stop_worst(0.5, 1e-3, 2) <= 1.0
    # Far away the cap is not felt: the worst of random stopping, 3 epsilon at most.
    assert hard_stop_worst(0.3, 1e-3, 10**5) == pytest.approx(0.9, abs=2e-3)
    # Above 3 epsilon at a short stop, as on the pair of LT-E13, and never below a pair.
    pair = pairs.three_outcome(0.3, 0.064, 1e-3)
    seen = exact_epsilon(*(hard_stop_law(side, 0.003, 36) for side in pair))
    worst = hard_stop_worst(0.3, 0.003, 36)
    assert 1.07 < seen < worst
    small = pairs.three_outcome(0.3, 0.1337, 1e-8)
    seen = exact_epsilon(*(hard_stop_law(side, 0.003, 36) for side in small))
    assert worst * 0.97 < seen <= worst


@pytest.mark.parametrize(("gamma", "steps"), [(0.3, 6), (0.01, 250), (0.04, 90)])
@mpmath.workdps(50)
def test_the_factor_of_a_hard_stop(gamma, steps):
    """f_T'/f' lies between the two numbers whose logarithms make the excess."""
    seen = []
    for g in np.concatenate([[0.0], np.geomspace(gamma / 100, 0.9, 60)]):
        s = 1 - mpmath.mpf(float(g))
        again = 1 - mpmath.mpf(gamma)
        capped = sum(k * gamma * again ** (k - 1) * s ** (k - 1) for k in range(1, steps))
        capped += steps * again ** (steps - 1) * s ** (steps - 1)
        seen.append(float(capped / (gamma / (1 - again * s) ** 2)))
    low = -math.expm1(steps * math.log1p(-gamma))
    high = 1 + steps * gamma * (1 - gamma) ** (steps - 1)
    assert min(seen) == pytest.approx(low, rel=1e-12)
    assert low * (1 - 1e-12) <= min(seen)
    assert max(seen) <= high
    assert hard_stop_excess(gamma, steps) == pytest.approx(math.log(high / low))


@pytest.mark.parametrize("slack", [0.3, 0.1, 1e-3])
def test_the_sharp_hard_stop_is_least_and_early(slack):
    for gamma in (0.1, 1e-3, 1e-5):
        steps = hard_stop_steps_sharp(gamma, slack)
        assert hard_stop_excess(gamma, steps) <= 3 * slack
        if (steps - 1) >= 2 / gamma - 1:
            assert hard_stop_excess(gamma, steps - 1) > 3 * slack
        assert steps < hard_stop_steps_pure(gamma, slack)
    # No log(1/gamma): T gamma hardly changes.
    assert 1e-5 * steps == pytest.approx(1e-3 * hard_stop_steps_sharp(1e-3, slack), rel=0.01)
    with pytest.raises(InputError, match="steps is 5"):
        hard_stop_excess(0.1, 5)
