"""A lower bound on the envelope's delta for every law of K at once.

For shares theta(cell, x) >= 0 of sum <= 1 in every cell,

  D(epsilon; w) >= sum over cells and x of theta [p a(x) - e^epsilon p' b(x)]_+
                >= sum_k w_k c_k(epsilon),
  c_k(epsilon) = sum over x of [A_x k (1 - x)^(k-1) - e^epsilon B_x k (1 - T(x))^(k-1)],

A_x and B_x being the sums of theta p and theta p' over the cells. For a law that meets
the wishes sum_k w_k g_i(k) <= m_i, and multipliers lambda_i >= 0, that is at least

  min over k >= 0 of [c_k(epsilon) + sum_i lambda_i g_i(k)] - sum_i lambda_i m_i.

It decreases in epsilon; where it exceeds delta, no such law has a smaller epsilon. The
minimum over all whole numbers is bounded for single numbers at first, then for blocks, then
for the tail.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

from jaxsel.tuning.planning.linear_wishes import Row
from jaxsel.tuning.planning.optimal_sides import powers

_DENSE = 4000  # counts up to it are evaluated one by one
_RATIO = 1.001  # ratio of the ends of a block
_SPLITS, _PIECES, _MANY = 8, 8, 200_000  # rounds of splitting blocks whose bound is too low
_FALLING = 40.0  # divided by T: a count beyond which k (1 - T)^(k-1) decreases
_LARGEST = 1e16  # beyond it float64 does not distinguish counts
_ENOUGH = 700.0  # an epsilon at which only infinite losses are left
_ROUNDING = 1e-10  # relative rounding error of sums of some thousand terms


class Functional(NamedTuple):
    """The functional sum_k w_k c_k, and the multipliers of the wishes.

    Attributes:
      epsilon: at which they were computed; they are valid at any epsilon.
      x, other: Float[np.ndarray, "points"], x and T(x).
      first, second: Float[np.ndarray, "points"], A and B, >= 0.
      wishes: the inequalities.
      multipliers: Float[np.ndarray, "wishes"], lambda, >= 0.
    """

    epsilon: float
    x: np.ndarray
    other: np.ndarray
    first: np.ndarray
    second: np.ndarray
    wishes: tuple[Row, ...]
    multipliers: np.ndarray

    def value(self, counts: np.ndarray, epsilon: float | None = None) -> np.ndarray:
        """c_k + sum_i lambda_i (g_i(k) - m_i): Float["counts"]."""
        epsilon = self.epsilon if epsilon is None else epsilon
        first, second = self._sums(counts)
        return first - math.exp(epsilon) * second + self._wished(counts, counts)

    def root(self, delta: float, counts: np.ndarray) -> float:
        """epsilon >= 0 at which the least of ``value`` over these counts is delta."""
        first, second = self._sums(counts)
        rest = self._wished(counts, counts)

        def excess(epsilon: float) -> float:
            return float(np.min(first - math.exp(epsilon) * second + rest)) - delta

        if excess(0.0) <= 0.0:
            return 0.0
        # The root is near the epsilon that it was computed for, which may be 0 and cannot be
        # doubled then.
        high = max(self.epsilon, 1e-3)
        while excess(high) > 0.0:
            high *= 2.0
            # e^epsilon overflows soon after. A functional that still exceeds delta has no second
            # part to speak of: its outputs are on one side only, and no epsilon covers them.
            if high > _ENOUGH:
                return _ENOUGH
        return _crossing(excess, high)

    def _sums(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The contributions of A and of B, computed for a few counts at a time."""
        # A table of counts and points takes 16 MB at most.
        step = max(1, 2**21 // max(self.x.size, 1))
        parts = [
            (self.first @ powers(self.x, part), self.second @ powers(self.other, part))
            for part in np.split(counts, range(step, counts.size, step))
        ]
        first, second = zip(*parts, strict=True)
        return np.concatenate(first), np.concatenate(second)

    def _wished(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Least sum_i lambda_i (g_i(k) - m_i) for k between the ends of each block."""
        total = np.zeros(left.size)
        for wish, multiplier in zip(self.wishes, self.multipliers, strict=True):
            # Prices of wishes are monotone in k, so that the least over a block is at one of its
            # ends.
            least = wish.price(right if wish.falls else left)
            total += multiplier * (least - wish.most)
        return total


def _crossing(excess: Callable[[float], float], high: float) -> float:
    """The root of a function that decreases from 0 to ``high``."""
    found = optimize.root_scalar(excess, bracket=(0.0, high), method="brentq", xtol=1e-11)
    return float(found.root)


class Terms(NamedTuple):
    """Lower bounds first - e^epsilon second + rest that cover every whole number k.

    Attributes:
      first, second, rest: Float[np.ndarray, "terms"], one term per count or block.
    """

    first: np.ndarray
    second: np.ndarray
    rest: np.ndarray

    def least(self, epsilon: float) -> float:
        """The lower bound on delta, for every law that meets the wishes."""
        second = math.exp(epsilon) * self.second
        # Rounding is relative to the parts, which nearly cancel where the bound is small.
        size = self.first + second + np.abs(self.rest)
        return float(np.min(self.first - second + self.rest - _ROUNDING * size))


def searched_counts(most: int | None) -> np.ndarray:
    """Counts among which missing columns are searched; the certificate covers all counts."""
    end = 1e7 if most is None else float(most)
    # k (1 - x)^(k-1) changes slowly with log k: from 300 on neighbours differ by 0.4 per cent, and
    # the column of one is as good as that of another between them.
    counts = np.append(np.arange(300.0), np.geomspace(300.0, 1e7, 2600).round())
    return np.unique(np.append(counts[counts < end], end))


def terms(found: Functional, most: int | None) -> Terms:
    """Bounds for every k in {0, 1, ...}, or up to ``most``."""
    # If T is so small that k (1 - T)^(k-1) peaks beyond all counts that float64
    # distinguishes, points are omitted, since each share may be decreased; at x = 0 T
    # itself is decreased, and the bound with it. All other terms then decrease in the tail.
    tiny = found.other < _FALLING / _LARGEST
    kept = ~tiny | (found.x == 0.0)
    found = found._replace(
        x=found.x[kept],
        other=np.where(tiny, 0.0, found.other)[kept],
        first=found.first[kept],
        second=found.second[kept],
    )
    # A point at x = 0 with a negative value is omitted, since each share may be decreased.
    ahead = (found.x == 0.0) & (found.other == 0.0)
    # At x = 0 and T = 0 both terms are proportional to k: all such points act as one.
    if found.first[ahead].sum() < math.exp(found.epsilon) * found.second[ahead].sum():
        found = found._replace(
            first=np.where(ahead, 0.0, found.first), second=np.where(ahead, 0.0, found.second)
        )
    end = _DENSE if most is None else min(_DENSE, most)
    counts = np.arange(end + 1.0)
    first, second = found._sums(counts)
    parts: list[tuple[np.ndarray, ...]] = [(first, second, found._wished(counts, counts))]
    # Blocks reach to where the tail's bound holds, or to the largest count there is.
    last = _tail_start(found) if most is None else float(most)
    if last > end:
        edges = [float(end)]
        while edges[-1] < last:
            edges.append(min(math.ceil(edges[-1] * _RATIO), last))
        parts += _split_blocks(found, np.array(edges[:-1]), np.array(edges[1:]))
    if most is None:
        parts.append(_tail(found, last))
    return Terms(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _tail_start(found: Functional) -> float:
    """A count far beyond the one from which every k (1 - T)^(k-1) with T > 0 decreases."""
    low = found.other[found.other > 0.0]
    # k (1 - T)^(k-1) falls from 1/T on; the smallest T is the last to.
    least = float(low.min()) if low.size else 1.0
    # One bound for the whole tail is tight only where what falls is negligible: e^-35 of its peak.
    return min(max(1e7, _FALLING / least), _LARGEST)


def _split_blocks(
    found: Functional, left: np.ndarray, right: np.ndarray
) -> list[tuple[np.ndarray, ...]]:
    """Bounds for the counts of blocks, which are split where that improves them."""
    parts, aim = [], _aim(found, right)
    for _ in range(_SPLITS):
        block = _blocks(found, left, right)
        value = block[0] - math.exp(found.epsilon) * block[1] + block[2]
        # The certificate is the least of all bounds: a block that is above what a single count has
        # cannot lower it.
        low = value < aim
        parts.append(tuple(each[~low] for each in block))
        left, right = left[low], right[low]
        # A block of so few counts is split no further: each of its counts has an exact value.
        few = right - left <= _PIECES
        counts = np.unique(
            np.concatenate([np.zeros(0), *map(np.arange, left[few], right[few] + 1.0)])
        )
        if counts.size:
            parts.append((*found._sums(counts), found._wished(counts, counts)))
        left, right = _pieces(left[~few], right[~few])
        if left.size == 0 or left.size > _MANY:
            # What is left keeps its own bound below, which is valid and only looser.
            break
    return [*parts, _blocks(found, left, right)] if left.size else parts


def _aim(found: Functional, counts: np.ndarray) -> float:
    """The least of some exact values; better bounds for blocks are not needed."""
    counts = np.append(np.arange(float(_DENSE)), counts[counts < 1e7])
    least = float(np.min(found.value(counts)))
    # Bounds of blocks reach an exact value in the limit alone; this much is given away instead.
    return least - 1e-7 * abs(least)


def _pieces(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Splits every block into pieces with whole ends."""
    share = np.arange(_PIECES + 1) / _PIECES
    edges = np.floor(left[:, None] + (right - left)[:, None] * share)
    # The product with the share 1 may be rounded below the end. Neighbours share an edge: a count
    # that is covered twice does no harm.
    edges[:, -1] = right
    lefts, rights = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return lefts[rights > lefts], rights[rights > lefts]


def _blocks(found: Functional, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, ...]:
    """Bounds for the counts from left to right, where k (1 - x)^(k-1) has a single peak."""
    step = max(1, 2**20 // max(found.x.size, 1))
    first, second = [], []
    peak, height = _peaks(found.other)
    for start in range(0, left.size, step):
        low, high = left[start : start + step], right[start : start + step]
        # With a single peak the least on an interval is at an end; A is not negative, so that this
        # is a lower bound of its terms.
        least = np.minimum(powers(found.x, low), powers(found.x, high))
        first.append(found.first @ least)
        # The second part is subtracted, and needs an upper bound: the peak where it lies inside.
        most = np.maximum(powers(found.other, low), powers(found.other, high))
        inside = (low < peak[:, None]) & (peak[:, None] < high)
        second.append(found.second @ np.where(inside, np.maximum(most, height[:, None]), most))
    return np.concatenate(first), np.concatenate(second), found._wished(left, right)


def _peaks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The maximiser over real k > 0 of k (1 - x)^(k - 1), and the maximum."""
    inner = (x > 0.0) & (x < 1.0)
    rate = -np.log1p(-np.where(inner, x, 0.5))
    # The derivative of log k - (k - 1) rate vanishes at k = 1/rate. At x = 0 the function is k, at
    # x = 1 it is 0 for all k > 1.
    peak = np.where(inner, 1.0 / rate, np.where(x > 0.0, 0.0, np.inf))
    return peak, np.where(inner, np.exp(rate - 1.0) / rate, 0.0)


def _tail(found: Functional, last: float) -> tuple[np.ndarray, ...]:
    """One bound for all k >= last.

    Terms with T > 0 decrease from there on; those at x = 0 are proportional to k, and have
    a non-negative sum; prices do not decrease, or are at least 0.
    """
    at = np.array([last])
    ahead = (found.x == 0.0) & (found.other == 0.0)
    # Where x > 0 the first part tends to 0 and is bounded by 0.
    first = float(found.first[found.x == 0.0].sum()) * last
    falling = powers(found.other[~ahead], at)[:, 0] @ found.second[~ahead]
    second = float(found.second[ahead].sum()) * last + float(falling)
    rest = 0.0
    for wish, multiplier in zip(found.wishes, found.multipliers, strict=True):
        # A falling price tends to 0 or more; a rising one is least at the start of the tail.
        least = 0.0 if wish.falls else float(wish.price(at)[0])
        rest += multiplier * (least - wish.most)
    return np.array([first]), np.array([second]), np.array([rest])


def lower_epsilon(found: Functional, delta: float, most: int | None) -> float:
    """An epsilon below which the envelope of every law that meets the wishes exceeds delta.

    Args:
      found: the functional.
      delta: in (0, 1).
      most: largest count, None if there is none.

    Returns:
      The largest epsilon, to 1e-9, at which the lower bound on delta exceeds ``delta``; 0
      if there is none.
    """
    each = terms(found, most)
    # Beyond found.epsilon the point at x = 0 may be negative; the bound is not used there.
    high = found.epsilon
    if each.least(high) > delta:
        return high
    if each.least(0.0) <= delta:
        return 0.0
    low = _crossing(lambda epsilon: each.least(epsilon) - delta, high)
    # The root is accurate to 1e-11 and may lie on the wrong side; what is returned has been
    # checked.
    while each.least(low) <= delta:
        low -= 1e-9
    return max(low, 0.0)
