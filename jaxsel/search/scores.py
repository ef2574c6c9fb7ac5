"""How the runs of a private search are ranked: what a score is, and what one record moves it by.

A score of private records needs a sensitivity and noise. ``count`` is a number of records, a
``clipped_mean`` clips a value of each, and of anything else the user must state the sensitivity:
an AUC or an F1 score has none by itself. The noise is discrete Gaussian, drawn exactly, in whole
units, so that the release is private as bits and not only as real numbers.

Example:
    >>> from jaxsel import scores
    >>> right = scores.count(noise=8)  # examples that a run gets right, with noise of about 8
    >>> right.sensitivity
    1
"""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee, discrete_gaussian
from jaxsel.host.errors import InputError, check_integer, check_interval, check_positive
from jaxsel.search import discrete_gaussian as exact

__all__ = ["Score", "clipped_mean", "count", "public", "stated"]

# Values that are no whole numbers are rounded to this part of what one record can move.
_RESOLUTION = 256
_LEAST, _MOST = 1e-300, 1e300
"""Between which a range or a sensitivity lies: its parts and its noisy sums are then floats."""
_WHOLE = 2**52
"""Of whole numbers up to this, floats are exact to a half; a quotient beyond is none of them."""


class Score(NamedTuple):
    """What ranks the runs of a search.

    Attributes:
      words: what it is, and how its noise was made, for the guarantee's sentence; every number
        in them is exact, so that equal words are equal scores.
      units: what is told -> whole number of units; for a public score, any number.
      unit: the value of one unit.
      sensitivity: by how many units one record moves it; 0 for a score of public data.
      sigma: of the discrete Gaussian noise, in units; 0 for a score of public data.
      offset: the value of no units.
    """

    words: str
    units: Callable[[Any], float]
    unit: float
    sensitivity: int
    sigma: float
    offset: float = 0.0

    @property
    def is_public(self) -> bool:
        """Whether it is computed from public data, and so has no noise."""
        return self.sensitivity == 0

    def noisy(self, told: Any, source: random.Random) -> float:
        """What is told, in units, with noise that ``source`` draws.

        Raises:
          InputError: if what is told is no score of this kind.
        """
        units = self.units(told)
        if self.is_public:
            return units
        return units + exact.discrete_gaussian(self.sigma, source)

    def value(self, units: float) -> float:
        """A number of units as a score."""
        return self.offset + units * self.unit

    def guarantee(self) -> BaseGuarantee:
        """What the noisy score of one run guarantees to the records that are scored."""
        return discrete_gaussian(self.sigma, self.sensitivity)


def _exact(number: float) -> str:
    """A number in the fewest digits that are exact."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _finite(told: Any) -> float:
    """A number that is told.

    Raises:
      InputError: if it is none.
    """
    if isinstance(told, str | bytes):
        raise InputError("a score is told as a number, not as text")
    value = float(told)
    if not math.isfinite(value):
        raise InputError(
            f"the score is {value}, which is no number; tell failed=True if the training failed"
        )
    return value


def _whole(told: Any) -> int:
    """A number of records, or the sum of truth values, one for each."""
    array = np.asarray(told)
    if array.dtype == bool and array.ndim == 1:
        return int(array.sum())
    if array.ndim == 0 and array.dtype.kind in "iu":
        return int(array)
    raise InputError(
        f"a count is told as a whole number or as one truth value for each record, not as "
        f"{type(told).__name__}; divide nothing, the noise is on the count"
    )


def count(noise: float) -> Score:
    """A number of records, such as those labelled correctly: one record moves it by at most 1.

    Args:
      noise: standard deviation of the discrete Gaussian noise, in records.

    Raises:
      InputError: unless noise is above 0.
    """
    sigma = check_positive("noise", noise)
    words = f"a number of records with discrete Gaussian noise of sigma {_exact(sigma)}"
    return Score(words, _whole, 1.0, 1, sigma)


def clipped_mean(low: float, high: float, size: int, noise: float) -> Score:
    """The mean of one value for each record, each clipped to [low, high].

    It is ``low`` plus the sum of what each value is above ``low``, over ``size``: a record that is
    absent counts as one of value ``low``.

    Args:
      low, high: to which values are clipped; NaN counts as ``low``.
      size: the public number of records by which the sum is divided.
      noise: standard deviation of the noise on the sum, in units of ``high - low``.

    Raises:
      InputError: unless low < high, both between -1e300 and 1e300 and at least 1e-300 apart,
        size >= 1 and noise > 0.
    """
    low, high = (
        check_interval(name, value, -_MOST, _MOST, low_open=False, high_open=False)
        for name, value in (("low", low), ("high", high))
    )
    if not high - low >= _LEAST:
        raise InputError(
            f"values are clipped to [{low:g}, {high:g}]; low must be below high, by {_LEAST:g} at "
            "least"
        )
    records, times = check_integer("size", size, 1), check_positive("noise", noise)
    step = (high - low) / _RESOLUTION

    def units(told: Any) -> float:
        values = np.asarray(told)
        if values.ndim != 1 or values.dtype.kind not in "fiub":
            raise InputError(
                "a clipped mean is told as one value for each record; a mean has no sensitivity"
            )
        clipped = np.clip(np.nan_to_num(values.astype(float), nan=low), low, high)
        # A record that is absent adds nothing, as one of value ``low``.
        return int(np.rint((clipped - low) / step).astype(np.int64).sum())

    words = (
        f"the mean of one value a record, clipped to [{_exact(low)}, {_exact(high)}], of {records} "
        f"records, with discrete Gaussian noise of sigma {_exact(times)} ranges"
    )
    return Score(words, units, step / records, _RESOLUTION, times * _RESOLUTION, low)


def stated(sensitivity: float, noise: float) -> Score:
    """Any number of which the user states by how much one record moves it.

    Args:
      sensitivity: the largest change of the score when one record is added, removed or
        replaced, as the base's neighbours are. The guarantee says that it was stated. A score
        beyond 2^44 of it is none, since floats of that size move by more.
      noise: standard deviation of the noise, in units of the sensitivity.

    Raises:
      InputError: unless both are above 0, and the sensitivity between 1e-300 and 1e300.
    """
    moves = check_interval(
        "sensitivity", sensitivity, _LEAST, _MOST, low_open=False, high_open=False
    )
    times = check_positive("noise", noise)
    step = moves / _RESOLUTION

    def units(told: Any) -> float:
        found = _finite(told) / step
        if not abs(found) <= _WHOLE:
            raise InputError(
                "the score is beyond 2^44 of its sensitivity, where floats are coarser"
            )
        return round(found)

    words = (
        f"a score of stated sensitivity {_exact(moves)}, with discrete Gaussian noise of sigma "
        f"{_exact(times)} sensitivities"
    )
    # Rounding may move it by one unit more.
    return Score(words, units, step, _RESOLUTION + 1, times * (_RESOLUTION + 1))


def public() -> Score:
    """Any number that is computed from public data alone, and so needs no noise."""
    return Score("a score of data that are declared public", _finite, 1.0, 0, 0.0)
