"""Claims of Papernot & Steinke and Liu & Talwar on tuning: numbers, power of checks."""

import functools
import math

import pytest

from jaxsel.accounting.single_run.pairs import randomised_response
from jaxsel.catalogue import find_claim as named
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.tuning.bounds.conditional import fitted_tight_conditional
from jaxsel.tuning.claims.renyi import approximate, conditional, divergences, fixed_runs
from jaxsel.tuning.claims.stopping import hard_stop, random_stopping

BUDGET = Budget(trials=200_000, cases=40)


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
    theorem = named("PS-Thm2").evaluate(
        base="zcdp:rho=0.1", law=f"logarithmic:mean={mean}", order=order
    )
    assert theorem == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("eta", "at_5", "at_50"), [(0.0, 2.162, 6.15), (1.0, 2.779, 6.77), (5.0, 4.432, 8.42)]
)
def test_figure_3(eta, at_5, at_50):
    evaluate = named("PS-Cor4").evaluate
    assert evaluate(order=5.0, eta=eta) == pytest.approx(at_5, abs=5e-4)
    assert evaluate(order=50.0, eta=eta) == pytest.approx(at_50, abs=5e-3)


def test_figure_3_poisson():
    evaluate = functools.partial(
        named("PS-Thm6").evaluate, base="zcdp:rho=0.1", law="poisson:mean=10"
    )
    assert evaluate(order=5.0) == pytest.approx(2.763, abs=5e-4)
    assert evaluate(order=50.0) == pytest.approx(7.62, abs=5e-3)


@pytest.mark.parametrize(
    ("order", "exact", "plotted"), [(2.0, 0.765, 3.182), (5.0, 1.122, 1.561), (10.0, 1.750, 2.210)]
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
    assert named("LT-ThmD.2-limit").evaluate(epsilon=0.1, alpha=0.1) == pytest.approx(0.14)


# --- Laws and bases that are given ------------------------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "settings"),
    [
        ("PS-Lem10(monotonicity)", {"larger_order": 3.0}),
        ("PS-Lem10(postprocessing)", {"order": 3.0}),
        ("PS-Lem10(composition)", {"order": 3.0, "count": 4}),
        ("PS-D1", {"order": 3.0, "count": 4}),
        ("PS-Lem22", {"order": 3.0, "maximum": 7}),
    ],
)
def test_randomised_response_may_be_given_by_its_laws(claim_id, settings):
    evaluate, sides = named(claim_id).evaluate, randomised_response(0.7)
    found = [evaluate(first=p, second=q, **settings) for p, q in (sides, sides[::-1])]
    assert max(found) == pytest.approx(evaluate(base_epsilon=0.7, **settings), rel=1e-9)


@pytest.mark.parametrize("claim_id", ["PS-Lem10(convexity)", "PS-Lem10(order-1)"])
def test_both_pairs_of_a_mixture_may_be_given_by_their_laws(claim_id):
    first, second = randomised_response(0.5)
    other_first, other_second = randomised_response(2.0)
    given = {"first": first, "second": second}
    given |= {"other_first": other_first, "other_second": other_second}
    evaluate = named(claim_id).evaluate
    assert evaluate(weight=0.2, **given) == pytest.approx(evaluate(weight=0.2), rel=1e-9)


def test_different_pairs_are_composed():
    (first, second), (other_first, other_second) = map(randomised_response, (0.5, 2.0))
    evaluate = named("PS-Lem10(composition)").evaluate
    both = evaluate(
        count=1, first=first, second=second, other_first=other_first, other_second=other_second
    )
    alone = [evaluate(count=1, base_epsilon=epsilon) for epsilon in (0.5, 2.0)]
    assert both == pytest.approx(sum(alone), rel=1e-9)


@pytest.mark.parametrize("part", [2, 3, 5])
def test_conditional_sampling_from_given_laws(part):
    """As what is printed states, where it is right."""
    first, second = randomised_response(1.0)
    given = {"order": 3.0, "probability": 1.0, "first": first, "second": second}
    if part == 5:
        given["exponent"] = 1.0
    printed = named(f"PS-Cor16({part})-printed").evaluate(order=3.0, base_epsilon=1.0)
    assert named(f"PS-Cor16({part})").evaluate(**given) == pytest.approx(printed, rel=1e-12)
    pure = named("PS-Cor16(1)").evaluate
    assert pure(first=first, second=second) == pytest.approx(pure(epsilon=1.0), rel=1e-12)


def test_the_figures_runs_may_be_given():
    formula = named("PS-Fig7-formula").evaluate
    assert formula(base="zcdp:rho=0.3") == pytest.approx(formula(rho=0.3), rel=1e-12)
    axis, runs = named("PS-Fig7-axis").evaluate, "gaussian:noise_multiplier=2"
    plotted = named("PS-Fig7-axis-at-delta").evaluate(base=runs, repetitions="poisson:mean=3")
    # Theorem 6 is right there, as the mean is above 1.
    assert axis(base=runs, repetitions="poisson:mean=3", bound="plotted") == plotted
    assert axis(base=runs, repetitions="poisson:mean=3") > plotted


def test_probabilities_and_tails_of_laws_by_hand():
    # Geometric with gamma 0.5 and failure 0.5 is geometric with gamma 0.75.
    thinned = named("PS-Lem20-thinned").evaluate
    assert thinned(repetitions="geometric:gamma=0.5", failure=0.5, count=2) == 0.1875
    # f(x)/x^2 = gamma/(x - (1 - gamma) x^2) is least at x = 1/(2 (1 - gamma)), here 2.
    tail = named("PS-A.2-runtime").evaluate(count=2, repetitions="geometric:gamma=0.75")
    assert tail == pytest.approx(0.75, rel=1e-9)


# --- Power: a bound 10 % too small, or a wrong law, is refuted ------------------------


def test_verdicts_depend_on_the_seed_and_the_number_of_cases():
    claim = named("PS-Cor4")
    few = claim.check(Budget(cases=5))
    more = claim.check(Budget(cases=25))
    assert more.cases == few.cases + 20 * 5  # pairs, each at five orders
    other = claim.check(Budget(cases=25, seed=1))
    assert other.margin != more.margin
    assert claim.check(Budget(cases=25)) == more


@pytest.mark.parametrize(
    ("claim_id", "module", "name"),
    [
        ("PS-D1", fixed_runs, "fixed_runs_epsilon"),
        ("PS-Lem13", divergences, "zcdp_from_pure"),
        ("PS-Cor16(1)", conditional, "conditional_part"),
        ("PS-Cor16(2)", conditional, "conditional_part"),
        ("PS-Lem20", approximate, "tuned_law"),
        ("LT-Thm3.3", random_stopping, "percentile_failure_bound"),
        ("LT-Alg2-sharp", random_stopping, "stopping_failure"),
    ],
)
def test_a_bound_ten_percent_smaller_is_refuted(monkeypatch, claim_id, module, name):
    claim, original = named(claim_id), getattr(module, name)
    assert claim.check(BUDGET).outcome == "holds"
    monkeypatch.setattr(module, name, lambda *args, **given: 0.9 * original(*args, **given))
    assert claim.check(BUDGET).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim_id", "factor", "budget"),
    [
        ("PS-D4-pure", 0.9, BUDGET),
        ("PS-Cor3", 0.9, BUDGET),
        ("PS-Lem7", 0.9, BUDGET),
        ("PS-Prop17", 0.9, BUDGET),
        ("PS-Def1", 0.9, BUDGET),
        ("PS-Eq8", 0.9, BUDGET),
        ("LT-Thm3.2", 0.9, BUDGET),
        ("LT-Thm3.5-sharp", 0.98, Budget(cases=60)),
        ("LT-Alg2-hardstop-worst", 0.98, Budget(cases=60)),
    ],
)
def test_a_smaller_number_is_refuted(monkeypatch, claim_id, factor, budget):
    claim = named(claim_id)
    assert claim.check(budget).outcome == "holds"
    number = claim.evaluate
    smaller = functools.wraps(number)(lambda **given: factor * number(**given))
    monkeypatch.setitem(vars(claim), "evaluate", smaller)
    assert claim.check(budget).outcome == "refuted"


def test_a_delta_ten_percent_smaller_is_refuted(monkeypatch):
    original = hard_stop.hard_stop_approximate_sharp

    def spoiled(*args):
        bound = original(*args)
        return bound._replace(delta=0.9 * bound.delta)

    monkeypatch.setattr(hard_stop, "hard_stop_approximate_sharp", spoiled)
    assert named("LT-Alg2-hardstop-sharp").check(BUDGET).outcome == "refuted"


def test_a_conversion_ten_percent_smaller_is_refuted(monkeypatch):
    original = divergences.log_delta_at_order
    monkeypatch.setattr(
        divergences, "log_delta_at_order", lambda *args: original(*args) + math.log(0.9)
    )
    assert named("PS-Lem14").check(BUDGET).outcome == "refuted"


def test_the_folklore_needs_trials_to_be_refuted():
    claim = named("FIXED-K-folklore")
    assert claim.check(Budget(trials=50)).outcome == "inconclusive"
    assert claim.check(BUDGET).margin < -1.0


# --- Parameters -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "settings", "message"),
    [
        ("PS-Thm2", {"order": 1.0}, r"order is 1\.0; it must be a number in \(1, inf\]"),
        ("PS-Lem7", {"law": "unknown:mean=3"}, "unknown"),
        # parameters that do not fit together
        ("PS-Prop15", {"order": 1.2}, r"order \+ 1/q is 1\.3"),
        ("PS-Prop15", {"inverse_q": 0.7, "inverse_r": 0.7}, "sum to 1"),
        ("PS-Cor16(2)", {"first": "0.2,0.8"}, "belong together"),
        ("PS-Lem10(composition)", {"other_second": "0.2,0.8"}, "belong together"),
        ("PS-D1", {"first": "0.2,0.8", "second": "0.2,0.3,0.5"}, "the same outcomes"),
        ("PS-A.2-runtime", {"repetitions": "poisson:mean=3"}, "truncated negative binomial"),
        ("PS-D3", {"b": 0.5, "c": 0.6}, r"b \+ c"),
        ("PS-Eq8", {"repetitions": "beta_binomial:count=20,gamma=1"}, "closed form"),
        ("PS-Lem22", {"repetitions": "point_mass:count=60"}, "positive probability"),
        ("LT-Thm3.5-sharp", {"gamma": 0.1, "steps": 3}, "steps is 3"),
        ("LT-ThmD.2", {"candidates": 1}, "candidates is 1"),
        ("LT-LemE.2", {"epsilon": 1.0, "wider": 0.5}, "must exceed epsilon"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(claim_id, settings, message):
    with pytest.raises(InputError, match=message) as caught:
        named(claim_id).evaluate(**settings)
    assert "\n" not in str(caught.value)


def test_one_theorem_printed_twice_is_one_claim():
    for alias, name in (
        ("LT-Thm1.3", "LT-Thm3.2"),
        ("KRW-Thm5.1", "PS-Thm2"),
        ("KRW-Cor5.3", "PS-Cor3"),
        ("KRW-LemD.1", "PS-Lem14"),
    ):
        assert named(alias) is named(name)
