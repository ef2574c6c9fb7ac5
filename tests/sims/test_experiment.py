"""Experiments: what can be set, and what is counted again when something changed."""

import importlib
import json
import sys

import pytest
import xarray as xr

from figures import FIGURES
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine
from jaxsel.language.trial import Trial
from jaxsel.sweeps.cells import make_cell, own_item
from jaxsel.sweeps.functions import own_mechanism
from jaxsel.sweeps.swept_subject import find_subject
from sims.experiment import Experiment, compute, read_settings, shown, suffix
from sims.registry import SIMS

FIGURE = FIGURES["ps22-6"]


def _chosen(**given):
    return read_settings("ps22-6", given, FIGURE.settable())


def test_parameters_and_fields_of_shared_dataclasses_can_be_set():
    known = FIGURE.settable()
    assert {"base_success", "rho", "delta", "epsilon", "low", "high"} <= set(known)
    assert (known["base_success"].default, known["delta"].default) == (0.01, 1e-6)
    assert known["epsilon"].default[:2] == (2.5, 3.25)
    # What has no words to say what it is cannot be set.
    assert "family" not in known


def test_every_setting_is_said_in_words_and_read_from_them():
    bad = []
    for name, figure in FIGURES.items():
        for setting, domain in figure.settable().items():
            if domain.read(setting, shown(domain.default, ",")) != domain.default:
                bad.append(f"{name}: {setting}, {domain}")
            if not domain.help:
                bad.append(f"{name}: {setting} has no words")
    assert not bad


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"base_sucess": "0.5"}, "no setting 'base_sucess'.*did you mean base_success?"),
        ({"base_success": "1.5"}, r"base_success is 1.5; it must be a number in \(0, 1\)"),
        ({"epsilon": "1,1"}, "epsilon has 1.0 twice"),
        ({"rho": "much"}, "rho is 'much'"),
    ],
)
def test_bad_settings_are_refused(given, sentence):
    with pytest.raises(InputError, match=sentence):
        _chosen(**given)


def test_the_papers_own_numbers_are_no_settings():
    assert _chosen(base_success="1e-2") == ()
    assert suffix(()) == ""


def test_names_of_files_tell_short_settings_and_stay_short():
    assert suffix(_chosen(delta="1e-5", base_success=".05")) == ("+base_success=0.05,delta=1e-05")
    long = _chosen(epsilon=",".join(f"3.{n}1234567891" for n in range(1, 9)))
    assert len(suffix(long)) == 17


def test_a_record_is_named_after_the_settings_of_its_function_alone(tmp_path):
    chosen = _chosen(epsilon="3,4", low="1")
    tuned, naive = FIGURE.experiments
    assert tuned.path(tmp_path, chosen).name == "ps22-6.tuned+epsilon=3_4.nc"
    assert naive.path(tmp_path, chosen).name == "ps22-6.naive.nc"


def test_an_axis_takes_any_number_of_values_and_stays_one_with_one(tmp_path):
    tuned = FIGURE.experiments[0].function
    found = compute(tuned, {"epsilon": [4.0], "family": ["eta=1"]}, trials=100)
    assert dict(found["frequency"].sizes) == {"family": 1, "epsilon": 1, "outcome": 3}


# --- what is counted again --------------------------------------------------------------

TINY = """
from typing import Annotated
import jax.numpy as jnp
import numpy as np
from jaxsel import noise, over, own_mechanism, Trial
from jaxsel.language.domains import probability
from sims.cells import cells

LABEL = "how often"

COIN = own_mechanism(
    lambda key, data, chance: jnp.where(noise.variate("laplace", key, 0) < chance, 1, 0),
    ["no", "yes"],
)

@cells(measures=["counts"])
def tossed(chance: Annotated[float, probability("of yes")] = over(0.25, 0.5)) -> Trial:
    return Trial(COIN, (), np.float32(chance))
"""


AGAIN = """
@cells()
def again(chance: float = over(0.5, 0.25)) -> Trial:
    return Trial(COIN, (), chance)
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def written(text):
        (tmp_path / "tiny_experiment.py").write_text(text)
        sys.modules.pop("tiny_experiment", None)
        importlib.invalidate_caches()
        return Experiment("tiny_experiment", "tossed")

    yield written
    sys.modules.pop("tiny_experiment", None)


def test_an_edit_that_changes_no_input_counts_nothing_again(tiny, tmp_path, monkeypatch):
    configuration = {"trials": 1000, "seed": 3, "code": "first"}
    tiny(TINY).run(tmp_path, (), configuration, False, False)
    first = tiny(TINY).read(tmp_path, ())
    asked = []
    real = engine.simulate_grid

    def watched(mechanism, cells, **given):
        asked.append(len(cells))
        return real(mechanism, cells, **given)

    monkeypatch.setattr(engine, "simulate_grid", watched)
    configuration |= {"code": "second"}
    # One cell more: only that is counted.
    longer = tiny(TINY.replace("over(0.25, 0.5)", "over(0.25, 0.5, 0.75)"))
    longer.run(tmp_path, (), configuration, False, False)
    assert asked == [1]
    found = longer.read(tmp_path, ())
    xr.testing.assert_equal(found["counts"].sel(chance=[0.25, 0.5]), first["counts"])
    assert longer.configuration(tmp_path, ()) == configuration
    # Another input at the same words of the settings: all is counted.
    doubled = tiny(TINY.replace("np.float32(chance)", "np.float32(chance / 2)"))
    doubled.run(tmp_path, (), configuration, False, False)
    assert asked == [1, 2]
    assert (doubled.read(tmp_path, ())["counts"] != first["counts"]).any()


# --- the addresses of random numbers ------------------------------------------------------


def _addresses(about, settings=()):
    """Function, settings, seed and number of the random stream of each cell."""
    # No input is made, as if a function returned the same at all settings.
    nothing = own_mechanism(lambda key, data, params: 0, ["none"])
    subject = find_subject(about)._replace(build=lambda values: Trial(nothing, (), ()))
    given = {"trials": 1000} if "trials" in subject.settings else {}
    for point in subject.grid(given | dict(settings)).points():
        cell = make_cell(subject, point, 0)
        item = own_item(cell, 1)
        yield *json.loads(cell.settings_key), item.seed, item.number


MOVED = {"krw24-1": "sims.krw24_1"}  # figure -> where its cells stood, and are still addressed


def test_a_function_that_was_moved_keeps_its_random_numbers():
    names = {
        found[0]
        for experiment in SIMS["krw24-1"]
        if not hasattr(experiment.function, "computed")
        for found in _addresses(experiment.function)
    }
    assert names == {"sims.krw24_1.moved", "sims.krw24_1.scaled"}


def test_no_two_cells_of_all_experiments_draw_the_same_random_numbers():
    found, counted = {}, 0
    for sim in SIMS.values():
        for experiment in sim:
            if hasattr(experiment.function, "computed"):
                continue
            for name, settings, *address in _addresses(experiment.function):
                module = MOVED.get(experiment.file, experiment.module)
                assert name == f"{module}.{experiment.name}"
                assert " at 0x" not in str(settings)  # it would be another in each process
                other = found.setdefault(tuple(address), (name, settings))
                assert other == (name, settings), "two cells at one address"
                counted += 1
    assert len(found) == counted > 0


def test_an_address_follows_from_names_and_settings_alone(tmp_path, monkeypatch):
    """Wherever the files lie, whatever stands beside them, and in the smallest grid."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for checkout, text in (("one", TINY), ("two", f"{TINY}{AGAIN}")):
        folder = tmp_path / checkout / "tiny_package"
        folder.mkdir(parents=True)
        for file in ("__init__", "tiny_one", "tiny_two"):
            (folder / f"{file}.py").write_text(text if file != "__init__" else "")
            monkeypatch.delitem(sys.modules, f"tiny_package.{file}", raising=False)
        monkeypatch.delitem(sys.modules, "tiny_package", raising=False)
        monkeypatch.syspath_prepend(folder.parent)
        places = [f"{folder / file}.py:tossed" for file in ("tiny_one", "tiny_two")]
        found.append([each for place in places for each in _addresses(place)])
    assert found[0] == found[1]
    # The same function with the same settings, in another experiment, has numbers of its own.
    assert [(name, settings) for name, settings, *_ in found[0]] == [
        (f"tiny_package.{file}.tossed", {"chance": chance})
        for file in ("tiny_one", "tiny_two")
        for chance in (0.25, 0.5)
    ]
    assert len({number for *_, number in found[0]}) == 4
    assert list(_addresses(places[1], {"chance": 0.5})) == found[0][3:]


def test_a_record_that_was_edited_is_made_again(tiny, tmp_path):
    import h5py

    configuration = {"trials": 1000, "seed": 3}
    experiment = tiny(TINY)
    experiment.run(tmp_path, (), configuration, False, False)
    first = experiment.read(tmp_path, ())
    with h5py.File(experiment.path(tmp_path, ()), "a") as file:
        file["counts"][0, 0] += 1
    assert experiment.configuration(tmp_path, ()) is None
    with pytest.raises(InputError, match="was changed after it was written"):
        experiment.read(tmp_path, ())
    experiment.run(tmp_path, (), configuration, False, False)
    xr.testing.assert_identical(experiment.read(tmp_path, ()), first)


def test_two_functions_that_call_different_numbers_by_one_name_are_refused(monkeypatch):
    from figures import ps22_6

    def draw(tuned, naive, base_success: float = 0.02):
        del tuned, naive, base_success

    hint = ps22_6.draw.__annotations__["base_success"]
    draw.__annotations__["base_success"] = hint
    monkeypatch.setattr(ps22_6, "draw", draw)
    with pytest.raises(ValueError, match="two settings base_success"):
        FIGURE.settable()
