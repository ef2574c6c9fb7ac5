"""Liu & Talwar 2019, Algorithm 2: exact laws and bounds, LT-E13 and R-LT-19."""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.random_stopping import (
    hard_stop_approximate,
    hard_stop_steps,
    hard_stop_steps_pure,
    percentile_failure,
    percentile_failure_bound,
    stopping_failure,
    stopping_law,
)
from jaxsel.tuning.claims.stopping.hard_stop import hard_stop_approximate_sharp, hard_stop_law
from tests.tuning.close_pairs import PURE, approximate_pairs

ROUNDING = 1e-9


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.2, 1.0])
def test_theorem_3_2(gamma):
    for epsilon, (p, q) in PURE:
        first, second = stopping_law(p, gamma), stopping_law(q, gamma)
        assert first.sum() == pytest.approx(1.0, abs=1e-12)
        exact = divergences.exact_epsilon(first, second)
        assert exact <= 3 * epsilon + ROUNDING
        if gamma < 1:
            np.testing.assert_allclose(first, tuned_law(p, laws.geometric(gamma))[:-1], rtol=1e-11)
        else:
            np.testing.assert_allclose(first, p)


def test_theorem_3_2_is_tight():
    p, q = pairs.three_outcome(1.0, 1e-3, 1e-9)
    first, second = stopping_law(p, 1e-9), stopping_law(q, 1e-9)
    assert divergences.exact_epsilon(first, second) > 3 * (1 - 1e-4)


@pytest.mark.parametrize("gamma", [0.01, 0.2])
@pytest.mark.parametrize("delta", [1e-4, 0.02])
def test_sharp_delta_of_random_stopping(gamma, delta):
    epsilon = 0.4
    sharp = stopping_failure(delta, gamma)
    ratios = []
    for p, q in approximate_pairs(epsilon, delta, 60, 53):
        first, second = stopping_law(p, gamma), stopping_law(q, gamma)
        exact = float(divergences.profile_delta(first, second, 3 * epsilon))
        ratios.append(exact / sharp)
    assert max(ratios) <= 1 + 1e-9
    assert ratios[0] == pytest.approx(1.0, rel=1e-9)  # attained


@pytest.mark.parametrize("gamma", [0.01, 0.3])
def test_theorem_3_3(gamma):
    generator = np.random.default_rng(54)
    for _ in range(40):
        q = pairs.random_pair(generator, 6).first
        law = stopping_law(q, gamma)
        for share in (0.05, 0.3, 0.7):
            # sup{z : P[score >= z] > p}: the worst outcome that must be kept
            reaching = np.cumsum(q)
            last = int(np.argmax(reaching > share))
            failure = float(law[last + 1 :].sum())
            h = float(reaching[last])
            assert failure == pytest.approx(
                percentile_failure(min(h, 1.0), gamma), rel=1e-6, abs=1e-12
            )
            assert failure <= percentile_failure(share, gamma) + ROUNDING
            assert percentile_failure(share, gamma) <= percentile_failure_bound(share, gamma)


def test_erratum_19_the_sum_in_theorem_3_3_is_a_bound():
    # half of the mass is at the best outcome, so a level for p = 0.1 is reached by 0.5
    gamma, share = 0.2, 0.1
    law = stopping_law([0.5, 0.5], gamma)
    printed = sum((1 - gamma) ** (j - 1) * gamma * (1 - share) ** j for j in range(1, 500))
    assert printed == pytest.approx(percentile_failure(share, gamma), rel=1e-9)
    assert law[1] < printed - 0.3  # printed as an equality
    assert law[1] <= printed <= percentile_failure_bound(share, gamma)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stopping_law([0.5, 0.5], 0.0),
        lambda: stopping_failure(0.1, 0.0),
        lambda: percentile_failure_bound(0.5, 0.0),
        lambda: hard_stop_steps(0.0, 0.1),
        lambda: hard_stop_steps_pure(0.0, 0.1),
    ],
)
def test_erratum_19_gamma_zero_never_stops(call):
    with pytest.raises(InputError, match="gamma"):
        call()


def test_erratum_19_why():
    # as gamma vanishes the number of draws grows without bound
    for gamma in (1e-3, 1e-9):
        assert laws.geometric(gamma).mean == pytest.approx(1 / gamma)


# --- The hard stop --------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.02, 0.4])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_hard_stop_law_by_enumeration(gamma, steps):
    q = np.array([0.05, 1e-9, 0.25, 0.7 - 1e-9])
    below = np.concatenate([1 - np.cumsum(q)])
    above = np.concatenate([[1.0], below[:-1]])
    want = np.zeros(4)
    for k in range(1, steps + 1):
        chance = gamma * (1 - gamma) ** (k - 1) if k < steps else (1 - gamma) ** (k - 1)
        want += chance * (above**k - np.maximum(below, 0.0) ** k)
    np.testing.assert_allclose(hard_stop_law(q, gamma, steps), want, rtol=1e-6)


@pytest.mark.parametrize("slack", [0.01, 0.1, 0.49])
@pytest.mark.parametrize("gamma", [0.01, 0.2, 0.9])
def test_theorem_3_5(gamma, slack):
    steps = hard_stop_steps_pure(gamma, slack)
    x = 2 * (1 + gamma) ** 2 / (slack * gamma**2)
    need = (math.log(x) + math.log(math.log(x))) / gamma
    assert need <= steps < need + 1
    for epsilon, (p, q) in PURE:
        first, second = (hard_stop_law(x, gamma, steps) for x in (p, q))
        exact = divergences.exact_epsilon(first, second)
        assert exact <= 3 * epsilon + 3 * slack + ROUNDING


@pytest.mark.parametrize("gamma", [0.02, 0.2])
@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("stop_delta", [1e-6, 0.05, 0.7])
def test_theorem_3_4_and_the_sharp_bound(gamma, delta, stop_delta):
    epsilon = 0.4
    steps = hard_stop_steps(gamma, stop_delta)
    assert (1 - gamma) ** steps <= stop_delta
    stated = hard_stop_approximate(epsilon, delta, gamma, stop_delta)
    sharp = hard_stop_approximate_sharp(epsilon, delta, gamma, steps)
    for p, q in approximate_pairs(epsilon, max(delta, 1e-12), 30, 55):
        first, second = (hard_stop_law(x, gamma, steps) for x in (p, q))
        exact = divergences.profile_delta(first, second, stated.epsilon)
        assert exact <= stated.delta + ROUNDING
        exact = divergences.profile_delta(first, second, sharp.epsilon)
        assert exact <= sharp.delta + ROUNDING


def test_erratum_13_a_short_hard_stop_is_not_purely_private():
    # Theorem 3.4's 3 epsilon holds up to delta_2 only: 1.07 > 0.9 here
    epsilon, gamma, stop_delta = 0.3, 0.003, 0.9
    steps = hard_stop_steps(gamma, stop_delta)
    assert steps == 36 > math.log(1 / stop_delta) / gamma  # rounded up
    p, q = pairs.three_outcome(epsilon, 0.064, 1e-3)
    first, second = (hard_stop_law(x, gamma, steps) for x in (p, q))
    exact = divergences.exact_epsilon(first, second)
    assert exact == pytest.approx(1.07, abs=6e-3)
    assert exact > 3 * epsilon
    stated = hard_stop_approximate(epsilon, 0.0, gamma, stop_delta)
    assert stated.epsilon == pytest.approx(0.9)
    assert divergences.profile_delta(first, second, stated.epsilon) <= stated.delta
    # Theorem 3.5 repairs it by many more draws
    steps = hard_stop_steps_pure(gamma, 0.05)
    first, second = (hard_stop_law(x, gamma, steps) for x in (p, q))
    exact = divergences.exact_epsilon(first, second)
    assert exact <= 3 * epsilon + 3 * 0.05
    # and without a cap nothing needs repair
    first, second = stopping_law(p, gamma), stopping_law(q, gamma)
    assert divergences.exact_epsilon(first, second) <= 3 * epsilon


def test_erratum_13_rounding_down_breaks_the_tail():
    # T rounded down leaves more than delta_2 beyond it
    gamma, stop_delta = 0.3, 0.5
    exact_steps = math.log(1 / stop_delta) / gamma
    down, up = math.floor(exact_steps), hard_stop_steps(gamma, stop_delta)
    assert up == down + 1
    assert math.exp(-gamma * down) > stop_delta >= math.exp(-gamma * up)


def test_hard_stop_tends_to_fixed_runs_and_to_random_stopping():
    p, q = pairs.randomised_response(0.5)
    first, second = (hard_stop_law(x, 1e-9, 7) for x in (p, q))
    assert divergences.exact_epsilon(first, second) == pytest.approx(3.5, rel=1e-6)
    np.testing.assert_allclose(hard_stop_law(p, 0.1, 400), stopping_law(p, 0.1), rtol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: percentile_failure(0.0, 0.1),
        lambda: hard_stop_steps(0.1, 1.0),
        lambda: hard_stop_steps_pure(0.1, 0.5),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
