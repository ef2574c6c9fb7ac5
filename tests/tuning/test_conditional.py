"""Conditional sampling: the bounds, their domain (E-PS-2) and the tight example."""

import math

import numpy as np
import pytest
from scipy import optimize

from jaxsel.accounting.single_run import closed_forms, curves, divergences, pairs
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.conditional import (
    PARTS,
    conditional_at_exponents,
    conditional_part,
    fitted_tight_conditional,
)

ROUNDING = 1e-9
RHO = curves.zcdp(0.1).renyi


def curves_of(pair):
    p, q = pair
    return (
        lambda order: divergences.renyi_divergence(p, q, order),
        lambda order: divergences.renyi_divergence(q, p, order),
    )


def conditional(pair, kept):
    return tuple(law[kept] / law[kept].sum() for law in pair)


def draws(count, seed):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        size = int(generator.integers(2, 6))
        if generator.uniform() < 0.5:
            pair = pairs.random_pair(generator, size, 1.0)
        else:
            epsilon = float(generator.uniform(0.1, 2.0))
            pair = pairs.random_pure_pair(generator, size, epsilon)
        kept = np.flatnonzero(generator.uniform(size=size) < 0.6)
        yield pair, kept if kept.size else np.array([0])


def exact(pair, kept, order):
    return float(divergences.renyi_divergence(*conditional(pair, kept), order))


def conditional_epsilon(order, forward, backward, probability):
    """Proposition 15 at its best exponents: the bound, and 1/p, 1/q, 1/r."""
    if math.isinf(order):
        return conditional_part(1, order, forward, backward, probability), 0.0, 1.0, 0.0
    least_q = max(0.0, 2.0 - order)

    def bound(inverse_q: float, share: float) -> float:
        inverse_r = share * (1.0 - inverse_q)
        return conditional_at_exponents(order, inverse_q, inverse_r, forward, backward, probability)

    axis = np.linspace(0.0, 1.0, 21)
    points = [(least_q + t * (1.0 - least_q), s) for t in axis for s in axis]
    values = [bound(*point) for point in points]
    start = points[int(np.argmin(values))]
    best, where = float(np.min(values)), (float(start[0]), float(start[1]))
    if math.isfinite(best):
        found = optimize.minimize(
            lambda x: bound(float(x[0]), float(x[1])),
            start,
            method="Nelder-Mead",
            bounds=[(least_q, 1.0), (0.0, 1.0)],
            options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000},
        )
        if found.fun < best:
            best, where = float(found.fun), (float(found.x[0]), float(found.x[1]))
    inverse_r = where[1] * (1.0 - where[0])
    return best, 1.0 - where[0] - inverse_r, where[0], inverse_r


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", [2.0, 2.5, 7.0, math.inf])
def test_corollary_16(part, order):
    least = math.inf
    for pair, kept in draws(120, 41):
        forward, backward = curves_of(pair)
        probability = float(pair.first[kept].sum())
        for exponent in (1.0, 2.5):
            bound = conditional_part(part, order, forward, backward, probability, exponent=exponent)
            truth = exact(pair, kept, order)
            assert truth <= bound + ROUNDING
            least = min(least, bound - truth)
    assert least < 1.0


@pytest.mark.parametrize("part", [1, 4])
def test_parts_1_and_4_hold_below_order_2(part):
    for pair, kept in draws(120, 42):
        forward, backward = curves_of(pair)
        probability = float(pair.first[kept].sum())
        for order in (1.05, 1.5, 1.9):
            bound = conditional_part(part, order, forward, backward, probability)
            assert exact(pair, kept, order) <= bound + ROUNDING


@pytest.mark.parametrize("order", [1.2, 1.6, 2.0, 3.0, 10.0])
def test_proposition_15_inside_its_domain(order):
    generator = np.random.default_rng(43)
    for pair, kept in draws(100, 44):
        forward, backward = curves_of(pair)
        probability = float(pair.first[kept].sum())
        truth = exact(pair, kept, order)
        inverse_q = float(generator.uniform(max(0.0, 2.0 - order), 1.0))
        inverse_r = float(generator.uniform(0.0, 1.0 - inverse_q))
        bound = conditional_at_exponents(
            order, inverse_q, inverse_r, forward, backward, probability
        )
        assert truth <= bound + ROUNDING


def test_best_exponents_are_at_least_as_good_as_the_corollary():
    for pair, kept in draws(4, 45):
        forward, backward = curves_of(pair)
        probability = float(pair.first[kept].sum())
        for order in (1.5, 2.0, 5.0):
            best, p, q, r = conditional_epsilon(order, forward, backward, probability)
            assert p + q + r == pytest.approx(1.0)
            assert min(p, q, r) >= -1e-12
            assert exact(pair, kept, order) <= best + ROUNDING
            for part in (2, 3, 4, 5) if order >= 2 else (4,):
                other = conditional_part(part, order, forward, backward, probability, exponent=1.7)
                assert best <= other + ROUNDING
            again = conditional_at_exponents(
                order, q, r, forward, backward, probability, corrected=False
            )
            assert again == pytest.approx(best)


def test_best_exponents_of_concentrated_privacy():
    # for a likely event part 2 is the best choice; for a rare one it is not
    best, *_ = conditional_epsilon(10.0, RHO, RHO, 0.1)
    assert best == pytest.approx(conditional_part(2, 10.0, RHO, RHO, 0.1))
    best, p, q, r = conditional_epsilon(10.0, RHO, RHO, 1e-6)
    part_5 = conditional_part(5, 10.0, RHO, RHO, 1e-6, exponent=1.2)
    assert best <= part_5 < conditional_part(2, 10.0, RHO, RHO, 1e-6)
    assert r < 1.0
    assert p + q + r == pytest.approx(1.0)
    assert conditional_epsilon(math.inf, RHO, RHO, 0.1)[0] == math.inf


# --- E-PS-2: orders below 2 -----------------------------------------------------------


@pytest.mark.parametrize("part", [2, 3, 5])
def test_erratum_2_counterexample(part):
    epsilon, order = 1.0, 1.5

    def renyi(a):
        return closed_forms.randomised_response_renyi(a, epsilon)

    printed = conditional_part(part, order, renyi, renyi, 1.0, corrected=False)
    truth = float(renyi(order))  # S is everything
    if part == 2:
        assert truth == pytest.approx(0.62733, abs=5e-6)
        assert printed == pytest.approx(0.38710, abs=5e-6)
    with pytest.raises(InputError, match="order >= 2"):
        conditional_part(part, order, renyi, renyi, 1.0)
    if part in (2, 5):
        assert printed < truth
    best, *_ = conditional_epsilon(order, renyi, renyi, 1.0)
    assert best >= truth - ROUNDING


@pytest.mark.parametrize("part", [2, 3, 5])
def test_erratum_2_random_failures(part):
    failures = 0
    for pair, kept in draws(200, 46):
        forward, backward = curves_of(pair)
        probability = float(pair.first[kept].sum())
        for order in (1.02, 1.2, 1.5):
            printed = conditional_part(part, order, forward, backward, probability, corrected=False)
            failures += bool(exact(pair, kept, order) > printed + ROUNDING)
    assert failures > 0


def test_erratum_2_in_the_proposition():
    def renyi(a):
        return closed_forms.randomised_response_renyi(a, 1.0)

    printed = conditional_at_exponents(1.5, 0.05, 0.95, renyi, renyi, 1.0, corrected=False)
    assert printed < renyi(1.5)
    with pytest.raises(InputError, match="at least 2"):
        conditional_at_exponents(1.5, 0.05, 0.95, renyi, renyi, 1.0)


# --- Figure 8 and E-PS-3 --------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "lower", "upper"),
    [(2, 0.765, 3.182), (5, 1.122, 1.561), (10, 1.750, 2.210), (20, 3.539, 4.091)],
)
def test_figure_8(order, lower, upper):
    s, t = fitted_tight_conditional(order)
    pair = pairs.tight_conditional(s, t)
    forward, backward = curves_of(pair)
    assert forward(order) == pytest.approx(0.1 * order, rel=1e-8)
    assert backward(order) == pytest.approx(0.1 * order, rel=1e-8)
    kept = np.array([0, 1])
    truth = exact(pair, kept, order)
    # the closed form of Appendix D.2
    closed = math.log(
        2.0**-order * (1 + math.exp(-s - t)) ** (order - 1) * (math.exp((order - 1) * (s + t)) + 1)
    ) / (order - 1)
    assert truth == pytest.approx(closed, rel=1e-9)
    assert truth == pytest.approx(lower, abs=6e-4)
    probability = float(pair.first[kept].sum())
    assert probability == pytest.approx(0.5 * math.exp(-s))
    drawn = conditional_part(2, order, RHO, RHO, probability)
    assert drawn == pytest.approx(upper, abs=6e-4)


def test_erratum_3_the_drawn_pair_is_not_concentrated():
    # the figure's upper curve takes D_9(Q' || Q) = 0.9, which the pair exceeds
    pair = pairs.tight_conditional(*fitted_tight_conditional(10.0))
    forward, backward = curves_of(pair)
    assert float(backward(9.0)) == pytest.approx(0.981, abs=6e-4)
    assert float(backward(9.0)) > 0.9
    probability = float(pair.first[:2].sum())
    right = conditional_part(2, 10.0, forward, backward, probability)
    assert right == pytest.approx(2.282, abs=6e-4)
    assert right >= exact(pair, np.array([0, 1]), 10.0)


@pytest.mark.parametrize("order", [1.3, 3.3, 25.0, 40.0])
def test_fit_at_other_orders(order):
    pair = pairs.tight_conditional(*fitted_tight_conditional(order))
    forward, backward = curves_of(pair)
    assert forward(order) == pytest.approx(0.1 * order, rel=1e-8)
    assert backward(order) == pytest.approx(0.1 * order, rel=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: conditional_part(6, 2.0, RHO, RHO, 0.5),
        lambda: conditional_part(2, 1.0, RHO, RHO, 0.5),
        lambda: conditional_part(2, 3.0, RHO, RHO, 0.0),
        lambda: conditional_part(2, 3.0, RHO, RHO, 1.5),
        lambda: conditional_part(5, 3.0, RHO, RHO, 0.5, exponent=0.5),
        lambda: conditional_at_exponents(3.0, 0.7, 0.7, RHO, RHO, 0.5),
        lambda: fitted_tight_conditional(1.0),
        lambda: fitted_tight_conditional(10.0, a=0.5),
        lambda: fitted_tight_conditional(10.0, rho=-0.1),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
