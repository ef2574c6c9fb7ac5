"""What is released as bits: the lowest bit of each number, and the events that it makes."""

from fractions import Fraction

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions.outcomes import LOWEST_BIT, lowest_bits, table, together
from jaxsel.host.errors import InputError
from jaxsel.questions.function_audit import function_audit
from jaxsel.testing import assert_private
from tests.asked import ask
from tests.auditing.functions.audited import laplace, on_a_grid, rounded
from tests.conftest import ALPHA


def _judged(function, pair=(0.0, 1.0), **options):
    given = {"relation": "local", "claim": 1.0, "trials": 20_000, "false_alarm": ALPHA}
    return ask(function_audit, function, pair=pair, **given | {"bits": True} | options)


def test_the_lowest_bit_is_the_largest_power_of_two_that_divides():
    numbers = [1.0, -1.0, 3.0, 0.75, -0.75, 96.0, 0.1, -0.1, 2.0**53 + 2, 5e-324, 3e-310, 1e300]
    singles = np.random.default_rng(0).normal(size=50).astype(np.float32).astype(float)
    every = np.array([*numbers, *np.random.default_rng(1).normal(size=50), *singles])
    for value, k in zip(every.tolist(), lowest_bits(every).tolist(), strict=True):
        exact = Fraction(value) / Fraction(2) ** int(k)
        assert exact.denominator == 1
        assert exact.numerator % 2 == 1
    assert lowest_bits(np.array([0.0, -0.0])).tolist() == [np.inf, np.inf]
    assert np.isnan(lowest_bits(np.array([np.nan, np.inf, -np.inf]))).all()
    # A float32 has 24 digits: below 1 its lowest bit is at 2^-24 or above where it is above .5.
    above = singles[(np.abs(singles) >= 0.5) & (np.abs(singles) < 1.0)]
    assert lowest_bits(above).min() == -24.0


def test_columns_of_bits_are_there_only_when_asked_and_survive_what_tables_do():
    rows = np.random.default_rng(2).normal(size=(30, 3))
    rows[4, 1], rows[7] = np.nan, 0.0
    of_array, of_list = table(rows), table([row.tolist() for row in rows])
    for one in (of_array, of_list):
        assert not any(LOWEST_BIT in name for name in one.columns)
        asked = one.with_bits()
        names = [name for name in asked.columns if name.startswith(LOWEST_BIT)]
        assert names == [f"{LOWEST_BIT}{what}" for what in
                         ("some entry", "entry 0", "entry 1", "entry 2")]  # fmt: skip
        halves = together([asked.rows(slice(0, 11)), asked.rows(slice(11, None))])
        for name in names:
            np.testing.assert_array_equal(halves.columns[name], asked.columns[name])
            np.testing.assert_array_equal(
                asked.columns[name], of_list.with_bits().columns[name], strict=True
            )
        found = lowest_bits(rows)
        np.testing.assert_array_equal(asked.columns[names[2]], found[:, 1])
        np.testing.assert_array_equal(asked.columns[names[0]], np.nanmin(found, axis=1))
        assert asked.words.tolist() == of_list.words.tolist()
    # Where a call fails, tables of both kinds are put together.
    mixed = together([table(rows).with_bits(), table(["raised", [1.0, 2.0, 3.5]]).with_bits()])
    assert mixed.columns[f"{LOWEST_BIT}entry 2"][-1] == -1.0
    assert np.isnan(mixed.columns[f"{LOWEST_BIT}entry 2"][-2])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0)])
def test_floating_point_noise_is_refuted_as_bits_and_not_as_real_numbers(single, pair):
    found = _judged(laplace, pair, settings={"single": single})
    assert found.verdict == "refuted"
    assert found.likelier == ("data" if pair[0] == 0.0 else "neighbour")
    assert "value is no multiple of 2^-" in found.event or LOWEST_BIT in found.event
    assert found.lower > 3.0  # as real numbers, the noise allows 1
    assert "REFUTED as released bits" in str(found)
    as_numbers = _judged(laplace, pair, settings={"single": single}, bits=False)
    assert as_numbers.verdict == "not refuted"
    assert "bits" not in str(as_numbers)
    assert (found.bits, as_numbers.bits) == (True, False)


def test_the_event_of_low_bits_bounds_as_much_as_was_published():
    # P(the value on 0 is no multiple of 2^-53), on 1 it always is: 8.9 of 1e5 trials a side.
    found = _judged(laplace, trials=110_000, search_trials=10_000, false_alarm=0.05, seed=1)
    assert found.lower > 8.9
    assert found.counts[2] == 0
    assert found.event == "value is no multiple of 2^-53"


@pytest.mark.parametrize("entries", [4, 60])
def test_one_entry_of_a_vector_tells(entries):
    data, neighbour = np.full((2, entries), 2.0)
    data[1], neighbour[1] = 0.0, 1.0
    data[0] = neighbour[0] = 0.0  # fine bits on both sides: not just some entry tells
    found = _judged(laplace, (data, neighbour), relation="l1", trials=6000)
    assert found.verdict == "refuted"
    assert "entry 1 is no multiple" in found.event or f"{LOWEST_BIT}entry 1" in found.event


def test_entries_beyond_those_that_are_looked_at_tell_by_the_lowest_of_all():
    data, neighbour = np.full((2, 60), 2.0**40)
    data[55], neighbour[55] = 0.0, 1.0
    found = _judged(laplace, (data, neighbour), relation="l1", trials=6000)
    assert found.verdict == "refuted"
    assert "some entry" in found.event


@pytest.mark.parametrize("function", [on_a_grid, rounded])
@pytest.mark.parametrize("seed", range(5))
def test_a_release_on_a_grid_is_cleared(function, seed):
    found = _judged(function, seed=seed)
    assert found.verdict == "not refuted"
    assert "Not refuted as released bits" in str(found)
    # And seen where its noise is half of what it must be: the grid hides nothing.
    assert _judged(function, claim=0.5, seed=seed).refuted


def test_every_way_to_ask_for_bits_hears_the_same(tmp_path, capsys):
    options = {"relation": "replace_one", "trials": 20_000, "seed": 3}
    pair = ([0.0], [1.0])
    with pytest.raises(AssertionError, match="REFUTED as released bits"):
        assert_private(laplace, *pair, epsilon=1.0, **options, how="bits")
    assert_private(laplace, *pair, epsilon=1.0, **options)
    assert jaxsel.audit_function(laplace, *pair, claim=1.0, **options, how="bits").refuted
    assert not jaxsel.audit_function(laplace, *pair, claim=1.0, **options).refuted
    with pytest.raises(InputError, match="leave out bits"):
        jaxsel.audit_function(laplace, *pair, claim=1.0, **options, how="bits,sequential")


def test_the_command_says_which_verdict_it_is(tmp_path, capsys):
    from jaxsel.cli import main

    file = tmp_path / "mine.py"
    file.write_text("def f(rng, data, n):\n    return sum(data) + rng.laplace(size=n)\n")
    words = ["audit-function", f"{file}:f", "--relation", "replace_one", "--claim", "1.0", "--data",
             "[0];[1]", "--trials", "2e4", "--confidence", "0.999999"]  # fmt: skip
    for more, status, bits in ((["--how", "bits"], 1, True), ([], 0, False)):
        with pytest.raises(SystemExit) as stop:
            main([*words, *more, "--json"])
        assert (stop.value.code or 0) == status
        assert f'"bits": {str(bits).lower()}' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words, "--how", "bits"])
    assert "REFUTED as released bits" in capsys.readouterr().out
