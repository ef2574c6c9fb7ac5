"""Numbers that can be set: declared, read, put in place of the written ones, put back."""

import ast
import importlib
import sys

import pytest

from figures import FIGURES
from jaxsel.host.errors import InputError
from sims import registry, settings

FIGURE = FIGURES["ps22-6"]


def _chosen(**given):
    return settings.read("ps22-6", given, FIGURE.settable())


def test_what_can_be_set_stands_in_the_files_that_define_it():
    known = FIGURE.settable()
    assert {"base_success", "rho", "delta", "epsilons"} <= set(known)
    assert known["base_success"].module == "sims.ps22_6"
    assert known["delta"].module == "sims.common.tuned_laws"
    assert (known["base_success"].value, known["delta"].value) == (0.01, 1e-6)
    # delta is of no effect on Renyi divergences.
    assert set(FIGURES["ps22-2"].settable()) == {"means", "rho"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_setting_can_be_put_in_the_place_of_its_number(name):
    figure = FIGURES[name]
    for setting in figure.settable().values():
        assert setting.read(settings.shown(setting.value, ",")) == setting.value
        assert setting.domain.help
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
    before = importlib.import_module("sims.common.gaussian_orders")
    shift = before.SHIFT
    with settings.applied(_chosen(rho="0.4")):
        # copied at import, and computed from it
        inside = importlib.import_module("sims.common.gaussian_orders")
        assert inside.RHO == 0.4
        assert inside.SHIFT == pytest.approx(2.0 * shift)
        from sims import ps22_8

        assert ps22_8.RHO == 0.4
    assert importlib.import_module("sims.common.gaussian_orders") is before
    from sims import ps22_8 as after

    assert after.RHO == before.RHO == 0.1
    assert sys.meta_path[0].__class__.__name__ != "_Finder"


def test_modules_are_put_back_after_an_error():
    before = importlib.import_module("sims.ps22_6")

    def fails():
        with settings.applied(_chosen(base_success="0.5")):
            assert importlib.import_module("sims.ps22_6").BASE_SUCCESS == 0.5
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert importlib.import_module("sims.ps22_6") is before
    assert before.BASE_SUCCESS == 0.01


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"base_sucess": "0.5"},
            "no setting 'base_sucess'.*did you mean base_success?",
        ),
        (
            {"base_success": "1.5"},
            r"base_success is 1.5; it must be a number in \(0, 1\)",
        ),
        ({"epsilons": "1,2"}, "it must be 8 numbers, such as 2.5,3.25,4,"),
        ({"rho": "much"}, "rho is 'much'"),
    ],
)
def test_bad_settings_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        _chosen(**given)


def test_whole_numbers_stay_whole():
    known = FIGURES["ps22-2"].settable()
    (found,) = settings.read("ps22-2", {"means": "2,3,4,5,6,7"}, known)
    assert found.value == (2, 3, 4, 5, 6, 7)
    assert all(isinstance(each, int) for each in found.value)
    with pytest.raises(InputError, match=r"means is 2,3,4,5,6,7\.5; it must be whole"):
        settings.read("ps22-2", {"means": "2,3,4,5,6,7.5"}, known)


def test_the_papers_own_numbers_are_no_settings():
    assert _chosen(base_success="1e-2") == ()
    assert settings.suffix(()) == ""


def test_names_of_files_tell_short_settings_and_stay_short():
    assert settings.suffix(_chosen(delta="1e-5", base_success=".05")) == (
        "+base_success=0.05,delta=1e-05"
    )
    long = _chosen(epsilons=",".join(f"3.{n}1234567891" for n in range(8)))
    assert len(settings.suffix(long)) == 17


def test_a_simulation_has_only_the_settings_that_it_depends_on():
    both = settings.read(
        "krw24-3", {"delta": "1e-5", "noise_multiplier": "3"},
        FIGURES["krw24-3"].settable(),
    )  # fmt: skip
    kept = registry.settings_of("krw24-2", both)
    assert [each.setting.name for each in kept] == ["noise_multiplier"]


def test_a_constant_that_is_not_written_once_is_refused():
    tree = ast.parse("A = 1\nA = 2")
    with pytest.raises(ValueError, match="not each given one value"):
        settings.replaced(tree, {"A": 3})
    tree = ast.parse("A, B = 1, 2\nC: int = 3\nD = B + C[0]")
    space: dict = {}
    exec(compile(settings.replaced(tree, {"B": 5, "C": (7, 8)}), "here", "exec"), space)
    assert [space[name] for name in "ABCD"] == [1, 5, (7, 8), 12]
