"""Arguments of several parts: what a text, a mapping and a record say, and what is refused."""

from typing import NamedTuple

import pytest

from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice, parsed, positive, probability
from jaxsel.language.parts import Flag, read_parts

DOMAINS = {
    "path": parsed(str, "the name of a file"),
    "budget": positive(default=7.0),
    "how": choice(("at once", "in turn")),
    "like": parsed(str, "a law of K"),
}


class Record(NamedTuple):
    """The parts of ``DOMAINS``, as a record."""

    path: object = None
    budget: float | None = None
    how: str | None = None
    like: str | None = None


def _read(given):
    return read_parts("ledger", given, DOMAINS, first="path", nested=("like",))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.json", {"path": "a.json"}),
        ("a.json:budget=3", {"path": "a.json", "budget": 3.0}),
        ("C:\\a,b.json:how=in turn,budget=3", {"path": "C:\\a,b.json", "budget": 3.0}),
        ("path=a, budget = 3", {"path": "a", "budget": 3.0}),
        ("like=tnb:eta=0.5,mean=20,budget=3", {"like": "tnb:eta=0.5,mean=20", "budget": 3.0}),
        ("budget=3,like=geometric:mean=2", {"like": "geometric:mean=2", "budget": 3.0}),
    ],
)
def test_a_text_a_mapping_and_a_record_say_the_same(text, parts):
    if "in turn" in text:
        parts = {**parts, "how": "in turn"}
    expected = {"budget": 7.0, **parts}
    assert _read(text) == _read(parts) == _read(Record(**parts)) == expected


def test_a_value_alone_is_the_first_part():
    assert read_parts("compute", 4, {"most": positive()}, first="most") == {"most": 4.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a.json:budgt=3", "ledger has no part 'budgt'; did you mean budget.; it has: path, bud"),
        ("path=a.json,budgt=3", "ledger has no part 'budgt'"),
        ("a.json:budget=3,budget=4", "budget of ledger is given twice"),
        ("a.json:budget=-3", "budget is -3; it must be"),
        ("a.json:how=later", "how is 'later'; it must be one of: at once, in turn"),
        ("a.json:budget=", "budget is ''"),
        ("", "ledger is ''; write name=value"),
        ({"path": ""}, "path is ''; it must be the name of a file"),
        ({"paths": "a"}, "no setting 'paths'"),
    ],
)
def test_what_is_no_part_is_refused_and_nothing_of_it_is_taken_for_a_value(given, message):
    with pytest.raises(InputError, match=message):
        _read(given)


def test_where_no_part_stands_first_one_has_to_be_named():
    with pytest.raises(InputError, match=r"winner is '0.1'; write name=value .* of: good"):
        read_parts("winner", "0.1", {"good": probability()})
    with pytest.raises(InputError, match=r"winner is 0\.1; give a text such as good="):
        read_parts("winner", 0.1, {"good": probability()})


def test_the_name_of_a_part_that_is_yes_or_no_alone_says_yes():
    domains = {"bits": Flag(), "curve": Flag(), "like": parsed(str, "a law of K")}

    def read(given):
        return read_parts("how", given, domains, nested=("like",))

    assert read("bits") == {"bits": True}
    assert read("bits, curve=no") == {"bits": True, "curve": False}
    assert read("like=tnb:eta=1,mean=2,curve") == {"like": "tnb:eta=1,mean=2", "curve": True}
    assert read({"bits": False}) == {"bits": False}
    for given, message in (
        ("bits,like", "bits is 'yes,like'; it must be yes or no"),
        ("bits=2", "bits is 2; it must be yes or no"),
        ("bits,bits", "bits of how is given twice"),
        ("like", "how is 'like'; write name=value"),
    ):
        with pytest.raises(InputError, match=message):
            read(given)
