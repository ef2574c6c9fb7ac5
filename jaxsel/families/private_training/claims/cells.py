"""Cases that compare samples with an exact law, by exact confidence limits of counts."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.checking import Judged

# Cumulative probabilities of the exact law at which samples are counted.
_LEVELS = (0.002, 0.02, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 0.98, 0.998)


def _quantiles(cdf: Callable, low: float, high: float) -> np.ndarray:
    """The quantiles of a law at ``_LEVELS``, by bisection: the least x with cdf(x) >= level.

    Args:
      cdf: the distribution function, of an array of places.
      low, high: places below and above all quantiles.
    """
    lower, upper = (np.full(len(_LEVELS), end) for end in (low, high))
    for _ in range(60):
        middle = (lower + upper) / 2.0
        below = cdf(middle) < np.array(_LEVELS)
        lower, upper = np.where(below, middle, lower), np.where(below, upper, middle)
    return upper


def _limits(counts: np.ndarray, total: int, confidence: float) -> Iterator[tuple[float, float]]:
    """Confidence limits (low, high) of the probability behind each count.

    All limits hold together with the confidence, by Bonferroni's inequality. ``total`` is the
    number of samples.
    """
    found = clopper_pearson(counts, total, 1.0 - (1.0 - confidence) / counts.size)
    yield from zip(*(limit.tolist() for limit in found), strict=True)


def tally_cases(
    counts: np.ndarray, total: int, confidence: float, points: list[dict[str, Any]], where: str
) -> Iterator[Any]:
    """Cases that the claimed probability of each event lies between its confidence limits.

    Args:
      counts: Int["points"], how many of the samples are in the event of each point.
      total: the number of samples.
      confidence: of all limits together.
      points: the parameters of the claim, one dictionary for each count.
      where: appended to the description of every case.
    """
    tallies = zip(points, counts.tolist(), _limits(counts, total, confidence), strict=True)
    for point, count, (low, high) in tallies:
        text = f"{count} of {total}, {where}"
        yield point, lambda claimed, high=high: (high, claimed), f"upper limit, {text}"
        yield point, low, f"lower limit, {text}"


def known_cases(
    counts: np.ndarray, exact: np.ndarray, confidence: float, where: str
) -> Iterator[Judged]:
    """Cases that each exact probability lies between the confidence limits of its cell's count.

    As ``tally_cases``, but with probabilities that are given instead of those that the claim
    computes.

    Args:
      counts: Int["cells"], samples in each cell; together they are all samples.
      exact: Float["cells"], the probabilities of the cells.
      confidence: of all limits together.
      where: appended to the description of every case.
    """
    total = int(counts.sum())
    for cell, (low, high) in enumerate(_limits(counts, total, confidence)):
        text = f"cell {cell}, {counts[cell]} of {total}, {where}"
        yield Judged(high, float(exact[cell]), f"upper limit, {text}")
        yield Judged(float(exact[cell]), low, f"lower limit, {text}")


def law_cases(
    samples: np.ndarray, cdf: Callable, confidence: float, name: str, where: str, **point: Any
) -> Iterator[Any]:
    """Cases that the claimed distribution function agrees with samples at ten quantiles.

    At each quantile the claimed probability must lie between the confidence limits of the share of
    samples up to there.

    Args:
      samples: Float64["samples"].
      cdf: their exact distribution function, which says where the quantiles are.
      confidence: of all limits together.
      name: name of the claim's parameter that takes the quantile.
      where: appended to the description of every case.
      **point: the claim's other parameters.
    """
    reach = 10.0 * (np.abs(samples).max() + 1.0)
    edges = _quantiles(cdf, -reach, reach)
    counts = np.searchsorted(np.sort(samples), edges, side="right")
    points = [{name: edge, **point} for edge in edges.tolist()]
    yield from tally_cases(counts, samples.size, confidence, points, where)
