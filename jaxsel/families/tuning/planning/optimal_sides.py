"""A base as the linear program for the law of K sees it: cells of loss, points of x.

For a law w of K and a dominating pair the envelope's delta is

  D(epsilon; w) = sum over outcomes of sup_x [p a(x) - e^epsilon p' b(x)]_+,

a(x) = sum_k w_k k (1 - x)^(k-1), b(x) the same at T(x). The summand is convex and
homogeneous in (p, p'), so that merging outcomes makes the sum smaller; and so does looking
at some x only. What is computed here from few cells and few x is therefore a lower bound
on D, for every law at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.dominating import DominatingPair, pair_tradeoff

# Below it x = 0 stands for all: where the mean does not bind, the certificate needs it.
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
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.multiply.outer(np.log1p(-x), np.maximum(counts - 1.0, 0.0))
    # At x = 1 and k = 1 this is 0 * -inf, and stands for 0^0 = 1.
    return counts * np.exp(np.where(np.isnan(exponent), 0.0, exponent))


def side(
    pair: DominatingPair,
    cells: int,
    points: int,
    importance: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Side:
    """A direction with few cells.

    Args:
      pair: dominates the base's laws in that direction.
      cells: about so many.
      points: for x, besides the kinks of T if these are fewer.
      importance: losses -> what an outcome of that loss adds to delta, by unit of mass;
        the cells are narrow where much is added. None: of equal width.
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
    """The cell of each atom: neighbours, none empty."""
    width = np.gradient(loss)
    # Merging costs by width^2 and importance: least in all at the cube root of its density.
    share = 1e-9 * width
    if importance is not None:
        density = mass * importance(loss) / width
        share = share + width * np.cbrt(np.maximum(density, 0.0))
        share = share / share.sum() + 0.1 * width / width.sum()
    place = np.cumsum(share) / share.sum()
    raw = np.minimum((place * cells).astype(int), cells - 1)
    return np.unique(raw, return_inverse=True)[1]
