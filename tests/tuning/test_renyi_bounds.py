"""Renyi bounds of tuned algorithms: the paper's figures, dp-accounting, use."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.approximate import thinned
from jaxsel.tuning.bounds.generic import generic_renyi
from jaxsel.tuning.bounds.negative_binomial import (
    negative_binomial_renyi,
    pure_negative_binomial_epsilon,
    zcdp_negative_binomial_renyi,
)
from jaxsel.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.tuning.bounds.renyi import renyi_curves, tuned_epsilon
from jaxsel.tuning.claims.renyi.approximate import approximate_poisson_renyi
from jaxsel.tuning.claims.renyi.generic import truncated_renyi
from tests.tuning.theorem_2 import negative_binomial_epsilon

RHO = curves.zcdp(0.1)
GAUSSIAN = curves.gaussian(math.sqrt(5.0))  # 0.1-zCDP, with its exact profile


def gamma_of(mean, eta):
    return laws.from_mean("tnb", mean, eta=eta).parameters["gamma"]


# --- Values read off the figures of Papernot & Steinke (2022) -------------------------


@pytest.mark.parametrize(
    ("mean", "plateau", "kink"),
    [
        (10, 2.162, 5.80),
        (100, 2.967, 7.79),
        (1e3, 3.572, 9.31),
        (1e4, 4.080, 10.60),
        (1e5, 4.526, 11.73),
        (1e6, 4.930, 12.75),
    ],
)
def test_figure_2(mean, plateau, kink):
    gamma = gamma_of(mean, 0.0)
    values = zcdp_negative_binomial_renyi(np.array([1.5, kink - 0.01]), 0.1, 0.0, gamma)
    np.testing.assert_allclose(values, plateau, atol=6e-4)
    just, above = zcdp_negative_binomial_renyi(np.array([kink + 0.01, kink + 1]), 0.1, 0.0, gamma)
    assert values[0] < above
    assert just - values[0] < (above - values[0]) / 10
    last = {10: 4.18, 1e6: 5.96}.get(mean)
    if last is not None:
        at_30 = zcdp_negative_binomial_renyi(30.0, 0.1, 0.0, gamma)
        assert at_30 == pytest.approx(last, abs=6e-3)


@pytest.mark.parametrize(
    ("eta", "at_5", "at_50"), [(0.0, 2.162, 6.15), (1.0, 2.779, 6.77), (5.0, 4.432, 8.42)]
)
def test_figure_3_negative_binomial(eta, at_5, at_50):
    gamma = gamma_of(10, eta)
    orders = np.array([5.0, 50.0])
    closed = zcdp_negative_binomial_renyi(orders, 0.1, eta, gamma)
    searched = negative_binomial_renyi(RHO.renyi, eta, gamma)(orders)
    for values in (closed, searched):
        assert values[0] == pytest.approx(at_5, abs=6e-4)
        assert values[1] == pytest.approx(at_50, abs=6e-3)


@pytest.mark.parametrize(
    ("delta_from", "at_5", "at_50"), [("renyi", 2.763, 7.62), ("profile", 2.05, 6.73)]
)
def test_figure_3_poisson(delta_from, at_5, at_50):
    curve = poisson_renyi(GAUSSIAN, 10.0, delta_from=delta_from)
    assert curve(np.asarray(5.0)) == pytest.approx(at_5, abs=6e-3)
    assert curve(np.asarray(50.0)) == pytest.approx(at_50, abs=6e-3)


@pytest.mark.parametrize(
    ("eta", "values"),
    [
        (0.0, (3.451, 4.525, 5.668)),
        (1.0, (4.068, 5.840, 7.690)),
        (5.0, (5.721, 10.854, 15.85)),
        (-0.5, (3.066, 3.898, 4.842)),
    ],
)
def test_figure_4_negative_binomial(eta, values):
    for mean, want in zip((10, 1e3, 1e6), values, strict=True):
        law = laws.from_mean("tnb", mean, eta=eta)
        got = tuned_epsilon(RHO, law, 1e-6, theorems=["PS-Thm2"])
        assert got.epsilon == pytest.approx(want, abs=5e-3 if want == 15.85 else 6e-4)
        gamma = law.parameters["gamma"]
        closed = renyi_to_epsilon(
            lambda a, eta=eta, gamma=gamma: zcdp_negative_binomial_renyi(a, 0.1, eta, gamma), 1e-6
        )
        assert closed.epsilon == pytest.approx(got.epsilon, rel=1e-6)


def test_figure_4_poisson_and_composition():
    law = laws.poisson(10.0)
    printed = tuned_epsilon(RHO, law, 1e-6, theorems=["PS-Thm6"])
    assert printed.epsilon == pytest.approx(4.607, abs=6e-4)
    exact = tuned_epsilon(GAUSSIAN, law, 1e-6, theorems=["PS-Thm6-profile"])
    assert exact.epsilon == pytest.approx(3.775, abs=6e-4)
    naive = tuned_epsilon(RHO, laws.point_mass(10), 1e-6, theorems=["composition-renyi"])
    assert naive.epsilon == pytest.approx(7.77, abs=5e-3)


@pytest.mark.parametrize(
    ("mean", "generic", "printed"),
    [(30, 1.8615, 2.5551), (300, 2.3167, 3.0442), (3000, 2.7307, 3.4536)],
)
def test_generic_bound_over_the_exact_tradeoff(mean, generic, printed):
    base, law = curves.gaussian(4.0), laws.from_mean("geometric", mean)
    got = tuned_epsilon(base, law, 1e-6)
    assert got.theorem == "PS-Lem7"
    assert got.epsilon == pytest.approx(generic, abs=1.1e-4)
    got = tuned_epsilon(base, law, 1e-6, theorems=["PS-Thm2"])
    assert got.epsilon == pytest.approx(printed, abs=1.1e-4)
    tight = tuned_epsilon(base, law, 1e-6, theorems=["PS-Thm2-tight"]).epsilon
    assert tight <= got.epsilon
    if mean == 30:
        assert tight == pytest.approx(2.5489, abs=1.1e-4)


# --- dp-accounting --------------------------------------------------------------------

EVENTS = [(dp_event.ZCDpEvent(0.1), RHO), (dp_event.GaussianDpEvent(4.0), curves.gaussian(4.0))]


@pytest.mark.parametrize(("event", "base"), EVENTS, ids=["zcdp", "gaussian"])
@pytest.mark.parametrize("mean", [1.5, 10.0, 1e4])
@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 5.0, math.inf])
def test_dp_accounting_on_the_same_orders(event, base, mean, eta):
    orders = 1 + np.exp(np.linspace(-3, 6, 260))
    accountant = rdp.RdpAccountant(list(orders))
    accountant.compose(dp_event.RepeatAndSelectDpEvent(event, mean, eta))
    theirs = accountant.get_epsilon(1e-6)
    if math.isinf(eta):
        law = laws.poisson(mean)
        levels = np.log1p(1 / (orders - 1))
        rdp_list = base.renyi(orders)
        delta = [rdp.compute_delta(orders, rdp_list, level)[0] for level in levels]
        ours = poisson_epsilon(orders, base.renyi(orders), np.array(delta), mean)
        theorem = "PS-Thm6"
    else:
        law = laws.from_mean("tnb", mean, eta=eta)
        ours = negative_binomial_epsilon(
            orders[:, None],
            base.renyi(orders)[:, None],
            orders,
            base.renyi(orders),
            eta,
            law.parameters["gamma"],
        ).min(axis=1)
        theorem = "PS-Thm2"
    same_orders, _ = rdp.compute_epsilon(orders, ours, 1e-6)
    assert same_orders == pytest.approx(theirs, rel=1e-6)
    # and over all orders the bound is at most theirs, and not far below
    best = tuned_epsilon(base, law, 1e-6, theorems=[theorem]).epsilon
    assert best <= theirs * (1 + 1e-7)
    assert best == pytest.approx(theirs, rel=3e-3)


# --- Shape of the bounds --------------------------------------------------------------


@pytest.mark.parametrize("eta", [-0.9, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("gamma", [1e-9, 1e-2, 0.9])
def test_bounds_are_ordered(eta, gamma):
    orders = np.array([1.01, 1.5, 3.0, 20.0, math.inf])
    law = laws.truncated_negative_binomial(eta, gamma)
    for base in (GAUSSIAN, curves.pure(0.5), curves.laplace(2.0)):
        printed = negative_binomial_renyi(base.renyi, eta, gamma)(orders)
        tight = negative_binomial_renyi(base.renyi, eta, gamma, tight=True)(orders)
        raw = negative_binomial_renyi(base.renyi, eta, gamma, tight=True, monotonised=False)(orders)
        generic = generic_renyi(base, law)(orders)
        assert np.all(tight <= printed * (1 + 1e-12))
        assert np.all(tight <= raw * (1 + 1e-12))
        # The supremum in the generic bound is rounded up by its grid.
        assert np.all(generic <= raw * (1 + 1e-4))
        assert np.all(np.diff(printed) >= 0)


def test_pure_bases_get_corollary_3():
    for eta in (-0.5, 0.0, 1.0, 5.0):
        for gamma in (1e-9, 0.3):
            law = laws.truncated_negative_binomial(eta, gamma)
            got = tuned_epsilon(curves.pure(0.4), law, 0.0, theorems=["PS-Thm2"])
            want = pure_negative_binomial_epsilon(0.4, eta)
            if eta >= 0 or gamma < 0.1:
                assert got.epsilon == pytest.approx(want, rel=1e-9)
            assert got.epsilon <= want * (1 + 1e-12)
            assert got.order == math.inf


@pytest.mark.parametrize("eta", [-0.5, 0.0, 3.0])
@pytest.mark.parametrize("gamma", [0.3, 0.9, 0.999])
def test_zcdp_case_split_beyond_the_corollary(eta, gamma):
    # rho above and below log(1/gamma): the closed form equals the search
    orders = np.array([1.01, 2.0, 8.0, 100.0])
    for rho in (0.01, 0.5, 4.0):
        closed = zcdp_negative_binomial_renyi(orders, rho, eta, gamma)
        searched = negative_binomial_renyi(curves.zcdp(rho).renyi, eta, gamma)(orders)
        np.testing.assert_allclose(searched, closed, rtol=1e-6)


def test_poisson_supremum_equals_the_profile_bound():
    # for Poisson K the supremum of Lemma 7 is log(mean) + mean (a-1)
    # delta(log(a/(a-1)))
    orders = np.array([1.2, 2.0, 7.0, 30.0])
    for base in (GAUSSIAN, curves.laplace(1.0), curves.pure(1.0)):
        generic = generic_renyi(base, laws.poisson(6.0), corrected=False)(orders)
        profile = poisson_renyi(base, 6.0, monotonised=False, corrected=False)(orders)
        np.testing.assert_allclose(generic, profile, rtol=2e-5)
        assert np.all(generic >= profile * (1 - 1e-9))  # rounded up, never down


@pytest.mark.parametrize("order", [1.3, 4.0, math.inf])
def test_supremum_over_a_tradeoff_by_brute_force(order):
    law = laws.truncated_negative_binomial(1.0, 1e-3)
    x = np.exp(np.linspace(-40, 0, 400001))[:-1]
    share = 1.0 if math.isinf(order) else order / (order - 1)
    one, other = (law.log_pgf_derivative_tail(each) for each in (x, GAUSSIAN.tradeoff(x)))
    want = float(np.max(share * one - other))
    # Where one run costs nothing the bound is the supremum, rounded up by its grid.
    got = float(generic_renyi(GAUSSIAN._replace(renyi=np.zeros_like), law)(np.array(order)))
    assert want - 1e-12 <= got <= want * (1 + 1e-4)


def test_a_base_without_a_tradeoff_is_refused():
    with pytest.raises(InputError, match="has no trade-off function"):
        generic_renyi(curves.zcdp(0.1), laws.poisson(6.0))


def test_truncation_far_out_costs_nothing_and_near_costs_something():
    law = laws.geometric(0.1)
    curve: RenyiCurve = negative_binomial_renyi(RHO.renyi, 1.0, 0.1, monotonised=False)
    orders = np.array([2.0, 10.0])
    np.testing.assert_allclose(truncated_renyi(curve, law, 2000)(orders), curve(orders), rtol=1e-9)
    assert np.all(truncated_renyi(curve, law, 20)(orders) > curve(orders) + 0.01)


def test_thinned_laws_by_their_probabilities():
    counts = np.arange(60)
    for law in (
        laws.poisson(4.0),
        laws.truncated_negative_binomial(-0.4, 0.05),
        laws.logarithmic(0.2),
        laws.binomial(9, 0.4),
        laws.point_mass(5),
    ):
        thin = thinned(law, 0.1)
        weights = law.pmf(counts) * 0.9**counts
        np.testing.assert_allclose(
            thin.repetitions.pmf(counts)[weights > 1e-12],
            (weights / float(law.pgf(0.9)))[weights > 1e-12],
            rtol=1e-10,
        )
        assert thin.delta == pytest.approx(1 - float(law.pgf(0.9)), rel=1e-12)


def test_approximate_bases_go_through_their_core():
    law = laws.from_mean("geometric", 20)
    base = curves.approximate(0.3, 1e-8)
    got = tuned_epsilon(base, law, 1e-5)
    assert got.theorem.startswith("PS-Lem20+")
    assert got.epsilon <= 0.9 + 1e-12
    none = tuned_epsilon(curves.approximate(0.3, 1e-3), law, 1e-5)
    assert none.epsilon == math.inf
    # as the failures vanish, the bound becomes that of the pure base
    tiny = tuned_epsilon(curves.approximate(0.3, 1e-15), law, 1e-5)
    assert tiny.epsilon == pytest.approx(
        tuned_epsilon(curves.pure(0.3), law, 1e-5).epsilon, rel=1e-6
    )


def test_corollary_21_is_theorem_6_at_its_last_order():
    got = approximate_poisson_renyi(0.5, 0.0, 8.0)
    order = 1 + 1 / math.expm1(0.5)
    assert got.max_order == pytest.approx(order)
    assert got.epsilon == pytest.approx(float(poisson_epsilon(order, 0.5, 0.0, 8.0)), rel=1e-12)
    assert approximate_poisson_renyi(0.5, 0.01, 8.0).delta == pytest.approx(-math.expm1(-0.08))


def test_tuned_epsilon_names_what_applies():
    law = laws.from_mean("geometric", 10)
    assert set(renyi_curves(RHO, law)) == {"PS-Thm2", "PS-Thm2-tight"}
    best = tuned_epsilon(RHO, law, 1e-6)
    each = [tuned_epsilon(RHO, law, 1e-6, theorems=[name]) for name in renyi_curves(RHO, law)]
    assert best == min(each)
    assert best.epsilon < each[0].epsilon


@pytest.mark.parametrize(
    "call",
    [
        lambda: negative_binomial_renyi(RHO.renyi, -1.0, 0.5),
        lambda: negative_binomial_renyi(RHO.renyi, 1.0, 1.0),
        lambda: negative_binomial_renyi(RHO.renyi, 1.0, 0.0),
        lambda: zcdp_negative_binomial_renyi(2.0, 0.0, 1.0, 0.5),
        lambda: pure_negative_binomial_epsilon(-0.1, 1.0),
        lambda: poisson_epsilon(2.0, 0.1, 0.1, 0.0),
        lambda: poisson_renyi(RHO, 3.0),
        lambda: poisson_renyi(GAUSSIAN, 3.0, delta_from="guess"),
        lambda: thinned(laws.capped(laws.poisson(3.0), 5), 0.1),
        lambda: thinned(laws.poisson(3.0), 1.0),
        lambda: truncated_renyi(RHO.renyi, laws.point_mass(9), 5)(np.array(2.0)),
        lambda: tuned_epsilon(RHO, laws.poisson(3.0), 1.0),
        lambda: tuned_epsilon(RHO, laws.poisson(3.0), 1e-6, theorems=["PS-Thm2"]),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
