"""The accountant: never worse than dp-accounting, every bound above the exact loss."""

import functools
import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event, rdp

import jaxsel
from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, divergences, pairs
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.conversions import epsilon_at
from jaxsel.accounting.single_run.dominating import pair_from_laws, reversed_pair
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.catalogue import all_claims
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.proofs import proofs
from jaxsel.tuning.search_bounds import bounds_by_name

DELTAS = (1e-10, 1e-3)


pytestmark = pytest.mark.usefixtures("coarse_prices")


quick = functools.partial(account, attain=False)


def theirs(event, law, delta: float) -> float:
    """dp-accounting's epsilon of the same selection."""
    if law.family == "poisson":
        mean, shape = law.mean, math.inf
    else:
        mean, shape = law.mean, law.parameters["eta"]
    repeated = dp_event.RepeatAndSelectDpEvent(event, mean, shape)
    return rdp.RdpAccountant().compose(repeated).get_epsilon(delta)


def repeated_laws(mean: float):
    return [
        laws.poisson(mean),
        *(laws.from_mean("truncated_negative_binomial", mean, eta=eta) for eta in (0.0, 1.0, 3.0)),
    ]


@pytest.mark.parametrize("noise", [0.7, 4.0, 20.0])
@pytest.mark.parametrize("mean", [1.5, 10.0, 1000.0])
def test_never_worse_than_dp_accounting_for_gaussians(noise, mean):
    event = dp_accounting.GaussianDpEvent(noise)
    base = curves.gaussian(noise)
    for law, delta in itertools.product(repeated_laws(mean), DELTAS):
        assert quick(base, law, delta).best.epsilon <= theirs(event, law, delta)


@pytest.mark.parametrize(("noise", "rate", "steps"), [(1.1, 256 / 60000, 14062), (0.8, 0.001, 500)])
@pytest.mark.parametrize("mean", [3.0, 100.0])
def test_never_worse_than_dp_accounting_for_dp_sgd(noise, rate, steps, mean):
    base = dp_sgd(noise_multiplier=noise, sampling_probability=rate, steps=steps)
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), steps
    )
    for law, delta in itertools.product(repeated_laws(mean), (1e-6,)):
        assert quick(base, law, delta).best.epsilon <= theirs(event, law, delta)


def test_never_worse_than_dp_accounting_for_laplace():
    event = dp_accounting.LaplaceDpEvent(2.0)
    base = curves.laplace(2.0)
    for law, delta in itertools.product(repeated_laws(20.0), DELTAS):
        assert quick(base, law, delta).best.epsilon <= theirs(event, law, delta)


def known_pair(first, second, *_) -> curves.BaseGuarantee:
    """A base whose pair of laws is known, with everything computed from it."""
    pair = pair_from_laws(first, second)
    both = (pair, reversed_pair(pair))
    return curves.from_pairs("known pair", lambda: both)


FAMILIES = (
    laws.geometric(0.1),
    laws.logarithmic(0.02),
    laws.truncated_negative_binomial(-0.5, 0.05),
    laws.poisson(0.6),
    laws.poisson(8.0),
    laws.binomial(12, 0.4),
    laws.beta_binomial(20, 0.5),
    laws.point_mass(4),
)


def test_every_bound_holds_for_random_pairs():
    generator = np.random.default_rng(5)
    cases, attained = 0, 0.0
    for law in FAMILIES:
        for delta in (1e-4, 0.02):
            pair = pairs.random_pair(generator, int(generator.integers(2, 6)))
            tuned = [tuned_law(side, law) for side in (pair.first, pair.second)]
            exact = divergences.epsilon_at_delta(*tuned, delta)
            for bound in quick(known_pair(*pair), law, delta).bounds:
                assert bound.epsilon >= exact - 1e-9, (bound, law.family, delta)
                attained = max(attained, exact / bound.epsilon)
                cases += 1
    assert cases > 60
    assert attained > 0.9  # so that bounds a tenth smaller would fail


def test_every_theorem_named_is_a_claim():
    true = [claim for claim in all_claims() if claim.holds]
    known = {name for claim in true for name in (claim.id, *claim.aliases)}
    assert {bound.id for bound in bounds_by_name().values()} <= known


def test_bounds_are_sorted_named_and_explained():
    for base in (curves.gaussian(2.0), curves.approximate(1.0, 1e-9), curves.zcdp(0.1)):
        for law in FAMILIES:
            found = quick(base, law, 1e-6)
            values = [bound.epsilon for bound in found.bounds]
            assert values == sorted(values)
            assert found.best == found.bounds[0]
            for bound in found.bounds:
                name = bound.theorem.removeprefix("PS-Lem20+")
                assert bound.statement == bounds_by_name()[name].words
                assert bound.epsilon >= 0.0


def test_a_ranking_attains_almost_all_of_the_best_bound():
    for base, law, share in (
        (curves.gaussian(4.0), laws.geometric(0.01), 0.999),
        (curves.gaussian(0.7), laws.poisson(10.0), 0.999),
        (curves.laplace(2.0), laws.geometric(0.01), 0.99),
        (curves.pure(1.0), laws.logarithmic(0.01), 0.99),
        (curves.points([0.5, 1.0], [1e-3, 1e-9]), laws.geometric(0.01), 0.99),
    ):
        found = account(base, law, 1e-6)
        assert share * found.best.epsilon <= found.attained
        assert found.attained <= found.best.epsilon * (1 + 1e-9)


def test_one_run_costs_what_the_base_costs():
    base = curves.gaussian(4.0)
    found = account(base, laws.point_mass(1), 1e-6)
    assert found.single == pytest.approx(1.0607018623282745, rel=1e-12)
    assert found.best.epsilon == pytest.approx(found.single, rel=1e-5)
    assert found.best.epsilon >= found.single * (1 - 1e-12)


def test_tuning_never_costs_less_than_the_families_promise():
    # E[K] >= 1 and P[K = 0] = 0: a score that ignores the data releases one plain run
    base = curves.gaussian(4.0)
    for law in FAMILIES:
        if law.probability_zero == 0.0:
            found = quick(base, law, 1e-6)
            assert found.best.epsilon >= found.single * (1 - 1e-9)


def test_pure_bases_are_accounted_at_delta_zero():
    base = curves.pure(0.5)
    found = account(base, laws.geometric(0.01), 0.0)
    assert found.best.epsilon <= 1.5
    assert {bound.theorem for bound in found.bounds} >= {"KRW-Cor5.3", "JX-Envelope"}
    cohen = account(base, laws.beta_binomial(300, 0.5), 0.0)
    named = {bound.theorem: bound.epsilon for bound in cohen.bounds}
    assert named["CL-Thm1"] == pytest.approx(1.25)
    assert cohen.best.epsilon <= 1.25
    assert account(curves.gaussian(1.0), laws.geometric(0.1), 0.0).best.epsilon == math.inf


def test_failures_are_set_aside():
    # (epsilon, delta)-DP alone: (eta + 2) epsilon at 1 - f(1 - delta), Lemma 20
    law = laws.geometric(1e-3)
    found = account(curves.approximate(1.0, 1e-9), law, 1e-6)
    assert found.best.epsilon <= 3.0
    too_small = account(curves.approximate(1.0, 1e-6), law, 1e-6)
    assert too_small.best.epsilon == math.inf


def test_two_points_are_better_than_one():
    law = laws.geometric(0.01)
    one = account(curves.points([1.0], [1e-9]), law, 1e-6).best.epsilon
    two = account(curves.points([0.5, 1.0], [1e-3, 1e-9]), law, 1e-6).best.epsilon
    assert two < 0.7 * one


def test_base_epsilon_agrees_with_the_closed_form():
    for noise, delta in itertools.product((0.5, 4.0), (1e-9, 1e-3)):
        want = epsilon_at(curves.gaussian(noise).profile, delta)
        assert curves.gaussian(noise).epsilon(delta) == want


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_delta_is_checked(delta):
    with pytest.raises(InputError, match="delta"):
        account(curves.gaussian(1.0), laws.poisson(3.0), delta)


def test_no_run_at_all_is_refused():
    with pytest.raises(InputError, match="always 0"):
        account(curves.gaussian(1.0), laws.conditioned(laws.poisson(5.0), 0), 1e-6)


@pytest.mark.parametrize(
    ("base", "law", "least"),
    [
        ("pure:epsilon=1e308", "geometric:mean=3", 0.9999e308),
        ("pure:epsilon=1e308", "poisson:mean=3", 0.9999e308),
        ("pure:epsilon=9.5e307", "point_mass:count=1", 9.4999e307),
        ("pure:epsilon=1e308", "point_mass:count=2", math.inf),
        ("pure:epsilon=1", "poisson:mean=1e17", 1.0),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_numbers_near_the_largest_are_answered_without_a_warning(base, law, least, delta):
    """Warnings are errors here. No epsilon is below that of one run, hardly below 1e308."""
    found = account(parse_base(base), laws.parse(law), delta, attain=False)
    assert all(bound.epsilon >= least for bound in found.bounds)
    assert not math.isnan(found.best.epsilon)
    if delta and math.isfinite(least):
        assert found.best.epsilon < 1.0001e308


def test_compositions_near_the_largest_numbers_are_answered_without_a_warning():
    huge = jaxsel.release("pure:epsilon=1e308")
    for delta in (0.0, 1e-6):
        assert jaxsel.compose([huge, huge], delta).best.epsilon == math.inf
        assert 0.9999e308 < jaxsel.compose(huge, delta).best.epsilon <= 1e308
    for epsilon in (3.0, 1e308):
        assert jaxsel.compose([huge, huge], epsilon=epsilon).best.delta == 1.0


@pytest.mark.parametrize(
    "base",
    ["gaussian:noise_multiplier=2", "pure:epsilon=0.5", "approximate:epsilon=0.5,delta=1e-4"],
)
@pytest.mark.parametrize("law", ["geometric:mean=10", "poisson:mean=30"])
@pytest.mark.usefixtures("coarse_prices")
def test_no_proof_is_below_what_it_is_said_never_to_be_below(base, law):
    """And of the price something is said, so that fewer programs are solved."""
    told = 0.0
    for name, proof in proofs(parse_base(base), laws.parse(law)).items():
        for epsilon in (0.2, 1.0, 3.0):
            least = proof.lower_bound(epsilon)
            assert least <= proof.delta(epsilon) * (1.0 + 1e-9), name
            if name.endswith("JX-Priced"):
                told = max(told, least)
    assert told > 1e-6
