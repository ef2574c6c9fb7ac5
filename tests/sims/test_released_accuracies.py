"""The released table: rates by value, checksums, and what is in it."""

import hashlib
import json
import math
import os

import numpy as np
import pytest

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data import released_accuracies as released
from sims.data.released_accuracies import figure_rates, load_released_accuracies, released_available


def _entries() -> dict[str, float]:
    """Rates in no order, one digit off in places, and some that no figure has."""
    rates = figure_rates()
    moved = [np.nextafter(rate, (2.0, 0.0)[n % 2]) for n, rate in enumerate(rates)]
    keys = [repr(float(rate)) for rate in np.random.default_rng(0).permutation(moved)]
    return {"0.001": 0.1, "0.5": 0.2} | {key: round(0.1 + 0.8 * float(key), 4) for key in keys}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def _place(folder, monkeypatch, entries) -> None:
    content = json.dumps(entries).encode()
    (folder / "lr_acc.json").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    source = released.SOURCE._replace(sha256=digest)
    monkeypatch.setattr(released, "SOURCE", source)


def test_the_grid_of_the_figure():
    rates = figure_rates()
    assert rates.shape == (400,)
    np.testing.assert_allclose(np.diff(np.log10(rates)), 4.0 / 999.0, rtol=1e-9)
    assert (rates[0], rates[-1]) == (pytest.approx(0.025258200269627846), 1.0)


def test_rates_are_found_by_value(tmp_path, monkeypatch):
    _place(tmp_path, monkeypatch, _entries())
    found = load_released_accuracies(tmp_path)
    np.testing.assert_allclose(found.rates, figure_rates(), rtol=1e-12)
    np.testing.assert_array_equal(found.accuracies, np.round(0.1 + 0.8 * found.rates, 4))
    # What the figure does not use is there too, ascending.
    assert found.all_rates.size == found.all_accuracies.size == 402
    assert np.all(np.diff(found.all_rates) > 0.0)
    assert found.all_accuracies[np.searchsorted(found.all_rates, 0.5)] == 0.2


def test_a_missing_rate_is_noticed(tmp_path, monkeypatch):
    for gone in (2, 200, 401):
        entries = dict(sorted(_entries().items(), key=lambda item: float(item[0])))
        del entries[list(entries)[gone]]
        _place(tmp_path, monkeypatch, entries)
        with pytest.raises(InputError, match="lacks some of the 400 learning rates"):
            load_released_accuracies(tmp_path)


def test_where_it_is_looked_for(tmp_path, monkeypatch):
    assert not released_available()
    inside = tmp_path / "ps22_released"
    inside.mkdir()
    _place(inside, monkeypatch, _entries())
    assert not released_available()
    assert released_available(tmp_path)
    assert released_available(inside / "lr_acc.json")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert released_available()
    assert load_released_accuracies().rates.size == 400


def test_absent_and_altered_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist") as error:
        load_released_accuracies(tmp_path)
    text = str(error.value)
    assert "\n" not in text
    assert released.SOURCE.url in text
    assert released.SOURCE.sha256 in text
    assert FOLDER_VARIABLE in text
    (tmp_path / "lr_acc.json").write_text(json.dumps(_entries()))
    with pytest.raises(InputError, match="has sha256"):
        load_released_accuracies(tmp_path)


REAL = os.environ.get(FOLDER_VARIABLE)


@pytest.mark.skipif(not (REAL and released_available(REAL)), reason="the table is not at hand")
def test_the_real_table():
    found = load_released_accuracies(REAL)
    assert found.all_rates.size == 1012
    assert (found.all_accuracies.min(), found.all_accuracies.max()) == (0.1028, 0.9594)
    assert (found.accuracies.min(), found.accuracies.max()) == (0.4324, 0.9594)
    assert found.rates[found.accuracies.argmax()] == pytest.approx(0.3158635)
    # The keys are what the C library makes of the grid, to the last digit.
    exponents = np.linspace(-4.0, 0.0, 1000)[-400:].tolist()
    assert found.rates.tolist() == [math.pow(10.0, e) for e in exponents]
    # NumPy's own are at most one digit off.
    ours = figure_rates()
    assert np.all(np.abs(ours - found.rates) <= np.spacing(found.rates))
