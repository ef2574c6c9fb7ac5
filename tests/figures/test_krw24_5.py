"""Figure 5 of Koskela, Redberg & Wang: its simulation, its numbers, its picture."""

import numpy as np
import pytest

from figures import krw24_5
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.pictures import style
from sims.experiment import compute
from tests.conftest import ALPHA, seed

TRIALS = 2000
GRID = (30.0, 300.0, 3000.0)
FEW = {"data_set": ("diabetes", "synthetic"), "epsilon": 1.0}


@pytest.fixture(scope="module")
def fits():
    krw24_5.calibration.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krw24_5, "MEAN_RUNS", 5)
        patch.setattr(krw24_5, "GRID", GRID)
        yield compute(krw24_5.fits, FEW, trials=TRIALS, seed=seed(), progress=False)
    krw24_5.calibration.cache_clear()


def test_sets_without_files_are_the_bundled_ones(fits, monkeypatch, tmp_path):
    diabetes = fits.sel(data_set="diabetes")
    assert np.all(diabetes.records == [265, 88, 89])
    assert np.all(diabetes.features == 10)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert krw24_5.data_sets() == ("diabetes", "synthetic")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert krw24_5.data_sets() == ("diabetes", "synthetic")
    (tmp_path / "hour.csv").write_bytes(b"")
    assert krw24_5.data_sets() == ("diabetes", "synthetic")
    (tmp_path / "elevators.data.gz").write_bytes(b"")
    assert krw24_5.data_sets() == ("bike", "elevators")


def test_splits_are_disjoint_and_whole():
    cut = krw24_5.split("synthetic")
    tuned = [cut.tuned[f"{part}targets"] for part in ("", "validation_", "test_")]
    assert [len(part) for part in tuned] == [3000, 1000, 1000]
    assert len({*np.concatenate(tuned).tolist()}) == 5000
    np.testing.assert_array_equal(cut.whole["targets"], np.concatenate(tuned[:2]))
    np.testing.assert_array_equal(cut.whole["test_targets"], tuned[2])
    assert cut.zero_error == pytest.approx(np.mean(tuned[2] ** 2))


def test_record_is_sufficient(fits):
    shape = (len(krw24_5.ALGORITHMS), 2, 1)
    assert fits.error_count.shape == shape
    assert np.all(fits.error_count == TRIALS)
    assert not fits.error_outside.any()
    assert fits.label.shape == (*shape, len(GRID) + 1)
    assert np.all(fits.label.sum("label_0") == TRIALS)
    # Baselines release always.
    baselines = fits.label.sel(algorithm=list(krw24_5.BASELINES))
    assert np.all(baselines.isel(label_0=0) == TRIALS)


def test_exact_means_lie_in_the_intervals(fits):
    """On the large set no error comes near the cap, so the exact means apply."""
    for name in krw24_5.BASELINES:
        row = fits.sel(algorithm=name, data_set="synthetic")
        exact = row.expected_error.values
        mean, low, high = krw24_5.points(row, 1.0 - ALPHA)
        assert np.all((low <= exact) & (exact <= high)), (name, low, exact, high)
        assert np.all((low <= mean) & (mean <= high))
        # Power: half as much again is told apart.
        assert np.all(1.5 * exact > high)


def test_the_picture(fits, tmp_path):
    with style.applied():
        canvas = krw24_5.draw(fits)
    panels = canvas.axes
    assert [panel.get_title() for panel in panels] == [
        "Diabetes (bundled): n = 442, d = 10",
        "Synthetic: n = 5,000, d = 10",
    ]
    # A method is a line through its points.
    for name, panel in zip(FEW["data_set"], panels, strict=True):
        lines = [line for line in panel.get_lines() if len(line.get_xdata()) == 1]
        drawn = [line.get_ydata() for line in lines]
        for method in krw24_5.ALGORITHMS:
            mean = krw24_5.points(fits.sel(algorithm=method, data_set=name))[0]
            assert any(np.array_equal(mean, values) for values in drawn), method
    text = canvas._supxlabel.get_text()
    assert "not at hand" in " ".join(text.split())
    legend = [label.get_text() for label in canvas.legends[0].get_texts()]
    assert {label for label, _ in krw24_5._LOOKS.values()} <= set(legend)
    assert set(krw24_5._LOOKS) == set(krw24_5.ALGORITHMS)
    written = style.save(canvas, tmp_path / "krw24-5")
    assert all(path.stat().st_size > 1000 for path in written)
