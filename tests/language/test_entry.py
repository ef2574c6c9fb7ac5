"""A mechanism is its decorated factory: what stands in the signature, and what is refused."""

from typing import Annotated, Any

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, Relation
from jaxsel.language.domains import choice, number, numbers, positive, whole
from jaxsel.language.entry import DATA, FIXED, PAIRS, guarantee, mechanism

MORE = {"noise_scale": positive("of the noise"), "more": whole("a number", default=7)}


def _made(noise: str, rounds: int) -> Mechanism:
    def law(data, params) -> FiniteLaw:
        return FiniteLaw(np.array([1.0]), (f"{noise} {rounds}",))

    return Mechanism(
        lambda data, params: (data, params),
        lambda key, data, params: 0,
        lambda outcome: outcome,
        lambda data, params: ("one",),
        law,
        0.0,
        noise,
    )


def released():
    @mechanism("T-1", also=MORE, generic={"rounds": 3})
    def released(
        *,
        scores: Annotated[Any, numbers("scores"), DATA] = "2,1",
        epsilon: Annotated[float, positive("of all")] = 1,
        rounds: Annotated[int, whole("rounds", at_least=1), FIXED] = 2,
        apart: Annotated[float, number("how far pairs lie apart"), PAIRS] = 0.5,
        weight: Annotated[float | None, number("left out")] = None,
        method: Annotated[str, choice(("literal", "law"), "how"), FIXED] = "literal",
        **more,
    ):
        """Release   the best
        (nobody)."""
        return _made(method, rounds)

    return released


def test_name_summary_settings_and_roles_stand_in_the_signature():
    entry = released()
    assert (entry.name, entry.ids, entry.broken) == ("released", ("T-1",), False)
    assert entry.summary == "Release the best (nobody)."
    names = ["scores", "epsilon", "rounds", "apart", "weight", "noise_scale", "more", "method"]
    assert list(entry.settings) == names
    built = entry(epsilon="0.5", scores=[3, 1])
    assert built.data.tolist() == [3.0, 1.0]
    # Neither what is fixed, nor what shapes pairs, nor what is left out.
    assert built.params == {"epsilon": 0.5, "more": 7}
    assert entry(weight=2, noise_scale=1).params.keys() == {
        "epsilon",
        "more",
        "weight",
        "noise_scale",
    }
    assert built.mechanism.law(None, None).labels == ("literal 2",)
    assert built.entry is entry
    with pytest.raises(InputError, match="released has no setting 'epsilom'"):
        entry(epsilom=1)


def test_pairs_and_guarantees_are_asked_with_the_settings_that_they_name():
    entry = released()

    @entry.neighbours
    def moved(data, apart, weight, params, absent=4.0):
        assert (weight, absent) == (None, 4.0)
        yield "near", data, data + apart, Relation.GENERAL, "moves"
        yield Pair("other", data, data, Relation.BASE, {**params, "more": 8}, "another")

    @entry.guarantees
    def pure(epsilon, pair):
        return guarantee("LBP-privacy", epsilon=epsilon) if pair.name == "near" else None

    near, other = entry.pairs({"apart": 2, "epsilon": 3})
    assert near.neighbour.tolist() == [4.0, 3.0]
    assert (near.params, other.params["more"]) == ({"epsilon": 3.0, "more": 7}, 8)
    assert entry.guarantee({"epsilon": 3}, near) == ("LBP-privacy", 3.0)
    assert entry.guarantee({"epsilon": 3}, other) is None
    with pytest.raises(InputError, match="there is no claim 'T-Claim'"):
        guarantee("T-Claim", epsilon=3.0)


def test_an_input_of_its_own_replaces_what_the_signature_says():
    entry = released()

    @entry.input
    def squared(scores, values):
        return scores**2, {"number": len(values)}

    @entry.neighbours
    def same(data):
        yield "same", data, data, Relation.BASE, "nothing moves"

    built = entry()
    assert (built.data.tolist(), built.params) == ([4.0, 1.0], {"number": 6})
    assert built.pair().params == {"number": 6}


def test_what_is_missing_is_refused_with_its_line():
    with pytest.raises(TypeError, match=r"test_entry\.py:\d+: released has no setting 'epsilom'"):
        released().guarantees(lambda epsilom: None)
    for spoilt, sentence in (
        (lambda scores: _made("", 1), "scores declares no domain, or no default"),
        (lambda: _made("", 1), "the factory says nothing of its mechanism"),
    ):
        with pytest.raises(TypeError, match=rf"test_entry\.py:\d+: {sentence}"):
            mechanism("T-2")(spoilt)
