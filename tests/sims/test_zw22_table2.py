"""Multi-label PATE: votes, privacy, exact accuracy, and what the trials count."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from figures.zw22_table2 import labelled
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.claims import multi_label
from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.stable import stable_top_k
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.engine import simulate
from jaxsel.kernel.statistics import counts
from sims.common import multi_label_exact as exact
from sims.common import multi_label_releases as pate
from sims.common import multi_label_votes as votes
from sims.common.multi_label_exact import METHODS, TABLE, quality
from sims.data import teachers
from sims.experiment import compute
from tests.conftest import ALPHA, seed

STABLE = ("StableTopK", "Gaussian, gaps released")
TRIALS = 1000


def small_scenario(queries: int = 6, labels: int = 5, separation: float = 3.5):
    generator = np.random.default_rng(11)
    share = np.linspace(0.2, 0.7, labels)
    truth = generator.random((queries, labels)) < share
    found = teachers.simulated_votes(
        truth, *teachers.error_rates(share, separation), teachers=800, seed=4
    )
    return votes.scenario(found, "invented", True)


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


SCENARIOS = (small_scenario(), small_scenario(separation=2.0))


@pytest.fixture(scope="module")
def small():
    return SCENARIOS[0]


def _record(trials: int, number: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pate, "scenarios", lambda asked: list(SCENARIOS))
        patch.setattr(pate, "EPSILONS", {name: (0.3,) for name in pate.EPSILONS})
        patch.setattr(pate, "_LANES", 256)
        return compute(labelled, trials=trials, seed=number, progress=False)


@pytest.fixture(scope="module")
def record():
    return _record(TRIALS, seed())


# --- votes ----------------------------------------------------------------------------


def test_scenarios_without_data_are_marked():
    found = votes.scenarios(votes.Votes(queries=20, teachers=100))
    assert len(found) == 2
    assert all(each.generated and each.simulated for each in found)
    np.testing.assert_array_equal(found[0].truth, found[1].truth)
    for each in found:
        assert each.truth.shape == each.votes.shape == (20, 40)
        assert each.teachers == 100
        right = (1.0 - each.false_positive) * np.sum(~each.truth)
        right += (1.0 - each.false_negative) * np.sum(each.truth)
        assert each.accuracy == pytest.approx(right / each.truth.size)
        # Counted and scaled votes: nobody gains by being scaled.
        assert np.all(each.scaled <= each.votes + 1e-9)
    assert found[0].accuracy < 0.92 < 0.97 < found[1].accuracy


def test_the_users_teachers_come_first(tmp_path, monkeypatch):
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 2, (4, 40))
    given = generator.integers(0, 2, (9, 4, 40))
    np.savez(tmp_path / teachers.VOTES_FILE, votes=given, truth=truth)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    first, second = votes.scenarios(votes.Votes(queries=20, teachers=100))
    assert (first.simulated, first.generated) == (False, False)
    np.testing.assert_array_equal(first.votes, given.sum(axis=0))
    np.testing.assert_array_equal(first.truth, truth == 1)
    assert second.simulated
    assert second.truth.shape == first.truth.shape
    assert second.teachers == first.teachers == 9
    np.savez(tmp_path / teachers.VOTES_FILE, votes=given[..., :7], truth=truth[:, :7])
    (alone,) = votes.scenarios(votes.Votes(queries=20, teachers=100))
    assert alone.truth.shape == (4, 7)


def test_scaling_counts_a_teacher_at_most_tau():
    ballots = np.zeros((3, 1, 20), dtype=bool)
    for teacher, size in enumerate((3, 8, 16)):
        ballots[teacher, 0, :size] = True
    found = votes.scenario(teachers.TeacherVotes(ballots, ballots[0], "", True), "", True)
    expected = np.zeros(20)
    expected[:3], expected[3:8], expected[8:16] = 2.5, 1.5, 0.5
    np.testing.assert_allclose(found.scaled[0], expected)
    # One ballot of n labels has squared norm n min(1, tau/n)^2 <= tau.
    sizes = np.arange(1, 41)
    assert np.max(sizes * np.minimum(1.0, 8.0 / sizes) ** 2) == 8.0


# --- privacy --------------------------------------------------------------------------


def test_epsilons_of_the_papers_settings():
    def epsilon(name: str, tight: bool = False) -> float:
        return exact.total_epsilon(TABLE[name], 60.0, 600, 40, tight=tight)

    variant = epsilon("Gaussian, corollaries")
    assert variant == pytest.approx(71.42, abs=5e-3)
    assert epsilon("Gaussian, gaps released") == pytest.approx(21.52, abs=5e-3)
    assert epsilon("Gumbel") == pytest.approx(6.32, abs=5e-3)
    assert epsilon("test alone") == pytest.approx(2.30, abs=5e-3)
    # The claims come to them on their own.
    assert variant == pytest.approx(multi_label.gaussian_variant(), rel=1e-6)
    # Gumbel noise of the same slope pays no log of the number of candidates.
    slope = 600 * (2.0 / 50.0**2 + 0.5 / 60.0**2)
    without = slope + 2.0 * math.sqrt(slope * -math.log(1e-6 - 600 * 1e-9))
    assert epsilon("Gumbel") == pytest.approx(without, rel=1e-4)
    for name in ("Gaussian, corollaries", "Gaussian, gaps released", "Gumbel"):
        assert 0.9 * epsilon(name) < epsilon(name, True) < epsilon(name)


def test_released_gaps_move_by_at_most_root_m_minus_1():
    """Every histogram of 5 labels with counts 0 to 3, and every vote added."""
    labels, worst = 5, 0
    ballots = np.array(list(itertools.product((0, 1), repeat=labels)))
    for counts_ in itertools.product(range(4), repeat=labels):
        sorted_ = np.sort(np.array(counts_) + ballots, axis=1)
        gaps = np.diff(sorted_, axis=1)
        before = np.diff(np.sort(counts_))
        worst = max(worst, int(((gaps - before) ** 2).sum(axis=1).max()))
    assert worst == labels - 1


@pytest.mark.parametrize("name", METHODS)
def test_noise_for_an_epsilon(name):
    scale = exact.scale_at(METHODS[name], 3.0, 600, 40)
    found = exact.total_epsilon(METHODS[name], scale, 600, 40)
    assert 3.0 * (1.0 - 1e-6) < found <= 3.0
    assert exact.total_epsilon(METHODS[name], 0.9 * scale, 600, 40) > 3.0


# --- exact accuracy -------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gumbel", "gaussian"])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_law_of_the_size(noise, scale):
    gaps = np.random.default_rng(0).integers(0, 300, (4, 39)).astype(float)
    found = exact.selection_law(gaps, scale, noise)
    for row, law in zip(gaps, found, strict=True):
        np.testing.assert_allclose(law, noisy_max_law(row / scale, noise), atol=1e-8)


def _label_chances(law: np.ndarray, labels: int) -> np.ndarray:
    """P[each label is released] from a law over sets."""
    masks = np.arange(2**labels)
    return law[: 2**labels] @ (masks[:, None] >> np.arange(labels) & 1)


@pytest.mark.parametrize("name", ["PATE", "PATE-tau", *STABLE])
def test_quality_is_that_of_the_mechanisms_law(small, name):
    method, scale = METHODS[name], 55.0
    found = quality(small, method, scale)
    queries, labels = small.truth.shape
    chances, answered = [], []
    for query in range(queries):
        if method.ratio == 0.0:
            counted = small.votes if name == "PATE" else small.scaled
            data = {"votes": counted[query], "truth": small.truth[query]}
            params = {"noise_scale": scale, "threshold": 400.0}
            law = noisy_labels(events="sets").law(data, params)
            answered.append(1.0)
        else:
            data = {"histogram": small.votes[query], "wanted": small.truth[query]}
            params = {"selection_scale": method.ratio * scale, "test_scale": scale, "delta_t": 1e-9}
            made = stable_top_k(selection=method.mechanism, events="sets")
            law = made.law(data, params)
            answered.append(law.probabilities[: 2**labels].sum())
        chances.append(_label_chances(law.probabilities, labels))
    chance = np.array(chances)
    right = np.where(small.truth, chance, 1.0 - chance)
    assert found.accuracy == pytest.approx(right.mean(), abs=1e-7)
    assert found.by_label == pytest.approx(right.mean(axis=0), abs=1e-7)
    assert found.answered == pytest.approx(np.mean(answered), abs=1e-7)
    hits = chance[small.truth].sum()
    assert found.recall == pytest.approx(hits / small.truth.sum(), abs=1e-7)
    assert found.precision == pytest.approx(hits / chance.sum(), abs=1e-7)


def test_a_set_kept_back_counts_as_no_label(small):
    found = quality(small, METHODS["StableTopK"], 1e5)
    assert found.answered < 1e-6
    assert found.accuracy == pytest.approx(1.0 - small.truth.mean(), abs=1e-5)


def test_alignment(small):
    method = METHODS["PATE"]
    goal = quality(small, method, 200.0).accuracy
    scale = exact.aligned_scale(small, method, goal)
    assert quality(small, method, scale).accuracy >= goal
    assert quality(small, method, 1.001 * scale).accuracy < goal
    assert scale == pytest.approx(200.0, rel=1e-4)
    assert np.isnan(exact.aligned_scale(small, method, 1.01))
    assert exact.aligned_scale(small, method, 0.1) == pytest.approx(1e5)


# --- trials ---------------------------------------------------------------------------


def test_the_record(record):
    assert record.attrs["trials"] == TRIALS
    names = record["method"].values.tolist()
    assert names[: len(pate.EPSILONS)] == list(pate.EPSILONS)
    assert names[len(pate.EPSILONS) :][:2] == ["Gaussian, corollaries", "Gumbel"]
    stable = np.array([TABLE[name].ratio > 0.0 for name in names])
    for number in range(len(SCENARIOS)):
        row = record.isel(scenario=number)
        scales = dict(zip(names, row["scale"].values, strict=True))
        assert scales["Gumbel"] == scales["Gaussian, corollaries"] == 60.0
        queries, labels = row["truth"].shape
        hits, released = row.hits.values, row.released.values
        assert hits.shape == released.shape == (len(names), labels)
        assert np.all((hits >= 0) & (hits <= released))
        assert released.max() <= TRIALS * queries
        assert np.all(row.answered.values[~stable] == 0)
        assert np.all(row.answered.values[stable] <= TRIALS * queries)
        # A mean square is at least the square of the mean.
        absent = np.sum(~row["truth"].values)
        right = TRIALS * absent + (2 * hits - released).sum(axis=1)
        squares = row.squares.sel(square="right").values
        assert np.all((squares * TRIALS * queries >= right**2)[stable])


def test_trials_agree_with_the_exact_accuracy(record):
    """By label: sums of independent draws are closer to their mean than binomials."""
    made = np.isfinite(record["scale"].values)
    level = 1.0 - ALPHA / (made.sum() * (SCENARIOS[0].truth.shape[1] + 1))
    told_apart = 0
    for number, cell in np.argwhere(made):
        scenario, here = SCENARIOS[number], record.isel(scenario=number, cell=cell)
        method, scale = TABLE[str(here["method"].values)], float(here["scale"])
        among = TRIALS * len(scenario.truth)
        expected = quality(scenario, method, scale)
        right = TRIALS * (~scenario.truth).sum(axis=0)
        right = right + (2 * here.hits - here.released).values
        low, high = clopper_pearson(right, among, level)
        assert np.all((low <= expected.by_label) & (expected.by_label <= high))
        other = quality(scenario, method, 1.3 * scale).by_label
        told_apart += bool(np.any((other < low) | (other > high)))
        if method.ratio > 0.0:
            low, high = clopper_pearson(int(here.answered), among, level)
            assert low <= expected.answered <= high
    # The same draws refute a third more noise in most cells.
    assert told_apart > made.sum() / 2


def test_same_seed_same_record():
    first, again, other = (_record(50, number) for number in (5, 5, 6))
    assert first.identical(again)
    assert np.any(first.released != other.released)


def _answered(outcome):
    return outcome["answered"]


def _first_released(outcome):
    return outcome["released"].sum()


@pytest.mark.parametrize("kind", ["queries", "labels"])
def test_equal_queries_are_answered_independently(kind):
    trials = 20_000
    if kind == "queries":
        histogram = np.array([500.0, 480.0, 90.0, 20.0])
        data = {"votes": histogram[None] * np.ones((2, 1))}
        params = {"selection_scale": 50.0, "test_scale": 60.0, "delta_t": 1e-9}
        mechanism, event = pate.all_queries("gumbel"), _answered
    else:
        data = {"votes": np.full((1, 2), 410.0)}
        params = {"noise_scale": 30.0, "threshold": 400.0}
        mechanism, event = pate.all_labels(), _first_released
    data["truth"] = np.zeros(data["votes"].shape, dtype=bool)
    found = simulate(
        mechanism, data, params, trials=trials, seed=seed(), statistic=counts(event, 3)
    ).values[0]
    chance = (found[1] + 2 * found[2]) / (2 * trials)
    assert 0.1 < chance < 0.9
    # Given the total, both or neither: a 2 x 2 table of two fair halves.
    expected = trials * stats.binom.pmf(np.arange(3), 2, chance)
    assert stats.chisquare(found, expected, ddof=1).pvalue > ALPHA
    assert found[1] > 0.3 * trials
