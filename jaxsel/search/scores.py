"""How the runs of a private search are ranked: what a score is, and what one record moves it by.

A score of private records needs a sensitivity and noise. ``count`` is a number of records, a
``clipped_mean`` clips a value of each, and of anything else the user must state the sensitivity:
an AUC or an F1 score has none by itself. The noise is discrete Gaussian, drawn exactly, in whole
units, so that the release is private as bits and not only as real numbers.
"""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee, discrete_gaussian
from jaxsel.host.errors import InputError, check_integer, check_positive
from jaxsel.search import discrete_gaussian as exact

# Values that are no whole numbers are rounded to this part of what one record can move.
_RESOLUTION = 256


class Score(NamedTuple):
    """What ranks the runs of a search.

    Attributes:
      words: what it is, and how its noise was made, for the guarantee's sentence.
      units: what is told -> whole number of units; for a public score, any number.
      unit: the value of one unit.
      sensitivity: by how many units one record moves it; 0 for a score of public data.
      sigma: of the discrete Gaussian noise, in units; 0 for a score of public data.
    """

    words: str
    units: Callable[[Any], float]
    unit: float
    sensitivity: int
    sigma: float

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
        return units * self.unit

    def guarantee(self) -> BaseGuarantee:
        """What the noisy score of one run guarantees to the records that are scored."""
        return discrete_gaussian(self.sigma, self.sensitivity)


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
    words = f"a number of records with discrete Gaussian noise of sigma {sigma:g}"
    return Score(words, _whole, 1.0, 1, sigma)


def clipped_mean(low: float, high: float, size: int, noise: float) -> Score:
    """The mean of one value for each record, each clipped to [low, high].

    Args:
      low, high: to which values are clipped; NaN counts as ``low``.
      size: the public number of records by which the sum is divided.
      noise: standard deviation of the noise on the sum, in units of ``high - low``.

    Raises:
      InputError: unless low < high, both finite, size >= 1 and noise > 0.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"values are clipped to [{low:g}, {high:g}]; low must be below high")
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
        f"the mean of one value a record, clipped to [{low:g}, {high:g}], with discrete Gaussian "
        f"noise of sigma {times:g} ranges"
    )
    return Score(words, units, step / records, _RESOLUTION, times * _RESOLUTION)


def stated(sensitivity: float, noise: float) -> Score:
    """Any number of which the user states by how much one record moves it.

    Args:
      sensitivity: the largest change of the score when one record is added, removed or
        replaced, as the base's neighbours are. The guarantee says that it was stated.
      noise: standard deviation of the noise, in units of the sensitivity.

    Raises:
      InputError: unless both are above 0.
    """
    moves, times = check_positive("sensitivity", sensitivity), check_positive("noise", noise)
    step = moves / _RESOLUTION

    def units(told: Any) -> float:
        value = float(told)
        if not math.isfinite(value):
            raise InputError(
                f"the score is {value}, of no sensitivity; tell failed=True if the training failed"
            )
        return round(value / step)

    words = (
        f"a score of stated sensitivity {moves:g}, with discrete Gaussian noise of sigma "
        f"{times:g} sensitivities"
    )
    # Rounding may move it by one unit more.
    return Score(words, units, step, _RESOLUTION + 1, times * (_RESOLUTION + 1))


def public() -> Score:
    """Any number that is computed from public data alone, and so needs no noise."""

    def units(told: Any) -> float:
        value = float(told)
        return value if not math.isnan(value) else -math.inf

    return Score("a score of data that are declared public", units, 1.0, 0, 0.0)
