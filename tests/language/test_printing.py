"""Numbers are rounded in the direction that is said."""

import math

import pytest

from jaxsel.language.printing import Summary, cell, digits_down, digits_up, rounded_up, text


@pytest.mark.parametrize(
    ("number", "digits", "up", "down"),
    [
        (1.23456, 4, 1.235, 1.234),
        (1.23441, 4, 1.235, 1.234),
        (-1.23456, 4, -1.234, -1.235),
        (123456.0, 2, 130000.0, 120000.0),
        (1e-300 / 3, 3, 3.34e-301, 3.33e-301),
        (2.0, 4, 2.0, 2.0),
    ],
)
def test_digits_are_rounded_up_or_down(number, digits, up, down):
    assert (digits_up(number, digits), digits_down(number, digits)) == (up, down)


def test_an_epsilon_is_never_shown_below_what_is_proven():
    assert rounded_up(1.00001) == 1.0001
    assert rounded_up(math.inf) == math.inf


def test_a_table_has_its_sentence_and_its_columns():
    found = text(Summary("Two.", ("name", "value"), [["a", 0.5], ["long", None]]))
    assert found.splitlines() == ["Two.", "  name  value", "  a     0.5", "  long"]
    assert cell(1 / 3) == "0.333333"
