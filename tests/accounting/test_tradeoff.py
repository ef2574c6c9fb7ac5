"""The trade-off that a Renyi curve implies, against closed forms and random pairs."""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, divergences, pairs
from jaxsel.accounting.single_run.tradeoff import renyi_tradeoff
from jaxsel.tuning.bounds.generic import ratio_supremum

XS = np.array([1e-12, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999])


@pytest.mark.parametrize(
    "base",
    [curves.gaussian(1.0), curves.gaussian(4.0), curves.laplace(1.0), curves.pure(0.5)],
    ids=lambda base: base.name,
)
def test_is_above_the_exact_tradeoff_but_not_far(base):
    implied, exact = renyi_tradeoff(base.renyi)(XS), base.tradeoff(XS)
    assert np.all(implied >= exact - 1e-12)
    # a coin of bias 0.3 or 0.5 is pinned down well by its Renyi divergences
    assert np.all(implied[4:6] <= exact[4:6] * 1.2)
    assert renyi_tradeoff(base.renyi)(np.array(1.0)) == 1.0


def test_is_attained_by_coins():
    # by construction: the coin (x, T(x)) meets one of the bounds, to the interpolation
    base = curves.zcdp(0.1)
    tradeoff = renyi_tradeoff(base.renyi)
    orders = 1 + np.exp(np.linspace(-4, 8, 41))
    for x in (1e-6, 0.05, 0.5, 0.9):
        y = float(tradeoff(np.array(x)))
        for bias, allowed in ((y * (1 + 1e-3), False), (x + (y - x) * 0.999, True)):
            coin = pairs.bernoulli(x, min(bias, 1.0))
            spent = np.maximum(
                divergences.renyi_divergence(*coin, orders),
                divergences.renyi_divergence(*coin[::-1], orders),
            )
            assert bool(np.all(spent <= base.renyi(orders))) is allowed


def test_error_between_knots():
    # every fourth knot of 2401 is one of 601: at the knots half-way between those the
    # finer curve is exact, and the coarser one errs by its chords
    renyi = curves.zcdp(0.3).renyi
    logits = np.linspace(-60, 25, 2401)[2::4]
    x = 1 / (1 + np.exp(-logits))
    exact, coarse = renyi_tradeoff(renyi)(x), renyi_tradeoff(renyi, count=601)(x)
    assert np.all(coarse >= exact * (1 - 1e-12))
    # extending a chord by half a step h errs by (3/8) h^2 |T''|, and x^2 |T''| <= T
    # here
    assert np.all(coarse <= exact * (1 + 0.375 * (85 / 600) ** 2))
    assert np.all(np.diff(exact) >= 0)


def test_supremum_over_tradeoffs_by_brute_force():
    law = laws.truncated_negative_binomial(1.0, 1e-3)
    base = curves.gaussian(2.0)
    x = np.exp(np.linspace(-40, 0, 400001))[:-1]
    orders = np.array([1.3, 4.0, math.inf])
    for order, got in zip(orders, ratio_supremum(orders, law, base.tradeoff), strict=True):
        share = 1.0 if math.isinf(order) else order / (order - 1)
        want = np.max(
            share * law.log_pgf_derivative_tail(x) - law.log_pgf_derivative_tail(base.tradeoff(x))
        )
        assert got == pytest.approx(want, rel=1e-7)
        assert got >= want - 1e-12
