"""Exact laws of the percentile sparse vectors of Liu & Talwar 2019, Section 4.

A query is a base algorithm with a threshold; its *share* is the probability that one run
reaches the threshold. Algorithm 3 knows the shares, Algorithm 4 estimates each from N
fresh runs, and Algorithm 5 estimates those of a falling grid of thresholds from the
same N runs. Large counts are summed on a grid that is finer than their standard deviation. The
laws have errors below 1e-7 for any N up to 1e200, and below 1e-12 for small N.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.percentile.parameters import BaseEpsilon, FinalEpsilon, Target
from jaxsel.families.percentile.settings import PercentileTest, log_potential
from jaxsel.families.sparse_vector.halting_law import Counts, binomial_counts, halting_law
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated

_REACH = 45.0  # scales of Laplace noise, beyond which it lies with probability below 1e-19
_DENSE = 500  # number of possible counts up to which all of them are listed
_MANY = 300  # number of levels up to which the quadrature splits at each of them
_STATES = 3000  # most counts that are tracked at one threshold
_CERTAIN = 1e-7  # relative spread below which a count is replaced by its mean


def checked_shares(shares: npt.ArrayLike) -> np.ndarray:
    """The shares as Float64["queries"], at least one, each in [0, 1].

    Raises:
      InputError: for anything else.
    """
    array = np.asarray(shares, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"shares has shape {array.shape}; it must be one list, not empty")
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise InputError("shares has an entry outside [0, 1]; all must be chances")
    return array


# --- Algorithm 3: the shares are known ------------------------------------------------


@validated
def oracle_scales(base_epsilon: BaseEpsilon, final_epsilon: FinalEpsilon) -> tuple[float, float]:
    """The scales of Algorithm 3's Laplace noises on log-odds: of each query, and of the threshold.

    They are 8 epsilon_1/epsilon_3 and 4 epsilon_1/epsilon_3.
    """
    ratio = base_epsilon / final_epsilon
    return 8.0 * ratio, 4.0 * ratio


@validated
def oracle_levels(shares: npt.ArrayLike, target: Target) -> np.ndarray:
    """The log-odds of each share minus those of the target, Float["queries"].

    They are -inf at a share of 0, and inf at 1.
    """
    shares = checked_shares(shares)
    with np.errstate(divide="ignore"):
        levels = np.log(shares) - np.log1p(-shares)
    return levels - (math.log(target) - math.log1p(-target))


def oracle_law(
    shares: npt.ArrayLike, *, target: float, base_epsilon: float, final_epsilon: float
) -> np.ndarray:
    """The exact law of the query at which Algorithm 3 halts.

    Args:
      shares: Float["queries"], in the order in which they are asked, each in [0, 1].
      target: p*, the wanted probability to reach the threshold.
      base_epsilon, final_epsilon: epsilon_1 of one run, and epsilon_3 of the answers.

    Returns:
      Float[np.ndarray, "queries+1"], the probability to halt at each query, and last not to halt.
    """
    levels = oracle_levels(shares, target)
    return halting_law(list(levels), *oracle_scales(base_epsilon, final_epsilon))


# --- Algorithm 4: N fresh runs a query ------------------------------------------------


def share_counts(samples: float, share: float) -> Counts:
    """The law of how many of N runs reach a threshold.

    If more than about 500 counts matter, only those on a grid of a quarter of the standard
    deviation are listed, since sums of smooth functions over them are the same. If the standard
    deviation is below 1e-7 of the mean, the count is replaced by its mean.

    Args:
      samples: N, a whole number up to 1e200.
      share: the probability that one run reaches the threshold.

    Returns:
      The counts of runs that reach it and of runs that do not, with their probabilities.
    """
    rare = min(share, 1.0 - share)
    mean = samples * rare
    deviation = math.sqrt(mean * (1.0 - rare))
    # ``binomial_counts`` lists 12 deviations and 60 counts on either side of the mean.
    if 24.0 * deviation + 120.0 <= _DENSE:
        return binomial_counts(int(samples), share)
    if deviation <= _CERTAIN * mean:
        counts, weights = np.array([mean]), np.ones(1)
    else:
        spacing = max(1.0, math.floor(deviation / 4.0))
        reach = math.ceil(10.0 * deviation / spacing)
        counts = math.floor(mean) + spacing * np.arange(-reach, reach + 1)
        counts = counts[(counts >= 0.0) & (counts <= samples)]
        weights = scipy.stats.binom.pmf(counts, float(samples), rare)
        weights = weights / weights.sum()
    others = float(samples) - counts
    if share <= 0.5:
        return Counts(counts, others, weights)
    return Counts(others, counts, weights)


def _splits(levels: list[np.ndarray], weights: list[np.ndarray]) -> np.ndarray:
    """The points at which a quadrature over the threshold noise splits its panels.

    The integrand has a kink at every level. If there are too many, panels are split at multiples
    of their standard deviation around their mean.

    Args:
      levels, weights: for each test, Float["counts"], the noiseless values minus the threshold
        and their probabilities.
    """
    every = np.unique(np.concatenate(levels))
    if every.size <= _MANY:
        return every
    found = []
    for row, share in zip(levels, weights, strict=True):
        middle = float(share @ row)
        spread = math.sqrt(max(float(share @ (row - middle) ** 2), 0.0))
        around = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0]) * spread
        found += [middle - around, middle + around]
    return np.unique(np.concatenate(found))


def extended_law(shares: npt.ArrayLike, test: PercentileTest) -> np.ndarray:
    """The exact law of the query at which Algorithm 4 halts.

    Args:
      shares: Float["queries"], in the order in which they are asked, each in [0, 1].
      test: settings as ``settings.algorithm_4`` makes them, or others.

    Returns:
      Float[np.ndarray, "queries+1"], the probability to halt at each query, and last not to halt.
    """
    shares = checked_shares(shares)
    aim = log_potential(test.target, test)
    rows: dict[float, tuple[np.ndarray, np.ndarray]] = {}
    for share in set(shares.tolist()):
        counts = share_counts(test.samples, share)
        level = np.log(counts.values + test.shift)
        level -= np.log(counts.failures + test.shift)
        rows[share] = (level - aim, counts.weights)
    splits = _splits(*(list(part) for part in zip(*rows.values(), strict=True)))
    # ``halting_law`` splits its quadrature at the levels of its queries. Queries that never pass,
    # with possible levels of probability 0, are put first to split it at ``splits``, too.
    never, certain = [], []
    for start in range(0, splits.size, 7):
        part = splits[start : start + 7]
        never.append(np.append(-np.inf, part))
        certain.append(np.append(1.0, np.zeros(part.size)))
    law = halting_law(
        [*never, *(rows[share][0] for share in shares.tolist())],
        test.query_scale,
        test.threshold_scale,
        [*certain, *(rows[share][1] for share in shares.tolist())],
    )
    return law[len(never) :]


# --- Algorithm 5: the same N runs for all thresholds ----------------------------------


def threshold_grid(thresholds: int) -> np.ndarray:
    """The falling grid of R thresholds, from 1 to 0 at equal distances; R >= 2."""
    return 1.0 - np.arange(thresholds) / (thresholds - 1.0)


class _Window(NamedTuple):
    """The counts that are tracked at one threshold.

    Attributes:
      counts: Float["counts"], those of relevant probability; None if the number of runs that this
        threshold adds to the previous count is so nearly certain that its mean replaces it.
      spacing: the distance of the counts; 0 if the mean of the count replaces them.
    """

    counts: np.ndarray | None
    spacing: float


def _windows(shares: np.ndarray, chances: np.ndarray, test: PercentileTest) -> list[_Window]:
    """The counts that ``found_threshold_law`` tracks at each threshold.

    Args:
      shares: Float["thresholds"], not decreasing.
      chances: Float["thresholds"], the probability that a run which reached no threshold before
        reaches this one.
      test: settings of Algorithm 5.

    Raises:
      InputError: for different shares that are too close for so many samples.
    """
    samples = float(test.samples)
    left = 1.0 - np.append(0.0, shares[:-1])
    gained = np.sqrt(samples * left * chances * (1.0 - chances))
    certain = gained <= _CERTAIN * (samples * shares + test.shift)
    gained[certain] = np.inf
    windows = []
    for i, share in enumerate(shares):
        mean = samples * share
        deviation = math.sqrt(mean * (1.0 - share))
        if deviation <= _CERTAIN * (mean + test.shift):
            windows.append(_Window(np.array([mean]), 0.0))
        elif certain[i]:
            windows.append(_Window(None, 0.0))
        else:
            # The laws of the count and of the numbers added before and after must be smooth
            # on the grid.
            finest = min([deviation, *gained[i : i + 2]])
            spacing = max(1.0, math.floor(finest / 3.0))
            reach = 12.0 * deviation + 60.0
            low = max(0.0, math.ceil(mean - reach))
            high = min(samples, math.floor(mean + reach))
            size = int((high - low) / spacing) + 1
            if size > _STATES:
                raise InputError(
                    f"share {share:g} is too near the one before or after for "
                    f"{samples:g} samples; take equal ones, or further apart"
                )
            windows.append(_Window(low + spacing * np.arange(size), spacing))
    return windows


def found_threshold_law(shares: npt.ArrayLike, test: PercentileTest) -> np.ndarray:
    """The exact law of the threshold at which Algorithm 5 halts.

    Given the threshold noise, the counts are a Markov chain: each threshold adds a
    binomial number of the runs that reached none before.

    Args:
      shares: Float["thresholds"], the probability that one run reaches each of the falling
        thresholds, not decreasing.
      test: settings as ``settings.algorithm_5`` makes them, or others.

    Returns:
      Float[np.ndarray, "thresholds+1"], the probability of each threshold, and last of none.

    Raises:
      InputError: for falling shares, or for different ones that are too close for many samples.
    """
    shares = checked_shares(shares)
    if np.any(np.diff(shares) < 0.0):
        raise InputError("shares fall; lower thresholds are reached at least as often")
    samples = float(test.samples)
    earlier = np.append(0.0, shares[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        chances = np.where(earlier < 1.0, (shares - earlier) / (1.0 - earlier), 0.0)
    windows = _windows(shares, chances, test)
    aim = math.log(samples * test.target + test.shift) - test.offset
    levels, weights = [], []
    for share, window in zip(shares, windows, strict=True):
        if window.counts is not None:
            weight = np.ones(1)
            if window.spacing:
                weight = scipy.stats.binom.pmf(window.counts, samples, share)
            levels.append(np.log(window.counts + test.shift) - aim)
            weights.append(weight / weight.sum())
    splits = _splits(levels, weights)
    scale, end = test.threshold_scale, _REACH * test.threshold_scale
    nodes, step = panels(
        np.concatenate([[-end, 0.0, end], splits[np.abs(splits) < end]]),
        2.0 * min(test.query_scale, scale),
    )
    # alive[node, count]: mass of the noise at the node, the count, and no halt so far.
    alive = (step * np.exp(-np.abs(nodes) / scale) / (2.0 * scale))[:, None]
    law, counts = [], np.zeros(1)
    for chance, window in zip(chances, windows, strict=True):
        left = np.round(np.maximum(samples - counts, 0.0))
        if window.counts is None:
            counts = counts + np.round(left * chance)
        elif window.spacing == 0.0:
            alive, counts = alive.sum(axis=1, keepdims=True), window.counts
        else:
            more = np.round(window.counts - counts[:, None])
            kernel = scipy.stats.binom.pmf(more, left[:, None], chance)
            alive, counts = alive @ (window.spacing * kernel), window.counts
        level = np.log(counts + test.shift) - aim
        gap = (nodes[:, None] - level) / test.query_scale
        half = 0.5 * np.exp(-np.abs(gap))
        law.append(float(np.sum(alive * np.where(gap > 0.0, half, 1.0 - half))))
        alive = alive * np.where(gap > 0.0, 1.0 - half, half)
    return np.array([*law, float(np.sum(alive))])
