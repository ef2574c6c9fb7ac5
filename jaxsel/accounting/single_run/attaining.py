"""Pairs of laws on finitely many outcomes that satisfy a guarantee exactly.

Lower bounds on the privacy of an algorithm need a pair of laws that satisfies the guarantee
of its base. A dominating pair need not: between the connected dots its profile exceeds the
true one, and the profile implied by a Renyi curve belongs to no pair at all. Here the
outcomes of a continuous worst-case pair are grouped into cells, which is post-processing,
so that the result has every guarantee of the continuous pair.
"""

import math

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.dominating import DominatingPair

_CELLS = 5200  # of the Laplace pair, and around each mode of the Gaussian one
_REACH = 12.0  # standard deviations around each mode; the rest is one cell a side
# Limits beyond which masses, below e^-660, would lose accuracy in float64.
_LARGEST_MEAN = 30.0
_LARGEST_LOSS = 600.0
_FARTHEST = 36.0  # where a standard normal tail is 1e-284


def _cells(edges: np.ndarray, mean: float) -> np.ndarray:
    """Masses of N(mean, 1) between the edges and beyond them, each from its near tail."""
    below = np.concatenate([[0.0], special.ndtr(edges - mean), [1.0]])
    above = np.concatenate([[1.0], special.ndtr(mean - edges), [0.0]])
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def _pair(first: np.ndarray, second: np.ndarray) -> DominatingPair:
    """Cells as a pair; cells with equal losses, as rounding may produce, are merged."""
    with np.errstate(divide="ignore"):
        loss = np.log(first) - np.log(second)
    levels, place = np.unique(loss, return_inverse=True)
    return DominatingPair(levels, np.bincount(place, first), np.bincount(place, second))


def gaussian_cells(mean: float) -> DominatingPair | None:
    """The pair of laws N(mean, 1) and N(0, 1), with outcomes grouped into cells.

    Args:
      mean: mu > 0: the pair is mu-GDP and mu^2/2-zCDP.

    Returns:
      The pair; None above mean 30, where float64 cannot hold its masses.
    """
    if mean > _LARGEST_MEAN:
        return None
    around = np.linspace(-_REACH, _REACH, _CELLS)
    edges = np.unique(np.concatenate([around, around + mean]))
    inside = (edges > mean - _FARTHEST) & (edges < _FARTHEST)
    edges = edges[inside]
    return _pair(_cells(edges, mean), _cells(edges, 0.0))


def laplace_cells(loss: float) -> DominatingPair | None:
    """The pair of Laplace noise and its shift by a sensitivity, with outcomes grouped into cells.

    Args:
      loss: > 0; the largest privacy loss, sensitivity over scale.

    Returns:
      The pair; None above loss 600, where float64 cannot hold its masses.
    """
    if loss > _LARGEST_LOSS:
        return None
    # Between 0 and 1 the loss decreases linearly; outside it is constant.
    edges = np.linspace(0.0, loss, _CELLS)
    inner = -0.5 * np.exp(-edges[:-1]) * np.expm1(-np.diff(edges))
    first = np.concatenate([[0.5], inner, [0.5 * math.exp(-loss)]])
    return _pair(first, first[::-1])
