"""Teachers' votes: error rates, what is shared, and files of real ones."""

import numpy as np
import pytest
from scipy import stats

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data.teachers import VOTES_FILE, error_rates, load_votes, simulated_votes, votes_available
from tests.conftest import ALPHA, seed


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


# --- error rates ----------------------------------------------------------------------


@pytest.mark.parametrize("separation", [0.7, 1.5, 4.0])
def test_no_threshold_errs_less(separation):
    share = np.array([0.02, 0.2, 0.5, 0.9])
    low, high = error_rates(share, separation)
    found = share * high + (1.0 - share) * low
    cuts = np.linspace(-12.0, 12.0, 40_001)[:, None]
    errors = share * stats.norm.cdf(cuts - separation) + (1.0 - share) * stats.norm.sf(cuts)
    np.testing.assert_allclose(found, errors.min(axis=0), rtol=1e-6)
    # One threshold gives both rates.
    cut = stats.norm.isf(low)
    np.testing.assert_allclose(stats.norm.cdf(cut - separation), high, rtol=1e-9)
    assert np.all(found <= np.minimum(share, 1.0 - share))


def test_bad_rates_are_refused():
    for arguments, sentence in (
        (([0.2, 1.0], 1.0), r"frequencies must lie in \(0, 1\)"),
        (([0.2], 0.0), "separation is 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            error_rates(*arguments)


# --- votes ----------------------------------------------------------------------------


def _p_value(count, among, chance) -> float:
    return stats.binomtest(int(count), int(among), chance).pvalue


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.5, 0.1), (0.3, 0.7)])
def test_votes_err_at_the_stated_rates(shares):
    # One teacher, one query: labels are independent whatever is shared.
    truth = np.zeros((1, 100_000), dtype=bool)
    truth[:, :40_000] = True
    image, teacher = shares
    found = simulated_votes(
        truth, 0.1, 0.3, teachers=1, image_share=image, teacher_share=teacher, seed=seed()
    )
    assert found.votes.shape == (1, 1, 100_000)
    wrong = found.votes[0] != truth
    missed, imagined = wrong[truth].sum(), wrong[~truth].sum()
    assert _p_value(missed, 40_000, 0.3) > ALPHA
    assert _p_value(imagined, 60_000, 0.1) > ALPHA
    assert _p_value(missed, 40_000, 0.27) < ALPHA
    assert _p_value(imagined, 60_000, 0.11) < ALPHA
    assert found.accuracy == pytest.approx(1.0 - wrong.mean())
    assert found.simulated


@pytest.mark.parametrize("axis", ["teachers", "queries"])
def test_what_two_votes_share(axis):
    """Two teachers on a query share the image's part, two queries the teacher's."""
    labels, rate = 100_000, 0.2
    share = {"teachers": 0.5, "queries": 0.2}[axis]
    size = (2, 1) if axis == "teachers" else (1, 2)
    truth = np.zeros((size[1], labels), dtype=bool)
    found = simulated_votes(
        truth, rate, 0.5, teachers=size[0], image_share=0.5, teacher_share=0.2, seed=seed()
    )
    both = found.votes.reshape(2, labels).all(axis=0).sum()
    level = stats.norm.ppf(rate)

    def chance(correlation: float) -> float:
        law = stats.multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]])
        return float(law.cdf([level, level]))

    assert _p_value(both, labels, chance(share)) > ALPHA
    assert _p_value(both, labels, chance(share - 0.1)) < ALPHA


def test_all_of_the_noise_shared():
    truth = np.random.default_rng(1).random((5, 30)) < 0.5
    settings = {"teachers": 6, "seed": 2}
    alike = simulated_votes(truth, 0.4, 0.4, image_share=1.0, teacher_share=0.0, **settings).votes
    assert np.all(alike == alike[:1])
    assert np.any(alike[0] != truth)
    leaning = simulated_votes(truth, 0.4, 0.4, image_share=0.0, teacher_share=1.0, **settings).votes
    for label in range(30):
        for teacher in range(6):
            for value in (False, True):
                votes = leaning[teacher, truth[:, label] == value, label]
                assert np.unique(votes).size <= 1


def test_rates_may_differ_by_label_and_seeds_matter():
    truth = np.zeros((200, 2), dtype=bool)
    found = simulated_votes(truth, [0.01, 0.4], 0.5, teachers=50, seed=1)
    first, second = found.votes.mean(axis=(0, 1))
    assert first < 0.1 < 0.2 < second
    same = simulated_votes(truth, [0.01, 0.4], 0.5, teachers=50, seed=1)
    np.testing.assert_array_equal(same.votes, found.votes)
    other = simulated_votes(truth, [0.01, 0.4], 0.5, teachers=50, seed=2)
    assert np.any(other.votes != found.votes)


def test_bad_arguments_are_refused():
    truth = np.zeros((2, 3), dtype=bool)
    for changes, sentence in (
        ({"truth": [0, 1]}, "truth must be 0 or 1, one row a query"),
        ({"truth": [[0, 2]]}, "truth must be 0 or 1"),
        ({"false_positive": 0.0}, r"false_positive must lie in \(0, 1\)"),
        ({"false_negative": [0.1, 0.2]}, "one for each of 3 labels"),
        ({"teachers": 0}, "teachers is 0"),
        ({"image_share": 0.6, "teacher_share": 0.5}, "at most 1 together"),
        ({"image_share": -0.1}, "image_share is -0.1"),
        ({"seed": -1}, "seed is -1"),
    ):
        given = {"truth": truth, "false_positive": 0.1, "false_negative": 0.1} | changes
        with pytest.raises(InputError, match=sentence):
            simulated_votes(**given)


# --- files ----------------------------------------------------------------------------


def _write(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_real_votes(tmp_path, monkeypatch):
    votes = np.random.default_rng(0).integers(0, 2, (4, 3, 5))
    truth = np.random.default_rng(1).integers(0, 2, (3, 5))
    assert not votes_available(tmp_path)
    place = _write(tmp_path / VOTES_FILE, votes=votes, truth=truth)
    assert votes_available(tmp_path)
    assert not votes_available()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert votes_available()
    for found in (load_votes(), load_votes(tmp_path), load_votes(place)):
        np.testing.assert_array_equal(found.votes, votes == 1)
        np.testing.assert_array_equal(found.truth, truth == 1)
        assert found.votes.dtype == found.truth.dtype == bool
        assert not found.simulated


def test_bad_votes_are_refused(tmp_path):
    votes, truth = np.zeros((4, 3, 5), int), np.zeros((3, 5), int)
    for number, arrays in enumerate(
        (
            {"votes": votes},
            {"votes": votes, "truth": truth[:2]},
            {"votes": votes + 2, "truth": truth},
            {"votes": votes, "truth": truth - 1},
            {"votes": votes[0], "truth": truth},
            {"votes": votes[:0], "truth": truth},
            {"votes": votes[..., :1], "truth": truth[:, :1]},
        )
    ):
        place = _write(tmp_path / f"{number}.npz", **arrays)
        with pytest.raises(InputError, match=rf"{number}\.npz (is not|must hold)"):
            load_votes(place)
    text = tmp_path / "text.npz"
    text.write_text("no votes")
    with pytest.raises(InputError, match=r"text\.npz is not an .npz"):
        load_votes(text)
    for arguments in ((), (tmp_path / "none",), (tmp_path,)):
        with pytest.raises(InputError, match=r"give an \.npz with") as error:
            load_votes(*arguments)
        assert FOLDER_VARIABLE in str(error.value)
        assert "\n" not in str(error.value)
