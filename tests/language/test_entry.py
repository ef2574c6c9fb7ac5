"""A mechanism is a function of its settings that returns a trial: what it says, what is refused."""

import dataclasses
from typing import Annotated, Any

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, Relation
from jaxsel.language.domains import choice, number, numbers, positive, whole
from jaxsel.language.entry import Method, guarantee, mechanism, supplied
from jaxsel.language.trial import Trial

BUILT = []


def _made(noise: str, rounds: int, from_law: bool = False) -> Mechanism:
    BUILT.append(noise)

    def law(data, params) -> FiniteLaw:
        return FiniteLaw(np.array([1.0]), (f"{noise} {rounds} {from_law}",))

    return Mechanism(
        lambda data, params: (data, params),
        lambda key, data, params: 0,
        lambda outcome: outcome,
        lambda data, params: ("one",),
        law,
        0.0,
        noise,
    )


def _from_law(found: Mechanism) -> Mechanism:
    return found._replace(law=lambda data, params: FiniteLaw(np.array([1.0]), (found.name,)))


@dataclasses.dataclass(frozen=True)
class More:
    noise_scale: Annotated[float | None, positive("of the noise")] = None
    more: Annotated[int, whole("a number")] = 7


METHOD = Method("how", options=("literal", "quick", "law"), from_law=_from_law)


@mechanism("T-1", generic="rounds=3 scores=1,1")
def released(
    *,
    scores: Annotated[Any, numbers("scores")] = "2,1",
    epsilon: Annotated[float, positive("of all")] = 1,
    rounds: Annotated[int, whole("rounds", at_least=1)] = 2,
    apart: Annotated[float, number("how far pairs lie apart")] = 0.5,
    weight: Annotated[float | None, number("left out")] = None,
    shared: More = More(),
    method: Annotated[str, METHOD] = "literal",
):
    """Release   the best
    (nobody)."""
    params = {"epsilon": epsilon, "more": shared.more}
    params |= supplied(weight=weight, noise_scale=shared.noise_scale)

    def pairs():
        yield "near", scores, scores + apart, Relation.GENERAL, "moves"
        yield Pair("other", scores, scores, Relation.BASE, {**params, "more": 8}, "another")

    def proven(pair):
        return guarantee("LBP-privacy", epsilon=epsilon) if pair.name == "near" else None

    return Trial(lambda: _made(method, rounds), scores, params, pairs, proven)


def test_name_summary_and_settings_stand_in_the_signature():
    assert (released.name, released.ids, released.broken) == ("released", ("T-1",), False)
    assert released.summary == "Release the best (nobody)."
    names = ["scores", "epsilon", "rounds", "apart", "weight", "noise_scale", "more", "method"]
    assert list(released.settings) == names
    assert released.generic == {"rounds": "3", "scores": "1,1"}
    built = released(epsilon="0.5", scores=[3, 1])
    assert built.data.tolist() == [3.0, 1.0]
    assert built.params == {"epsilon": 0.5, "more": 7}
    assert released(weight=2, noise_scale="1").params == {
        "epsilon": 1.0,
        "more": 7,
        "weight": 2.0,
        "noise_scale": 1.0,
    }
    assert built.mechanism.law(None, None).labels == ("literal 2 False",)
    assert built.entry is released
    assert built.values["rounds"] == 2
    with pytest.raises(InputError, match="released has no setting 'epsilom'"):
        released(epsilom=1)
    with pytest.raises(InputError, match=r"rounds is 0; it must be a whole number >= 1"):
        released(rounds=0)


def test_pairs_and_guarantees_are_those_of_the_settings():
    near, other = released.pairs({"apart": 2, "epsilon": 3})
    assert near.neighbour.tolist() == [4.0, 3.0]
    assert (near.params, other.params["more"]) == ({"epsilon": 3.0, "more": 7}, 8)
    assert released.guarantee({"epsilon": 3}, near) == ("LBP-privacy", 3.0)
    assert released.guarantee({"epsilon": 3}, other) is None
    with pytest.raises(InputError, match="there is no claim 'T-Claim'"):
        guarantee("T-Claim", epsilon=3.0)


def test_a_mechanism_is_made_when_it_is_asked_for_and_once():
    BUILT.clear()
    built = released(method="quick")
    assert built.pair("near").why == "moves"
    assert "near, other" in repr(released)
    assert not BUILT
    assert built.mechanism is built.mechanism
    assert BUILT == ["quick"]


def test_the_method_law_samples_from_the_law_of_the_first_method():
    built = released(method="law")
    assert built.mechanism.law(None, None).labels == ("literal",)
    assert built.values["method"] == "law"
    assert released(method="quick").mechanism.law(None, None).labels == ("quick 2 False",)


def test_what_is_missing_is_refused_with_its_line():
    def dumb(scores: Annotated[Any, numbers("scores")] = "1,0"):
        return Trial(_made("", 1), scores)

    def without_default(scores: Annotated[Any, numbers("scores")]):
        """Scores."""
        return Trial(_made("", 1), scores)

    def without_its_law(
        scores: Annotated[Any, numbers("scores")] = "1,0",
        method: Annotated[str, choice(("literal", "law"))] = "literal",
    ):
        """Scores."""
        return Trial(_made(method, 1), scores)

    for spoilt, sentence in (
        (dumb, "the function says nothing of its mechanism"),
        (without_its_law, "method offers law; declare it by methods"),
        (without_default, "scores has no default"),
    ):
        with pytest.raises(TypeError, match=rf"test_entry\.py:\d+: {sentence}"):
            mechanism("T-2")(spoilt)
    with pytest.raises(InputError, match="nothing says what values scores of"):

        @mechanism("T-2")
        def undeclared(scores=None):
            """Scores."""
            return Trial(_made("", 1), scores)
