"""Bases of the command line: settings, pairs, one run's claim, guarantees of entries."""

import contextlib
import dataclasses
import subprocess
import sys

import pytest

from jaxsel.families.private_tuning.base_settings import BASES, Runs
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.tuning.base_laws import finite_pairs
from jaxsel.tuning.claims import one_run
from tests.families.entry_checks import entries_of

ENTRY = {entry.name: entry for entry in entries_of("private_tuning")}
TUNING = ENTRY["private_tuning"]
ODD = ("nan", "inf", "-inf", "", "bogus", "1e400", "true", "-1", "0", "2.5", "1e18")


def runs(given) -> Runs:
    """The runs that these settings describe."""
    values = TUNING.read(given)
    return Runs(**{field.name: values[field.name] for field in dataclasses.fields(Runs)})


def test_pairs_of_the_catalogue_need_no_jax():
    code = (
        "import sys; from jaxsel.catalogue import mechanisms; "
        "[entry.pairs({}) for entry in mechanisms()]; print('jax' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "False", found.stderr


@pytest.mark.parametrize("base", BASES)
def test_a_base_is_built_with_its_input(base):
    built = TUNING.build({"base": base})
    assert built.mechanism.law is not None
    law = built.mechanism.law(built.data, built.params)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("setting", [name for name in TUNING.settings if name != "base"])
def test_odd_settings_are_refused_or_work(base, setting):
    for value in ODD:
        given = {"base": base, setting: value}
        with contextlib.suppress(InputError):
            built = TUNING.build(given)
            built.mechanism.prepare(built.data, built.params)
            assert built.mechanism.law is not None
            built.mechanism.law(built.data, built.params)
            runs(given).one_epsilon()
            TUNING.pairs(given)


@pytest.mark.parametrize(
    ("given", "epsilon"),
    [
        ({}, 1.0),
        ({"base": "finite", "epsilon": 0.5}, 0.5),
        ({"base": "random_candidate_laplace", "noise_scale": 4}, 0.25),
        ({"base": "noised_score_laplace", "noise_scale": 0.5}, 2.0),
        ({"base": "noised_score_gaussian"}, None),
        ({"base": "score_table"}, None),
    ],
)
def test_one_runs_epsilon_is_its_claims(given, epsilon):
    assert runs(given).one_epsilon() == epsilon


def test_guarantees_are_claims_evaluated():
    def found(name, **given):
        entry = ENTRY[name]
        pair = entry.pairs(given)[0]
        return entry.guarantee(given, pair)

    tuned = found("private_tuning", repetitions="tnb:eta=0,mean=5", epsilon="2")
    assert tuned == ("PS-Cor3", 4.0)
    fixed = found("private_tuning", repetitions="point_mass:count=7")
    assert fixed == ("PS-D1", 7.0)
    assert found("private_tuning", repetitions="poisson:mean=7") is None
    assert found("private_tuning", base="noised_score_gaussian") is None
    assert found("random_stopping") == ("LT-Thm3.2", 3.0)
    assert found("random_stopping_capped") is None
    pure = found("random_stopping_capped_pure", slack=0.2)
    assert pure == ("LT-Thm3.5", 3.6)
    assert found("fixed_repetitions") == ("FIXED-K-folklore", 3.0)


def test_score_table_has_no_pair():
    with pytest.raises(InputError, match="no constructed pair"):
        TUNING.pairs({"base": "score_table"})


@pytest.mark.parametrize("claim", one_run.BY_ID.values(), ids=lambda claim: claim.id)
def test_claims_about_one_run_hold(claim):
    assert claim.check(Budget(cases=40)).outcome == "holds"


@pytest.mark.parametrize("claim", [one_run.laplace, one_run.finite], ids=lambda claim: claim.id)
def test_power_a_smaller_epsilon_of_one_run_is_refuted(monkeypatch, claim):
    promised = claim.evaluate
    monkeypatch.setitem(vars(claim), "evaluate", lambda **given: 0.999 * promised(**given))
    assert claim.check(Budget(cases=40)).outcome == "refuted"


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 3.0, 36.0, 100.0])
def test_finite_pairs_are_laws(epsilon):
    for pair in finite_pairs(epsilon):
        for law in pair.laws:
            assert law.min() > 0.0
            assert law.sum() == pytest.approx(1.0, abs=1e-15)
