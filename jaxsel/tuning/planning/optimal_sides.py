"""The discretisation of a base for the linear program of the law of K.

For a law w of K and a dominating pair the envelope's delta is

  D(epsilon; w) = sum over outcomes of sup_x [p a(x) - e^epsilon p' b(x)]_+,

a(x) = sum_k w_k k (1 - x)^(k-1), b(x) the same at T(x). The summand is convex and
homogeneous in (p, p'), so merging outcomes decreases the sum, and so does using some x
only. The value computed from few cells and few x is therefore a lower bound on D, for every
law.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxsel.accounting.numerics.hull import upper_hull
from jaxsel.accounting.single_run.dominating import DominatingPair, pair_tradeoff

# Smaller x are replaced by 0, which the certificate needs if the mean is not bounded.
_LEAST_LOGIT = -15.0


class Side(NamedTuple):
    """One direction of neighbours.

    Attributes:
      loss: Float[np.ndarray, "cells"], log(p/p') of the cells, increasing, finite.
      mass: Float[np.ndarray, "cells"], p of the cells, > 0.
      singular: mass of P at infinite loss.
      x: Float[np.ndarray, "points"], in [0, 1], increasing; the first is 0.
      other: Float[np.ndarray, "points"], T(x).
    """

    loss: np.ndarray
    mass: np.ndarray
    singular: float
    x: np.ndarray
    other: np.ndarray


def powers(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """k (1 - x)^(k - 1): Float["x, counts"]; 0 for the count 0."""
    others = np.maximum(counts - 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log1p(-x)
        found = np.multiply.outer(logs, others)
    # At x = 1 and k = 1 this is 0 * -inf, and stands for 0^0 = 1.
    found[np.ix_(logs == -np.inf, others == 0.0)] = 0.0
    np.exp(found, out=found)  # in place: these tables are most of a program's time
    found *= counts
    return found


class BestPoints:
    """For any ratio r >= 0 the x with the largest a(x) - r b(x): a vertex of an upper hull.

    Args:
      first, second: Float["points"], a and b, >= 0.
    """

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        self._vertices = upper_hull(second, first)
        self._first, self._second = first[self._vertices], second[self._vertices]
        self._falls = -np.diff(self._first) / np.diff(self._second)

    def at(self, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The point of each ratio, and what is largest there."""
        # Along the hull slopes fall: the maximum is where they fall below the ratio.
        place = np.searchsorted(self._falls, -ratio)
        return self._vertices[place], self._first[place] - ratio * self._second[place]


def side(
    pair: DominatingPair,
    cells: int,
    points: int,
    importance: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Side:
    """Discretises one direction to few cells.

    Args:
      pair: a pair that dominates the base's laws in that direction.
      cells: approximate number of cells.
      points: number of points x, besides the kinks of T if these are fewer.
      importance: losses -> contribution to delta of an outcome per unit of mass; cells are
        narrow where it is large. None: equal width.
    """
    finite = np.isfinite(pair.loss) & (pair.first > 0.0)
    loss, p, second = pair.loss[finite], pair.first[finite], pair.second[finite]
    if loss.size > cells:
        groups = _groups(loss, p, cells, importance)
        p, second = np.bincount(groups, p), np.bincount(groups, second)
        p, second = p[p > 0.0], second[p > 0.0]
        loss = np.log(p) - np.log(second)
    x = special.expit(np.linspace(_LEAST_LOGIT, 12.0, points))
    kinks = np.cumsum(pair.first)
    if kinks.size <= points:
        x = np.append(x, np.clip(kinks, 0.0, 1.0))
    x = np.unique(np.concatenate([[0.0], x, [1.0]]))
    singular = float(np.sum(pair.first[pair.loss == np.inf]))
    return Side(loss, p, singular, x, pair_tradeoff(pair)(x))


def _groups(
    loss: np.ndarray,
    mass: np.ndarray,
    cells: int,
    importance: Callable[[np.ndarray], np.ndarray] | None,
) -> np.ndarray:
    """The cell of each atom; cells are contiguous and none is empty."""
    width = np.gradient(loss)
    # The error of merging is importance * width^2, minimised by a density of its cube root.
    share = 1e-9 * width
    if importance is not None:
        density = mass * importance(loss) / width
        share = share + width * np.cbrt(np.maximum(density, 0.0))
        share = share / share.sum() + 0.1 * width / width.sum()
    place = np.cumsum(share) / share.sum()
    raw = np.minimum((place * cells).astype(int), cells - 1)
    return np.unique(raw, return_inverse=True)[1]
