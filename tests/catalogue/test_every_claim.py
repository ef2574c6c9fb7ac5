"""What holds for the record of every claim in the catalogue."""

import collections
import inspect
import math
import zlib

import pytest

from jaxsel.catalogue import (
    all_claims,
    errata,
    find_claim,
    is_self_check,
    published_claims,
    remarks,
    self_checks,
)
from jaxsel.catalogue.measured import measured
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.domains import Number, Whole
from jaxsel.language.papers import paper_of
from tests.conftest import seed

BY_ID = {claim.id: claim for claim in all_claims()}
# Ten whole blocks, less than what planted faults are looked for with; one for what takes
# a tenth of them.
TRIALS = 10 * 8192
EVERY = pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)


def test_ids_are_unique():
    names = [name for claim in all_claims() for name in (claim.id, *claim.aliases)]
    assert len({name.lower() for name in names}) == len(names)
    names = [thing.id for thing in (*errata(), *remarks())]
    assert len({name.lower() for name in names}) == len(names)


def test_self_checks_are_no_published_statements():
    assert not any(is_self_check(claim.id) for claim in published_claims())
    assert all(is_self_check(claim.id) for claim in self_checks())
    assert len(all_claims()) == len(published_claims()) + len(self_checks())


def test_every_statement_has_a_paper():
    for record in (*published_claims(), *errata(), *remarks()):
        assert paper_of(record.source) is not None, record.source


def test_ids_and_aliases_are_found_in_any_case():
    for claim in all_claims():
        for name in (claim.id, claim.id.lower(), *claim.aliases):
            assert find_claim(name) is claim


def test_errata_of_a_paper_are_numbered_without_gaps():
    numbers = collections.defaultdict(list)
    for erratum in errata():
        stem = erratum.id.rstrip("0123456789")
        numbers[stem].append(int(erratum.id.removeprefix(stem)))
    # What was an erratum once and is a remark now keeps its number.
    remarked = {remark.id for remark in remarks()}
    for stem, found in numbers.items():
        paper = stem.removeprefix("E-").removesuffix("-").removesuffix("-E")
        missing = set(range(1, max(found) + 1)) - set(found)
        assert {f"R-{paper}-{number}" for number in missing} <= remarked


@pytest.mark.parametrize("erratum", errata(), ids=lambda erratum: erratum.id)
def test_erratum_names_its_claims(erratum):
    assert erratum.kind in ("statement", "proof", "misprint")
    # A proof may fail without a claim of its own: for errors of lemmas that it builds on.
    assert erratum.refuted or erratum.kind != "statement"
    assert erratum.corrected or erratum.kind == "misprint"
    for name in erratum.refuted:
        assert not BY_ID[name].holds
        assert BY_ID[name].erratum == erratum.id
    for name in erratum.corrected:
        assert BY_ID[name].holds


def test_remark_names_its_claims():
    for remark in remarks():
        assert remark.text.strip().endswith(".")
        for name in remark.readings:
            assert not BY_ID[name].holds
            assert BY_ID[name].remark == remark.id
        for name in remark.holds:
            assert BY_ID[name].holds


def test_the_power_of_every_check_is_recorded():
    """After a change: make measure."""
    bounds = {claim.id for claim in all_claims() if claim.holds}
    assert set(measured()) <= bounds


def _is_complete(claim):
    assert claim.statement.strip().endswith(".")
    assert claim.source.strip()
    assert claim.kind in ("privacy", "utility", "identity")
    assert claim.relation or claim.kind != "privacy"
    assert (claim.correction is None) == claim.holds
    if claim.erratum is not None:
        erratum = next(e for e in errata() if e.id == claim.erratum)
        assert claim.id in (erratum.corrected if claim.holds else erratum.refuted)
    if not claim.holds:
        assert any(name in claim.correction for name in BY_ID if BY_ID[name].holds)
    if claim.id.endswith("-printed"):
        assert not claim.holds


def _explains_its_parameters_and_has_a_number(claim):
    # Where the docstring is the statement alone, that says what the number is.
    document = inspect.getdoc(claim.evaluate) or claim.statement
    for name, parameter in inspect.signature(claim.evaluate).parameters.items():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default is not parameter.empty
        assert claim.parameters[name].help or name in document
    value = claim.evaluate()
    assert isinstance(value, float)
    assert math.isfinite(value)


def _refuses_what_is_outside_a_domain(claim):
    """NaN, and the numbers just beyond either end."""
    for name, domain in claim.parameters.items():
        if not isinstance(domain, Number | Whole):
            continue
        outside = [math.nan]
        if math.isfinite(domain.low):
            beyond = domain.low - max(1.0, 1e-3 * abs(domain.low))
            outside.append(domain.low if domain.low_open else beyond)
        if math.isfinite(domain.high):
            beyond = domain.high + max(1.0, 1e-3 * abs(domain.high))
            outside.append(domain.high if domain.high_open else beyond)
        for value in outside:
            with pytest.raises(InputError) as caught:
                claim.evaluate(**{name: value})
            assert name in str(caught.value)
            assert "\n" not in str(caught.value)


@EVERY
def test_record_is_complete_with_defaults_and_domains(claim):
    """One test a claim: a test costs more than most of these questions."""
    _is_complete(claim)
    _explains_its_parameters_and_has_a_number(claim)
    _refuses_what_is_outside_a_domain(claim)


class _Watched(Budget):
    """Remembers whether its seed was read."""

    read = False

    @property
    def seed(self):
        _Watched.read = True
        return self[2]


def _turn_of(claim) -> bool:
    """A quarter of the claims, another one the next day that seeds a nightly run."""
    return (zlib.crc32(claim.id.encode()) + seed()) % 4 == 0


@EVERY
def test_verdict_is_the_expected_one(claim):
    """As stated. Of a quarter of what is published and true, whether it holds at another
    seed, too; a check that reads no seed has said all it has to say."""
    _Watched.read = False
    verdict = claim.check(_Watched(trials=TRIALS, cases=40))
    assert verdict.outcome == ("holds" if claim.holds else "refuted"), verdict
    assert claim.holds or verdict.margin < 0.0
    assert verdict.cases > 0
    assert verdict.detail
    published = claim.holds and not is_self_check(claim.id)
    assert verdict.evaluated > 0 or is_self_check(claim.id), "the check never asks the claim"
    # The power of its check; a reason outlives no case that comes near the claim.
    assert not published or verdict.notices == (claim.loose is None)
    tightness = measured().get(claim.id) if claim.holds else None
    if tightness is not None:
        assert verdict.tightness is not None
        # Smaller budgets see less; what is tight must not be so by luck of one case.
        assert verdict.tightness >= min(0.1, tightness) / 10.0
    if published and _Watched.read and _turn_of(claim):
        verdict = claim.check(Budget(trials=50_000, cases=20, seed=seed()))
        assert verdict.outcome == "holds", verdict
