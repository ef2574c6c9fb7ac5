"""The formulas of docs/envelope.md, each by mpmath or by sums over finite pairs."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special

ORDERS = (1.3, 2.0, 7.0)


def finite_pair(generator, size=5):
    first, second = generator.dirichlet(np.ones(size), 2)
    return first, second


def hockey_stick(first, second, ratio):
    return float(np.sum(np.maximum(first - ratio * second, 0.0)))


def tradeoff(first, second, x):
    """T by filling up the knapsack of outcomes, those of least loss first."""
    total, left = 0.0, x
    for i in np.argsort(first / second):
        part = min(1.0, left / first[i]) if first[i] > 0 else 1.0
        total, left = total + part * second[i], left - part * first[i]
        if left <= 0.0:
            break
    return total


def geometric(gamma):
    """f'(x), f''(1) and E[K] of the geometric law, by its series in closed form."""
    return lambda x: gamma / (1 - (1 - gamma) * x) ** 2, 2 * (1 - gamma) / gamma**2


def test_divergences_turned_round():
    """H_s(Q'|Q) = 1 - s + s H_{1/s}(Q|Q'), Sections 3, 4 and 7."""
    generator = np.random.default_rng(0)
    for _ in range(20):
        first, second = finite_pair(generator)
        s = float(generator.exponential())
        turned = 1 - s + s * hockey_stick(first, second, 1 / s)
        assert hockey_stick(second, first, s) == pytest.approx(turned, abs=1e-14)


def test_tradeoff_is_an_infimum_of_lines():
    generator = np.random.default_rng(1)
    for _ in range(20):
        first, second = finite_pair(generator)
        x = float(generator.uniform())
        slopes = np.concatenate([[0.0], second / first])  # where the infimum is
        lines = [s * x + hockey_stick(second, first, s) for s in slopes]
        assert tradeoff(first, second, x) == pytest.approx(min(lines), abs=1e-13)


def test_the_best_of_k_has_density_f_prime():
    """Lemma 1 for a uniform score: P[best among the best t] = 1 - f(1 - t)."""
    slope, _ = geometric(mp.mpf("0.2"))
    for t in (0.1, 0.7):
        series = mp.nsum(
            lambda k, t=t: mp.mpf("0.2") * mp.mpf("0.8") ** (k - 1) * (1 - (1 - t) ** k),
            [1, mp.inf],
        )
        assert float(mp.quad(lambda u: slope(1 - u), [0, t])) == pytest.approx(
            float(series), rel=1e-12
        )


@pytest.mark.parametrize(("count", "gamma"), [(3, 0.5), (20, 2.0)])
def test_beta_binomial_slope(count, gamma):
    """f'(1-s) = E[tau p (1-ps)^(tau-1)] = tau gamma s^(-gamma-1) I(s), and its ratio."""

    def inner(s):
        return mp.quad(lambda t: t**gamma * (1 - t) ** (count - 1), [0, s])

    def closed(s):
        return count * gamma * s ** (-gamma - 1) * inner(s)

    for s in (0.2, 0.9):
        direct = mp.quad(
            lambda p, s=s: count * p * (1 - p * s) ** (count - 1) * gamma * p ** (gamma - 1), [0, 1]
        )
        assert float(closed(s)) == pytest.approx(float(direct), rel=1e-10)
    for epsilon, x in ((0.3, 0.1), (1.0, 0.25)):
        other = min(1.0, math.exp(epsilon) * x)
        ratio = closed(x) / closed(other)
        exact = (other / x) ** (gamma + 1) * inner(x) / inner(other)
        assert float(ratio) == pytest.approx(float(exact), rel=1e-12)
        assert ratio <= math.exp((gamma + 1) * epsilon)


def test_shifts_of_theorems_5_2_and_5_7():
    generator = np.random.default_rng(2)
    for _ in range(50):
        gamma, x, delta = generator.uniform(0.01, 0.99, 3)
        level = float(generator.exponential())
        # multiplied out, the sides differ by what the document says, over gamma + ...
        e, rest = math.exp(level), (1 - gamma) * x
        middle = gamma + (1 - gamma) * (e * x + delta)
        gap = (e + (1 - gamma) / gamma * delta) * (gamma + rest) - middle
        said = gamma * (e - 1) + (1 - gamma) ** 2 / gamma * delta * x
        assert gap == pytest.approx(said, abs=1e-12)
        # under their condition the middle of Theorem 5.7 increases in q' and ends there
        p = gamma
        level = max(level, math.log1p(p / (1 - p) * delta))
        e = math.exp(level)
        q = np.linspace(0.0, 1.0, 50)
        part = (1 - p + p * (e * q + delta)) / (1 - p + p * q)
        assert np.all(np.diff(part) >= -1e-12)
        assert part[-1] == pytest.approx(1 + p * (e - 1) + p * delta, rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_the_constant_of_renyi_bounds(order):
    """kappa = max (1 - z) z^(order - 1) = (1/order)(1 - 1/order)^(order - 1)."""
    best = mp.findroot(lambda z: mp.diff(lambda y: (1 - y) * y ** (order - 1), z), 1 - 0.9 / order)
    largest = (1 - best) * best ** (order - 1)
    kappa = (1 - 1 / order) ** (order - 1) / order
    assert float(largest) == pytest.approx(kappa, rel=1e-12)


def test_given_that_no_run_fails():
    """P[K~ = k] = (1-d)^k P[K = k]/f(1-d); geometric again, with gamma + d (1 - gamma)."""
    gamma, failure = mp.mpf("0.1"), mp.mpf("0.03")
    total = mp.nsum(lambda k: (1 - failure) ** k * gamma * (1 - gamma) ** (k - 1), [1, mp.inf])
    other = gamma + failure * (1 - gamma)
    for k in (1, 2, 9):
        thinned = (1 - failure) ** k * gamma * (1 - gamma) ** (k - 1) / total
        assert float(thinned) == pytest.approx(float(other * (1 - other) ** (k - 1)))


@pytest.mark.parametrize(("mu", "gamma", "epsilon"), [(0.25, 0.1, 2.0), (1.0, 0.3, 4.0)])
def test_least_maximisers_and_what_a_ranking_falls_short(mu, gamma, epsilon):
    """Section 6 for a Gaussian base, on a grid of x that is dense near 0."""
    slope, second = geometric(gamma)
    x = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 1500)])
    other = special.ndtr(special.ndtri(x) + mu)
    a, b = slope(1 - x), slope(1 - other)
    shift = float(np.max(np.log(a / b)))
    # losses on S, {loss > epsilon - c}: loss = mu z - mu^2/2 with z ~ N(mu, 1) under P
    z = (epsilon - shift + mu**2 / 2) / mu + np.linspace(1e-9, 7.0, 400)
    loss = mu * z - mu**2 / 2
    best = np.array([int(np.argmax(a - math.exp(epsilon - at) * b)) for at in loss])
    assert np.all(np.diff(best) <= 0)  # argmax takes the least: it does not increase
    mass = float(mp.ncdf(mu - z[0]))
    density = np.exp(-0.5 * (z - mu) ** 2) / math.sqrt(2 * math.pi)
    at, lower = x[best], np.maximum(x[best] - mass, 0.0)
    shortfall = a[best] - slope(1 - np.maximum(at, mass))
    weight = np.exp(epsilon - loss)
    shortfall = shortfall + weight * (slope(1 - np.interp(lower, x, other)) - b[best])
    total = float(np.trapezoid(density * shortfall, z))
    reached = float(mp.ncdf(-mp.sqrt(2) * mp.erfinv(1 - 2 * mass) + mu))
    bound = second * mass * (mass + math.exp(shift) * reached)
    assert 0.0 < total <= bound
    assert reached / mass > 1.5  # T(rho) is not of the order of rho: T'(0) is infinite


def test_masses_of_connected_dots():
    """Section 7: P' from the kinks of h, with both infinite losses."""
    generator = np.random.default_rng(3)
    first = np.append(generator.dirichlet(np.ones(4)) * 0.9, [0.1, 0.0])
    second = np.append(generator.dirichlet(np.ones(4)) * 0.8, [0.0, 0.2])
    ratios = np.sort(first[:4] / second[:4])

    def slope(r, side):
        step = side * 1e-6 * r
        return (hockey_stick(first, second, r + step) - hockey_stick(first, second, r)) / step

    for r in ratios:
        at = np.isclose(first[:4] / second[:4], r)
        assert slope(r, 1) - slope(r, -1) == pytest.approx(second[:4][at].sum(), abs=1e-8)
    least = ratios[0] / 2
    assert 1 + slope(least, 1) == pytest.approx(0.2, abs=1e-8)  # P' at loss -inf
    assert hockey_stick(first, second, 1e9) == pytest.approx(0.1)  # P at loss inf
