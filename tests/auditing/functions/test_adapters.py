"""Objects of other libraries are audited by their call, with small ones that stand in for them."""

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions import neighbours
from jaxsel.auditing.functions.audited_function import is_function, load
from jaxsel.host.errors import InputError
from jaxsel.language.relations import Relation
from jaxsel.testing import assert_private
from tests.conftest import ALPHA


class Measurement:
    """Is called with one argument, as OpenDP's are."""

    def __init__(self, scale, seed):
        self.scale, self.generator = scale, np.random.default_rng(seed)

    def __call__(self, arg):
        return arg + self.generator.laplace(scale=self.scale)

    def invoke(self, arg):
        return self(arg)


class Mechanism:
    """Cannot be called, but randomises, as diffprivlib's do."""

    def __init__(self, scale, seed):
        self.measurement = Measurement(scale, seed)

    def randomise(self, value):
        return self.measurement(value)


class Choice:
    """Holds its scores, and takes no argument."""

    def randomise(self, value=None):
        return 0


def subjects(scale, seed):
    own = Measurement(scale, seed)
    return (own, Mechanism(scale, seed), own.invoke)


@pytest.mark.parametrize("which", range(3), ids=["called", "randomise", "a method"])
def test_an_object_is_audited_in_this_process_as_it_is(which, seed):
    given = {"relation": "general", "claim": 1.0, "trials": 10_000}
    right, wrong = (subjects(scale, seed)[which] for scale in (1.0, 0.5))
    assert is_function(right)
    assert load(right).path is None
    assert not jaxsel.audit_function(right, 0.0, confidence=1 - ALPHA, **given).refuted
    found = jaxsel.audit_function(wrong, 0.0, confidence=1 - ALPHA, **given)
    assert found.refuted
    assert abs(found.data - found.neighbour) <= 1.0
    assert_private(right, 0.0, 1.0, relation="general", epsilon=1.0, trials=10_000)
    with pytest.raises(AssertionError, match="REFUTED"):
        assert_private(wrong, 0.0, 1.0, relation="general", epsilon=1.0, trials=10_000)


def test_an_object_of_a_file_is_made_by_each_process(tmp_path):
    file = tmp_path / "objects.py"
    file.write_text(
        "import numpy as np\n\n\nclass Mechanism:\n"
        "    def __init__(self, scale):\n        self.scale = scale\n"
        "        self.generator = np.random.default_rng()\n\n"
        "    def randomise(self, value):\n"
        "        return value + self.generator.laplace(scale=self.scale)\n\n\n"
        "right, wrong = Mechanism(1.0), Mechanism(0.5)\n"
    )
    given = {"relation": "general", "claim": 1.0, "trials": 10_000}
    right, wrong = (
        jaxsel.audit_function(f"{file}:{name}", 0.0, confidence=1 - ALPHA, **given)
        for name in ("right", "wrong")
    )
    assert (right.refuted, wrong.refuted) == (False, True)


def test_names_and_kinds_of_objects():
    assert load(Measurement(1.0, 0))[:2] == ("Measurement", "own")
    assert load(Mechanism(1.0, 0))[:2] == ("Mechanism.randomise", "own")


def test_what_has_no_call_is_refused():
    with pytest.raises(InputError, match=r"cannot be called; give a method of it"):
        load(object())
    with pytest.raises(InputError, match=r"Choice\.randomise takes nothing"):
        load(Choice())
    assert not is_function(object())
    assert not is_function("noisy_max")


@pytest.mark.parametrize("data", [0.0, 3])
@pytest.mark.parametrize("relation", [Relation.GENERAL, Relation.MONOTONE, Relation.L1])
def test_one_number_has_neighbours_of_its_kind(relation, data):
    pairs = neighbours.propose(relation, data)
    assert {type(side) for pair in pairs for side in pair[:2]} == {type(data)}
    assert (data, data + 1) in {pair[:2] for pair in pairs}
    assert all(abs(pair.data - pair.neighbour) <= 1 for pair in pairs)
