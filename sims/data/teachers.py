"""Votes of teachers on many labels: simulated with stated error rates, or real ones.

A teacher is a classifier trained on its own share of the private data; for every query
it votes for each label that it sees. Where no classifiers are at hand their votes are
drawn around the true labels.
"""

import io
import math
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import (
    InputError,
    check_finite,
    check_integer,
    check_interval,
    check_positive,
)

VOTES_FILE = "teacher_votes.npz"


class TeacherVotes(NamedTuple):
    """The votes of all teachers.

    Attributes:
      votes: Bool[np.ndarray, "teachers queries labels"].
      truth: Bool[np.ndarray, "queries labels"].
      source: description of where the votes come from, for a caption.
      simulated: whether they are simulated rather than made by classifiers.
    """

    votes: np.ndarray
    truth: np.ndarray
    source: str
    simulated: bool

    @property
    def accuracy(self) -> float:
        """Fraction of all votes that are correct."""
        return float(np.mean(self.votes == self.truth))


def error_rates(frequencies: npt.ArrayLike, separation: float) -> tuple[np.ndarray, np.ndarray]:
    """Error rates of the best classifier of one normal score.

    The score is N(separation, 1) where the label is present and N(0, 1) where not; a
    vote is given if presence is more likely than absence. So rare labels are often missed
    and rarely voted for wrongly, as by classifiers that are trained for accuracy.

    Args:
      frequencies: Float["labels"], of each label, in (0, 1).
      separation: > 0.

    Returns:
      False positive and false negative rates, Float["labels"] each.

    Raises:
      InputError: for arguments out of range.
    """
    share = check_finite("frequencies", frequencies)
    if np.any((share <= 0.0) | (share >= 1.0)):
        raise InputError("frequencies must lie in (0, 1)")
    separation = check_positive("separation", separation)
    shift = -special.logit(share) / separation
    half = separation / 2.0
    return special.ndtr(-half - shift), special.ndtr(-half + shift)


def _rates(name: str, rates: npt.ArrayLike, labels: int) -> np.ndarray:
    found = check_finite(name, rates)
    if found.ndim > 1 or found.size not in (1, labels):
        raise InputError(f"{name} must be one rate, or one for each of {labels} labels")
    if np.any((found <= 0.0) | (found >= 1.0)):
        raise InputError(f"{name} must lie in (0, 1)")
    return found


def simulated_votes(
    truth: npt.ArrayLike,
    false_positive: npt.ArrayLike,
    false_negative: npt.ArrayLike,
    *,
    teachers: int = 800,
    image_share: float = 0.5,
    teacher_share: float = 0.1,
    seed: int = 0,
) -> TeacherVotes:
    """Votes with given error rates, correlated between teachers and between queries.

    A teacher votes for a label where mean + noise > 0. The mean is set by the label's error
    rate. The standard normal noise is the sum of three independent parts: one of the query
    and label, shared by all teachers (what is hard for one is hard for all); one of the
    teacher and label, shared by all queries (some teachers are eager, some are not); and an
    independent rest. The rates hold on average over all three.

    Args:
      truth: Bool["queries labels"].
      false_positive, false_negative: error rates in (0, 1), one number or one per label.
      teachers: number of teachers.
      image_share, teacher_share: shares of the noise's variance, in [0, 1], at most 1
        together.
      seed: seed of the draws.

    Raises:
      InputError: for arguments out of range.
    """
    truth = _truth(truth)
    teachers = check_integer("teachers", teachers, 1)
    closed = {"low_open": False, "high_open": False}
    shares = [
        check_interval("image_share", image_share, 0.0, 1.0, **closed),
        check_interval("teacher_share", teacher_share, 0.0, 1.0, **closed),
    ]
    if sum(shares) > 1.0:
        raise InputError("image_share and teacher_share must be at most 1 together")
    labels = truth.shape[1]
    low = special.ndtri(_rates("false_positive", false_positive, labels))
    high = -special.ndtri(_rates("false_negative", false_negative, labels))
    image, teacher = (math.sqrt(share) for share in shares)
    rest = math.sqrt(max(0.0, 1.0 - sum(shares)))
    generator = np.random.default_rng(check_integer("seed", seed, 0))
    level = np.where(truth, high, low) + image * generator.standard_normal(truth.shape)
    votes = np.empty((teachers, *truth.shape), dtype=bool)
    for one in votes:  # one teacher at a time: little memory
        lean = teacher * generator.standard_normal(labels)
        one[:] = level + lean + rest * generator.standard_normal(truth.shape) > 0.0
    return TeacherVotes(votes, truth, "simulated teachers", True)


def _truth(truth: npt.ArrayLike) -> np.ndarray:
    found = np.asarray(truth)
    if found.ndim != 2 or found.size == 0 or not _binary(found):
        raise InputError("truth must be 0 or 1, one row a query, one column a label")
    return found.astype(bool)


def _binary(values: np.ndarray) -> bool:
    return values.dtype == bool or bool(np.all((values == 0) | (values == 1)))


def _place(path: str | Path | None) -> Path | None:
    folder = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    folder = Path(folder).expanduser()
    return folder if path is not None and not folder.is_dir() else folder / VOTES_FILE


def votes_available(path: str | Path | None = None) -> bool:
    """Whether votes lie at the path, or as teacher_votes.npz in the folder."""
    place = _place(path)
    try:
        return place is not None and place.is_file()
    except OSError:
        return False


def load_votes(path: str | Path | None = None) -> TeacherVotes:
    """The user's own votes: an .npz of arrays "votes" and "truth", each 0 or 1.

    Args:
      path: of the file, or the folder of teacher_votes.npz; by default the folder in
        the variable JAXSEL_DATA.

    Returns:
      votes Bool["teachers queries labels"] and truth Bool["queries labels"].

    Raises:
      InputError: if there is no such file, or it holds something else.
    """
    place = _place(path)
    form = 'an .npz with "votes" [teachers, queries, labels] and "truth" [queries, labels]'
    if place is None or not votes_available(path):
        where = "teachers' votes are not at hand" if place is None else f"no {place}"
        raise InputError(f"{where}; give {form}, as {VOTES_FILE} in {FOLDER_VARIABLE}")
    try:
        with np.load(io.BytesIO(place.read_bytes())) as arrays:
            votes, truth = arrays["votes"], _truth(arrays["truth"])
    except (KeyError, OSError, ValueError, AttributeError, zipfile.BadZipFile):
        raise InputError(f"{place} is not {form}, each 0 or 1") from None
    if votes.ndim != 3 or votes.shape[1:] != truth.shape or not _binary(votes):
        raise InputError(f"{place} is not {form}, each 0 or 1")
    if votes.shape[0] == 0 or truth.shape[1] < 2:
        raise InputError(f"{place} must hold at least one teacher and two labels")
    return TeacherVotes(votes.astype(bool), truth, "votes of real teachers", False)
