"""Exact laws of private regression on the line, and of its test, in float64 on the host.

On the line, that is with one feature, all laws are mixtures of Gaussians: given its two released
bounds, a run of OPS-PTR that passes its test releases N(theta, 1/(precision (X'X + lambda))). Laws
here are of the bin that the released coefficient falls in; the last entry is that nothing is
released.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.ridge_regression import posterior_privacy as privacy
from jaxsel.families.ridge_regression.parameters import Eigenvalue, Regularisation
from jaxsel.families.ridge_regression.settings import RunCalibration
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions

# The least part of a sample's epsilon after the cost of its variance, as in AdaOPS (Wang
# 2018): with less, the precision would be negligible and nothing is released.
LEAST_SHARE = 0.5
_REACH = 9.0  # standard deviations, with tails below 1e-18
_WIDTH = 4.0  # of the panels of a quadrature
_CELLS = 1000  # cells of the coefficient, to rank runs
_SCORES = np.linspace(-6.0, 6.0, 25)  # standard normal nodes, for the noise of released scores


class Line(NamedTuple):
    """The sufficient statistics of a one-dimensional data set.

    Attributes:
      square: X'X, the sum of squared features.
      cross: X'y.
      records: public bound on the number of records.
    """

    square: float
    cross: float
    records: int


@validated
def pass_probability(
    run: RunCalibration, eigenvalue: Eigenvalue, regularisation: Regularisation
) -> float:
    """The exact probability that a run of OPS-PTR releases a sample, in any dimension.

    Args:
      run: its calibration.
      eigenvalue: least eigenvalue of X'X.
      regularisation: lambda.
    """
    return float(special.ndtr(-_least_passing(run, eigenvalue, regularisation)))


def _least_passing(run: RunCalibration, eigenvalue: float, regularisation: float) -> float:
    """The least standard normal noise of the eigenvalue's bound at which a run passes its test."""

    def room(log_leverage: float) -> float:
        mu = math.exp(log_leverage)
        left = run.sample_epsilon - 0.5 * mu * run.tail**2 + 0.5 * math.log1p(mu)
        return left - LEAST_SHARE * run.sample_epsilon

    largest = math.exp(float(optimize.brentq(room, -40.0, 40.0)))  # type: ignore
    needed = 1.0 / largest - regularisation
    if needed <= 0.0:
        return -math.inf
    return (needed + 1.0 - eigenvalue) / run.noise_multiplier + run.margin


def gaussian_bins(edges: np.ndarray, mean, deviation) -> np.ndarray:
    """Probabilities of the bins of a Gaussian; the first and the last bin are unbounded.

    Args:
      edges: Float64["edges"], increasing.
      mean, deviation: Float64["..."], of one or more Gaussians.

    Returns:
      Float64["... edges+1"].
    """
    z = (edges - np.asarray(mean)[..., None]) / np.asarray(deviation)[..., None]
    ends = np.pad(z, [(0, 0)] * (z.ndim - 1) + [(1, 1)], constant_values=np.inf)
    ends[..., 0] = -np.inf
    low, high = ends[..., :-1], ends[..., 1:]
    # The form of the interval's mass that subtracts small tails.
    upper = special.ndtr(-low) - special.ndtr(-high)
    return np.where(low > 0.0, upper, special.ndtr(high) - special.ndtr(low))


def _precisions(
    run: RunCalibration, line: Line, regularisation: float
) -> tuple[np.ndarray, np.ndarray]:
    """A quadrature over the precision of a run: Float64["nodes"], values and their probabilities.

    The probabilities sum to that of passing the test.
    """
    scale, margin = run.noise_multiplier, run.margin
    first = _least_passing(run, line.square, regularisation)
    start = max(first, -_REACH)
    if start >= _REACH:
        return np.empty(0), np.empty(0)
    # Below this noise the bound on the eigenvalue is at most 1, and the leverage bound 1/lambda.
    kink = float(np.clip((1.0 - line.square) / scale + margin, start, _REACH))
    z, weights = panels([start, kink, _REACH], _WIDTH)
    weights = weights * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    least = np.maximum(line.square + scale * (z - margin), 0.0)
    leverage = np.asarray(privacy.leverage_bound(regularisation, least))
    log_norm = math.log1p(abs(line.cross) / (line.square + regularisation))
    largest = math.log1p(float(privacy.ridge_norm_bound(regularisation, line.records)))
    found, chances = [], []
    for mu, weight in zip(leverage, weights, strict=True):
        # The bound on log(1 + |theta|), clipped to [0, a bound for all data].
        spread = scale * math.log1p(mu)
        ends = (np.array([0.0, largest]) - log_norm) / spread - margin
        ends = np.clip(ends, -_REACH, _REACH)
        inner, mass = np.empty(0), np.empty(0)
        if ends[1] > ends[0]:
            inner, mass = panels(ends, _WIDTH)
            mass = mass * np.exp(-0.5 * inner**2) / math.sqrt(2.0 * math.pi)
        bounds = np.concatenate([[0.0], log_norm + spread * (inner + margin), [largest]])
        share = np.concatenate([[special.ndtr(ends[0])], mass, [special.ndtr(-ends[1])]])
        precision = privacy.posterior_precision(run.sample_epsilon, run.tail, mu, np.exp(bounds))
        found.append(np.atleast_1d(precision))
        chances.append(weight * share)
    return np.concatenate(found), np.concatenate(chances)


@functools.lru_cache(maxsize=32)
def _run_bins(
    run: RunCalibration, line: Line, regularisation: float, edges: tuple[float, ...]
) -> np.ndarray:
    """The probabilities that one run releases a coefficient of each bin: Float64["edges+1"]."""
    precision, chance = _precisions(run, line, regularisation)
    curvature = line.square + regularisation
    total = np.zeros(len(edges) + 1)
    for part in np.array_split(np.arange(precision.size), precision.size // 2000 + 1):
        deviation = 1.0 / np.sqrt(precision[part] * curvature)
        mean = np.full(part.size, line.cross / curvature)
        total += chance[part] @ gaussian_bins(np.array(edges), mean, deviation)
    return total


@validated
def run_law(
    run: RunCalibration, line: Line, regularisation: Regularisation, edges: np.ndarray
) -> np.ndarray:
    """The law of one run of OPS-PTR on the line: Float64["edges+2"], of bins, then "nothing".

    Args:
      run: its calibration.
      line: the data.
      regularisation: lambda.
      edges: Float64["edges"], of the bins of the coefficient.
    """
    some = _run_bins(run, line, regularisation, tuple(map(float, edges)))
    return np.append(some, max(0.0, 1.0 - float(some.sum())))


def tuned_run_law(
    run: RunCalibration,
    line: Line,
    grid: np.ndarray,
    repetitions: Repetitions,
    scores: tuple[Line, float],
    edges: np.ndarray,
) -> np.ndarray:
    """The law of the best of K runs on the line: Float64["edges+2"], of bins, then "nothing".

    Given the released validation moments S and C, a run of coefficient w is the better, the smaller
    S w^2 - 2 C w is. Coefficients are put into about 1000 cells and tie with others of their cell,
    so that probabilities have a relative error of about 1e-4.

    Args:
      run: calibration of each run.
      line: the training data.
      grid: Float64["regularisations"], one of which each run draws.
      repetitions: law of K.
      scores: the validation data, and the standard deviation of the noise on their moments.
      edges: Float64["edges"], of the bins of the coefficient.
    """
    centres = line.cross / (line.square + grid)
    widest = []
    for regularisation, centre in zip(grid, centres, strict=True):
        precision, chance = _precisions(run, line, float(regularisation))
        if chance.size:
            curvature = line.square + regularisation
            away = _REACH / np.sqrt(precision[chance > 1e-12].min() * curvature)
            widest += [centre - away, centre + away]
    if not widest:
        return np.append(np.zeros(edges.size + 1), 1.0)
    cells = np.linspace(min(widest), max(widest), _CELLS + 1)
    cuts = np.unique(np.concatenate([cells, edges]))
    mass = np.mean([run_law(run, line, float(each), cuts)[:-1] for each in grid], axis=0)
    points = np.concatenate([cuts[:1], 0.5 * (cuts[1:] + cuts[:-1]), cuts[-1:]])
    place = np.searchsorted(edges, points, side="right")
    validation, deviation = scores
    # As released: the noise of the diagonal entry with its offset, and of a cross moment.
    squares = validation.square + deviation * (_SCORES + math.sqrt(2.0))
    crosses = validation.cross + deviation * math.sqrt(0.5) * _SCORES
    weights = np.exp(-0.5 * _SCORES**2)
    weights /= weights.sum()
    law = np.zeros(edges.size + 2)
    for square, first in zip(squares, weights, strict=True):
        for cross, second in zip(crosses, weights, strict=True):
            order = np.argsort(square * points**2 - 2.0 * cross * points)
            better = np.minimum(np.append(0.0, np.cumsum(mass[order])), 1.0)
            best = np.diff(repetitions.pgf_gap(better))
            law[:-1] += (
                first * second * np.bincount(place[order], weights=best, minlength=edges.size + 1)
            )
    law[-1] = max(0.0, 1.0 - float(law[:-1].sum()))
    return law
