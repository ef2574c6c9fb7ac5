"""Claims of Liu & Talwar, Papernot & Steinke, noisy max, and of the mechanisms."""

import dataclasses
import math

import numpy as np
import pytest

from jaxsel.base import Budget, FiniteLaw
from jaxsel.catalogue import (
    all_claims,
    find_claim,
    find_mechanism,
    mechanisms,
    promised,
)
from jaxsel.catalogue.checks import audit_claims, simulation_claims
from jaxsel.errors import InputError
from jaxsel.families.noisy_max.claims import pure_noises as noisy_max
from jaxsel.families.thresholds.claims import known_threshold as threshold
from jaxsel.families.tuning.bounds.conditional import fitted_tight_conditional
from jaxsel.families.tuning.claims import (
    approximate,
    conditional,
    divergences,
    fixed_runs,
    generic,
    hard_stop,
    repetition_laws,
)
from jaxsel.families.tuning.claims import (
    negative_binomial_poisson as tuning,
)
from jaxsel.families.tuning.claims import random_stopping as stopping
from jaxsel.families.tuning.claims import (
    selection_examples as selection,
)
from jaxsel.families.tuning.claims.base_pairs import (
    approximate_pairs,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
)
from jaxsel.repetitions import point_mass

BUDGET = Budget(trials=200_000, cases=40)
PART_1 = all_claims()


def named(claim_id):
    return next(claim for claim in PART_1 if claim.id == claim_id)


# --- The records ----------------------------------------------------------------------


def test_promises_of_the_catalogue_are_claims():
    for entry in mechanisms():
        for pair in entry.pairs({}):
            promise = promised(entry, {}, pair)
            if promise is None:
                continue
            claim_id, epsilon = promise
            claim = find_claim(claim_id)
            assert claim.holds is not entry.broken
            assert epsilon > 0.0


def test_every_sound_mechanism_with_a_promise_is_audited():
    audited = {claim.id for claim in audit_claims(mechanisms())}
    assert {
        "AUDIT-noisy_max",
        "AUDIT-noisy_max-laplace",
        "AUDIT-private_tuning",
        "AUDIT-random_stopping-finite",
        "AUDIT-threshold_selection",
        "AUDIT-conditional_sampling-finite",
    } <= audited
    assert not any("fixed_repetitions" in claim_id for claim_id in audited)
    # its guarantee has delta > 0
    assert "AUDIT-random_stopping_capped" not in audited


# --- The verdicts ---------------------------------------------------------------------


def test_verdicts_depend_on_the_seed_and_the_number_of_cases():
    claim = named("PS-Thm2")
    few = claim.check(Budget(cases=5))
    more = claim.check(Budget(cases=25))
    assert more.cases == few.cases + 20
    other = claim.check(Budget(cases=25, seed=1))
    assert other.margin != more.margin
    assert claim.check(Budget(cases=25)) == more


# --- Theory numbers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "plateau"),
    [(10, 2.162), (1e2, 2.967), (1e3, 3.572), (1e4, 4.080), (1e5, 4.526), (1e6, 4.930)],
)
def test_plateaus_of_figure_2(mean, plateau):
    value = named("PS-Cor4").evaluate(order=2.0, rho=0.1, eta=0.0, mean=mean)
    assert value == pytest.approx(plateau, abs=5e-4)
    # Theorem 2 at the order where the flat part ends
    order = 1.0 + math.sqrt(math.log(mean) / 0.1)
    theorem = named("PS-Thm2").evaluate(order=order, rho=0.1, eta=0.0, mean=mean)
    assert theorem == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("eta", "at_5", "at_50"),
    [(0.0, 2.162, 6.15), (1.0, 2.779, 6.77), (5.0, 4.432, 8.42)],
)
def test_figure_3(eta, at_5, at_50):
    evaluate = named("PS-Cor4").evaluate
    assert evaluate(order=5.0, eta=eta) == pytest.approx(at_5, abs=5e-4)
    assert evaluate(order=50.0, eta=eta) == pytest.approx(at_50, abs=5e-3)


def test_figure_3_poisson():
    evaluate = named("PS-Thm6").evaluate
    assert evaluate(order=5.0) == pytest.approx(2.763, abs=5e-4)
    assert evaluate(order=50.0) == pytest.approx(7.62, abs=5e-3)


@pytest.mark.parametrize(
    ("order", "exact", "plotted"),
    [(2.0, 0.765, 3.182), (5.0, 1.122, 1.561), (10.0, 1.750, 2.210)],
)
def test_figure_8(order, exact, plotted):
    value = named("PS-Fig8-printed").evaluate(order=order)
    assert value == pytest.approx(plotted, abs=5e-4)
    verdict = named("PS-Fig8").check(Budget())
    assert verdict.margin > 0.0
    s, t = fitted_tight_conditional(order)
    found = named("PS-D2").evaluate(order=order, s=s, t=t)
    assert found == pytest.approx(exact, abs=5e-4)


def test_numbers_of_the_errata():
    assert named("PS-Thm6-printed").evaluate() == pytest.approx(math.log(0.5) / 2.0)
    part_2 = named("PS-Cor16(2)-printed").evaluate(order=1.5, base_epsilon=1.0)
    assert part_2 == pytest.approx(0.38710, abs=5e-6)
    reading = named("LT-Thm3.4-pure-reading").check(BUDGET)
    assert reading.claimed == pytest.approx(0.9)
    assert reading.observed == pytest.approx(1.07, abs=0.01)
    assert named("PS-Fig8").evaluate() == pytest.approx(2.282, abs=5e-4)


def test_closed_forms():
    assert named("PS-Eq8").evaluate() == pytest.approx(1 - (1 - math.exp(-10)) / 10)
    assert named("PS-Eq8").evaluate(repetitions="point_mass:count=4") == 0.8
    assert named("PS-Def1").evaluate(eta=1.0, gamma=0.1) == pytest.approx(10.0)
    tried = named("PS-D4-considered").evaluate(repetitions="poisson:mean=10")
    assert tried == pytest.approx(1.0 - math.exp(-1.0))
    assert named("PS-Prop17").evaluate(epsilon=0.5, count=8) == 4.0
    assert named("LT-Thm3.3").evaluate(share=0.5, gamma=0.01) == pytest.approx(0.02)
    assert named("NM-laplace-general").evaluate(noise_scale=4.0) == 0.5
    assert named("NM-gumbel-monotone-zCDP").evaluate(order=2, noise_scale=2) == 1 / 16


# --- Power: a bound 10 % too small, or a wrong law, is refuted ------------------------


def smaller(function):
    return lambda *args, **kwargs: 0.9 * function(*args, **kwargs)


@pytest.mark.parametrize(
    ("claim_id", "module", "name"),
    [
        ("PS-Cor3", tuning, "pure_negative_binomial_epsilon"),
        ("PS-Lem7", generic, "generic_pair_epsilon"),
        ("PS-D1", fixed_runs, "fixed_runs_epsilon"),
        ("PS-Lem13", divergences, "zcdp_from_pure"),
        ("PS-Cor16(1)", conditional, "conditional_part"),
        ("PS-Cor16(2)", conditional, "conditional_part"),
        ("PS-Lem20", approximate, "tuned_law"),
        ("PS-D4-pure", selection, "_pure"),
        ("LT-Thm1.2", threshold, "threshold_pure"),
        ("LT-Thm3.2", stopping, "stopping_pure"),
        ("LT-Thm3.3", stopping, "percentile_failure_bound"),
        ("LT-Thm3.1(d)", threshold, "threshold_expected_draws_bound"),
        ("LT-Thm1.2(c)", threshold, "_calls"),
        ("PS-Def1", repetition_laws, "_mean"),
        ("PS-Eq8", repetition_laws, "_closed_quantile"),
        ("PS-Prop17", fixed_runs, "_attained"),
    ],
)
def test_a_bound_ten_percent_smaller_is_refuted(monkeypatch, claim_id, module, name):
    claim = named(claim_id)
    assert claim.check(BUDGET).outcome == "holds"
    monkeypatch.setattr(module, name, smaller(getattr(module, name)))
    assert claim.check(BUDGET).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim_id", "module", "name"),
    [
        ("LT-Alg2-sharp", stopping, "stopping_approximate_sharp"),
        ("LT-Thm3.1(c)-sharp", threshold, "threshold_approximate_sharp"),
        ("LT-Alg2-hardstop-sharp", hard_stop, "hard_stop_approximate_sharp"),
    ],
)
def test_a_delta_ten_percent_smaller_is_refuted(monkeypatch, claim_id, module, name):
    claim = named(claim_id)
    original = getattr(module, name)

    def spoiled(*args):
        bound = original(*args)
        return bound._replace(delta=0.9 * bound.delta)

    monkeypatch.setattr(module, name, spoiled)
    assert claim.check(BUDGET).outcome == "refuted"


def test_a_conversion_ten_percent_smaller_is_refuted(monkeypatch):
    original = divergences.log_delta_at_order
    monkeypatch.setattr(
        divergences,
        "log_delta_at_order",
        lambda *args: original(*args) + math.log(0.9),
    )
    assert named("PS-Lem14").check(BUDGET).outcome == "refuted"


@pytest.mark.parametrize("claim", noisy_max.CLAIMS, ids=lambda claim: claim.id)
def test_noisy_max_with_a_factor_ten_percent_off_is_refuted(monkeypatch, claim):
    # a bound that is too small; a tight one that asks for too much
    change = 1.1 if claim.id.endswith("-tight") else 0.9
    for relation, factor in list(noisy_max._FACTOR.items()):
        monkeypatch.setitem(noisy_max._FACTOR, relation, change * factor)
    if claim.id.endswith("-tight"):
        # the constructed pair itself does not change with the factor
        assert claim.check(BUDGET).claimed > claim.check(BUDGET).observed
    assert claim.check(BUDGET).outcome == "refuted"


def changed(entry, *, law=None, promise=None):
    """The entry with another law, or without one, or with another promise."""

    def make(values):
        built = entry.make(values)
        return built._replace(mechanism=built.mechanism._replace(law=law))

    if promise is None:
        return entry._replace(make=make)
    return entry._replace(make=make, promise=lambda values, pair: ("wrong", promise))


def test_an_audit_alone_refutes_a_wrong_promise():
    # without an exact law only the audited lower bound can refute: exact 1.796
    entry = changed(find_mechanism("random_stopping"), promise=1.6)
    claim = next(c for c in audit_claims([entry]) if c.id == "AUDIT-random_stopping")
    verdict = claim.check(BUDGET)
    assert verdict.outcome == "refuted"
    assert "audited lower bound" in verdict.detail
    fine = changed(find_mechanism("random_stopping"), promise=1.8)
    claim = next(c for c in audit_claims([fine]) if c.id == "AUDIT-random_stopping")
    assert claim.check(BUDGET).outcome == "holds"


def test_a_simulation_that_is_five_percent_off_is_refuted():
    entry = find_mechanism("random_stopping")
    right = entry.build({"base": "finite"}).mechanism.law

    def wrong(data, params):
        law = right(data, params)
        shifted = law.probabilities.copy()
        moved = 0.05 * shifted[0]
        shifted[0] -= moved
        shifted[2] += moved
        return FiniteLaw(shifted, law.labels)

    (claim,) = simulation_claims([changed(entry, law=wrong)])
    assert claim.check(BUDGET).outcome == "refuted"
    (claim,) = simulation_claims([changed(entry, law=right)])
    assert claim.check(BUDGET).outcome == "holds"
    assert simulation_claims([changed(entry)]) == ()


def test_the_folklore_needs_trials_to_be_refuted():
    claim = named("FIXED-K-folklore")
    assert claim.check(Budget(trials=50)).outcome == "inconclusive"
    assert claim.check(BUDGET).margin < -1.0


# --- Pairs that the checks use --------------------------------------------------------


def test_pairs_are_laws_and_follow_the_budget():
    for make in (base_pairs, pure_pairs):
        few, more = (list(make(Budget(cases=n))) for n in (3, 9))
        assert len(more) == len(few) + 6
        for pair in more:
            for law in (pair.first, pair.second):
                assert law.sum() == pytest.approx(1.0, abs=1e-12)
                assert np.all(law > 0.0)
    for pair in approximate_pairs(Budget(cases=20)):
        for law, core in (
            (pair.first, pair.core.first),
            (pair.second, pair.core.second),
        ):
            # 1 - delta of the law is the core; the rest is what fails
            assert np.all(law - (1.0 - pair.delta) * core > -1e-15)
            assert law.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_gaussian_run_has_the_gaussian_divergence(sign):
    for order, scale in ((1.5, 4.0), (20.0, 1.0)):
        seen = gaussian_tuned_renyi(order, scale, point_mass(1), sign)
        assert seen == pytest.approx(order / (2.0 * scale**2), rel=1e-12)


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "settings"),
    [
        ("PS-Thm2", {"order": 1.0}),
        ("PS-Thm2", {"rho": -1.0}),
        ("PS-Thm2", {"second_order": 0.5}),
        ("PS-Cor4", {"mean": 0.5}),
        ("PS-Thm6", {"mean": 0.0}),
        ("PS-Thm6-printed", {"delta": 2.0}),
        ("PS-Lem7", {"repetitions": "unknown:mean=3"}),
        ("PS-Lem10(convexity)", {"weight": 1.5}),
        ("PS-Lem14", {"epsilon": -1.0}),
        ("PS-Eq7", {"x": 1.5}),
        ("PS-Eq8", {"repetitions": "beta_binomial:count=20,gamma=1"}),
        ("PS-Prop15", {"order": 1.2}),
        ("PS-Cor16(2)", {"order": 1.5}),
        ("PS-D4-tuned", {"candidates": 1}),
        ("LT-Thm3.1(a)", {"share": 0.6}),
        ("LT-Thm3.3", {"share": 0.0}),
        ("LT-Thm3.5", {"slack": 0.5}),
        ("LT-B.1-example-printed", {"epsilon": 1.0}),
        ("NM-gumbel-zCDP", {"noise_scale": math.nan}),
        ("FIXED-K-folklore", {"epsilon": 0.0}),
        ("AUDIT-noisy_max", {"pair": 7}),
        ("SIM-noisy_max", {"outcome": 3}),
    ],
)
def test_bad_input_is_refused_in_one_sentence(claim_id, settings):
    with pytest.raises(InputError) as caught:
        named(claim_id).evaluate(**settings)
    assert "\n" not in str(caught.value)


def test_claims_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PART_1[0].holds = False
