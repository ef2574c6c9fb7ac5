"""Tables of outcomes: columns of every kind by hand, and rows whose hashes agree by accident."""

import math

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions import outcomes
from jaxsel.auditing.functions.outcomes import column, table, together


def test_rows_are_told_apart_where_all_their_hashes_agree(monkeypatch):
    rows = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    right = table(rows)
    words, frequent = right.words.tolist(), right.frequent("words", 6)
    monkeypatch.setattr(outcomes, "_hashes", lambda bits: np.zeros(len(bits), np.uint64))
    found = table(rows)
    assert found.words.tolist() == words == [repr(row) for row in rows.tolist()]
    assert found.frequent("words", 6) == frequent
    assert frequent == {word: words.count(word) for word in words if words.count(word) >= 6}


def test_columns_of_nested_outcomes_by_hand():
    found = table(
        [
            {"a": [1.0, 5.0], "b": True},
            {"a": [2.0, -3.0], "b": False},
            ["x", "y", "x", 4.0, 1.0],
            10**400,
            -(10**400),
        ]
    )
    nan = math.nan
    expected = {
        "entry ['a'][0]": [1.0, 2.0, nan, nan, nan],
        "entry ['a'][1]": [5.0, -3.0, nan, nan, nan],
        "entry ['b'] is True": [1.0, 0.0, 0.0, 0.0, 0.0],
        "entry ['b'] is False": [0.0, 1.0, 0.0, 0.0, 0.0],
        "length": [2.0, 2.0, 5.0, nan, nan],
        "largest entryentry ['a']": [5.0, 2.0, nan, nan, nan],
        "smallest entryentry ['a']": [1.0, -3.0, nan, nan, nan],
        "meanentry ['a']": [3.0, -0.5, nan, nan, nan],
        "entry 3": [nan, nan, 4.0, nan, nan],
        "number of 'x'": [0.0, 0.0, 2.0, 0.0, 0.0],
        "number of 'y'": [0.0, 0.0, 1.0, 0.0, 0.0],
        "place of the first 'x'": [nan, nan, 0.0, nan, nan],
        "place of the first 'y'": [nan, nan, 1.0, nan, nan],
        "largest entry": [nan, nan, 4.0, nan, nan],
        "smallest entry": [nan, nan, 1.0, nan, nan],
        "mean": [nan, nan, 2.5, nan, nan],
        "value": [nan, nan, nan, math.inf, -math.inf],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(column(found, name), values, err_msg=name)


def test_whole_numbers_beyond_floats_are_outcomes_like_others():
    def huge(rng, data):
        return (10**400 + data) * (1 if rng.random() < 0.5 else -1)

    found = jaxsel.audit_function(huge, 0, 1, relation="local", claim=1.0, trials=4000)
    assert found.refuted
    assert "raised" not in found.event
    assert table([10**400, 10**400 + 1, -(10**400)]).words.tolist() == [
        str(10**400), str(10**400 + 1), str(-(10**400))
    ]  # fmt: skip


@pytest.mark.parametrize("parts", [(5, 3), (1, 7, 2), (4,)])
def test_tables_of_several_calls_are_one_table(parts):
    rows = np.random.default_rng(1).normal(size=(sum(parts), 2))
    ends = np.cumsum(parts)[:-1]
    for make in (np.asarray, np.ndarray.tolist):
        found = together([table(make(part)) for part in np.split(rows, ends)])
        whole = table(make(rows))
        assert len(found) == len(whole) == sum(parts)
        assert found.words.tolist() == whole.words.tolist()
        assert found.columns.keys() == whole.columns.keys()
        for name, values in whole.columns.items():
            np.testing.assert_array_equal(found.columns[name], values)
    # Of a different width: what a row lacks is no number.
    mixed = together([table(rows), table(rows[:2, :1])])
    assert column(mixed, "entry 1").tolist()[:-2] == rows[:, 1].tolist()
    assert np.isnan(column(mixed, "entry 1")[-2:]).all()


def test_rows_of_a_table_are_its_trials():
    for made in (np.arange(12.0).reshape(6, 2), [[0.0, 1.0], ["a", 2.0], None, 3.0, 4.0, 5.0]):
        whole = table(made)
        for places in (slice(1, 4), np.array([5, 0, 3])):
            part = whole.rows(places)
            assert part.words.tolist() == whole.words[places].tolist()
            assert part.shapes.tolist() == whole.shapes[places].tolist()
            for name, values in whole.columns.items():
                np.testing.assert_array_equal(part.columns[name], values[places])


def test_what_nobody_has_is_no_number_and_no_label():
    given = table([[1.0], ["a"]])
    assert np.isnan(column(given, "entry 7")).all()
    assert column(given, "entry 7 is 'a'").tolist() == [0.0, 0.0]
    assert column(given, "number of 'z'").tolist() == [0.0, 0.0]


# --- Complex numbers, and objects without a text ------------------------------------------


def test_a_complex_number_is_its_two_parts():
    values = np.array([1.5 + 2.0j, 1.5 - 3.0j, 0.25 + 0.0j])
    for given in (table(values), table(values.tolist())):
        assert given.words.tolist() == ["[1.5, 2.0]", "[1.5, -3.0]", "[0.25, 0.0]"]
        assert given.columns["entry 0"].tolist() == [1.5, 1.5, 0.25]
        assert given.columns["entry 1"].tolist() == [2.0, -3.0, 0.0]
    nested = table([[1j, 2.0]])
    assert nested.words.tolist() == ["[[0.0, 1.0], 2.0]"]
    rows = np.array([[1.0 + 1j, 2.0], [3.0, 4.0j]])
    assert table(rows).columns["entry 1, 1"].tolist() == [0.0, 4.0]
    # In single precision, too.
    assert table(values.astype(np.complex64)).columns["entry 1"].tolist() == [2, -3, 0]


def test_what_a_complex_number_tells_is_seen():
    """Its real part is noise, its imaginary part the data."""

    def tells(rng, data, trials):
        return rng.normal(size=trials) + 1j * data

    found = jaxsel.audit_function(tells, 0, 1, relation="replace_one", claim=1.0, trials=4000)
    assert found.refuted


class _Held:
    def __init__(self, value):
        self.value = value


class _Slots(_Held):
    __slots__ = ("other",)

    def __init__(self, value, other):
        super().__init__(value)
        self.other = other


class _Own:
    def __str__(self):
        return f"{_Held(1).__init__} and so on"


def test_an_object_is_what_it_holds_and_not_where_it_lies():
    given = table([_Held(1), _Held(2), _Held(1), _Slots(1, 7.5), _Own(), _Own()])
    words = given.words.tolist()
    assert words[:3] == [f"{{'class': '_Held', 'value': {value}}}" for value in (1, 2, 1)]
    assert words[3] == "{'class': '_Slots', 'other': 7.5, 'value': 1}"
    assert words[4] == words[5]
    assert " at 0x" not in "".join(words)
    assert given.columns["entry ['value']"][:4].tolist() == [1.0, 2.0, 1.0, 1.0]
    # Text that a function returns is left as it is.
    assert table(["it lies at 0x7f"]).words.tolist() == ["'it lies at 0x7f'"]


def test_objects_without_a_text_are_audited_by_what_they_hold():
    def tells(rng, data):
        return _Held(int(rng.random() < (0.9 if data else 0.1)))

    def keeps(rng, data):
        return _KEPT if rng.random() < 0.5 else None

    options = {"relation": "replace_one", "claim": 1.0, "trials": 1000}
    found = jaxsel.audit_function(tells, 0, 1, **options)
    assert found.refuted
    assert found.lower < 2 * math.log(3.0)
    assert jaxsel.audit_function(keeps, 0, 1, **options).verdict == "not refuted"


_KEPT = _Held(object())


def test_what_is_masked_is_no_number():
    found = table([np.ma.array([1.5, 2.5], mask=[False, True]), np.ma.masked])
    assert found.words.tolist() == ["[1.5, None]", "None"]
    assert column(found, "entry 0")[0] == 1.5
    assert np.isnan(column(found, "entry 1")).all()


def test_of_a_long_outcome_the_first_64_entries_are_columns():
    rows = np.arange(3 * 70.0).reshape(3, 70)
    names = {f"entry {place}" for place in range(64)}
    for found in (table(rows), table(rows.tolist())):
        assert {name for name in found.columns if name.startswith("entry ")} == names
        assert found.columns["largest entry"].tolist() == [69.0, 139.0, 209.0]
        assert found.columns["smallest entry"].tolist() == [0.0, 70.0, 140.0]
        assert found.columns["mean"].tolist() == [34.5, 104.5, 174.5]
    named = table([{str(place): float(place) for place in range(70)}])
    assert sum(name.startswith("entry ") for name in named.columns) == 64
    assert named.columns["length"].tolist() == [70.0]


def test_outcomes_are_told_apart_and_counted():
    found = table([1.0, 2.0, 1.0, "1.0", None, 1.0, math.nan, math.inf, -math.inf])
    assert found.frequent("words", 1) == {
        "1.0": 3, "2.0": 1, "'1.0'": 1, "None": 1, "nan": 1, "inf": 1, "-inf": 1
    }  # fmt: skip
    assert found.frequent("words", 3) == {"1.0": 3}
    assert found.frequent("words", 3.5) == {}
    assert found.frequent("shapes", 4) == {"#": 4}
    assert found.ranks("words", ["2.0", "1.0"]).tolist() == [1, 0, 1, 2, 2, 1, 2, 2, 2]
    assert found.shapes.tolist() == ["#", "#", "#", "'1.0'", "None", "#", "nan", "inf", "-inf"]


def test_numbers_of_every_type_are_their_words():
    for made, words in (
        (np.array([1, -2]), ["1", "-2"]),
        (np.array([2**63], np.uint64), ["9223372036854775808"]),
        (np.array([0.1], np.float32), [repr(float(np.float32(0.1)))]),
        (np.array([[1, 2], [3, 4]]), ["[1, 2]", "[3, 4]"]),
        (np.array([[[1.0], [2.0]]]), ["[[1.0], [2.0]]"]),
        (np.array([True, False]), ["True", "False"]),
        ([np.int64(3), np.float32(0.5), np.True_], ["3", "0.5", "True"]),
        ([{3, 1, 2}, frozenset("ba")], ["{1, 2, 3}", "{'a', 'b'}"]),
    ):
        assert table(made).words.tolist() == words
    deep = table(np.arange(12.0).reshape(2, 3, 2))
    assert deep.columns["entry 1, 0"].tolist() == [2.0, 8.0]
    assert deep.columns["entry 2, 1"].tolist() == [5.0, 11.0]


def test_bits_are_put_together_with_what_they_are_of():
    arrays = [table(np.array(part)).with_bits() for part in ([0.5, 3.0], [8.0])]
    found = together(arrays)
    assert found.columns["exponent of the lowest bit of value"].tolist() == [-1.0, 0.0, 3.0]
    assert found.rows(slice(1, 3)).columns[
        "exponent of the lowest bit of value"
    ].tolist() == [0.0, 3.0]  # fmt: skip
    listed = table([["a", 0.5], ["b", 3.0]])
    assert listed.with_bits().words.tolist() == listed.words.tolist()
    assert listed.with_bits().shapes.tolist() == listed.shapes.tolist()
    plain = together([table(np.array([0.5])), table(np.array([1.0]))])
    assert list(plain.columns) == ["value"]


def test_a_truth_value_is_no_number_of_a_list():
    found = table([[True, 1.0, 4.0], [1.0, None, 4.0]])
    for name, value in (("mean", 2.5), ("largest entry", 4.0), ("smallest entry", 1.0)):
        assert found.columns[name].tolist() == [value, value]
    assert found.columns["number of True"].tolist() == [1.0, 0.0]
    assert found.columns["entry 1 is None"].tolist() == [0.0, 1.0]
