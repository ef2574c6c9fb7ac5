"""Axes from text and from lists."""

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice, number, numbers, parsed, whole
from jaxsel.sweeps import axes
from jaxsel.sweeps.axes import read_grid, values_of

NUMBER, WHOLE = number(), whole(at_least=1)
LAW = parsed(str, "a law")


@pytest.mark.parametrize(
    ("text", "domain", "values"),
    [
        ("0.5,1,2", NUMBER, (0.5, 1.0, 2.0)),
        ("0:1:5", NUMBER, (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("1:1000:log4", NUMBER, (1.0, 10.0, 100.0, 1000.0)),
        ("0.1:0.3:3", NUMBER, (0.1, 0.2, 0.3)),
        ("1:4", NUMBER, (1, 2, 3, 4)),
        ("1:4", WHOLE, (1, 2, 3, 4)),
        # Whole numbers are rounded, and each comes once.
        ("1:10:log6", WHOLE, (1, 2, 3, 4, 6, 10)),
        ("1:2:5", WHOLE, (1, 2)),
        ("0,0.2:0.4:3,1", NUMBER, (0.0, 0.2, 0.3, 0.4, 1.0)),
        ("-1:1:3", NUMBER, (-1.0, 0.0, 1.0)),
        ("3", NUMBER, (3.0,)),
        ("3,2,1", numbers(), ("3,2,1",)),
        ("3,2,1;5,4", numbers(), ("3,2,1", "5,4")),
        ("geometric,poisson", LAW, ("geometric", "poisson")),
        ("tnb:eta=0.5,gamma=0.1", LAW, ("tnb:eta=0.5,gamma=0.1",)),
        ("tnb:eta=0.5;poisson", LAW, ("tnb:eta=0.5", "poisson")),
        # The digits of a step, and ranges that begin with any sign or digit.
        ("0:1:4", NUMBER, (0.0, 0.333333333333, 0.666666666667, 1.0)),
        (".5:1:2", NUMBER, (0.5, 1.0)),
        ("+1:2:2", NUMBER, (1.0, 2.0)),
        ("9:11", NUMBER, (9, 10, 11)),
        ("2:2", NUMBER, (2,)),
        ("1:2:1", NUMBER, (1.0,)),
        ("3:1:3", NUMBER, (3.0, 2.0, 1.0)),
        (" 1 , 2 ", NUMBER, (1.0, 2.0)),
        ("-1:-3:3", NUMBER, (-1.0, -2.0, -3.0)),
        # All digits of a whole number, and 1e3 for one.
        ("9007199254740993", WHOLE, (2**53 + 1,)),
        ("9007199254740992:9007199254740994", WHOLE, (2**53, 2**53 + 1, 2**53 + 2)),
        ("1e3", WHOLE, (1000,)),
        ("1e3:1001", WHOLE, (1000, 1001)),
        ("race,literal", choice(("race", "literal")), ("race", "literal")),
    ],
)
def test_text(text, domain, values):
    assert values_of("it", text, domain) == values


@pytest.mark.parametrize(
    ("given", "domain", "values"),
    [
        ([0.5, 1], NUMBER, (0.5, 1)),
        (np.array([1.0, 2.0]), NUMBER, (1.0, 2.0)),
        (range(1, 4), WHOLE, (1, 2, 3)),
        ([3, 2, 1], numbers(), ("3,2,1",)),
        ([[3, 2, 1], (5, 4)], numbers(), ("3,2,1", "5,4")),
        (np.float64(2.0), NUMBER, (2.0,)),
    ],
)
def test_values(given, domain, values):
    assert values_of("it", given, domain) == values


@pytest.mark.parametrize(
    ("text", "domain", "words"),
    [
        ("2:1", NUMBER, "empty"),
        ("1:2:x", NUMBER, "'x'"),
        ("1:2:0", NUMBER, "whole number"),
        ("1:2:1.5", NUMBER, "whole number"),
        ("0:1:log3", NUMBER, "above 0"),
        ("1:2.5", NUMBER, "1:2.5:5"),
        ("1,,2", NUMBER, "empty value"),
        ("1,1", NUMBER, "twice"),
        ("1:2:3:4", NUMBER, "no range"),
        ("1,two", NUMBER, "two"),
        ("1,2", number(below=2.0), "in (-inf, 2)"),
        ([], NUMBER, "no values"),
        ("2.5", WHOLE, "it is 2.5; it must be a whole number"),
        ("nan", WHOLE, "it is nan; it must be a whole number"),
        ("inf", WHOLE, "it is inf; it must be a whole number"),
        ("1e400", WHOLE, "it is inf; it must be a whole number"),
        ("0", WHOLE, "it is 0; it must be a whole number >= 1"),
        ("1.5:3", NUMBER, "write 1.5:3:5 for five"),
        ("1:0:log3", NUMBER, "above 0"),
        ("-2:-1:log3", NUMBER, "above 0"),
        ("1:2:log", NUMBER, "'' in it is no number"),
        ("1:2:0.5", NUMBER, "asks for 0.5 values"),
        ("0:inf:3", NUMBER, "'inf' in it is no number"),
    ],
)
def test_refusals(text, domain, words):
    with pytest.raises(InputError) as refusal:
        values_of("it", text, domain)
    assert words in str(refusal.value)
    assert "it" in str(refusal.value)


def test_a_grid_is_every_combination_the_last_fastest():
    given = {"a": "1,2", "b": "5", "c": "7,8,9"}
    grid = read_grid(given, lambda name: NUMBER)
    assert grid.shape == (2, 3)
    assert dict(grid.fixed) == {"b": 5.0}
    points = list(grid.points())
    assert points[1] == {"a": 1.0, "b": 5.0, "c": 8.0}
    assert [(p["a"], p["c"]) for p in points] == [
        (a, c) for a in (1.0, 2.0) for c in (7.0, 8.0, 9.0)
    ]


def test_zipped_settings_go_together():
    grid = read_grid({"a": "1,2", "b": "3,4", "c": "5,6"}, lambda n: NUMBER, [("a", "b")])
    assert grid.shape == (2, 2)
    assert {(p["a"], p["b"]) for p in grid.points()} == {(1.0, 3.0), (2.0, 4.0)}


@pytest.mark.parametrize(
    ("zipped", "words"),
    [([("a", "c")], "a 2, c 3"), ([("a", "d")], "'d'"), ([("a", "b"), ("b", "c")], "twice")],
)
def test_zips_that_do_not_fit(zipped, words):
    with pytest.raises(InputError, match=words):
        read_grid({"a": "1,2", "b": "3,4", "c": "5,6,7"}, lambda n: NUMBER, zipped)


def test_too_many_cells_are_refused_at_once():
    with pytest.raises(InputError, match="at most 1000000"):
        read_grid({name: "1:1001" for name in "ab"}, lambda name: NUMBER)


@pytest.mark.parametrize("given", ["1:1e9", "0:1:1e9", "1:1e308", range(10**12)])
def test_more_values_than_cells_are_refused_before_they_are_made(given):
    with pytest.raises(InputError, match=r"epsilon has .* values; a sweep has at most 1,000,000"):
        values_of("epsilon", given, NUMBER)


def test_a_value_that_is_given_twice_is_found_among_many():
    many = [float(value) for value in range(20_000)]
    with pytest.raises(InputError, match=r"epsilon has 7\.0 twice"):
        values_of("epsilon", [*many, 7.0], NUMBER)


def test_as_many_values_and_cells_as_there_may_be_are_taken(monkeypatch):
    monkeypatch.setattr(axes, "MOST", 6)
    for given in ("1:6", "0:1:6", range(6)):
        assert len(values_of("it", given, NUMBER)) == 6
    for given in ("1:7", "0:1:7", range(7)):
        with pytest.raises(InputError, match="it has 7 values; a sweep has at most 6 cells"):
            values_of("it", given, NUMBER)
    assert read_grid({"a": "1:3", "b": "1,2"}, lambda name: NUMBER).shape == (3, 2)
    with pytest.raises(InputError, match="the sweep has 8 cells; at most 6"):
        read_grid({"a": "1:4", "b": "1,2"}, lambda name: NUMBER)


def test_points_go_over_each_axis_the_last_fastest():
    """A group that is zipped is one axis, by its first name; what has one value is none."""
    given = {"a": "1,2", "b": "3,4", "c": "5", "d": "7:9"}
    grid = read_grid(given, lambda name: NUMBER, [("a", "b")])
    assert grid.shape == (2, 3)
    assert [tuple(point[name] for name in "abcd") for point in grid.points()] == [
        (1, 3, 5, 7), (1, 3, 5, 8), (1, 3, 5, 9), (2, 4, 5, 7), (2, 4, 5, 8), (2, 4, 5, 9),
    ]  # fmt: skip


def test_what_is_kept_is_an_axis_with_one_value_too():
    grid = read_grid({"a": "1", "b": "2", "c": "3"}, lambda name: NUMBER, [("b", "c")], ("a", "c"))
    assert [axis.names for axis in grid.axes] == [("a",), ("b", "c")]
    assert grid.axes[1].values == ((2.0, 3.0),)
    assert not grid.fixed
    alone = read_grid({"a": "1", "b": "2"}, lambda name: NUMBER, [("a", "b")])
    assert (alone.axes, dict(alone.fixed)) == ((), {"a": 1.0, "b": 2.0})


def test_numbers_of_arrays_are_written_in_twelve_digits():
    assert values_of("it", [np.array([1 / 3, 2.0]), [1, 2]], numbers()) == (
        "0.333333333333,2",
        "1,2",
    )
