"""Samples against an exact law: tallies between its quantiles, with exact limits."""

from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.checking import Judged

# Cumulative probabilities between which is tallied: tails, and what lies between.
_LEVELS = (0.002, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 0.998)


def _quantiles(cdf: Callable, low: float, high: float) -> np.ndarray:
    """The least places at which ``cdf`` is at least the levels, by bisection from above."""
    lower, upper = (np.full(len(_LEVELS), end) for end in (low, high))
    for _ in range(60):
        middle = (lower + upper) / 2.0
        below = cdf(middle) < np.array(_LEVELS)
        lower, upper = np.where(below, middle, lower), np.where(below, upper, middle)
    return upper


def tally_cases(
    counts: np.ndarray, exact: np.ndarray, confidence: float, where: str
) -> Iterator[Judged]:
    """Every exact probability lies between the limits of its tally, all with the confidence."""
    total = int(counts.sum())
    low, high = clopper_pearson(counts, total, 1.0 - (1.0 - confidence) / counts.size)
    for cell, probability in enumerate(exact.tolist()):
        text = f"cell {cell}, {counts[cell]} of {total}, {where}"
        yield Judged(float(high[cell]), probability, f"upper limit, {text}")
        yield Judged(probability, float(low[cell]), f"lower limit, {text}")


def law_cases(
    samples: np.ndarray, cdf: Callable, confidence: float, where: str
) -> Iterator[Judged]:
    """The samples are as frequent between quantiles of ``cdf`` as it says."""
    reach = 10.0 * (np.abs(samples).max() + 1.0)
    edges = _quantiles(cdf, -reach, reach)
    counts = np.bincount(np.searchsorted(edges, samples), minlength=edges.size + 1)
    exact = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    yield from tally_cases(counts, exact, confidence, where)
