"""Arguments are read by the domains of their annotations."""

import functools
from typing import Annotated, Any

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.language.base import Mechanism, factory, outcome_itself
from jaxsel.language.domains import choice, positive, whole
from jaxsel.language.relations import Relation, among
from jaxsel.language.signature import Over, over, read_params, validated

Scale = Annotated[float, positive("of the noise")]
Rounds = Annotated[int, whole("how many", at_least=1)]


@validated
def read(
    scale: Scale,
    rounds: Rounds = 1,
    *,
    data: Any = None,
    other: Scale | None = None,
    third: Annotated[float | None, positive()] = 2.0,
    relation: Annotated[Relation, among(Relation.GENERAL, Relation.MONOTONE)] = Relation.GENERAL,
):
    return scale, rounds, data, other, third, relation


def test_arguments_are_what_their_domains_make_of_them():
    nothing = object()
    assert read("0.5", 2.0, data=nothing) == (0.5, 2, nothing, None, 2.0, Relation.GENERAL)
    assert read(scale=1, third=None, other="3")[3:5] == (3.0, None)
    assert type(read(1, np.int64(2))[1]) is int
    assert read(1, np.int64(2**53 + 1))[1] == 2**53 + 1
    assert read(1, relation="monotone")[5] is Relation.MONOTONE


@pytest.mark.parametrize(
    ("args", "named", "sentence"),
    [
        ((-1,), {}, r"scale is -1; it must be a number in \(0, inf\)"),
        ((np.nan,), {}, "scale is nan"),
        ((None,), {}, "scale is None"),
        ((True,), {}, "scale is True"),
        ((np.True_,), {}, "scale is True"),
        ((b"1",), {}, "scale is b'1'"),
        ((1, 1.5), {}, "rounds is 1.5; it must be a whole number >= 1"),
        ((1,), {"rounds": 0}, "rounds is 0"),
        ((1,), {"other": 0.0}, "other is 0.0"),
        ((1,), {"third": -2}, "third is -2"),
        ((1,), {"relation": "l1"}, "relation is 'l1'; it must be one of: general, monotone"),
    ],
)
def test_what_is_outside_a_domain_is_refused(args, named, sentence):
    with pytest.raises(InputError, match=sentence):
        read(*args, **named)


def test_arguments_that_no_parameter_takes_are_pythons_to_refuse():
    with pytest.raises(TypeError):
        read(1, 2, 3)
    with pytest.raises(TypeError):
        read(1, scale=2)


def test_a_factory_reads_its_settings_and_makes_one_mechanism_of_equal_ones():
    @factory
    def made(
        scale: Scale = 1.0, method: Annotated[str, choice(("literal", "race"))] = "literal"
    ) -> Mechanism:
        assert type(scale) is float
        kept = functools.partial(outcome_itself)
        return Mechanism(lambda d, p: (d, p), lambda k, d, p: d, kept, lambda d, p: (), None, 1.0)

    assert made(2) is made(scale="2.0") is made(2.0, method="literal")
    for bad in ({"scale": 0}, {"method": "law"}):
        with pytest.raises(InputError):
            made(**bad)


def test_params_of_a_mechanism_are_read_by_name():
    wanted = {"epsilon": Scale, "levels": None}
    given = {"epsilon": "2", "levels": [1]}
    assert read_params(given, wanted, {"rounds": Rounds}) == {"epsilon": 2.0, "levels": [1]}
    for spoilt, sentence in (
        ({"levels": [1]}, "epsilon is missing"),
        ({**given, "size": 1}, "size is no parameter"),
        ({**given, "rounds": 0}, "rounds is 0"),
        ([1], "parameters are"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_params(spoilt, wanted, {"rounds": Rounds})


def test_an_axis_has_values_or_named_objects():
    assert over(0.5, 1.0) == Over((0.5, 1.0))
    fair = {"fair": 0.5, "unfair": 0.25}
    assert over(fair).values is fair
    assert over(fair, fair).values == (fair, fair)
    for bad in ((), ({},), ({1: 2},), ({"": 2},)):
        with pytest.raises(InputError):
            over(*bad)
