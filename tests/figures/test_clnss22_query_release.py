"""Query release: simulated errors on the exact curves; the caps and their order."""

import numpy as np
import pytest

from figures import clnss22_query_release as figure
from sims import clnss22_query_release as sim
from tests.conftest import ALPHA
from tests.figures.sharing import record_of


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sim, "REPAIRED", (1, 30, 300))
        return record_of(sim, 5000)


@pytest.mark.parametrize("name", ["corrected", "sharp"])
def test_points_lie_on_the_exact_curve(record, name):
    found = figure.points(record, name, 1.0 - ALPHA / 40)
    exact, cap = figure.tails(name == "sharp", found["x"])
    assert np.all((found["low"] <= exact + 1e-12) & (exact <= found["high"] + 1e-12))
    assert found["x"][-1] == pytest.approx(cap)
    assert found["above"][-1] == 0


def test_caps_are_ordered_as_the_figure_shows():
    found = figure.caps()
    assert np.all(found["plain"] < found["sharp"])
    assert np.all(found["sharp"] < found["corrected"])
    assert np.all(found["rate"] < found["plain"])
    at = [round(figure.tails(sharp, np.zeros(1))[1]) for sharp in (False, True)]
    assert at == [246, 73]


def test_figure_draws(record, monkeypatch):
    monkeypatch.setattr(figure, "load", lambda name: record)
    canvas = figure.draw()
    assert len(canvas.axes) == 2
