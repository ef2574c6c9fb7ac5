"""Query release: simulated errors on the exact curves; the caps and their order."""

import numpy as np
import pytest

from figures import clnss22_query_release as figure
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

RELEASE = figure.Release()


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure, "REPAIRED", (1, 30, 300))
        return record_of(figure, 5000)


@pytest.mark.parametrize("name", ["corrected", "sharp"])
def test_points_lie_on_the_exact_curve(record, name):
    found = figure.points(record["errors"].sel(name=name), 1.0 - ALPHA / 40)
    exact = RELEASE.tails(name, found["level"].values)
    assert np.all((found.low <= exact + 1e-12) & (exact <= found.high + 1e-12))
    assert found["level"][-1] == pytest.approx(RELEASE.cap(name))
    assert found.above[-1] == 0


def test_caps_are_ordered_as_the_figure_shows():
    found = figure.caps()
    assert np.all(found["plain"] < found["sharp"])
    assert np.all(found["sharp"] < found["corrected"])
    assert np.all(found["rate"] < found["plain"])
    assert [round(RELEASE.cap(name)) for name in ("corrected", "sharp")] == [246, 73]
