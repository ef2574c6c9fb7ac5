"""What validate says of a check's power: how often it asks the claim, and what it would notice."""

import json
import math

import pytest

from jaxsel.catalogue.validation import validate
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Aside, Judged, in_units, listed, written
from jaxsel.language.papers import JX
from jaxsel.repetitions import parse
from tests.cli.test_cli import run

SMALL = Budget(trials=1000, cases=2)


def stated(id="JX-made", *, kind="privacy", **more):
    def formula(*, epsilon: float = 1.0):
        """So much is lost."""
        return epsilon

    place = {"relation": Relation.GENERAL} if kind == "privacy" else {}
    return getattr(JX, kind)(id, "made for a test", **place, **more)(formula)


def judged(how, observed, *, tolerance=1e-9, points=(1.0, 4.0), **more):
    claim = stated(kind="identity" if how == "equals" else "privacy", **more)
    getattr(claim, how)(listed("epsilon", *points), tolerance=tolerance)(observed)
    return claim


@pytest.mark.parametrize(
    ("how", "share", "notices"),
    [
        # Of an upper bound half is tried, of a lower one twice, of an identity 1.01 times.
        ("bounds", 0.501, True),
        ("bounds", 0.499, False),
        ("bounds", 1.0, True),
        ("bounds_below", 1.99, True),
        ("bounds_below", 2.01, False),
        ("bounds_below", 1.0, True),
        ("equals", 1.0, True),
    ],
)
def test_a_wrong_number_is_noticed_where_a_case_comes_near(how, share, notices):
    claim = judged(how, lambda epsilon: share * epsilon)
    verdict = claim.check(SMALL)
    assert (verdict.outcome, verdict.evaluated, verdict.cases) == ("holds", 2, 2)
    assert verdict.notices is notices


def test_one_near_case_is_enough_and_a_far_one_does_no_harm():
    claim = judged("bounds", lambda epsilon: 0.9 * epsilon if epsilon > 1.0 else 0.01)
    assert claim.check(SMALL).notices


@pytest.mark.parametrize(("tolerance", "notices"), [(0.02, False), (0.002, True)])
def test_an_identity_to_two_percent_does_not_notice_one(tolerance, notices):
    claim = judged("equals", lambda epsilon: epsilon, tolerance=tolerance)
    assert claim.check(SMALL).notices is notices


def test_a_bound_far_below_the_tolerance_is_compared_in_its_own_units():
    claim = judged("bounds", lambda epsilon: 0.9 * epsilon, points=(1e-14,))
    assert not claim.check(SMALL).notices
    claim = judged("bounds", lambda epsilon: in_units(0.9 * epsilon), points=(1e-14,))
    assert claim.check(SMALL).notices


def test_what_is_compared_may_be_a_function_of_the_number():
    claim = judged("bounds", lambda epsilon: lambda ours: (ours**2, 0.9 * epsilon**2))
    verdict = claim.check(SMALL)
    assert verdict.notices
    assert verdict.claimed - verdict.observed == pytest.approx(0.1)


@pytest.mark.parametrize("text", ["poisson:mean=10", "geometric:mean=2.0000000000000004"])
def test_the_worst_case_names_a_law_and_a_number_as_one_writes_them(text):
    law = parse(text)
    assert parse(written(law)).parameters == law.parameters
    assert written(0.1) == "0.1"
    assert float(written(1.0 / 3.0)) == 1.0 / 3.0


@pytest.mark.parametrize("case", [Judged(1.0, 0.9, "both known"), Aside(1.0, 0.9, "beside")])
def test_a_case_that_brings_both_numbers_asks_nothing_of_the_claim(case):
    claim = stated()
    claim.bounds()(lambda budget: [case, case])
    verdict = claim.check(SMALL)
    assert (verdict.outcome, verdict.cases, verdict.evaluated) == ("holds", 2, 0)
    assert not verdict.notices
    (found,) = validate(claim, SMALL)
    assert not found.as_expected
    assert "NOT AS EXPECTED" in str(found)
    assert "Its check never evaluates it." in str(found)


@pytest.mark.parametrize(
    ("loose", "said"), [(None, "UNEXPLAINED"), ("nothing is near", "nothing is near")]
)
def test_a_statement_that_would_not_be_missed_says_why(loose, said):
    claim = judged("bounds", lambda epsilon: 0.1 * epsilon, loose=loose)
    found = validate([claim], SMALL)
    assert found[0].as_expected
    assert found[0].loose
    assert f"A wrong number would go unnoticed: {said}" in str(found[0])
    assert found.power().endswith(f"): 1, without a reason {0 if loose else 1}.")
    near = judged("bounds", lambda epsilon: 0.9 * epsilon)
    (found,) = validate(near, SMALL)
    assert not found.loose
    _, columns, (row,), _ = found.summary()
    assert str(found).splitlines()[0] == "JX-made: holds, as expected."
    cells = dict(zip(columns, row, strict=True))
    assert [cells[name] for name in ("cases", "evaluated", "notices")] == [2, 2, True]


@pytest.mark.parametrize("seen", [[], [0.5, math.nan]])
def test_an_inconclusive_check_notices_nothing(seen):
    claim = stated()
    claim.bounds()(lambda budget: [({"epsilon": 1.0}, each) for each in seen])
    verdict = claim.check(SMALL)
    assert (verdict.outcome, verdict.notices) == ("inconclusive", False)
    assert validate(claim, SMALL)[0].loose


def test_a_false_statement_and_a_self_check_need_not_be_near():
    false = judged("bounds", lambda epsilon: 3.0 * epsilon, holds=False)
    (found,) = validate(false, SMALL)
    assert found.as_expected
    assert not found.loose
    own = stated("SIM-made")
    own.bounds()(lambda budget: [Judged(1.0, 0.1, "both known")])
    (found,) = validate(own, SMALL)
    assert found.as_expected
    assert not found.loose


def test_the_command_has_both_columns(capsys):
    code, out, _ = run(capsys, "validate", "PS-Cor3", "--trials", "1000", "--cases", "3", "--json")
    assert code == 0
    (row,) = json.loads(out)["results"]
    assert row["evaluated"] == row["verdict"]["cases"] > 3
    assert row["notices"] is True
    code, out, _ = run(capsys, "validate", "PS-Cor3", "--trials", "1000", "--cases", "3")
    assert code == 0
    assert "evaluated" in out
    assert "notices" in out
