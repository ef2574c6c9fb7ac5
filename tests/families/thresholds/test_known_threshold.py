"""Liu & Talwar 2019, Algorithm 1 and Theorem 3.1: exact laws, bounds, power of checks."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.catalogue import find_claim
from jaxsel.families.thresholds import laws
from jaxsel.families.thresholds.claims import known_threshold
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from tests.families.power import judged_with
from tests.tuning.close_pairs import PURE, approximate_pairs

BUDGET = Budget(trials=200_000, cases=40)
ROUNDING = 1e-9


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


@pytest.mark.parametrize(
    ("law", "given", "named"),
    [
        (laws.threshold_steps, {"gamma": 0.0, "slack": 0.1}, "gamma"),
        (laws.threshold_law, {"q_best_first": [1.0], "accepted": 1, "gamma": 0.0}, "gamma"),
        (laws.threshold_failure_bound, {"success": 0.0, "gamma": 0.1, "slack": 0.1}, "success"),
        # 3 e^(2 epsilon) would exceed all floats.
        (
            laws.threshold_approximate,
            {"epsilon": 400.0, "delta": 0.0, "gamma": 0.1, "slack": 0.1},
            "epsilon",
        ),
    ],
)
def test_what_no_theorem_covers_is_refused(law, given, named):
    with pytest.raises(InputError, match=f"^{named} is {given[named]};"):
        law(**given)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_threshold_law_is_the_algorithm(gamma, steps):
    q = np.array([0.05, 0.1, 0.25, 0.6])
    for accepted in (1, 2, 4):
        got = laws.threshold_law(q, accepted, gamma, steps)
        want = literal_threshold_law(q, accepted, gamma, steps)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-16)
        assert got.sum() == pytest.approx(1.0, abs=1e-14)
        # (a): in proportion to the base
        np.testing.assert_allclose(got[:-1] / got[0], q[:accepted] / q[0], rtol=1e-12)


def test_threshold_law_without_a_last_draw():
    q = np.array([0.1, 0.9])
    late = laws.threshold_law(q, 1, 0.01, 5000)
    np.testing.assert_allclose(laws.threshold_law(q, 1, 0.01), late, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.003, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("slack", [0.01, 0.3, 1.0])
def test_theorem_3_1_pure_and_utility(gamma, slack):
    steps = laws.threshold_steps(gamma, slack)
    assert steps >= 2
    for epsilon, (p, q) in PURE:
        for accepted in range(1, p.size):
            first, second = (laws.threshold_law(x, accepted, gamma, steps) for x in (p, q))
            exact = divergences.exact_epsilon(first, second)
            assert exact <= laws.threshold_pure(epsilon, slack) + ROUNDING
            success = float(p[:accepted].sum())
            draws = laws.threshold_expected_draws(success, gamma, steps)
            bound = laws.threshold_expected_draws_bound(success, gamma)
            assert draws <= bound * (1 + 1e-12)
            assert bound <= min(1 / success, 1 / gamma) * (1 + 1e-12)
            failure = laws.threshold_failure_bound(success, gamma, slack)
            assert first[-1] <= failure + ROUNDING


def test_theorem_3_1_steps_is_the_least_allowed():
    for gamma, slack in ((0.01, 0.1), (0.9, 1.0), (0.2, 0.001)):
        need = max(math.log(2 / slack) / gamma, 1 + 1 / (math.e * gamma))
        steps = laws.threshold_steps(gamma, slack)
        assert need <= steps < need + 1


def test_theorem_3_1_is_tight():
    p, q = pairs.three_outcome(1.0, 1e-6, 1e-12)
    first, second = (laws.threshold_law(x, 2, 1e-12) for x in (p, q))
    assert divergences.exact_epsilon(first, second) > 2 * (1 - 1e-4)


@pytest.mark.parametrize("gamma", [0.01, 0.2])
@pytest.mark.parametrize("delta", [1e-4, 0.02])
def test_theorem_3_1_approximate(gamma, delta):
    epsilon, slack = 0.4, 0.1
    steps = laws.threshold_steps(gamma, slack)
    stated = laws.threshold_approximate(epsilon, delta, gamma, slack)
    sharp = laws.threshold_approximate_sharp(epsilon, delta, gamma)
    assert sharp.delta < stated.delta
    largest = 0.0
    for p, q in approximate_pairs(epsilon, delta, 40, 52):
        for accepted in range(1, p.size):
            first, second = (laws.threshold_law(x, accepted, gamma, steps) for x in (p, q))
            exact = divergences.profile_delta(first, second, stated.epsilon)
            assert exact <= stated.delta + ROUNDING
            first, second = (laws.threshold_law(x, accepted, gamma) for x in (p, q))
            exact = float(divergences.profile_delta(first, second, sharp.epsilon))
            assert exact <= sharp.delta * (1 + 1e-9)
            largest = max(largest, exact / sharp.delta)
    assert largest > 0.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: laws.threshold_law([0.5, 0.5], 3, 0.1),
        lambda: laws.threshold_law([0.5, 0.5], 0, 0.1),
        lambda: laws.threshold_law([0.5, 0.6], 1, 0.1),
        lambda: laws.threshold_law([0.5, 0.5], 1, 0.0),
        lambda: laws.threshold_steps(0.1, 0.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


# --- Power: a bound 10 % too small is refuted -----------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "name"),
    [
        ("LT-Thm1.2", "threshold_pure"),
        ("LT-Thm3.1(d)", "threshold_expected_draws_bound"),
        ("LT-Thm3.1(c)-sharp", "threshold_approximate_sharp"),
    ],
)
def test_a_bound_ten_percent_smaller_is_refuted(monkeypatch, claim_id, name):
    claim, original = find_claim(claim_id), getattr(known_threshold, name)

    def smaller(*args, **kwargs):
        bound = original(*args, **kwargs)
        if hasattr(bound, "delta"):
            return bound._replace(delta=0.9 * bound.delta)
        return 0.9 * bound

    assert claim.check(BUDGET).outcome == "holds"
    monkeypatch.setattr(known_threshold, name, smaller)
    assert claim.check(BUDGET).outcome == "refuted"


def test_a_bound_on_calls_ten_percent_smaller_is_refuted():
    assert judged_with("LT-Thm1.2(c)", 0.9, BUDGET) == "refuted"
