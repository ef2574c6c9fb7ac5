"""Experiments: what can be set, and what is counted again when something changed."""

import importlib
import sys

import pytest
import xarray as xr

from figures import FIGURES
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine
from sims.experiment import Experiment, compute, read_settings, shown, suffix

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
from jaxsel.sweeps.functions import cells

LABEL = "how often"

COIN = own_mechanism(
    lambda key, data, chance: jnp.where(noise.variate("laplace", key, 0) < chance, 1, 0),
    ["no", "yes"],
)

@cells(measures=["counts"])
def tossed(chance: Annotated[float, probability("of yes")] = over(0.25, 0.5)) -> Trial:
    return Trial(COIN, (), np.float32(chance))
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


def test_a_record_that_was_edited_is_made_again(tiny, tmp_path):
    import h5py

    configuration = {"trials": 1000, "seed": 3}
    piece = tiny(TINY)
    piece.run(tmp_path, (), configuration, False, False)
    first = piece.read(tmp_path, ())
    with h5py.File(piece.path(tmp_path, ()), "a") as file:
        file["counts"][0, 0] += 1
    assert piece.configuration(tmp_path, ()) is None
    with pytest.raises(InputError, match="was changed after it was written"):
        piece.read(tmp_path, ())
    piece.run(tmp_path, (), configuration, False, False)
    xr.testing.assert_identical(piece.read(tmp_path, ()), first)


def test_two_functions_that_call_different_numbers_by_one_name_are_refused(monkeypatch):
    from figures import ps22_6

    def draw(tuned, naive, base_success: float = 0.02):
        del tuned, naive, base_success

    hint = ps22_6.draw.__annotations__["base_success"]
    draw.__annotations__["base_success"] = hint
    monkeypatch.setattr(ps22_6, "draw", draw)
    with pytest.raises(ValueError, match="two settings base_success"):
        FIGURE.settable()
