"""The released code's privacy axis: its numbers, what is wrong, what is proved."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_delta, renyi_to_epsilon
from jaxsel.catalogue import find_claim
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.bounds.released_search_budget import (
    RELEASED_ORDERS,
    least_renyi,
    released_budget,
    released_negative_binomial,
    released_renyi,
    subsampled_gaussian_renyi,
    theorem_epsilon,
    training_base,
    training_renyi,
)
from jaxsel.tuning.bounds.renyi import renyi_curves
from jaxsel.tuning.claims.renyi import released_figure

RATE, NOISE, STEPS = 256 / 60_000, 1.1, 14_063


@pytest.fixture(scope="module")
def divergences():
    return training_renyi(RATE, NOISE, STEPS)(RELEASED_ORDERS)


# --- the base -------------------------------------------------------------------------


def test_orders():
    assert RELEASED_ORDERS.shape == (72,)
    assert np.all(np.diff(RELEASED_ORDERS) > 0.0)
    assert RELEASED_ORDERS[[0, 9, 10, 68, -1]].tolist() == [1.25, 4.5, 5, 63, 512]


@pytest.mark.parametrize(
    ("order", "value"),
    [
        (1.25, 0.204459751),
        (1.5, 0.245818210),
        (2.0, 0.329014798),
        (4.5, 0.755066706),
        (5.0, 0.842403732),
        (12.0, 2.19017390),
        (14.0, 308.305394),
        (512.0, 2.89842152e6),
    ],
)
def test_divergences_are_those_that_the_authors_list(divergences, order, value):
    found = divergences[RELEASED_ORDERS == order].item()
    assert found == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(("q", "s"), [(0.01, 0.7), (0.3, 2.0), (0.9, 1.3)])
def test_one_step_by_other_routes(q, s):
    # Mironov, Talwar & Zhang 2019, Section 3.3: whole orders by the binomial theorem.
    for order in (2, 7, 40):
        k = np.arange(order + 1)
        terms = stats.binom.logpmf(k, order, q) + (k * k - k) / (2.0 * s * s)
        moment = float(np.asarray(special.logsumexp(terms)))
        found = subsampled_gaussian_renyi(order, q, s)
        assert found == pytest.approx(moment / (order - 1), rel=1e-8)

    def ratio(x):
        return (1.0 - q) + q * math.exp((x - 0.5) / s**2)

    for order in (1.3, 3.5):
        both = [
            integrate.quad(
                lambda x, p=p: stats.norm.pdf(x, scale=s) * (ratio(x) ** p - 1.0),
                -12.0 * s,
                order + 12.0 * s,
                epsabs=1e-14,
                epsrel=1e-11,
                limit=400,
            )[0]
            for p in (order, 1.0 - order)
        ]
        expected = math.log1p(max(both)) / (order - 1.0)
        assert subsampled_gaussian_renyi(order, q, s) == pytest.approx(expected, rel=1e-7)


def test_every_example_in_every_batch_is_the_gaussian_mechanism():
    orders = np.array([1.25, 2.0, 30.0])
    found = subsampled_gaussian_renyi(orders, 1.0, 1.7)
    np.testing.assert_allclose(found, orders / (2.0 * 1.7**2), rtol=1e-10)


def test_curve_between_orders_is_a_bound():
    curve = training_renyi(0.05, 1.5, 40)
    orders = np.array([1.0005, 1.1, 1.33, 2.1, 6.5, 90.0])
    exact = 40 * subsampled_gaussian_renyi(orders, 0.05, 1.5)
    assert np.all(curve(orders) >= exact * (1.0 - 1e-9))
    np.testing.assert_allclose(curve(orders)[1:4], exact[1:4], rtol=0.01)
    assert curve(np.array(513.0)) == math.inf


# --- what the released code computes --------------------------------------------------


def literal(text: str, found: np.ndarray) -> float:
    """The least bound, one pair of orders at a time, for the law of that text."""
    family, number = text.rsplit("=", 1)
    value, best = float(number), math.inf
    for a, da in zip(RELEASED_ORDERS.tolist(), found.tolist(), strict=True):
        for b, db in zip(RELEASED_ORDERS.tolist(), found.tolist(), strict=True):
            odds = math.log(1.0 / value - 1.0) if value < 1.0 else math.nan
            if family == "logarithmic:gamma":
                bound = da + (1 - 1 / b) * db + odds / b
                bound += (odds - math.log(math.log(1.0 / value))) / (a - 1)
            elif family == "geometric:gamma":
                bound = da + 2 * (1 - 1 / b) * db
                bound += (2 / b + 1 / (a - 1)) * math.log(1.0 / value)
            else:
                bound = da + 1.5 * ((1 - 1 / b) * db + odds / b)
                mean = 0.5 / (value * (1.0 - value**0.5))
                bound += math.log(mean) / (a - 1)
            best = min(best, bound)
    return best


@pytest.mark.parametrize(
    ("text", "plotted"),
    [
        ("logarithmic:gamma=0.5", 0.698),
        ("logarithmic:gamma=0.0001", 4.708),
        ("geometric:gamma=0.0015", 6.150),
        ("tnb:eta=0.5,gamma=0.5", 1.135),
        ("tnb:eta=0.5,gamma=0.05", 3.338),
    ],
)
def test_plotted_budgets(divergences, text, plotted):
    law = laws.parse(text)
    found = released_budget(training_renyi(RATE, NOISE, STEPS), law)
    assert found.budget == pytest.approx(literal(text, divergences), rel=1e-12)
    assert found.budget == pytest.approx(plotted, abs=6e-4)
    assert (
        found.budget
        == released_renyi(divergences, law)[np.flatnonzero(RELEASED_ORDERS == found.order)]
    )


def test_poisson_budgets(divergences):
    renyi = training_renyi(RATE, NOISE, STEPS)
    for mean, plotted in ((2.5, 1.384), (10.0, 3.390), (50.0, 8.587)):
        found = released_budget(renyi, laws.poisson(mean))
        index = np.flatnonzero(RELEASED_ORDERS == found.order).item()
        level = np.log1p(1.0 / (found.order - 1.0))
        # the best delta of all their orders, at least that of all orders
        excess = found.order - 1.0
        delta = (found.budget - divergences[index] - math.log(mean) / excess) / mean
        assert -1e-9 <= delta - renyi_to_delta(renyi, level) < 1e-3
        assert found.budget == pytest.approx(plotted, abs=6e-4)


def test_poisson_with_fewer_than_one_run_is_negative():
    # E-PS-1: no divergence is below 0. The figure's first two points have these means.
    renyi = training_renyi(RATE, NOISE, STEPS)
    for mean in (0.15, 0.35):
        law = laws.poisson(mean)
        assert released_budget(renyi, law).budget < 0.0
        assert released_budget(renyi, law, corrected=True).budget > 0.0


def test_delta_of_a_renyi_bound_that_is_taken_for_an_epsilon():
    renyi = training_renyi(RATE, NOISE, STEPS)
    found = released_budget(renyi, laws.parse("logarithmic:gamma=0.5"))
    assert found.order == 2.5
    assert found.delta == pytest.approx(0.4 * 0.6**1.5)
    # Lemma 14 at that order alone: a constant bound up to it.
    only = renyi_to_epsilon(lambda order: np.where(order <= 2.5, found.budget, np.inf), found.delta)
    assert only.epsilon == pytest.approx(found.budget, rel=1e-6)


# --- what holds -----------------------------------------------------------------------


def test_the_sharper_step_of_the_proof():
    generator = np.random.default_rng(0)
    x = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 40_001)])
    for _ in range(60):
        b = 1.0 + float(np.exp(generator.uniform(-3.0, 4.0)))
        gamma = float(generator.uniform(0.001, 0.999))
        e = float(np.exp(generator.uniform(-4.0, 1.5)))
        share = 1.0 - 1.0 / b
        t = (1.0 / gamma - 1.0) ** (1.0 / b) * math.exp(share * e)
        least = 1.0 - (1.0 / b) * (1.0 - 1.0 / b) ** (b - 1.0)
        assert np.min(1.0 + x - x**share) == pytest.approx(least, abs=1e-6)
        exact = math.log(np.max((1.0 + t * x**share) / (1.0 + x)))
        zero = released_negative_binomial(2.0, 0.0, b, e, 0.0, gamma, corrected=True)
        mean = laws.truncated_negative_binomial(0.0, gamma).mean
        bracket = zero - math.log(mean)
        assert exact <= bracket + 1e-12
        assert bracket == pytest.approx(max(math.log(t), -math.log(least)))


def test_where_the_released_formula_needs_no_correction():
    floor = 1.0 - 0.8 * 0.2**0.25
    # at the code's least second order, with divergences of 0
    limit = 1.0 / (1.0 + floor**-1.25)
    assert limit == pytest.approx(0.2775, abs=1e-4)
    zero = np.zeros_like(RELEASED_ORDERS)
    for gamma, equal in ((limit - 1e-6, True), (limit + 1e-6, False)):
        numbers = (2.0, 0.0, RELEASED_ORDERS, zero, 0.5, gamma)
        printed = released_negative_binomial(*numbers)
        corrected = released_negative_binomial(*numbers, corrected=True)
        assert np.array_equal(printed, corrected) == equal
        assert np.all(corrected >= printed)


def test_corrected_and_proven_budgets():
    base = curves.zcdp(0.16)
    for text in ("logarithmic:gamma=0.5", "tnb:eta=0.5,gamma=0.5"):
        law = laws.parse(text)
        printed = released_budget(base.renyi, law).budget
        corrected = released_budget(base.renyi, law, corrected=True).budget
        proven = least_renyi(base, law)
        assert printed < corrected - 0.1 < proven - 0.1
    # The geometric law has Theorem 2 itself, on fewer orders.
    law = laws.geometric(0.01)
    proven = least_renyi(base, law)
    assert 0.0 <= released_budget(base.renyi, law).budget - proven < 0.02
    curve = renyi_curves(base, law)["PS-Thm2"]()
    assert proven == pytest.approx(np.min(curve(np.linspace(1.5, 20.0, 9001))), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "name"), [("logarithmic:gamma=0.5", "PS-Thm2"), ("poisson:mean=3", "PS-Thm6")]
)
def test_proven_epsilons(text, name):
    base, law = training_base(0.2, 3.0, 30), laws.parse(text)
    found = theorem_epsilon(base, law, 1e-5)
    listed = account(base, law, 1e-5, attain=False)
    assert found == next(b.epsilon for b in listed.bounds if b.theorem == name)
    # At delta = 1e-5 even the best bound exceeds the plotted number, by far.
    assert listed.best.epsilon > 2.0 * released_budget(base.renyi, law).budget


def test_numbers_of_the_errata(divergences):
    # The Gaussian base is at least as private as the figure's DP-SGD.
    gaussian = RELEASED_ORDERS / (2.0 * released_figure._GAUSSIAN**2)
    assert np.all(gaussian <= divergences)
    # Numbers in the errata.
    printed = find_claim("PS-Fig7-axis-at-delta").evaluate()
    assert printed == pytest.approx(0.70, abs=0.005)
    assert find_claim("PS-Fig7-axis").evaluate() == pytest.approx(3.16, abs=0.005)
    renyi = training_renyi(RATE, NOISE, STEPS)
    for text, number in (("logarithmic:gamma=0.5", 0.90), ("tnb:eta=0.5,gamma=0.5", 1.43)):
        found = released_budget(renyi, laws.parse(text), corrected=True)
        assert found.budget == pytest.approx(number, abs=0.005)


def test_a_bound_that_is_a_tenth_too_small_is_refuted(monkeypatch):
    monkeypatch.setattr(
        released_figure,
        "released_negative_binomial",
        lambda *args, **settings: 0.9 * released_negative_binomial(*args, **settings),
    )
    verdict = find_claim("PS-Fig7-formula").check(Budget(cases=60))
    assert verdict.outcome == "refuted"


def test_figures_base_at_small_delta():
    base = training_base(RATE, NOISE, STEPS)
    law = laws.parse("logarithmic:gamma=0.5")
    assert theorem_epsilon(base, law, 1e-5) == pytest.approx(3.16, abs=0.005)
    found = envelope_epsilon(base_envelopes(base, law), 1e-5)
    assert found == pytest.approx(2.56, abs=0.005)
    assert base.epsilon(1e-5) == pytest.approx(2.38, abs=0.005)


# --- bad input ------------------------------------------------------------------------


def test_bad_input():
    with pytest.raises(InputError, match=r"order is 1\.0; it must be above 1"):
        subsampled_gaussian_renyi(1.0, 0.1, 1.0)
    with pytest.raises(InputError, match="sampling_probability"):
        subsampled_gaussian_renyi(2.0, 0.0, 1.0)
    with pytest.raises(InputError, match="noise_multiplier"):
        subsampled_gaussian_renyi(2.0, 0.5, 0.0)
    with pytest.raises(InputError, match="steps"):
        training_renyi(0.1, 1.0, 0)
    with pytest.raises(InputError, match="there are 3 divergences"):
        released_renyi(np.zeros(3), laws.poisson(3.0))
    zero = np.zeros_like(RELEASED_ORDERS)
    for law in (laws.binomial(5, 0.5), laws.truncated_negative_binomial(-0.5, 0.1)):
        with pytest.raises(InputError, match="released code has no bound for"):
            released_renyi(zero, law)
