"""The table of all mechanisms: what is counted, what is compared, what is printed."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import benchmarks as bench
from benchmarks import counted_limit, mechanisms, numpy_forms, table
from benchmarks.checks import chi_square_p_value
from benchmarks.operations import ARITHMETIC, HASH, SHORT_LOG, count
from jaxsel import catalogue
from jaxsel.host.errors import InputError
from jaxsel.kernel import logarithm, stream
from tests.conftest import ALPHA

WORD = jax.ShapeDtypeStruct((), jnp.uint32)
DOCS = Path(__file__).parents[2] / "docs"


def counted(function) -> dict[str, float]:
    """Operations of ``function(key)``."""
    with jax.enable_x64(True):
        return count(
            lambda lane, first, second: function(stream.Key(first, second, lane)), WORD, WORD, WORD
        )


def test_hashes_and_functions_are_counted_once_an_element():
    def draws(key):
        first, _ = stream.words(key, jnp.arange(5, dtype=jnp.uint32))
        x = first.astype(jnp.float32) + 1.0
        return jnp.sum(jnp.exp(x)) + logarithm.log(x[0])

    assert counted(draws) == {HASH: 5.0, "exp float32": 5.0, SHORT_LOG: 1.0}


def test_a_logarithm_of_our_own_is_one_function():
    def draws(key):
        return logarithm.log(stream.words(key, 0)[0].astype(jnp.float64) + 1.0)

    found = counted(draws)
    assert {HASH: 1.0, "log float64": 1.0}.items() <= found.items()
    assert found[ARITHMETIC] < 5.0  # of taking the number apart


def test_what_no_trial_needs_of_its_own_is_not_counted():
    def draws(key):
        own = stream.at_round(key, jnp.uint32(7))  # the same for all trials
        unused = jnp.log(key.lane.astype(jnp.float64))
        del unused
        return stream.words(own, 0)[0]

    assert counted(draws) == {HASH: 1.0}


def test_float64_arithmetic_is_counted_by_what_is_read():
    def adds(key):
        x = jnp.full(10, key.lane.astype(jnp.float64))
        return jnp.sum(x + 1.0)

    # A conversion, ten sums, and a reduction of ten.
    assert counted(adds) == {ARITHMETIC: 21.0}


def test_loops_count_as_often_as_they_run():
    def fixed(key):
        return lax.fori_loop(
            0, 6, lambda i, t: t ^ stream.words(key, i.astype(jnp.uint32))[0], jnp.uint32(0)
        )

    assert counted(fixed) == {HASH: 6.0}

    def by_trial(key):
        rounds = (key.lane % 4).astype(jnp.int32)
        return lax.fori_loop(
            0, rounds, lambda i, t: t ^ stream.words(key, i.astype(jnp.uint32))[0], jnp.uint32(0)
        )

    assert counted(by_trial) == {HASH: 1.5}

    def branches(key):
        return lax.cond(key.lane % 4 == 0, lambda: stream.words(key, 0)[0], lambda: jnp.uint32(0))

    assert counted(branches) == {HASH: 0.25}


@pytest.mark.parametrize(
    "asked",
    [
        {HASH: 3.0, SHORT_LOG: 2.0},
        {HASH: 2.0, SHORT_LOG: 7.0},
        {HASH: 1.5, "log float64": 2.0, "expm1 float64": 0.5, ARITHMETIC: 40.0},
        {"exp float32": 4.0, "sqrt float64": 1.0, ARITHMETIC: 2.0},
    ],
)
def test_the_limit_does_what_was_counted_and_nothing_else(asked):
    trials = counted_limit.BLOCK
    turns = counted_limit.rounds(asked, trials)
    with jax.enable_x64(True):
        found = count(
            lambda lane, seed, other: counted_limit.run(lane, seed + other, turns), WORD, WORD, WORD
        )
    lanes = trials / counted_limit.LANES
    # Before its loops the program makes arguments: four operations a lane.
    found[ARITHMETIC] = found.get(ARITHMETIC, 0.0) - 4.0
    wanted = {ARITHMETIC: 0.0} | {kind: n * lanes for kind, n in asked.items()}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["noisy_max", "sparse_vector"])
def test_numpy_forms_sample_the_law(name):
    built = catalogue.find_mechanism(name).build({})
    sampler = numpy_forms.numpy_form(*built[:3])
    tallies = sampler.run(15 * numpy_forms.BLOCK)
    assert tallies.sum() == 15 * numpy_forms.BLOCK
    assert chi_square_p_value(tallies, sampler.law) > ALPHA
    wrong = sampler.law.copy()
    first, second = np.argsort(wrong)[-2:]
    wrong[first] += 0.05 * wrong[second]
    wrong[second] *= 0.95
    assert chi_square_p_value(tallies, wrong) < ALPHA


def test_every_method_that_runs_is_a_form_and_defaults_come_first():
    found = list(mechanisms.forms(["noisy_max", "adaptive_analysis"]))
    assert [(entry.name, method) for entry, method, _ in found] == [
        ("noisy_max", "literal"),
        ("adaptive_analysis", ""),
        ("noisy_max", "race"),
        ("noisy_max", "law"),
    ]


def test_a_record_is_gone_on_from(tmp_path):
    record = tmp_path / "speed.json"
    made = bench.run_mechanisms(
        ["propose_test_release"], record=record, repeats=1, seconds=0.001, progress=False
    )
    methods = [row["method"] for row in made["rows"]]
    assert methods == ["literal", "law"]
    for row in made["rows"]:
        assert row["rate"] > 0.0
        assert row["of_limit"] > 0.0
        assert row["over_numpy"] > 0.0
    assert made["rows"][0]["operations"] == {HASH: 1.0, SHORT_LOG: 1.0, "sqrt float32": 1.0}
    kept = json.loads(record.read_text())
    kept["rows"] = kept["rows"][:1]
    kept["rows"][0]["rate"] = 7.0
    record.write_text(json.dumps(kept))
    again = mechanisms.measure_all(["propose_test_release"], mechanisms.Settings(1, 0.001), record)
    assert [row["method"] for row in again["rows"]] == methods
    assert again["rows"][0]["rate"] == 7.0


def test_bad_records_and_names_are_refused(tmp_path):
    path = tmp_path / "speed.json"
    for text in ("", "[]", "{}", '{"format": "other"}'):
        path.write_text(text)
        with pytest.raises(InputError, match="is no record of speeds"):
            bench.run_mechanisms(["noisy_max"], record=path)
    with pytest.raises(InputError, match="there is no mechanism 'noisy_maxx'"):
        bench.run_mechanisms(["noisy_maxx"])
    with pytest.raises(InputError, match="the page has no"):
        table.replaced("nothing", {})


def test_the_page_shows_the_record_and_every_mechanism():
    record = mechanisms.read(DOCS / "speed.json")
    page = (DOCS / "speed.md").read_text(encoding="utf-8")
    assert table.replaced(page, record) == page
    shown = {row["mechanism"] for row in record["rows"] if row["default"]}
    assert shown == {entry.name for entry in catalogue.mechanisms()}
