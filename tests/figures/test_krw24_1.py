"""Figure 1 of Koskela, Redberg & Wang: values, audits below exact values below claims."""

import numpy as np
import pytest
from scipy import stats

from figures import krw24_1
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.pictures import style
from sims.common.grouped_pairs import SIDES
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws, counts_of

TRIALS = 100_000


DELTA, NOISE_SCALE = 1e-3, 4.0
CANDIDATES, NOISES, RELEASES = (2, 10, 1000), (1.0, 4.0, 32.0), (1, 10)


@pytest.fixture(scope="module")
def found():
    """Every program and every search takes its time: a few of each."""
    return {
        function.__name__: compute(function, few, trials=TRIALS, seed=seed(), progress=False)
        for function, few in (
            (krw24_1.moved, {"candidates": CANDIDATES}),
            (krw24_1.scaled, {"noise": NOISES}),
            (krw24_1.repeated, {"releases": RELEASES}),
        )
    }


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


def test_tallies_follow_the_exact_laws(found):
    for name in ("moved", "scaled"):
        check_laws(found[name], ALPHA)
        # Power: the sides differ.
        data, neighbour = (found[name].sel(side=side) for side in SIDES)
        laws = neighbour.frequency_exact.values.reshape(-1, 2)
        for counts, law in zip(counts_of(data).reshape(-1, 2), laws, strict=True):
            assert goodness_of_fit(counts, law) < ALPHA
    for k in RELEASES:
        row = found["repeated"].sel(releases=k)
        for side in SIDES:
            counts = row.counts.sel(side=side).values
            assert not counts[k + 1 :].any()
            law = stats.binom.pmf(np.arange(k + 1), k, float(row["first"].sel(side=side)))
            assert goodness_of_fit(counts[: k + 1], law) > ALPHA


def test_audits_lie_below_exact_values_below_claims(found):
    count = 2 * len(CANDIDATES) + len(NOISES) + len(RELEASES)
    confidence = 1.0 - ALPHA / count
    for name in ("groups", "single"):
        points = krw24_1.audited(found["moved"].sel(pair=name), DELTA, confidence)
        for m, lower, exact in zip(CANDIDATES, *points, strict=True):
            bounds = krw24_1.claims(DELTA, NOISE_SCALE, m)
            assert lower <= exact <= bounds["sharp"] * (1 + 1e-9)
            assert bounds["sharp"] <= bounds["profile"] < bounds["renyi"]
            assert bounds["renyi"] < bounds["chernoff"]
    points = krw24_1.audited(found["scaled"], DELTA, confidence)
    for scale, lower, exact in zip(NOISES, *points, strict=True):
        assert lower <= exact <= krw24_1.claims(DELTA, scale, 100)["sharp"]
    points = krw24_1.audited_releases(found["repeated"], DELTA, confidence)
    for k, lower, exact in zip(RELEASES, *points, strict=True):
        bounds = krw24_1.repeated_claims(DELTA, NOISE_SCALE, 10, k)
        assert lower <= exact <= bounds["groups"] * (1 + 1e-9)
        assert bounds["groups"] <= bounds["sharp"] <= bounds["profile"] <= bounds["renyi"]


def test_audits_have_power(found):
    # At 95 % confidence, and with few trials, half of what is to be found.
    for name in ("groups", "single"):
        points = krw24_1.audited(found["moved"].sel(pair=name), DELTA)
        assert np.all(points.lower > 0.5 * points.exact)
    points = krw24_1.audited_releases(found["repeated"], DELTA)
    assert np.all(points.lower > 0.5 * points.exact)


def test_drawing(found, monkeypatch):
    monkeypatch.setattr(krw24_1, "SEARCHED", (2, 10, 1000))
    monkeypatch.setattr(krw24_1, "RELEASES", (1, 10))
    with style.applied():
        figure = krw24_1.draw(**found)
    paper, seen, *_ = figure.axes
    lines = {line.get_label(): line for line in paper.get_lines()}
    x, y = lines[krw24_1.LABELS["profile"]].get_data()
    assert y[list(x).index(100)] == pytest.approx(2.708, abs=5.1e-4)
    points = [line for line in seen.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal(points[0].get_xdata(), CANDIDATES)
    audits = krw24_1.audited(found["moved"].sel(pair="groups"), DELTA).lower
    np.testing.assert_allclose(points[0].get_ydata(), audits)
