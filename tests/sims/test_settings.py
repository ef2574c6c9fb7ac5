"""Numbers that modules declare settable: put in place of the written ones, put back.

Experiments whose settings are arguments have theirs in ``test_experiment``.
"""

import ast
import importlib
import sys

import pytest

from figures import FIGURES
from sims import settings

FIGURE = FIGURES["krw24-1"]


def _chosen(**given):
    return settings.read("krw24-1", given, FIGURE.settable())


def test_what_can_be_set_stands_in_the_files_that_define_it():
    known = FIGURE.settable()
    assert {"delta", "fixed", "paper_delta"} <= set(known)
    assert known["delta"].module == "sims.krw24_1"
    assert known["paper_delta"].module == "figures.krw24_1"
    assert (known["delta"].value, known["paper_delta"].value) == (1e-3, 1e-6)


def test_every_setting_can_be_put_in_the_place_of_its_number():
    for figure in FIGURES.values():
        for setting in figure.settable().values():
            if setting.kind != "constant":
                continue
            path = importlib.import_module(setting.module).__file__
            assert path is not None
            with open(path, "rb") as file:
                tree = ast.parse(file.read())
            other = settings.replaced(tree, {setting.constant: -123.5})
            assert "-123.5" in ast.unparse(other)


@pytest.mark.parametrize("name", FIGURES)
def test_what_has_no_effect_is_there(name):
    for each in FIGURES[name].no_effect:
        module, _, constant = each.rpartition(".")
        if constant.isupper():
            assert constant in importlib.import_module(module).SETTABLE
        else:
            assert importlib.import_module(each).SETTABLE


def test_inside_modules_are_made_from_the_other_numbers():
    before = importlib.import_module("sims.krw24_1")
    with settings.applied(_chosen(delta="0.004", fixed="7")):
        assert importlib.import_module("sims.krw24_1").DELTA == 0.004
        from figures import krw24_1

        assert krw24_1.FIXED == 7
    assert importlib.import_module("sims.krw24_1") is before
    assert before.DELTA == 0.001
    assert sys.meta_path[0].__class__.__name__ != "_Finder"


def test_modules_are_put_back_after_an_error():
    before = importlib.import_module("sims.krw24_1")

    def fails():
        with settings.applied(_chosen(delta="0.5")):
            assert importlib.import_module("sims.krw24_1").DELTA == 0.5
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert importlib.import_module("sims.krw24_1") is before


def test_a_constant_that_is_not_written_once_is_refused():
    tree = ast.parse("A = 1\nA = 2")
    with pytest.raises(ValueError, match="not each given one value"):
        settings.replaced(tree, {"A": 3})
    tree = ast.parse("A, B = 1, 2\nC: int = 3\nD = B + C[0]")
    space: dict = {}
    exec(compile(settings.replaced(tree, {"B": 5, "C": (7, 8)}), "here", "exec"), space)
    assert [space[name] for name in "ABCD"] == [1, 5, (7, 8), 12]
