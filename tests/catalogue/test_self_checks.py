"""Self-checks of the mechanisms: who is audited, and that a wrong guarantee is noticed."""

import copy

import pytest

from jaxsel.catalogue import find_claim, find_mechanism, mechanisms
from jaxsel.catalogue.checks import audit_claims, simulation_claims, with_method
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, FiniteLaw
from jaxsel.language.checking import Aside, bound_verdict
from jaxsel.language.domains import Choice, choice
from jaxsel.language.entry import guarantee

BUDGET = Budget(trials=200_000)


def test_promises_of_the_catalogue_are_claims():
    for entry in mechanisms():
        for pair in entry.pairs({}):
            proven = entry.guarantee({}, pair)
            if proven is not None:
                assert find_claim(proven.claim).holds is not entry.broken
                assert proven.epsilon > 0.0


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


def changed(entry, **fields):
    """The entry with other fields."""
    other = copy.copy(entry)
    vars(other).update(fields)
    return other


def with_law(entry, law=None):
    """The entry with another law, or without one."""

    def build(given):
        built = entry.build(given)
        return built._replace(mechanism=built.mechanism._replace(law=law))

    return changed(entry, build=build)


def proving(entry, number):
    """The entry with that guarantee on every pair."""
    return changed(entry, build=lambda given: entry.build(given)._replace(guarantee=number))


@pytest.mark.parametrize(("epsilon", "outcome"), [(1.6, "refuted"), (1.8, "holds")])
def test_an_audit_alone_refutes_a_wrong_guarantee(epsilon, outcome):
    # without an exact law only the audited lower bound can refute: exact 1.796
    entry = with_law(find_mechanism("random_stopping"))
    wrong = guarantee("LBP-privacy", epsilon=epsilon)  # a claim that is epsilon itself
    claims = audit_claims([proving(entry, wrong)])
    claim = next(c for c in claims if c.id == "AUDIT-random_stopping")
    verdict = claim.check(BUDGET)
    assert verdict.outcome == outcome
    assert "audited lower bound" in verdict.detail


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

    (claim,) = simulation_claims([with_law(entry, wrong)])
    assert claim.check(BUDGET).outcome == "refuted"
    (claim,) = simulation_claims([with_law(entry, right)])
    assert claim.check(BUDGET).outcome == "holds"
    settings = {**entry.settings, "method": choice(("rank", "literal"))}
    assert simulation_claims([changed(entry, settings=settings)]) == ()
    without = [e for e in mechanisms() if e.build({}).mechanism.law is None]
    assert simulation_claims(without) == ()


@pytest.mark.parametrize(
    ("claim_id", "settings"), [("AUDIT-noisy_max", {"pair": 7}), ("SIM-noisy_max", {"outcome": 3})]
)
def test_numbers_of_no_pair_and_no_outcome_are_refused(claim_id, settings):
    with pytest.raises(InputError):
        find_claim(claim_id).evaluate(**settings)


@pytest.mark.parametrize("entry", mechanisms(), ids=lambda entry: entry.name)
def test_self_checks_leave_the_special_values(entry):
    """Other settings than the defaults, and every method at one setting or the other."""
    here, elsewhere = entry.read({}), entry.read(entry.generic)
    numbers = [n for n in here if not isinstance(entry.settings[n], Choice)]
    moved = [n for n in numbers if str(here[n]) != str(elsewhere[n])]
    assert len(moved) >= min(2, len(numbers))
    if "relation" in here:
        assert here["relation"] != elsewhere["relation"]
    if "method" in here:
        for method in entry.settings["method"].options:
            assert with_method(entry, entry.generic, method) is not None


def test_an_aside_is_judged_and_says_nothing_of_power():
    cases = [(1.0, 0.2, "bound"), Aside(0.5, 0.49, "beside")]
    verdict = bound_verdict(cases)
    assert (verdict.outcome, verdict.tightness) == ("holds", 0.2)
    assert bound_verdict([*cases, Aside(0.5, 0.6, "beside")]).outcome == "refuted"
