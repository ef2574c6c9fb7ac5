"""Conversions between notions of privacy, against dp-accounting and exact profiles."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from jaxsel.accounting.numerics.optimise import minimise, minimise_over_orders
from jaxsel.accounting.single_run import closed_forms as cf
from jaxsel.accounting.single_run import conversions as cv
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError

BASES = [
    curves.zcdp(0.1),
    curves.zcdp(1e-5),
    curves.gaussian(1.1),
    curves.laplace(0.7),
    curves.pure(0.3),
    curves.pure(12.0),
]
BASE_IDS = [base.name for base in BASES]


@pytest.mark.parametrize("base", BASES, ids=BASE_IDS)
@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6, 1e-15])
def test_epsilon_is_never_worse_than_the_default_orders(base, delta):
    orders = np.array(rdp.DEFAULT_RDP_ORDERS)
    theirs, _ = rdp.compute_epsilon(orders, base.renyi(orders), delta)
    ours = cv.renyi_to_epsilon(base.renyi, delta)
    assert ours.epsilon <= theirs + 1e-12
    # and a dense grid of orders does no better
    dense = 1 + np.exp(np.linspace(-7, 9, 20001))
    theirs, _ = rdp.compute_epsilon(dense, base.renyi(dense), delta)
    assert ours.epsilon <= theirs + 1e-12


@pytest.mark.parametrize("base", BASES, ids=BASE_IDS)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.29, 1.0, 5.0])
def test_delta_is_never_worse_than_the_default_orders(base, epsilon):
    orders = np.array(rdp.DEFAULT_RDP_ORDERS)
    theirs, _ = rdp.compute_delta(orders, base.renyi(orders), epsilon)
    assert cv.renyi_to_delta(base.renyi, epsilon) <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("base", BASES[2:], ids=BASE_IDS[2:])
def test_conversion_is_above_the_exact_profile(base):
    levels = np.linspace(0.0, 3.0, 31)
    assert np.all(cv.renyi_to_delta(base.renyi, levels) >= base.profile(levels) - 1e-15)


@pytest.mark.parametrize("base", BASES, ids=BASE_IDS)
def test_epsilon_and_delta_are_inverse(base):
    for delta in (1e-3, 1e-8):
        conversion = cv.renyi_to_epsilon(base.renyi, delta)
        back = cv.renyi_to_delta(base.renyi, conversion.epsilon)
        # at the order inf, epsilon is that of delta = 0
        assert back <= delta * (1 + 1e-6)
        if 0 < conversion.epsilon and math.isfinite(conversion.order):
            assert back == pytest.approx(delta, rel=1e-6)
            rule = cv.optimal_epsilon_at_order(
                conversion.order, base.renyi(conversion.order), delta
            )
            assert rule == pytest.approx(conversion.epsilon, rel=1e-12)


def test_one_order_against_its_definition():
    # sup over privacy losses z of (1 - e^(epsilon - z)) e^(-(a-1)z) is the tight factor
    order, epsilon, renyi = 3.7, 0.8, 0.5
    z = np.linspace(epsilon, epsilon + 20, 200001)
    factor = np.max(-np.expm1(epsilon - z) * np.exp(-(order - 1) * z))
    want = factor * math.exp((order - 1) * renyi)
    got = math.exp(cv.log_delta_at_order(order, renyi, epsilon))
    assert got == pytest.approx(want, rel=1e-8)


def test_mironov_is_weaker():
    base = curves.zcdp(0.1)
    weak = cv.renyi_to_epsilon(base.renyi, 1e-6, rule=cv.mironov_epsilon_at_order)
    strong = cv.renyi_to_epsilon(base.renyi, 1e-6)
    assert strong.epsilon < weak.epsilon
    # its optimum for zCDP is the simple conversion
    assert weak.epsilon == pytest.approx(cv.zcdp_to_epsilon(0.1, 1e-6), rel=1e-9)


def test_golden_base_of_the_figures():
    # Papernot & Steinke, Figure 4: the 0.1-zCDP base and its 10-fold composition
    base = cv.renyi_to_epsilon(curves.zcdp(0.1).renyi, 1e-6)
    naive = cv.renyi_to_epsilon(curves.zcdp(1.0).renyi, 1e-6)
    assert base.epsilon == pytest.approx(2.142, abs=5e-4)
    assert naive.epsilon == pytest.approx(7.77, abs=5e-3)
    exact = cf.gaussian_epsilon(1e-6, math.sqrt(5.0))
    assert exact == pytest.approx(1.9945, abs=5e-5)


def test_zero_delta_uses_the_order_infinity():
    assert cv.renyi_to_epsilon(curves.pure(0.7).renyi, 0.0) == (0.7, 0.0, math.inf)
    assert cv.renyi_to_epsilon(curves.zcdp(0.1).renyi, 0.0).epsilon == math.inf


def test_zcdp_conversions():
    assert cv.zcdp_from_pure(0.6) == pytest.approx(0.18)
    orders = np.linspace(1, 60, 200)
    assert np.all(cf.randomised_response_renyi(orders, 0.6) <= cv.zcdp_from_pure(0.6) * orders)
    for epsilon in (1e-6, 0.3, 4.0):
        rho = cv.zcdp_rho(epsilon, 1e-5)
        assert cv.zcdp_to_epsilon(rho, 1e-5) == pytest.approx(epsilon, rel=1e-9)


def test_monotone_is_the_least_bound_above():
    def bumpy(order):
        order = np.asarray(order, dtype=float)
        wave = np.sin(np.where(np.isinf(order), 0.0, order))
        return 2 + order / 9 + wave

    curve = cv.monotone(bumpy)
    dense = np.linspace(1.01, 80, 200001)
    want = np.minimum.accumulate(bumpy(dense)[::-1])[::-1]
    dense, want = dense[dense < 60], want[dense < 60]
    np.testing.assert_allclose(curve(dense), want, atol=1e-7)
    assert np.all(np.diff(curve(dense)) >= 0)


def test_monotone_reaches_the_order_infinity():
    curve = cv.monotone(lambda a: 1 + 1 / (np.asarray(a, dtype=float) - 1))
    np.testing.assert_allclose(curve(np.array([1.0, 2.0, np.inf])), 1.0)


def test_minimise_finds_each_batch_minimum():
    centres = np.array([[0.3, -2.0], [4.99, 5.0]])
    point, value = minimise(lambda x: (x - centres) ** 2, -3.0, 5.0, count=50)
    np.testing.assert_allclose(point, centres, atol=1e-7)
    np.testing.assert_allclose(value, 0.0, atol=1e-13)
    order, value = minimise_over_orders(lambda a: a * 0.1 + 14 / (a - 1))
    assert order == pytest.approx(1 + math.sqrt(140), rel=1e-6)
    assert value == pytest.approx(0.1 + 2 * math.sqrt(1.4), rel=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: cv.renyi_to_epsilon(curves.zcdp(0.1).renyi, 1.0),
        lambda: cv.renyi_to_epsilon(curves.zcdp(0.1).renyi, -1e-9),
        lambda: cv.renyi_to_delta(curves.zcdp(0.1).renyi, -0.1),
        lambda: cv.zcdp_from_pure(-1.0),
        lambda: cv.zcdp_to_epsilon(0.1, 0.0),
        lambda: cv.zcdp_rho(math.nan, 1e-6),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize(
    ("rho", "delta"), [(1e-9, 1e-6), (1e-15, 1e-12), (1e3, 1e-6), (1e14, 1e-6)]
)
def test_the_best_order_is_found_however_large_or_near_1(rho, delta):
    """Canonne et al., Proposition 12, minimised by its derivative in mpmath."""
    with mpmath.workdps(40):
        log_delta = mpmath.log(mpmath.mpf(delta))

        def epsilon(t):
            excess = mpmath.e**t
            order = 1 + excess
            rest = mpmath.log1p(-1 / order) - (log_delta + mpmath.log(order)) / excess
            return rho * order + rest

        guess = 0.5 * float(mpmath.log(-log_delta / rho))
        best = mpmath.findroot(lambda t: mpmath.diff(epsilon, t), guess)
        least = float(epsilon(best))
    found = cv.renyi_to_epsilon(lambda order: rho * order, delta)
    assert found.epsilon == pytest.approx(least, rel=1e-9)


def test_an_order_of_50000_is_best_for_a_small_rho():
    # 4.79e-4 came from the orders up to 8104 alone
    found = cv.renyi_to_epsilon(curves.zcdp(1e-9).renyi, 1e-6)
    assert found.epsilon == pytest.approx(8.95e-5, rel=1e-3)
    assert found.order > 5e4


def test_so_many_releases_have_so_many_times_the_bound():
    """Once it is the same bound, up to the largest numbers; what exceeds them is inf."""
    largest = float(np.finfo(np.float64).max)
    values = np.array([0.0, 0.25, 9.5e307, largest, math.inf])

    def curve(order: np.ndarray) -> np.ndarray:
        return values[np.asarray(order, dtype=int)]

    orders = np.arange(values.size)
    assert np.array_equal(cv.repeated(curve, 1)(orders), values)
    twice = cv.repeated(curve, 2)(orders)
    assert np.array_equal(twice, [0.0, 0.5, math.inf, math.inf, math.inf])
    assert cv.repeated(curve, 3)(np.asarray(1)) == 0.75
