"""Liu & Talwar's guarantees against exact laws, and LT-E13, LT-E14, LT-E19."""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.errors import InputError
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds import liu_talwar as lt

ROUNDING = 1e-9
GENERATOR = np.random.default_rng(51)
PURE = [
    (epsilon, pairs.random_pure_pair(GENERATOR, int(GENERATOR.integers(2, 7)), epsilon))
    for epsilon in (0.05, 0.3, 1.0)
    for _ in range(12)
] + [
    (0.3, pairs.three_outcome(0.3, 0.064, 1e-3)),
    (1.0, pairs.three_outcome(1.0, 1e-3, 1e-6)),
    (1.0, pairs.randomised_response(1.0)),
]


def approximate_pairs(epsilon, delta, count, seed):
    """Pairs that are (epsilon, delta)-close, the worst ones first."""
    yield pairs.approximate_three_outcome(epsilon, 0.05, 1e-4, delta)
    yield pairs.approximate_pair(epsilon, delta)
    generator = np.random.default_rng(seed)
    for _ in range(count):
        core = pairs.random_pure_pair(generator, 5, epsilon)
        junk = pairs.random_pair(generator, 5, 0.1)
        mixed = zip(core, junk, strict=True)
        yield pairs.LawPair(*((1 - delta) * a + delta * b for a, b in mixed))


# --- Algorithm 1 ----------------------------------------------------------------------


def literal_threshold_law(q, accepted, gamma, steps):
    """Algorithm 1 step by step: the probability of each ending."""
    law, alive = np.zeros(accepted + 1), 1.0
    success = q[:accepted].sum()
    for _ in range(steps):
        law[:accepted] += alive * q[:accepted]
        law[-1] += alive * (1 - success) * gamma
        alive *= (1 - success) * (1 - gamma)
    law[-1] += alive
    return law


@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_threshold_law_is_the_algorithm(gamma, steps):
    q = np.array([0.05, 0.1, 0.25, 0.6])
    for accepted in (1, 2, 4):
        got = lt.threshold_law(q, accepted, gamma, steps)
        want = literal_threshold_law(q, accepted, gamma, steps)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-16)
        assert got.sum() == pytest.approx(1.0, abs=1e-14)
        # (a): in proportion to the base
        np.testing.assert_allclose(got[:-1] / got[0], q[:accepted] / q[0], rtol=1e-12)


def test_threshold_law_without_a_last_draw():
    q = np.array([0.1, 0.9])
    late = lt.threshold_law(q, 1, 0.01, 5000)
    np.testing.assert_allclose(lt.threshold_law(q, 1, 0.01), late, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.003, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("slack", [0.01, 0.3, 1.0])
def test_theorem_3_1_pure_and_utility(gamma, slack):
    steps = lt.threshold_steps(gamma, slack)
    assert steps >= 2
    for epsilon, (p, q) in PURE:
        for accepted in range(1, p.size):
            first, second = (
                lt.threshold_law(x, accepted, gamma, steps) for x in (p, q)
            )
            exact = divergences.exact_epsilon(first, second)
            assert exact <= lt.threshold_pure(epsilon, slack) + ROUNDING
            success = float(p[:accepted].sum())
            draws = lt.threshold_expected_draws(success, gamma, steps)
            bound = lt.threshold_expected_draws_bound(success, gamma)
            assert draws <= bound * (1 + 1e-12)
            assert bound <= min(1 / success, 1 / gamma) * (1 + 1e-12)
            failure = lt.threshold_failure_bound(success, gamma, slack)
            assert first[-1] <= failure + ROUNDING


def test_theorem_3_1_steps_is_the_least_allowed():
    for gamma, slack in ((0.01, 0.1), (0.9, 1.0), (0.2, 0.001)):
        need = max(math.log(2 / slack) / gamma, 1 + 1 / (math.e * gamma))
        steps = lt.threshold_steps(gamma, slack)
        assert need <= steps < need + 1


def test_theorem_3_1_is_tight():
    p, q = pairs.three_outcome(1.0, 1e-6, 1e-12)
    first, second = (lt.threshold_law(x, 2, 1e-12) for x in (p, q))
    assert divergences.exact_epsilon(first, second) > 2 * (1 - 1e-4)


@pytest.mark.parametrize("gamma", [0.01, 0.2])
@pytest.mark.parametrize("delta", [1e-4, 0.02])
def test_theorem_3_1_approximate(gamma, delta):
    epsilon, slack = 0.4, 0.1
    steps = lt.threshold_steps(gamma, slack)
    stated = lt.threshold_approximate(epsilon, delta, gamma, slack)
    sharp = lt.threshold_approximate_sharp(epsilon, delta, gamma)
    assert sharp.delta < stated.delta
    largest = 0.0
    for p, q in approximate_pairs(epsilon, delta, 40, 52):
        for accepted in range(1, p.size):
            first, second = (
                lt.threshold_law(x, accepted, gamma, steps) for x in (p, q)
            )
            exact = divergences.profile_delta(first, second, stated.epsilon)
            assert exact <= stated.delta + ROUNDING
            first, second = (lt.threshold_law(x, accepted, gamma) for x in (p, q))
            exact = float(divergences.profile_delta(first, second, sharp.epsilon))
            assert exact <= sharp.delta * (1 + 1e-9)
            largest = max(largest, exact / sharp.delta)
    assert largest > 0.5


# --- Algorithm 2 ----------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.2, 1.0])
def test_theorem_3_2(gamma):
    for epsilon, (p, q) in PURE:
        first, second = lt.stopping_law(p, gamma), lt.stopping_law(q, gamma)
        assert first.sum() == pytest.approx(1.0, abs=1e-12)
        exact = divergences.exact_epsilon(first, second)
        assert exact <= lt.stopping_pure(epsilon) + ROUNDING
        if gamma < 1:
            np.testing.assert_allclose(
                first, tuned_law(p, laws.geometric(gamma))[:-1], rtol=1e-11
            )
        else:
            np.testing.assert_allclose(first, p)


def test_theorem_3_2_is_tight():
    p, q = pairs.three_outcome(1.0, 1e-3, 1e-9)
    first, second = lt.stopping_law(p, 1e-9), lt.stopping_law(q, 1e-9)
    assert divergences.exact_epsilon(first, second) > 3 * (1 - 1e-4)


@pytest.mark.parametrize("gamma", [0.01, 0.2])
@pytest.mark.parametrize("delta", [1e-4, 0.02])
def test_sharp_delta_of_random_stopping(gamma, delta):
    epsilon = 0.4
    sharp = lt.stopping_approximate_sharp(epsilon, delta, gamma)
    ratios = []
    for p, q in approximate_pairs(epsilon, delta, 60, 53):
        first, second = lt.stopping_law(p, gamma), lt.stopping_law(q, gamma)
        exact = float(divergences.profile_delta(first, second, sharp.epsilon))
        ratios.append(exact / sharp.delta)
    assert max(ratios) <= 1 + 1e-9
    assert ratios[0] == pytest.approx(1.0, rel=1e-9)  # attained


@pytest.mark.parametrize("gamma", [0.01, 0.3])
def test_theorem_3_3(gamma):
    generator = np.random.default_rng(54)
    for _ in range(40):
        q = pairs.random_pair(generator, 6).first
        law = lt.stopping_law(q, gamma)
        for share in (0.05, 0.3, 0.7):
            # sup{z : P[score >= z] > p}: the worst outcome that must be kept
            reaching = np.cumsum(q)
            last = int(np.argmax(reaching > share))
            failure = float(law[last + 1 :].sum())
            h = float(reaching[last])
            assert failure == pytest.approx(
                lt.percentile_failure(min(h, 1.0), gamma), rel=1e-6, abs=1e-12
            )
            assert failure <= lt.percentile_failure(share, gamma) + ROUNDING
            assert lt.percentile_failure(share, gamma) <= lt.percentile_failure_bound(
                share, gamma
            )


def test_erratum_19_the_sum_in_theorem_3_3_is_a_bound():
    # half of the mass is at the best outcome, so a level for p = 0.1 is reached by 0.5
    gamma, share = 0.2, 0.1
    law = lt.stopping_law([0.5, 0.5], gamma)
    printed = sum(
        (1 - gamma) ** (j - 1) * gamma * (1 - share) ** j for j in range(1, 500)
    )
    assert printed == pytest.approx(lt.percentile_failure(share, gamma), rel=1e-9)
    assert law[1] < printed - 0.3  # printed as an equality
    assert law[1] <= printed <= lt.percentile_failure_bound(share, gamma)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lt.stopping_law([0.5, 0.5], 0.0),
        lambda: lt.stopping_expected_draws(0.0),
        lambda: lt.percentile_failure_bound(0.5, 0.0),
        lambda: lt.hard_stop_steps(0.0, 0.1),
        lambda: lt.hard_stop_steps_pure(0.0, 0.1),
        lambda: lt.hard_stop_law([0.5, 0.5], 0.0, 10),
    ],
)
def test_erratum_19_gamma_zero_never_stops(call):
    with pytest.raises(InputError, match="gamma"):
        call()


def test_erratum_19_why():
    # as gamma vanishes the number of draws grows without bound
    for gamma in (1e-3, 1e-9):
        assert lt.stopping_expected_draws(gamma) == pytest.approx(1 / gamma)
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
    np.testing.assert_allclose(lt.hard_stop_law(q, gamma, steps), want, rtol=1e-6)


@pytest.mark.parametrize("slack", [0.01, 0.1, 0.49])
@pytest.mark.parametrize("gamma", [0.01, 0.2, 0.9])
def test_theorem_3_5(gamma, slack):
    steps = lt.hard_stop_steps_pure(gamma, slack)
    x = 2 * (1 + gamma) ** 2 / (slack * gamma**2)
    need = (math.log(x) + math.log(math.log(x))) / gamma
    assert need <= steps < need + 1
    for epsilon, (p, q) in PURE:
        first, second = (lt.hard_stop_law(x, gamma, steps) for x in (p, q))
        exact = divergences.exact_epsilon(first, second)
        assert exact <= lt.hard_stop_pure(epsilon, slack) + ROUNDING


@pytest.mark.parametrize("gamma", [0.02, 0.2])
@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("stop_delta", [1e-6, 0.05, 0.7])
def test_theorem_3_4_and_the_sharp_bound(gamma, delta, stop_delta):
    epsilon = 0.4
    steps = lt.hard_stop_steps(gamma, stop_delta)
    assert (1 - gamma) ** steps <= stop_delta
    stated = lt.hard_stop_approximate(epsilon, delta, gamma, stop_delta)
    sharp = lt.hard_stop_approximate_sharp(epsilon, delta, gamma, steps)
    for p, q in approximate_pairs(epsilon, max(delta, 1e-12), 30, 55):
        first, second = (lt.hard_stop_law(x, gamma, steps) for x in (p, q))
        exact = divergences.profile_delta(first, second, stated.epsilon)
        assert exact <= stated.delta + ROUNDING
        exact = divergences.profile_delta(first, second, sharp.epsilon)
        assert exact <= sharp.delta + ROUNDING


def test_erratum_13_a_short_hard_stop_is_not_purely_private():
    # Theorem 3.4's 3 epsilon holds up to delta_2 only: 1.07 > 0.9 here
    epsilon, gamma, stop_delta = 0.3, 0.003, 0.9
    steps = lt.hard_stop_steps(gamma, stop_delta)
    assert steps == 36 > math.log(1 / stop_delta) / gamma  # rounded up
    p, q = pairs.three_outcome(epsilon, 0.064, 1e-3)
    first, second = (lt.hard_stop_law(x, gamma, steps) for x in (p, q))
    exact = divergences.exact_epsilon(first, second)
    assert exact == pytest.approx(1.07, abs=6e-3)
    assert exact > lt.stopping_pure(epsilon)
    stated = lt.hard_stop_approximate(epsilon, 0.0, gamma, stop_delta)
    assert stated.epsilon == pytest.approx(0.9)
    assert divergences.profile_delta(first, second, stated.epsilon) <= stated.delta
    # Theorem 3.5 repairs it by many more draws
    steps = lt.hard_stop_steps_pure(gamma, 0.05)
    first, second = (lt.hard_stop_law(x, gamma, steps) for x in (p, q))
    exact = divergences.exact_epsilon(first, second)
    assert exact <= lt.hard_stop_pure(epsilon, 0.05)
    # and without a cap nothing needs repair
    first, second = lt.stopping_law(p, gamma), lt.stopping_law(q, gamma)
    assert divergences.exact_epsilon(first, second) <= lt.stopping_pure(epsilon)


def test_erratum_13_rounding_down_breaks_the_tail():
    # T rounded down leaves more than delta_2 beyond it
    gamma, stop_delta = 0.3, 0.5
    exact_steps = math.log(1 / stop_delta) / gamma
    down, up = math.floor(exact_steps), lt.hard_stop_steps(gamma, stop_delta)
    assert up == down + 1
    assert math.exp(-gamma * down) > stop_delta >= math.exp(-gamma * up)


def test_hard_stop_tends_to_fixed_runs_and_to_random_stopping():
    p, q = pairs.randomised_response(0.5)
    first, second = (lt.hard_stop_law(x, 1e-9, 7) for x in (p, q))
    assert divergences.exact_epsilon(first, second) == pytest.approx(3.5, rel=1e-6)
    np.testing.assert_allclose(
        lt.hard_stop_law(p, 0.1, 400), lt.stopping_law(p, 0.1), rtol=1e-12
    )


# --- LT-E14: the first example of Appendix B.1 ----------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.6])
def test_erratum_14_the_printed_pair_is_not_close(epsilon):
    half = math.exp(epsilon) / 2
    # as printed: e^epsilon/2 and (1 - e^epsilon)/2, which is negative
    with pytest.raises(InputError):
        divergences.exact_epsilon([half, (1 - math.exp(epsilon)) / 2], [0.5, 0.5])
    # with 1 - e^epsilon/2 the complement exceeds epsilon
    repaired = pairs.bernoulli(half, 0.5)
    assert divergences.exact_epsilon(*repaired) > epsilon * (1 + 1e-6)
    # e^-epsilon/2 is epsilon-close, and its best of K loses K epsilon on "all below"
    right = pairs.bernoulli(1 - math.exp(-epsilon) / 2, 0.5)
    assert divergences.exact_epsilon(*right) == pytest.approx(epsilon)
    for count in (1, 5, 20):
        first, second = (tuned_law(x, laws.point_mass(count)) for x in right)
        loss = math.log(second[1] / first[1])
        assert loss == pytest.approx(count * epsilon, rel=1e-9)
        assert second[1] == pytest.approx(2.0**-count)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lt.threshold_steps(0.1, 0.0),
        lambda: lt.threshold_pure(-1.0),
        lambda: lt.threshold_approximate(1.0, 1.0, 0.1, 0.1),
        lambda: lt.threshold_law([0.5, 0.5], 3, 0.1),
        lambda: lt.threshold_law([0.5, 0.5], 0, 0.1),
        lambda: lt.threshold_law([0.5, 0.6], 1, 0.1),
        lambda: lt.threshold_failure_bound(0.0, 0.1, 0.1),
        lambda: lt.percentile_failure(0.0, 0.1),
        lambda: lt.hard_stop_steps(0.1, 1.0),
        lambda: lt.hard_stop_steps_pure(0.1, 0.5),
        lambda: lt.hard_stop_law([0.5, 0.5], 0.1, 0),
        lambda: lt.hard_stop_approximate_sharp(0.1, 0.1, 0.1, 0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
