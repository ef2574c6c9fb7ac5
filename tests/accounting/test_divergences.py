"""Exact divergences of finite laws, against mpmath, enumeration and inequalities."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from jaxsel.accounting.single_run import divergences as dv
from jaxsel.accounting.single_run import pairs
from jaxsel.host.errors import InputError
from tests.accounting.worst_pair import approximate_pair

ORDERS = [0.3, 1.0, 1.0 + 1e-7, 1.3, 2.0, 7.5, 300.0, math.inf]


def mp_renyi(p, q, order):
    with mpmath.workdps(50):
        p = [mpmath.mpf(float(x)) for x in p]
        q = [mpmath.mpf(float(x)) for x in q]
        p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
        if order == math.inf:
            return float(max(mpmath.log(x / y) for x, y in zip(p, q, strict=True)))
        a = mpmath.mpf(order)
        if a == 1:
            total = sum(x * mpmath.log(x / y) for x, y in zip(p, q, strict=True))
            return float(total)
        total = sum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))
        return float(mpmath.log(total) / (a - 1))


def events(size):
    return itertools.chain.from_iterable(
        itertools.combinations(range(size), r) for r in range(size + 1)
    )


def test_renyi_matches_mpmath():
    generator = np.random.default_rng(1)
    for size in (2, 5, 30):
        p, q = pairs.random_pair(generator, size, 0.3)
        got = dv.renyi_divergence(p, q, np.array(ORDERS))
        want = [mp_renyi(p, q, order) for order in ORDERS]
        np.testing.assert_allclose(got, want, rtol=1e-9)


def test_renyi_of_nearly_equal_laws_keeps_its_digits():
    p = np.array([0.25, 0.25, 0.5])
    q = p * np.array([1.0 + 1e-4, 1.0 - 1e-4, 1.0])
    for order in (1.0, 1.0001, 2.0, 30.0):
        want = mp_renyi(p, q, order)
        assert dv.renyi_divergence(p, q, order) == pytest.approx(want, rel=1e-6)


def test_renyi_of_extreme_losses_does_not_overflow():
    p, q = np.array([0.5, 0.5]), np.array([1e-300, 1.0])
    assert dv.renyi_divergence(p, q, 2000.0) == pytest.approx(mp_renyi(p, q, 2000.0), rel=1e-12)
    assert dv.renyi_divergence(q, p, 1e9) == pytest.approx(math.log(2.0), rel=1e-6)


def test_renyi_with_different_supports():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.0, 0.5])
    np.testing.assert_array_equal(
        dv.renyi_divergence(p, q, np.array([1.0, 2.0, math.inf])), [math.inf] * 3
    )
    # at order 1/2: -2 log of the Bhattacharyya coefficient
    assert dv.renyi_divergence(p, q, 0.5) == pytest.approx(2 * math.log(2.0))
    narrow = np.array([1.0, 0.0, 0.0])
    got = dv.renyi_divergence(narrow, p, 2.0)
    assert got == pytest.approx(math.log(2.0))


def test_renyi_increases_in_the_order_and_shrinks_by_post_processing():
    generator = np.random.default_rng(2)
    orders = np.geomspace(1e-3, 1e3, 60) + 1
    for _ in range(50):
        p, q = pairs.random_pair(generator, 6)
        curve = dv.renyi_divergence(p, q, orders)
        assert np.all(np.diff(curve) >= -1e-12)
        merged = dv.renyi_divergence(p.reshape(3, 2).sum(1), q.reshape(3, 2).sum(1), orders)
        assert np.all(merged <= curve + 1e-12)


def test_hockey_stick_is_the_best_event():
    generator = np.random.default_rng(3)
    for _ in range(20):
        p, q = pairs.random_pair(generator, 6)
        for epsilon in (-0.7, 0.0, 0.5, 2.0):
            best = max(p[list(s)].sum() - math.exp(epsilon) * q[list(s)].sum() for s in events(6))
            assert dv.hockey_stick(p, q, epsilon) == pytest.approx(best, abs=1e-14)
            both = max(best, float(dv.hockey_stick(q, p, epsilon)))
            assert dv.profile_delta(p, q, epsilon) == pytest.approx(both, abs=1e-14)
    assert dv.hockey_stick(p, q, 0.0) == pytest.approx(np.abs(p - q).sum() / 2)


def test_hockey_stick_at_huge_epsilon_and_empty_outcomes():
    p, q = np.array([1e-5, 1.0 - 1e-5, 0.0]), np.array([0.0, 0.5, 0.5])
    np.testing.assert_allclose(dv.hockey_stick(p, q, np.array([1.0, 800.0, 1e6])), 1e-5, rtol=1e-12)
    assert dv.hockey_stick(p, q, -1e6) == pytest.approx(1.0)


def test_epsilon_at_delta_inverts_the_profile():
    generator = np.random.default_rng(4)
    for _ in range(200):
        p, q = pairs.random_pair(generator, 8)
        for delta in (0.0, 1e-6, 1e-2, 0.3):
            epsilon = dv.epsilon_at_delta(p, q, delta)
            assert dv.profile_delta(p, q, epsilon) <= delta + 1e-14
            if epsilon > 1e-6:  # and no smaller epsilon will do
                assert dv.profile_delta(p, q, epsilon * (1 - 1e-6)) > delta
    assert dv.epsilon_at_delta(p, q, 0.0) == pytest.approx(dv.exact_epsilon(p, q))


def test_epsilon_at_delta_of_the_worst_approximate_pair():
    p, q = approximate_pair(1.5, 0.01)
    assert dv.exact_epsilon(p, q) == math.inf
    assert dv.epsilon_at_delta(p, q, 0.009) == math.inf
    assert dv.epsilon_at_delta(p, q, 0.01) == pytest.approx(1.5, abs=1e-9)


def test_privacy_loss_signs():
    loss = dv.privacy_loss([0.5, 0.5, 0.0], [0.25, 0.0, 0.75])
    np.testing.assert_allclose(loss, [math.log(2.0), math.inf, -math.inf])


@pytest.mark.parametrize(
    "call",
    [
        lambda: dv.renyi_divergence([0.5, 0.6], [0.5, 0.5], 2.0),
        lambda: dv.renyi_divergence([0.5, 0.5], [1.0], 2.0),
        lambda: dv.renyi_divergence([0.5, 0.5], [0.5, 0.5], 0.0),
        lambda: dv.renyi_divergence([0.5, 0.5], [0.5, 0.5], math.nan),
        lambda: dv.hockey_stick([0.5, math.nan], [0.5, 0.5], 1.0),
        lambda: dv.epsilon_at_delta([0.5, 0.5], [0.5, 0.5], 1.0),
        lambda: dv.epsilon_at_delta([0.5, 0.5], [0.5, 0.5], -0.1),
        lambda: dv.exact_epsilon([], []),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


def test_profile_of_logarithms():
    generator = np.random.default_rng(5)
    for level in (-0.5, 0.0, 0.7, 3.0):
        p, q = generator.dirichlet(np.ones(6), 2)
        p[0], q[1] = 0.0, 0.0
        p, q = p / p.sum(), q / q.sum()
        with np.errstate(divide="ignore"):
            found = dv.profile_delta_of_logs(np.log(p), np.log(q), level)
        assert found == pytest.approx(dv.profile_delta(p, q, level), rel=1e-12)
    # Bin(2000, 1/2) against Bin(2000, 0.05), beyond what exp can hold
    k = np.arange(2001.0)
    with mpmath.workdps(60):
        choose = [mpmath.binomial(2000, int(i)) for i in k]
        laws = [
            [
                c * mpmath.mpf(p) ** i * (1 - mpmath.mpf(p)) ** (2000 - i)
                for i, c in zip(range(2001), choose, strict=True)
            ]
            for p in ("0.5", "0.05")
        ]
        level = 1600
        exact = sum(max(a - mpmath.exp(level) * b, 0) for a, b in zip(*laws, strict=True))
        logs = [[float(mpmath.log(a)) for a in law] for law in laws]
    assert 1e-12 < exact < 0.99
    found = dv.profile_delta_of_logs(*logs, level)
    assert found == pytest.approx(float(exact), rel=1e-9)
    # the smallest floats would make it larger, by far
    assert dv.profile_delta(*np.exp(logs), level) > 1.01 * found
    with pytest.raises(InputError, match="outcomes"):
        dv.profile_delta_of_logs([0.0], np.log([0.5, 0.5]), 1.0)
