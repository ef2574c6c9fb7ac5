"""Figure 7 of Papernot & Steinke: what is drawn, and from which numbers."""

import os

import numpy as np
import pytest

from figures import ps22_7
from figures.common.search_accuracy import (
    POINTS,
    SEARCHES,
    Point,
    budget,
    curve,
    expected,
    numbers_of,
    simulated,
)
from jaxsel import repetitions as laws
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from jaxsel.pictures import style
from jaxsel.tuning.bounds.released_search_budget import released_budget, training_renyi
from sims.data import digits_accuracies
from sims.data.digits_accuracies import AccuracyTable
from sims.data.released_accuracies import released_available
from sims.experiment import compute
from tests.conftest import ALPHA, seed

TRIALS = 20_000
REAL = os.environ.get(FOLDER_VARIABLE)
# Three gammas for each law.
FEW = [name for name, point in POINTS.items() if point.gamma in (0.0015, 0.1, 0.5)]


@pytest.fixture
def digits():
    return digits_accuracies.load("digits")


@pytest.fixture(scope="module")
def record():
    """Scikit-learn's digits alone."""
    chosen = {"table": ["digits"], "point": FEW}
    return compute(ps22_7.searched, chosen, trials=TRIALS, seed=seed(), progress=False)


# --- the searches ---------------------------------------------------------------------


def test_searches_are_those_of_the_released_code():
    assert list(SEARCHES) == ["eta=0", "eta=1", "eta=0.5", "poisson"]
    assert [len(s.gammas) for s in SEARCHES.values()] == [11, 9, 9, 7]
    assert {s.gammas[-1] for s in SEARCHES.values()} == {0.5}
    for name, eta in (("eta=0", 0.0), ("eta=1", 1.0), ("eta=0.5", 0.5)):
        assert SEARCHES[name].law(0.1).parameters == {"eta": eta, "gamma": 0.1}
    assert Point("poisson", 0.025).law.parameters == {"mean": 2.5}
    assert len(POINTS) == 36


def test_mean_of_the_best_by_hand():
    table = AccuracyTable("", np.ones(2), np.array([[3, 1], [4, 2]]), 10, 0.1, 1.0, 1)
    assert expected(table, laws.point_mass(1)) == pytest.approx(0.25)
    # P[max <= c] of two draws is (c/4)^2
    twice = (1 * 1 + 2 * 3 + 3 * 5 + 4 * 7) / 16 / 10
    assert expected(table, laws.point_mass(2)) == pytest.approx(twice)
    with_none = laws.binomial(1, 0.4)
    assert expected(table, with_none) == pytest.approx(0.4 * 0.25)


def test_tables_without_the_authors(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert ps22_7.RELEASED not in ps22_7.tables()
    assert "digits" in ps22_7.tables()


def test_simulated_means_cover_the_exact_ones(digits, record):
    found = simulated(record.sel(table="digits"), digits, 1.0 - ALPHA / len(FEW))
    assert found["point"].values.tolist() == FEW

    def means(factor: float) -> np.ndarray:
        points = [POINTS[name] for name in FEW]
        return np.array(
            [
                expected(digits, each._replace(gamma=min(0.9, factor * each.gamma)).law)
                for each in points
            ]
        )

    exact = means(1.0)
    assert np.all((found["low"] <= exact) & (exact <= found["high"]))
    # A law with another number of runs lies outside somewhere.
    other = means(2.0)
    assert np.any((other < found["low"]) | (other > found["high"]))


def test_tables_of_any_size_are_searched_in_one_grid():
    chosen = {"table": ["digits", "mnist"], "point": FEW[:1]}
    found = compute(ps22_7.searched, chosen, trials=100, progress=False)
    for name in ("digits", "mnist"):
        table = ps22_7.TABLES[name]
        means = simulated(found.sel(table=name), table)
        assert table.correct.min() <= float(means["mean"][0]) * table.test_images
        assert int(found.counts.sel(table=name).sum()) == 100
    # What only the larger table has was never the best of the smaller one.
    own = [*map(str, range(table.correct.size)), "none"]
    assert int(found.counts.sel(table="mnist", outcome=own).sum()) == 100


# --- what is drawn --------------------------------------------------------------------


def test_drawing(digits, record, tmp_path):
    with style.applied():
        canvas = ps22_7.draw(record)
    shown, *searches = canvas.axes
    assert len(searches) == 3
    rates, accuracies = map(np.asarray, shown.get_lines()[0].get_data())
    assert sorted(accuracies * 360) == pytest.approx(sorted(digits.correct.ravel()))
    assert set(rates) == set(digits.learning_rates)
    best = digits.correct.max() / 360
    for axis, axes in zip(ps22_7.AXES, searches, strict=True):
        lines = {line.get_label(): line for line in axes.get_lines()}
        highest = np.asarray(lines["Not private: the best"].get_ydata())
        assert highest.tolist() == [best, best]
        for name, label in ps22_7.NAMES.items():
            points = [POINTS[each] for each in FEW if POINTS[each].search == name]
            x, y = map(np.asarray, lines[label].get_data())
            expected_x, expected_y = curve(digits, points, axis)
            np.testing.assert_array_equal(x, expected_x)
            np.testing.assert_array_equal(y, expected_y)
            assert np.all(np.diff(x) > 0.0)
            assert np.all(np.diff(y) > -1e-12)
            assert y[-1] < best
            # the curve passes through the laws of the points, read by straight lines
            for point in points:
                at = budget(numbers_of(digits), point, axis)
                exact = expected(digits, point.law)
                assert np.interp(at, x, y) == pytest.approx(exact, abs=1e-3)
    text = canvas.get_supxlabel()
    assert "is not at hand" in text
    assert all(identity in text for identity in ("E-PS-1", "R-PS-4", "E-PS-5"))
    written = style.save(canvas, tmp_path / "ps22-7", formats=("png",))
    assert all(path.stat().st_size > 40_000 for path in written)


def test_axes_are_ordered_as_proved(digits):
    for point in (POINTS[name] for name in FEW):
        found = {axis: budget(numbers_of(digits), point, axis) for axis in (*ps22_7.AXES, "least")}
        assert found["envelope"] < found["theorem"]
        # no conversion to a small delta is free
        assert found["least"] < found["theorem"]
        if point.search in ("eta=0", "eta=0.5") and point.gamma == 0.5:
            assert found["released"] < found["least"] - 0.3


def test_a_smaller_delta_costs_more_where_there_is_one(digits):
    point = Point("eta=1", 0.1)
    for axis in (*ps22_7.AXES, "least"):
        costs = [budget(numbers_of(digits), point, axis, d) for d in (1e-5, 1e-6)]
        if axis in ("theorem", "envelope"):
            assert costs[0] < costs[1]
        else:
            assert costs[0] == costs[1]


def test_a_record_of_another_table_is_refused(record):
    other = record.assign(table_mark=record["table_mark"] + 1)
    with pytest.raises(InputError, match="record of ps22-7 is of another table digits"):
        ps22_7.draw(other)


# --- the paper's finding --------------------------------------------------------------


def leaders(table: AccuracyTable, axis: str, privacy: np.ndarray) -> list[str]:
    """The search with the largest mean accuracy at each privacy cost; "" if there is none.

    A search whose curve ends below a cost is taken at its end.
    """
    rows = []
    for name in SEARCHES:
        points = [point for point in POINTS.values() if point.search == name]
        x, y = curve(table, points, axis)
        rows.append(np.interp(privacy, x, y, left=-1.0))
    best = np.argmax(rows, axis=0)
    found = np.max(rows, axis=0) >= 0.0
    names = list(SEARCHES)
    return [names[i] if some else "" for i, some in zip(best, found, strict=True)]


def test_poisson_is_best_in_the_middle_on_the_first_two_axes(digits):
    for axis, middle in (("released", (2.0, 4.5)), ("theorem", (4.25, 6.0))):
        assert leaders(digits, axis, np.linspace(*middle, 5)) == ["poisson"] * 5
        # and no longer with more privacy to spend
        assert leaders(digits, axis, np.array([7.5])) != ["poisson"]
    assert leaders(digits, "theorem", np.array([1.0])) == [""]


def test_by_the_envelope_the_geometric_law_does_better(digits):
    # A search that costs less and finds a better network.
    costs, means = [], []
    for point in (Point("eta=1", 0.025), Point("poisson", 0.1)):
        costs.append(budget(numbers_of(digits), point, "envelope"))
        means.append(expected(digits, point.law))
    assert costs[0] < costs[1]
    assert means[0] > means[1]


# --- the authors' table ---------------------------------------------------------------


@pytest.mark.skipif(not (REAL and released_available(REAL)), reason="the table is not at hand")
def test_the_paper_s_figure():
    table = ps22_7.tables()[ps22_7.RELEASED]
    assert table.correct.shape == (400, 1)
    assert table.correct.max() == 9594
    renyi = training_renyi(*numbers_of(table))

    def at(name: str, gamma: float) -> tuple[float, float]:
        law = Point(name, gamma).law
        return released_budget(renyi, law).budget, expected(table, law)

    def near(found):
        return pytest.approx(found, abs=2e-3)

    assert at("eta=0", 0.5) == near((0.698, 0.866))
    # Poisson is far ahead at a budget near 2.2.
    assert at("poisson", 0.05) == near((2.192, 0.938))
    assert at("eta=0", 0.1) == near((2.167, 0.902))
