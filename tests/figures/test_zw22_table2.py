"""Table 2 of Zhu & Wang 2022: what is drawn is what was counted and what is exact."""

import numpy as np
import pytest

from figures import zw22_table2
from figures.common import multi_label_numbers as numbers
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.common import multi_label_exact as exact
from sims.common import multi_label_releases as multi_label_pate
from sims.common import multi_label_votes
from sims.common.multi_label_exact import METHODS, TABLE, quality
from sims.data import teachers
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import drawn as draw_figure

TRIALS = 500


def by_label(row, cell):
    """Accuracy of each label and its interval: three arrays of Float["labels"].

    Draws of different queries are independent, so the binomial interval is valid for all
    methods (Hoeffding 1956).
    """
    truth, here = row["truth"].values, row.isel(cell=cell)
    trials = row.attrs["trials"]
    hits = here.hits.values
    right = trials * (~truth).sum(axis=0) + 2 * hits - here.released.values
    among = trials * truth.shape[0]
    low, high = clopper_pearson(right, among, numbers.CONFIDENCE)
    return right / among, low, high


def _scenario(separation: float, number: int):
    generator = np.random.default_rng(7)
    share = np.linspace(0.15, 0.6, 6)
    truth = generator.random((8, 6)) < share
    rates = teachers.error_rates(share, separation)
    votes = teachers.simulated_votes(truth, *rates, teachers=800, seed=number)
    return multi_label_votes.scenario(votes, "generated attributes", True)


SCENARIOS = (_scenario(2.0, 1), _scenario(4.0, 2))


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(FOLDER_VARIABLE, raising=False)
        patch.setattr(multi_label_pate, "scenarios", lambda asked: list(SCENARIOS))
        epsilons = {name: (0.5, 1.0) for name in multi_label_pate.EPSILONS}
        patch.setattr(multi_label_pate, "EPSILONS", epsilons)
        patch.setattr(multi_label_pate, "_LANES", 512)
        return compute(zw22_table2.labelled, trials=TRIALS, seed=seed(), progress=False)


@pytest.fixture(scope="module")
def drawn(record):
    with style.applied():
        return zw22_table2.draw(record)


def row_of(record, number: int):
    return record.isel(scenario=number)


# --- numbers --------------------------------------------------------------------------


def test_the_record_gives_the_votes_back(record):
    for number, given in enumerate(SCENARIOS):
        found = numbers.scenario_of(row_of(record, number))
        np.testing.assert_array_equal(found.votes, given.votes)
        np.testing.assert_array_equal(found.scaled, given.scaled)
        np.testing.assert_array_equal(found.truth, given.truth)
        assert found.truth.dtype == bool
        assert found.accuracy == pytest.approx(given.accuracy)


def test_intervals_hold_the_exact_qualities(record, monkeypatch):
    # As sure as a test should be.
    monkeypatch.setattr(numbers, "CONFIDENCE", 1.0 - ALPHA / 400)
    refuted = 0
    for number, scenario in enumerate(SCENARIOS):
        row = row_of(record, number)
        for cell in numbers.simulated_cells(row):
            method = TABLE[str(row["method"].values[cell])]
            scale = float(row["scale"][cell])
            found = numbers.simulated(row, cell)
            expected = quality(scenario, method, scale)
            for part in ("accuracy", "precision", "recall", "answered"):
                estimate, value = getattr(found, part), getattr(expected, part)
                if np.isfinite(estimate.value):
                    inside = estimate.low - 1e-9 <= value <= estimate.high + 1e-9
                    assert inside, (method.name, scale, part)
                    assert estimate.low <= estimate.value <= estimate.high
            value, low, high = by_label(row, cell)
            assert np.all((low <= expected.by_label) & (expected.by_label <= high))
            assert value.mean() == pytest.approx(found.accuracy.value)
            other = quality(scenario, method, 2.0 * scale).accuracy
            refuted += not found.accuracy.low <= other <= found.accuracy.high
    # Twice the noise is seen in most cells.
    assert refuted > 12


def test_references():
    none, majority = numbers.references(SCENARIOS[0])
    truth = SCENARIOS[0].truth
    assert none.accuracy == pytest.approx(1.0 - truth.mean())
    assert (none.recall, none.answered) == (0.0, 0.0)
    assert np.isnan(none.precision)
    quiet = quality(SCENARIOS[0], METHODS["PATE"], 1e-6)
    assert majority[:4] == pytest.approx(quiet[:4])
    np.testing.assert_allclose(majority.by_label, quiet.by_label)


def test_rows(record):
    found = {row.title.strip(): row for row in numbers.rows(record)}
    for title, name in (
        ("StableTopK, Gaussian noise", "Gaussian, corollaries"),
        ("if all noisy gaps were released", "Gaussian, gaps released"),
        ("its tests alone", "test alone"),
        ("StableTopK, Gumbel noise", "Gumbel"),
    ):
        row = found.pop(title)
        expected = [exact.total_epsilon(TABLE[name], 60.0, 8, 6, tight=t) for t in (False, True)]
        assert row.epsilon == pytest.approx(tuple(expected))
        assert row.epsilon[1] < row.epsilon[0]
        seen = name in ("Gaussian, corollaries", "Gumbel")
        assert all((each is not None) is seen for each in row.found)
        if seen:
            for number, each in enumerate(row.found):
                value = quality(SCENARIOS[number], TABLE[name], 60.0).accuracy
                assert each.accuracy.value == pytest.approx(value, abs=0.05)
    for name, title in (("PATE", "PATE"), ("PATE-tau", "PATE-τ, τ = 8")):
        for number, letter in enumerate("AB"):
            row = found.pop(f"{title}, as accurate ({letter})")
            goal = quality(SCENARIOS[number], TABLE["Gaussian, corollaries"], 60.0)
            scale = exact.aligned_scale(SCENARIOS[number], METHODS[name], goal.accuracy)
            assert row.noise == f"σ = {scale:.0f}"
            epsilon = exact.total_epsilon(METHODS[name], scale, 8, 6)
            assert row.epsilon[1] == pytest.approx(epsilon)
            assert row.found[1 - number] is None
            accuracy = row.found[number].accuracy.value
            assert accuracy == pytest.approx(goal.accuracy, abs=0.05)
    assert list(found) == ["No label at all", "Majority of the teachers"]


def test_unreachable_accuracy_is_said(record):
    scales = record["scale"].copy()
    scales[:, -1] = np.nan
    found = numbers.rows(record.assign(scale=scales))
    never = [row for row in found if row.noise == "never"]
    assert [row.title[:6] for row in never] == ["PATE-τ", "PATE-τ"]
    assert all(row.epsilon is None for row in never)


# --- the picture ----------------------------------------------------------------------


def test_curves_and_points_are_those_numbers(record, drawn):
    for number, axes in enumerate(drawn.axes[1:]):
        lines = {line.get_label(): line for line in axes.lines}
        for name, label in zw22_table2._LABELS.items():
            line = lines[label.format(labels=6, tau=8)]
            epsilon, accuracy = line.get_data()
            assert epsilon[[0, -1]] == pytest.approx([0.5, 100.0], rel=1e-6)
            assert np.all(np.diff(epsilon) > 0.0)
            for place in (0, 20, -1):
                scale = exact.scale_at(METHODS[name], float(epsilon[place]), 8, 6)
                value = quality(SCENARIOS[number], METHODS[name], scale).accuracy
                assert accuracy[place] == pytest.approx(value, abs=1e-6)
        drawn_at = np.concatenate([bar.lines[0].get_xydata() for bar in axes.containers])
        expected = [
            (epsilon, estimate.value)
            for name in zw22_table2.LOOKS
            for epsilon, estimate in numbers.points(row_of(record, number), name)
        ]
        np.testing.assert_allclose(drawn_at, expected)
        low, high = axes.get_xlim()
        assert np.all((drawn_at[:, 0] > low) & (drawn_at[:, 0] < high))


def test_points_are_at_their_epsilons(record):
    for name in ("PATE", "PATE-tau", "StableTopK"):
        found = [epsilon for epsilon, _ in numbers.points(row_of(record, 0), name)]
        assert found[:2] == pytest.approx([0.5, 1.0], rel=1e-5)
    # The Gaussian variant has a place under each of its analyses.
    jointly = numbers.points(row_of(record, 0), "Gaussian, gaps released")
    assert jointly[0][0] == pytest.approx(0.5, rel=1e-5)
    other = numbers.points(row_of(record, 0), "Gaussian, corollaries")
    assert other[0][0] > jointly[0][0]


def test_what_is_not_real_is_marked(drawn, record):
    def words(figure) -> str:
        return " ".join(figure.get_supxlabel().split())

    caption = words(drawn)
    assert caption.startswith("GENERATED ATTRIBUTES, CelebA is not at hand.")
    assert "votes are SIMULATED from the true attributes" in caption
    assert f"{TRIALS:,} trials" in caption
    real = record.assign(
        generated=("scenario", [False, False]), simulated=("scenario", [False, True])
    )
    caption = zw22_table2._caption(real)
    assert "GENERATED" not in caption
    assert "A: votes of the user's teachers; B: votes SIMULATED" in caption


def test_the_table_shows_the_rows(drawn, record):
    texts = [text.get_text() for text in drawn.axes[0].texts]
    for row in numbers.rows(record):
        assert row.title.strip() in texts
        if row.epsilon is not None and row.epsilon[0] > 0.0:
            digits = 1 if row.epsilon[0] >= 10.0 else 2
            assert f"{row.epsilon[0]:.{digits}f}" in texts
        for each in row.found:
            if each is not None and not isinstance(each, exact.Quality):
                assert f"{each.accuracy.value:.3f}" in texts
    for number, scenario in enumerate(SCENARIOS):
        head = f"{'AB'[number]}: Teachers right on {100 * scenario.accuracy:.1f} %"
        assert head in texts


def test_one_kind_of_teachers_can_be_drawn_alone(record, tmp_path, monkeypatch):
    monkeypatch.setattr(numbers, "curve", lambda *_: (np.ones(2), np.ones(2)))
    alone = {"labelled": record.isel(scenario=[0])}
    figure = draw_figure(zw22_table2, alone, monkeypatch, tmp_path)
    assert len(figure.axes) == 2
