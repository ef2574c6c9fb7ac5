"""Every Renyi bound on tuned algorithms is at least the exact divergence, on every pair.

And the errata of these bounds: the printed form fails, the corrected form holds.
"""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.accounting.single_run.curves import BaseGuarantee, pure
from jaxsel.accounting.single_run.dominating import pair_from_laws
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.approximate import thinned
from jaxsel.tuning.bounds.generic import correct_for_no_runs, generic_pair_epsilon, generic_renyi
from jaxsel.tuning.bounds.negative_binomial import (
    negative_binomial_renyi,
    pure_negative_binomial_epsilon,
)
from jaxsel.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.tuning.claims.renyi.approximate import approximate_poisson_renyi
from jaxsel.tuning.claims.renyi.fixed_runs import fixed_runs_epsilon
from jaxsel.tuning.claims.renyi.generic import truncated_renyi
from tests.accounting.worst_pair import approximate_pair
from tests.tuning.theorem_2 import negative_binomial_epsilon

ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0, math.inf])
ROUNDING = 1e-9

GENERATOR = np.random.default_rng(31)
FIXED = [
    pairs.randomised_response(1.0),
    pairs.three_outcome(1.0),
    pairs.three_outcome(0.3, 0.064, 1e-3),
    pairs.fixed_runs_constant(0.3, 7),
    pairs.tight_conditional(0.8, 1.06),
    pairs.tight_generic(),
    pairs.bernoulli(1e-4, 3e-4),
]
RANDOM = [
    pairs.random_pure_pair(GENERATOR, int(GENERATOR.integers(2, 7)), epsilon)
    for epsilon in (0.1, 0.5, 1.0, 2.0)
    for _ in range(4)
] + [pairs.random_pair(GENERATOR, int(GENERATOR.integers(2, 7)), 1.0) for _ in range(8)]
PAIRS = FIXED + RANDOM

NEGATIVE_BINOMIALS = [(-0.7, 1e-3), (0.0, 1e-9), (0.0, 0.1), (1.0, 0.02), (5.0, 0.3)]
LAWS = [
    *(laws.truncated_negative_binomial(*x) for x in NEGATIVE_BINOMIALS),
    laws.poisson(0.4),
    laws.poisson(1.0),
    laws.poisson(9.0),
    laws.binomial(6, 0.1),
    laws.binomial(15, 0.6),
    laws.point_mass(1),
    laws.point_mass(4),
    laws.beta_binomial(9, 0.7),
    laws.conditioned(laws.geometric(0.05), 12),
    laws.capped(laws.geometric(0.05), 12),
]


def describe(law):
    return law.name


def two_sided(pair):
    """The two-sided Renyi curve of a pair."""
    return lambda order: np.maximum(
        divergences.renyi_divergence(pair.first, pair.second, order),
        divergences.renyi_divergence(pair.second, pair.first, order),
    )


def base_of(pair):
    """The exact guarantee of a pair, without its trade-off."""
    return BaseGuarantee(
        "pair",
        two_sided(pair),
        lambda: (pair_from_laws(*pair),),
        lambda level: divergences.profile_delta(pair.first, pair.second, level),
    )


def exact_tuned(pair, law, order=ORDERS):
    """Both directions of the exact Renyi divergence of the tuned laws."""
    first, second = tuned_law(pair.first, law), tuned_law(pair.second, law)
    return (
        divergences.renyi_divergence(first, second, order),
        divergences.renyi_divergence(second, first, order),
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_generic_bound_of_a_known_pair(law):
    least_slack = math.inf
    for pair in PAIRS:
        for p, q, exact in zip(pair, pair[::-1], exact_tuned(pair, law), strict=True):
            bound = generic_pair_epsilon(ORDERS, p, q, law, count=33)
            assert np.all(exact <= bound + ROUNDING)
            least_slack = min(least_slack, float(np.min(bound - exact)))
    if law.mean == 1.0 and law.variance == 0.0:
        assert least_slack < 1e-6  # one run: the bound is exact


@pytest.mark.parametrize(("eta", "gamma"), NEGATIVE_BINOMIALS)
def test_theorem_2(eta, gamma):
    law = laws.truncated_negative_binomial(eta, gamma)
    for pair in PAIRS:
        exact = np.maximum(*exact_tuned(pair, law))
        tight = negative_binomial_renyi(two_sided(pair), eta, gamma, tight=True)(ORDERS)
        assert np.all(exact <= tight + ROUNDING)
        # Theorem 2 is implied by Lemma 7 on the same pair
        generic = np.maximum(
            generic_pair_epsilon(ORDERS, pair.first, pair.second, law, count=33),
            generic_pair_epsilon(ORDERS, pair.second, pair.first, law, count=33),
        )
        raw = negative_binomial_renyi(two_sided(pair), eta, gamma, tight=True, monotonised=False)(
            ORDERS
        )
        assert np.all(generic <= raw + ROUNDING)


@pytest.mark.parametrize("second_order", [1.0, 1.7, 6.0, math.inf])
def test_theorem_2_at_every_second_order(second_order):
    for pair in PAIRS:
        curve = two_sided(pair)
        for eta, gamma in NEGATIVE_BINOMIALS:
            law = laws.truncated_negative_binomial(eta, gamma)
            exact = np.maximum(*exact_tuned(pair, law))
            second = curve(second_order)
            for tight in (False, True):
                bound = negative_binomial_epsilon(
                    ORDERS, curve(ORDERS), second_order, second, eta, gamma, tight=tight
                )
                assert np.all(exact <= bound + ROUNDING)


@pytest.mark.parametrize("mean", [0.05, 0.4, 0.99, 1.0, 1.5, 9.0, 200.0])
@pytest.mark.parametrize("delta_from", ["profile", "renyi"])
def test_theorem_6(mean, delta_from):
    law = laws.poisson(mean)
    for pair in FIXED[:4] + RANDOM[::5]:
        exact = np.maximum(*exact_tuned(pair, law))
        curve = poisson_renyi(base_of(pair), mean, delta_from=delta_from, monotonised=False)
        assert np.all(exact <= curve(ORDERS) + ROUNDING)


@pytest.mark.parametrize("eta", [-0.5, 0.0, 1.0, 5.0])
def test_corollary_3_holds_and_is_tight(eta):
    for pair in FIXED[:1] + RANDOM[:16]:
        epsilon = divergences.exact_epsilon(*pair)
        for gamma in (1e-9, 1e-3, 0.2):
            law = laws.truncated_negative_binomial(eta, gamma)
            tuned = np.maximum(*exact_tuned(pair, law, np.array(math.inf)))
            bound = pure_negative_binomial_epsilon(epsilon, eta)
            assert tuned <= bound + ROUNDING
    # within a factor of one as gamma vanishes
    law = laws.truncated_negative_binomial(eta, 1e-9)
    tuned = np.maximum(*exact_tuned(pairs.three_outcome(1.0, 0.2, 1e-14), law, np.array(math.inf)))
    assert tuned > (2 + eta) * (1 - 1e-6)


@pytest.mark.parametrize(("eta", "epsilon"), [(0.0, 1.99685), (1.0, 2.99369), (5.0, 6.98108)])
def test_three_blocks_nearly_reach_corollary_3(eta, epsilon):
    law = laws.truncated_negative_binomial(eta, 1e-3)
    pair = pairs.three_outcome(1.0)
    tuned = np.maximum(*exact_tuned(pair, law, np.array(math.inf)))
    assert tuned == pytest.approx(epsilon, abs=6e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_generic_bound_over_a_tradeoff(law):
    for epsilon in (0.5, 1.0):
        curve = generic_renyi(pure(epsilon), law)
        bound = curve(ORDERS)
        for pair in PAIRS:
            if divergences.exact_epsilon(*pair) <= epsilon * (1 + 1e-9):
                assert np.all(np.maximum(*exact_tuned(pair, law)) <= bound + ROUNDING)


def test_generic_bound_of_the_three_outcomes_of_the_paper():
    # the form of Appendix D.3
    pair, law = pairs.tight_generic(), laws.geometric(0.01)
    exact, _ = exact_tuned(pair, law, np.array(5.0))
    bound = generic_pair_epsilon(5.0, pair.first, pair.second, law)
    assert exact == pytest.approx(0.6258, abs=6e-5)
    assert bound == pytest.approx(1.4128, abs=6e-5)


def test_fixed_runs_are_covered_by_composition_and_generic_bound():
    for count in (1, 2, 7):
        law = laws.point_mass(count)
        for pair in PAIRS:
            exact = np.maximum(*exact_tuned(pair, law))
            composed = count * two_sided(pair)(ORDERS)
            assert np.all(exact <= composed + ROUNDING)
            assert np.all(composed <= fixed_runs_epsilon(ORDERS, composed / count, count))


@pytest.mark.parametrize("maximum", [1, 3, 10, 60])
def test_lemma_22(maximum):
    for law in (laws.geometric(0.1), laws.poisson(5.0), laws.poisson(0.5)):
        truncated = laws.conditioned(law, maximum)
        for pair in FIXED[:4] + RANDOM[::4]:
            for p, q, exact in zip(pair, pair[::-1], exact_tuned(pair, truncated), strict=True):

                def untruncated(order, p=p, q=q, law=law):
                    return generic_pair_epsilon(order, p, q, law, corrected=False)

                bound = truncated_renyi(untruncated, law, maximum)(ORDERS)
                assert np.all(exact <= bound + ROUNDING)


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_lemma_20_and_its_corollaries(delta):
    epsilon = 0.6
    generator = np.random.default_rng(32)
    worst = pairs.approximate_three_outcome(epsilon, 0.05, 1e-4, delta)
    for law in (laws.geometric(0.05), laws.logarithmic(0.01), laws.poisson(8.0)):
        thin = thinned(law, delta)
        cases = [worst, approximate_pair(epsilon, delta)]
        for _ in range(20):
            core = pairs.random_pure_pair(generator, 5, epsilon)
            junk = pairs.random_pair(generator, 5, 0.1)
            cases.append(
                pairs.LawPair(
                    *((1 - delta) * a + delta * b for a, b in zip(core, junk, strict=True))
                )
            )
        for case in cases:
            first, second = tuned_law(case.first, law), tuned_law(case.second, law)
            if law.family == "truncated_negative_binomial":
                total = (2 + law.parameters["eta"]) * epsilon
            else:
                total = epsilon + law.mean * math.tanh(epsilon / 2)
            exact = divergences.profile_delta(first, second, total)
            assert exact <= thin.delta * (1 + 1e-9)
        # a private outcome on each side reaches delta whatever epsilon is
        first, second = (tuned_law(x, law) for x in worst)
        exact = divergences.profile_delta(first, second, 50.0)
        assert exact == pytest.approx(thin.delta, rel=1e-9)


def test_corollary_21_by_its_core():
    epsilon, delta = 0.5, 0.02
    generator = np.random.default_rng(33)
    for mean in (0.3, 0.9, 1.01, 1.03, 6.0):
        bound = approximate_poisson_renyi(epsilon, delta, mean)
        law = laws.poisson(mean * (1 - delta))
        for _ in range(60):
            core = pairs.random_pure_pair(generator, 4, epsilon)
            exact = np.maximum(*exact_tuned(core, law, np.array(bound.max_order)))
            assert exact <= bound.epsilon + ROUNDING


# --- E-PS-1: the outcome "no run" -----------------------------------------------------


def test_erratum_1_counterexample():
    # Q = Q', Poisson with mean 1/2, order 3: printed negative, the truth is 0
    printed = poisson_epsilon(3.0, 0.0, 0.0, 0.5, corrected=False)
    assert printed == pytest.approx(math.log(0.5) / 2)
    assert printed < 0
    corrected = poisson_epsilon(3.0, 0.0, 0.0, 0.5)
    assert corrected == pytest.approx(math.log(math.exp(-0.5) + 0.5) / 2)
    assert corrected >= 0
    same = pairs.bernoulli(0.3, 0.3)
    exact, _ = exact_tuned(same, laws.poisson(0.5), np.array(3.0))
    assert printed < exact <= corrected
    generic = generic_pair_epsilon(3.0, *same, laws.poisson(0.5), corrected=False)
    assert generic == pytest.approx(printed)


@pytest.mark.parametrize("mean", [0.3, 0.7, 0.95])
def test_erratum_1_printed_form_fails_below_mean_one(mean):
    law = laws.poisson(mean)
    failures = 0
    generator = np.random.default_rng(34)
    for _ in range(60):
        pair = pairs.random_pure_pair(generator, 3, 0.4)
        order = np.array(2.0)
        base = base_of(pair)
        delta = base.profile(math.log(2.0)) if base.profile else 1.0
        printed = poisson_epsilon(order, base.renyi(order), delta, mean, corrected=False)
        corrected = poisson_epsilon(order, base.renyi(order), delta, mean)
        exact = np.maximum(*exact_tuned(pair, law, order))
        failures += bool(printed < exact - ROUNDING)
        assert exact <= corrected + ROUNDING
    assert failures > 0


@pytest.mark.parametrize("mean", [1.0, 1.1, 4.0])
def test_erratum_1_printed_form_holds_from_mean_one(mean):
    law = laws.poisson(mean)
    generator = np.random.default_rng(35)
    orders = np.array([1.1, 2.0, 6.0])
    for _ in range(150):
        pair = pairs.random_pair(generator, int(generator.integers(2, 5)), 1.0)
        base = base_of(pair)
        delta = divergences.profile_delta(*pair, np.log1p(1 / (orders - 1)))
        printed = poisson_epsilon(orders, base.renyi(orders), delta, mean)
        assert np.all(np.maximum(*exact_tuned(pair, law, orders)) <= printed + ROUNDING)


def test_erratum_1_generic_bound_with_few_runs():
    law = laws.binomial(6, 0.05)
    failures = 0
    for pair in RANDOM:
        exact, _ = exact_tuned(pair, law)
        printed = generic_pair_epsilon(ORDERS, *pair, law, corrected=False)
        corrected = correct_for_no_runs(ORDERS, printed, law.probability_zero)
        failures += bool(np.any(printed < exact - ROUNDING))
        assert np.all(exact <= corrected + ROUNDING)
    assert failures > 0


def test_erratum_1_corollary_21():
    epsilon, mean = 0.2, 0.3
    printed = approximate_poisson_renyi(epsilon, 0.0, mean, corrected=False)
    corrected = approximate_poisson_renyi(epsilon, 0.0, mean)
    pair = pairs.randomised_response(epsilon)
    exact = np.maximum(*exact_tuned(pair, laws.poisson(mean), np.array(printed.max_order)))
    assert printed.epsilon < 0 <= exact <= corrected.epsilon
