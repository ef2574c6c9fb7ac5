"""Figure 1 of Koskela, Redberg & Wang: values, audits below exact values below claims."""

import numpy as np
import pytest

from figures import krw24_1
from jaxsel.families.noisy_max.group_bounds import grouped_law
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.pictures import style
from sims import krw24_1 as sim
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

TRIALS = 100_000


@pytest.fixture(scope="module", autouse=True)
def _smaller():
    """Every program and every search takes its time: a few of each."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (sim, krw24_1):
            patch.setattr(module, "COMPOSITIONS", (1, 10))
            patch.setattr(module, "NOISE_SCALES", (1.0, 4.0, 32.0))
        patch.setattr(sim, "CANDIDATES", (2, 10, 1000))
        yield


@pytest.fixture(scope="module")
def record(_smaller):
    return record_of(sim, TRIALS)


@pytest.mark.parametrize(
    ("m", "profile", "renyi", "chernoff"),
    [
        (10, 2.490, 2.649, 2.964),
        (100, 2.708, 2.861, 3.160),
        (1000, 2.910, 3.058, 3.344),
        (10_000, 3.099, 3.244, 3.518),
    ],
)
def test_claims_have_the_values_of_the_paper(m, profile, renyi, chernoff):
    found = krw24_1.claims(1e-6, 4.0, m)
    assert found["profile"] == pytest.approx(profile, abs=5.1e-4)
    assert found["renyi"] == pytest.approx(renyi, abs=5.1e-4)
    assert found["chernoff"] == pytest.approx(chernoff, abs=5.1e-4)
    assert found["sharp"] < found["profile"]


def test_tallies_follow_the_exact_laws(record):
    for name in ("groups", "single"):
        table, counts = record.arrays[f"{name}_pairs"], record.arrays[f"{name}_counts"]
        for (first, second, lead), sides in zip(table, counts, strict=True):
            for tally, move in zip(sides, (0.5, 0.0), strict=True):
                law = grouped_law([first, second], [lead + move, 0.0])
                assert goodness_of_fit(tally, law / law.sum()) > ALPHA
            # Power: the sides differ.
            assert goodness_of_fit(sides[0], law / law.sum()) < ALPHA


def test_audits_lie_below_exact_values_below_claims(record):
    count = 2 * len(sim.CANDIDATES) + len(sim.NOISE_SCALES) + len(sim.COMPOSITIONS)
    confidence = 1.0 - ALPHA / count
    for name in ("groups", "single"):
        found = krw24_1.audited(record, name, confidence)
        for m, lower, exact in zip(sim.CANDIDATES, *found, strict=True):
            bounds = krw24_1.claims(sim.DELTA, sim.NOISE_SCALE, m)
            assert lower <= exact <= bounds["sharp"] * (1 + 1e-9)
            assert bounds["sharp"] <= bounds["profile"] < bounds["renyi"]
            assert bounds["renyi"] < bounds["chernoff"]
    found = krw24_1.audited(record, "scales", confidence)
    for scale, lower, exact in zip(sim.NOISE_SCALES, *found, strict=True):
        assert lower <= exact <= krw24_1.claims(sim.DELTA, scale, sim.FIXED)["sharp"]
    found = krw24_1.audited_compositions(record, confidence)
    for k, lower, exact in zip(sim.COMPOSITIONS, *found, strict=True):
        bounds = krw24_1.composed(sim.DELTA, k)
        assert lower <= exact <= bounds["groups"] * (1 + 1e-9)
        assert (
            bounds["groups"] <= bounds["sharp"] <= bounds["profile"] <= bounds["renyi"]
        )


def test_audits_have_power(record):
    # At 95 % confidence, and with few trials, half of what is to be found.
    for name in ("groups", "single"):
        found = krw24_1.audited(record, name)
        assert np.all(found.lower > 0.5 * found.exact)
    found = krw24_1.audited_compositions(record)
    assert np.all(found.lower > 0.5 * found.exact)


def test_drawing(record, monkeypatch):
    monkeypatch.setattr(krw24_1, "load", lambda name: record)
    monkeypatch.setattr(krw24_1, "SEARCHED", (2, 10, 1000))
    monkeypatch.setattr(krw24_1, "RELEASES", (1, 10))
    with style.applied():
        figure = krw24_1.draw()
    paper, seen, scale, repeat = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "number of candidates m",
        "number of candidates m",
        "noise standard deviation σ",
        "number k of winners released",
    ]
    lines = {line.get_label(): line for line in paper.get_lines()}
    assert set(krw24_1.LABELS.values()) <= set(lines)
    x, y = lines[krw24_1.LABELS["profile"]].get_data()
    assert y[list(x).index(100)] == pytest.approx(2.708, abs=5.1e-4)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == 8
    points = [line for line in seen.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal(points[0].get_xdata(), sim.CANDIDATES)
    audits = krw24_1.audited(record, "groups").lower
    np.testing.assert_allclose(points[0].get_ydata(), audits)
    assert len(scale.get_lines()) == 6
    assert len(repeat.get_lines()) == 5
