"""Exact laws of what an adversary observes of one example in DP-SGD, and of scores in a search.

In units of C, a step's noisy sum along the example's gradient is normal with standard deviation
sigma (the noise multiplier). Its mean is 1 if the example is in the batch, which happens with
probability q, else 0.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import scipy
from scipy import special

from jaxsel.families.private_training.parameters import AnyNoise, Rate, Steps
from jaxsel.host.errors import NoLawError
from jaxsel.language.signature import validated

_REACH = 12.0  # standard deviations, with tail probability 1e-32
_CELLS, _MOST_CELLS = 2**14, 2**22  # values of the ratio of one step, and of all
_FINER = 4  # times as many values
_ACCURATE = 1e-4  # an error of probabilities, up to which the law is known


class RatioLaw(NamedTuple):
    """The law of the log-likelihood ratio of an example being in against out, of all steps.

    The ratio of each step is rounded to a grid. As this is post-processing, the rounded ratios
    reveal a little less than the exact ones.

    Attributes:
      values: Float64["points"], the sums of the rounded ratios, ascending.
      absent, present: Float64["points"], their probabilities if the example is out, and if it is in
        the data.
      error: about how far the probability that the exact ratio is at most one of ``ratio_edges``
        may lie from that of the rounded one: from the difference to a grid of fewer points.
    """

    values: np.ndarray
    absent: np.ndarray
    present: np.ndarray
    error: float


def sum_cdf(x, noise_multiplier: float, rate: float, steps: int, present: bool):
    """Probability that the noisy sum of all steps, along the example's gradient, is at most x C.

    Args:
      x: any shape, which the result has.
      noise_multiplier: sigma.
      rate: q, the probability that a batch holds the example.
      steps: T.
      present: whether the example is in the data; if so, it is in a binomial number of batches.
    """
    deviation = noise_multiplier * math.sqrt(steps)
    x = np.asarray(x, dtype=np.float64)
    if not present:
        return special.ndtr(x / deviation)
    batches = np.arange(steps + 1)
    weights = scipy.stats.binom.pmf(batches, steps, rate)
    return special.ndtr((x[..., None] - batches) / deviation) @ weights


def _one_step(loss, noise_multiplier: float, rate: float, present: bool):
    """The probability that the log-likelihood ratio of one step is at most ``loss``.

    Args:
      loss: any shape, which the result has.
      noise_multiplier, rate, present: as of ``sum_cdf``.
    """
    variance = noise_multiplier**2
    if rate < 1.0:
        # The ratio of a step is log(1 - rate + rate e^u) with u = (sum - 1/2)/variance. This solves
        # it for u; below log(1 - rate) there is no solution.
        floor = math.log1p(-rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            above = loss - floor
            # Where e^above may be no float, 1 less of it is nothing.
            logs = np.where(above > 700.0, above, np.log(np.expm1(np.minimum(above, 700.0))))
            u = logs + floor - math.log(rate)
        u = np.where(loss > floor, u, -np.inf)
    else:
        u = loss
    place = variance * u + 0.5
    below = special.ndtr(place / noise_multiplier)
    if not present:
        return below
    moved = special.ndtr((place - 1.0) / noise_multiplier)
    return (1.0 - rate) * below + rate * moved


@validated
@functools.lru_cache(maxsize=16)
def ratio_law(noise_multiplier: AnyNoise, rate: Rate, steps: Steps) -> RatioLaw:
    """The law of the summed log-likelihood ratio after all steps, by convolution.

    The grid is made finer until that changes little, or it has four million points: where an
    example is rarely in a batch and the noise is small, most ratios lie much closer together than
    the others.

    Args:
      noise_multiplier: sigma.
      rate: q, the probability that a batch holds the example.
      steps: T.
    """
    cells, coarse = _CELLS, _convolved(noise_multiplier, rate, steps, _CELLS // _FINER)
    while True:
        fine = _convolved(noise_multiplier, rate, steps, cells)
        # With the width the error falls at least in proportion, and at most with its square.
        error = _farthest(coarse, fine) / (_FINER - 1)
        cells *= _FINER
        hopeless = error > _ACCURATE * (_MOST_CELLS / (cells / _FINER * steps)) ** 2
        if error <= _ACCURATE or cells * steps > _MOST_CELLS or hopeless:
            return fine._replace(error=error)
        coarse = fine


def _farthest(coarse: RatioLaw, fine: RatioLaw) -> float:
    """The largest difference of the distribution functions at the edges of the finer law."""
    edges, found = _edges(fine), 0.0
    for one, other in ((coarse.absent, fine.absent), (coarse.present, fine.present)):
        at = []
        for law, masses in ((coarse, one), (fine, other)):
            between = law.values + 0.5 * (law.values[1] - law.values[0])  # where it is accurate
            at.append(np.interp(edges, between, np.cumsum(masses)))
        found = max(found, float(np.max(np.abs(at[0] - at[1]))))
    return found


def _edges(law: RatioLaw) -> np.ndarray:
    """``ratio_edges`` of a law."""
    wanted = [1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    # An edge lies between two points of the grid, so that rounding moves no point across it.
    width = law.values[1] - law.values[0]
    found = [
        law.values[np.searchsorted(np.cumsum(side), wanted)] + width / 2.0
        for side in (law.absent, law.present)
    ]
    return np.sort(np.concatenate(found))


def _convolved(noise_multiplier: float, rate: float, steps: int, cells: int) -> RatioLaw:
    """``ratio_law`` on a grid of so many values of one step."""
    reach = _REACH * noise_multiplier
    ends = (np.array([-reach, 1.0 + reach]) - 0.5) / noise_multiplier**2
    ends = np.logaddexp(math.log1p(-rate), math.log(rate) + ends) if rate < 1 else ends
    low, high = ends
    width = (high - low) / (cells - 1)
    edges = low + width * (np.arange(cells + 1) - 0.5)
    length = steps * (cells - 1) + 1
    sides = []
    for present in (False, True):
        below = _one_step(edges, noise_multiplier, rate, present)
        # What lies beyond the grid, with a probability of about 1e-32, counts at its ends.
        below[0], below[-1] = 0.0, 1.0
        transformed = np.fft.rfft(np.diff(below), length)
        masses = np.maximum(np.fft.irfft(transformed**steps, length), 0.0)
        sides.append(masses / masses.sum())
    absent, present = sides
    return RatioLaw(steps * low + width * np.arange(length), absent, present, math.inf)


def ratio_edges(noise_multiplier: float, rate: float, steps: int) -> np.ndarray:
    """The edges of the bins in which the ratio of all steps is tallied: Float64["edges"].

    They are quantiles of its laws on both sides, ascending. Arguments as of ``ratio_law``.
    """
    return _edges(ratio_law(noise_multiplier, rate, steps))


def ratio_cells(noise_multiplier: float, rate: float, steps: int, present: bool) -> np.ndarray:
    """The probability of each bin of the ratio, Float64["edges+1"], between ``ratio_edges``.

    Args:
      noise_multiplier, rate, steps: as of ``ratio_law``.
      present: whether the example is in the data.

    Raises:
      NoLawError: where no grid resolves the law.
    """
    law = ratio_law(noise_multiplier, rate, steps)
    if law.error > _ACCURATE:
        raise NoLawError(
            f"with noise_multiplier {noise_multiplier:g} and an example in a batch with "
            f"probability {rate:g} the law of the ratio is known to {law.error:.1g} only; take "
            "more noise or larger batches"
        )
    edges = ratio_edges(noise_multiplier, rate, steps)
    below = np.cumsum(law.present if present else law.absent)
    at = np.append(below[np.searchsorted(law.values, edges) - 1], 1.0)
    return np.maximum(np.diff(at, prepend=0.0), 0.0)


def score_cdf(x, correct: float, score_noise: float):
    """Probability that a run's noisy score is at most x.

    Args:
      x: any shape, which the result has.
      correct: how many validation images the network classifies correctly.
      score_noise: sigma of the discrete Gaussian noise, in images.
    """
    reach = math.ceil(_REACH * score_noise)
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (noise / score_noise) ** 2)
    below = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    # x is rounded down before the subtraction, whose result might be rounded up to a whole number.
    steps = np.floor(np.asarray(x, dtype=np.float64)) - correct + reach + 1
    return below[np.clip(steps, 0, noise.size).astype(int)]
