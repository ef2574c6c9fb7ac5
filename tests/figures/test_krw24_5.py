"""Figure 5 of Koskela, Redberg & Wang: its simulation, its numbers, its picture."""

import numpy as np
import pytest

from figures import FIGURES, krw24_5
from figures.common.figure import render
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.pictures import style
from sims import krw24_5 as sim
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

TRIALS = 2000
SMALL = {
    "EPSILONS": (1.0,),
    "MEAN_RUNS": 5,
    "GRID": (30.0, 300.0, 3000.0),
}


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDER_VARIABLE, raising=False)
        for name, value in SMALL.items():
            patch.setattr(sim, name, value)
        sim.calibration.cache_clear()
        found = record_of(sim, TRIALS)
    sim.calibration.cache_clear()
    return found


def test_sets_without_files_are_the_bundled_ones(record, monkeypatch, tmp_path):
    assert record.values["data_sets"] == ["diabetes", "synthetic"]
    np.testing.assert_array_equal(record.arrays["sizes"][0], [265, 88, 89, 10])
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert sim.data_sets() == ("diabetes", "synthetic")
    (tmp_path / "hour.csv").write_bytes(b"")
    assert sim.data_sets() == ("diabetes", "synthetic")
    (tmp_path / "elevators.data.gz").write_bytes(b"")
    assert sim.data_sets() == ("bike", "elevators")


def test_splits_are_disjoint_and_whole():
    cut = sim.split("synthetic")
    tuned = [cut.tuned[f"{part}targets"] for part in ("", "validation_", "test_")]
    assert [len(part) for part in tuned] == [3000, 1000, 1000]
    assert len({*np.concatenate(tuned).tolist()}) == 5000
    np.testing.assert_array_equal(cut.whole["targets"], np.concatenate(tuned[:2]))
    np.testing.assert_array_equal(cut.whole["test_targets"], tuned[2])
    assert cut.zero_error == pytest.approx(np.mean(tuned[2] ** 2))


def test_record_is_sufficient(record):
    shape = (len(sim.METHODS), 2, 1)
    assert record.arrays["error_count"].shape == shape
    assert np.all(record.arrays["error_count"] == TRIALS)
    assert not record.arrays["error_outside"].any()
    labels = record.arrays["label_counts"]
    assert labels.shape == (*shape, len(SMALL["GRID"]) + 1)
    assert np.all(labels.sum(axis=-1) == TRIALS)
    # Baselines release always.
    baselines = [sim.METHODS.index(name) for name in sim.BASELINES]
    assert np.all(labels[baselines, :, :, 0] == TRIALS)


def test_exact_means_lie_in_the_intervals(record):
    """On the large set no error comes near the cap, so the exact means apply."""
    place = record.values["data_sets"].index("synthetic")
    for row, name in enumerate(sim.BASELINES):
        exact = record.arrays["expected_errors"][row, place]
        mean, low, high = krw24_5.points(record, name, place, 1.0 - ALPHA)
        assert np.all((low <= exact) & (exact <= high)), (name, low, exact, high)
        assert np.all((low <= mean) & (mean <= high))
        # Power: half as much again is told apart.
        assert np.all(1.5 * exact > high)


def test_the_picture(record, monkeypatch, tmp_path):
    asked = []

    def load(name):
        asked.append(name)
        return record

    monkeypatch.setattr(krw24_5, "load", load)
    canvas = render(FIGURES["krw24-5"])
    assert asked == list(FIGURES["krw24-5"].sims) == ["krw24-5"]
    panels = canvas.axes
    assert [panel.get_title() for panel in panels] == [
        "Diabetes (bundled): n = 442, d = 10",
        "Synthetic: n = 5,000, d = 10",
    ]
    # A method is a line through its points.
    for place, panel in enumerate(panels):
        lines = [line for line in panel.get_lines() if len(line.get_xdata()) == 1]
        drawn = [line.get_ydata() for line in lines]
        for method in sim.METHODS:
            mean = krw24_5.points(record, method, place)[0]
            assert any(np.array_equal(mean, values) for values in drawn), method
    text = canvas._supxlabel.get_text()
    assert "not at hand" in " ".join(text.split())
    legend = [label.get_text() for label in canvas.legends[0].get_texts()]
    assert {label for label, _ in krw24_5._LOOKS.values()} <= set(legend)
    assert set(krw24_5._LOOKS) == set(sim.METHODS)
    written = style.save(canvas, tmp_path / "krw24-5")
    assert all(path.stat().st_size > 1000 for path in written)
