"""A statement is its decorated formula, judged at points and nowhere else."""

from types import ModuleType
from typing import Annotated

import numpy as np
import pytest

from jaxsel.language import declared
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Aside, Judged, drawn, grid, in_units, listed, uniform
from jaxsel.language.domains import positive
from jaxsel.language.papers import JX

Epsilon = Annotated[float, positive("of one run")]


def doubled(identity="JX-doubled", **more):
    """A fresh claim: twice epsilon, times the number of runs."""

    @JX.privacy(identity, "a test", Relation.BASE, **more)
    def twice(*, epsilon: Epsilon = 1.0, runs: Epsilon = 2.0) -> float:
        """Runs cost twice
        epsilon each.

        In nats.
        """
        return 2.0 * epsilon * runs

    return twice


def test_the_first_paragraph_is_the_statement_and_the_rest_tells_the_number():
    claim = doubled()
    assert claim.statement == "Runs cost twice epsilon each."
    assert claim.evaluate.__doc__ == "In nats."
    assert claim.source == "this project, a test"
    assert claim(epsilon=3.0) == claim.evaluate(epsilon=3.0) == 12.0
    assert list(claim.parameters) == ["epsilon", "runs"]


def test_a_second_statement_of_one_formula_tells_the_number_alone():
    other = JX.privacy("JX-other", "a test", Relation.BASE, statement="So it is.")(
        doubled().evaluate
    )
    assert other.statement == "So it is."
    assert other.evaluate.__doc__ == "In nats."
    assert other(epsilon=3.0) == 12.0


def test_a_statement_may_take_its_formula_from_another():
    for formula in (doubled(), doubled().evaluate):

        @JX.privacy("JX-other", "a test", Relation.BASE, formula=formula)
        def other():
            """So
            it is."""

        assert other.statement == "So it is."
        assert other.evaluate.__doc__ == "In nats."
        assert other(epsilon=3.0) == 12.0
        assert list(other.parameters) == ["epsilon", "runs"]


def test_a_formula_that_states_nothing_is_refused_with_its_line():
    with pytest.raises(TypeError, match=r"test_statements\.py:\d+: the formula states nothing"):

        @JX.utility("JX-silent", "a test")
        def silent() -> float:
            return 0.0


def test_points_of_a_table_and_of_a_grid():
    for points in (
        listed("epsilon runs", (0.5, 1.0), (0.5, 3.0), (1.0, 1.0), (1.0, 3.0)),
        grid(epsilon=[0.5, 1.0], runs=[1.0, 3.0]),
    ):
        claim, asked = doubled(), []

        @claim.bounds(points)
        def seen(epsilon, runs, asked=asked):
            asked.append((epsilon, runs))
            return epsilon * runs, "by hand"

        verdict = claim.check(Budget())
        assert asked == [(0.5, 1.0), (0.5, 3.0), (1.0, 1.0), (1.0, 3.0)]
        assert (verdict.outcome, verdict.cases, verdict.tightness) == ("holds", 4, 0.5)
        assert verdict.detail == "epsilon=0.5, runs=1, by hand"


def test_uniform_points_lie_between_their_ends():
    assert all(0 < p["epsilon"] < 1 for p in uniform(9, epsilon=(0.0, 1.0))(Budget()))
    points = list(uniform(20, epsilon=(0.5, 1.0), runs=(2.0, 4.0))(Budget(cases=30)))
    assert len(points) == 20
    assert all(0.5 < point["epsilon"] < 1.0 and 2.0 < point["runs"] < 4.0 for point in points)


def test_points_are_drawn_after_those_given_as_many_as_there_are_cases():
    claim, asked = doubled(), []

    @claim.bounds(drawn("epsilon runs", lambda g: (g.uniform(), 2.0), 3, (0.5, 1.0)))
    def seen(epsilon, runs):
        asked.append((epsilon, runs))
        return epsilon * runs

    assert claim.check(Budget(cases=9, seed=4)).cases == 4
    generator = np.random.default_rng(4)
    assert asked == [(0.5, 1.0), *((generator.uniform(), 2.0) for _ in range(3))]
    assert claim.check(Budget(cases=1)).cases == 2
    again = [generator.uniform() for generator in Budget(seed=1).draws(2, stream=3)]
    assert again == [row[0] for row in asked[1:3]]


def test_a_check_may_take_all_that_a_point_names():
    claim = doubled()

    @claim.bounds(listed("epsilon runs side", (0.5, 3.0, "data")), factor=1.0)
    def seen(epsilon, factor, **point):
        assert point == {"runs": 3.0, "side": "data"}
        return factor * epsilon * point["runs"]

    verdict = claim.check(Budget())
    assert (verdict.claimed, verdict.observed) == (3.0, 1.5)
    assert verdict.detail == "epsilon=0.5, runs=3, side='data', factor=1"


def attained(near, share=0.9):
    """Twice epsilon, of which half is seen anywhere, and so much at epsilon = 1."""
    claim = doubled()

    @claim.bounds(listed("epsilon runs", (0.5, 3.0), (2.0, 1.0)))
    def half(epsilon, runs):
        return epsilon * runs

    @claim.attains(listed("epsilon", 1.0), share=share, where="one pair", at="epsilon 1")
    def nearly(epsilon, runs):
        return near * epsilon * runs

    return claim


def test_an_attained_bound_is_judged_from_both_sides():
    claim = attained(1.9)
    assert claim.attained == "0.9 of it on one pair, at epsilon 1"
    assert claim.told == f"Runs cost twice epsilon each. Attained: {claim.attained}."
    assert f"Attained: {claim.attained}." in claim.summary().sentence
    verdict = claim.check(Budget())
    assert (verdict.outcome, verdict.cases, verdict.evaluated) == ("holds", 3, 3)
    assert verdict.tightness == 0.95
    assert verdict.notices
    for near in (1.7, 2.1):
        verdict = attained(near).check(Budget())
        assert (verdict.outcome, verdict.observed) == ("refuted", 2 * near)
        assert verdict.detail == "epsilon=1, runs=2"
    assert attained(2.0, share=1.0).attained == "all of it on one pair, at epsilon 1"


def test_an_attained_bound_notices_a_number_that_is_too_large():
    """0.4 of twice the number is observed, so that it goes unnoticed if that is enough."""
    assert not attained(1.9, share=0.4).check(Budget()).notices
    assert attained(1.9, share=0.5).check(Budget()).notices


def test_a_bound_has_a_check_before_it_is_attained():
    with pytest.raises(TypeError, match="JX-doubled has no check yet"):
        doubled().attains(listed("epsilon", 1.0), share=0.9, where="one pair", at="epsilon 1")


def test_claims_that_share_a_check_give_it_their_own_options():
    exact, half = doubled("JX-exact"), doubled("JX-half")

    @exact.equals(listed("epsilon", 0.5, 1.0), factor=2.0)
    @half.bounds(listed("epsilon", 0.5, 1.0), factor=1.0)
    def at_points(epsilon, runs, factor):
        return factor * epsilon * runs

    assert exact.check(Budget()).outcome == "holds"
    verdict = half.check(Budget())
    assert (verdict.cases, verdict.tightness) == (2, 0.5)
    assert verdict.detail == "epsilon=0.5, runs=2, factor=1"

    again = doubled("JX-again")

    @again.bounds(factor=1.5)
    def in_a_loop(budget, factor):
        yield {"epsilon": 1.0, "runs": 1.0}, factor

    assert again.check(Budget()).tightness == 0.75

    with pytest.raises(TypeError, match="seen does not take tolerence"):

        @doubled("JX-misspelt").bounds(listed("epsilon", 0.5), tolerence=1e-6)
        def seen(epsilon, runs):
            return epsilon * runs


def test_a_parameter_that_points_leave_out_has_the_claims_default_on_both_sides():
    claim = doubled()

    @claim.equals(listed("epsilon side", (0.25, "data")))
    def seen(epsilon, runs, side):
        assert side == "data"
        yield 2.0 * epsilon * runs
        yield 2.0 * epsilon * runs, "again"

    verdict = claim.check(Budget())
    assert (verdict.outcome, verdict.claimed, verdict.cases) == ("holds", 1.0, 2)
    assert verdict.detail == "epsilon=0.25, runs=2, side='data'"


def test_a_name_that_nobody_knows_is_refused():
    claim = doubled()

    @claim.bounds(listed("epsilon", 1.0))
    def seen(epsilon, side):
        return 0.0

    with pytest.raises(TypeError, match="seen asks for side, of which neither the points nor"):
        claim.check(Budget())


@pytest.mark.parametrize("point", [{"epsilon": 1.0}, {"epsilon": 1.0, "runs": 1.0, "k": 1}])
def test_a_point_names_exactly_the_parameters(point):
    claim = doubled()

    @claim.bounds()
    def cases(budget):
        yield point, 0.0

    with pytest.raises(TypeError, match="it must name the claim's parameters, epsilon, runs"):
        claim.check(Budget())


def test_what_is_observed_may_be_a_function_of_the_number():
    claim = doubled()

    @claim.bounds()
    def cases(budget):
        yield {"epsilon": 1.0, "runs": 3.0}, lambda number: (1e-3, number * 1e-3)

    verdict = claim.check(Budget())
    assert (verdict.outcome, verdict.claimed) == ("refuted", 1e-3)
    assert verdict.observed == pytest.approx(6e-3)


def test_what_is_observed_may_be_compared_in_units_of_the_number():
    claim = doubled()

    @claim.bounds(listed("epsilon runs", (1e-12, 0.5)))
    def seen():
        return in_units(3e-12)

    verdict = claim.check(Budget())
    assert (verdict.outcome, verdict.claimed) == ("refuted", 1.0)
    assert verdict.observed == pytest.approx(3.0)


def test_cases_of_any_pair_bring_their_own_numbers():
    claim = doubled()

    @claim.bounds_below(tolerance=0.5)
    def cases(budget):
        yield Judged(1.0, 0.6, "any pair")
        yield Aside(1.0, 0.9, "beside")

    verdict = claim.check(Budget())
    assert (verdict.outcome, verdict.detail) == ("holds", "any pair")


def test_one_observation_may_judge_two_claims_and_a_claim_has_one_check():
    loose, tight = doubled(), doubled()

    @loose.bounds()
    @tight.equals(tolerance=1e-12)
    def cases(budget):
        yield {"epsilon": budget.seed, "runs": 1.0}, 1.0

    assert loose.check(Budget(seed=1)).outcome == "holds"
    assert tight.check(Budget(seed=1)).outcome == "refuted"
    with pytest.raises(TypeError, match="JX-doubled has two checks"):
        loose.bounds()(cases)


def test_a_misprint_tells_its_claims():
    false, true = doubled("JX-false"), doubled("JX-true")
    erratum = JX.misprint(
        "JX-E0",
        "a test",
        "statement",
        printed="less",
        correct="more",
        refuted=[false],
        corrected=[true],
    )
    assert (erratum.refuted, erratum.corrected) == (("JX-false",), ("JX-true",))
    assert (false.holds, false.erratum, false.correction) == (False, "JX-E0", "more (JX-true)")
    assert (true.holds, true.erratum) == (True, "JX-E0")


def test_a_module_declares_what_it_holds_under_a_name():
    module = ModuleType("a_module")
    claims = tuple(doubled(f"JX-{name}") for name in ("one", "two"))
    for claim in claims:
        claim.bounds(listed("epsilon runs", (1.0, 1.0)))(lambda epsilon: epsilon)
    module.claims, module.again = claims, claims[0]  # type: ignore[attr-defined]
    assert {claim.id for claim in declared._claims_in(module)} == {"JX-one", "JX-two"}
    unjudged = ModuleType("another")
    unjudged.claim = doubled("JX-three")  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"test_statements\.py:\d+: JX-three has no check"):
        declared._claims_in(unjudged)


def test_two_statements_with_one_id_are_refused(monkeypatch):
    first, second = doubled("JX-same"), doubled("JX-same")
    for claim in (first, second):
        claim.bounds(listed("epsilon runs", (1.0, 1.0)))(lambda epsilon: epsilon)
    module = ModuleType("jaxsel.a_module")
    module.first, module.second = first, second  # type: ignore[attr-defined]
    monkeypatch.setattr(declared, "stating", lambda: ("jaxsel.a_module",))
    monkeypatch.setattr(declared.importlib, "import_module", lambda name: module)
    with pytest.raises(TypeError, match=r"py:\d+: there is a statement JX-same already, .*py:\d"):
        declared.published_claims.__wrapped__()
