"""Certifies the bound of a proposed price and W: docs/priced.md, section 4.

Each triangle is cut into smaller ones. There the gradient of W is linear, a(u) lies below
its chord and a(u') above a supporting line, so that the left side of the inequality is at
most a convex function, largest at a corner; in s it is convex between the knots of the
price. So finitely many numbers bound the violation of the inequality everywhere, and the
violations in a column add at most their largest value times the width of the column.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.path_mesh import PathMesh, gradients
from jaxsel.tuning.bounds.path_program import Price, price_weights, proposed_delta, slope_at

# 256 pieces of a triangle, and as many thin columns of each column: what is lost by chords and by
# the largest value of a column falls with both.
_PARTS = 16  # of each edge of a triangle
# Allowance for rounding in the law of K, relative to E[K]: far above the actual errors.
ROUNDING = 1e-11
_THIN = 1e-9  # width of columns that are not cut into parts
_LARGEST = 700.0  # exp of it, times a ratio, is still a float64
# Allowance for rounding in sums of up to some dozen numbers, relative to the sum of their absolute
# values.
_UNIT = 128 * float(np.finfo(np.float64).eps)


class Certificate(NamedTuple):
    """What a price and a potential W prove.

    Attributes:
      delta: the bound; it may exceed 1.
      lost: Float["columns"], what the inequality is violated by, integrated over each column:
        their sum is what the bound has above the value of the program.
    """

    delta: float
    lost: np.ndarray


def _convex(price: Price) -> Price:
    """The largest convex function below the price at its knots."""
    kept = [0]
    for k in range(1, price.knots.size):
        while len(kept) > 1:
            first, second = kept[-2], kept[-1]
            rise = price.values[[second, k]] - price.values[first]
            run = price.knots[[second, k]] - price.knots[first]
            # A slope that grows, without a division: the middle knot lies below the chord.
            if rise[0] * run[1] < rise[1] * run[0]:
                break
            kept.pop()
        kept.append(k)
    return Price(price.knots[kept], price.values[kept], price.last_slope)


def _conjugate(price: Price, slopes: np.ndarray, size: np.ndarray) -> np.ndarray:
    """max over the knots s of slope s - price(s), for a convex price, rounded upwards.

    Args:
      price: convex.
      slopes: any shape.
      size: of the same shape, at least the sum of what each slope was added up from.
    """
    falls = np.diff(price.values) / np.diff(price.knots)
    # For a convex price slope s - price(s) grows as long as the price's slope is smaller.
    knot = np.searchsorted(falls, slopes)
    found = slopes + _UNIT * size
    found *= price.knots[knot]
    found -= (price.values - _UNIT * np.abs(price.values))[knot]
    return found


def _small_triangles(parts: int) -> np.ndarray:
    """Barycentric corners, Float["parts**2 3 3"], of the pieces of a triangle."""

    def corner(i: int, j: int) -> list[float]:
        return [(parts - i - j) / parts, i / parts, j / parts]

    pieces = []
    for i in range(parts):
        for j in range(parts - i):
            pieces.append((corner(i, j), corner(i + 1, j), corner(i, j + 1)))
            if i + j < parts - 1:
                pieces.append((corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)))
    return np.array(pieces)


def _corner_points(pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points that are corners of pieces, Float["points 3"], and Int["pieces corners"]."""
    points, place = np.unique(pieces.reshape(-1, 3), axis=0, return_inverse=True)
    return points, place.reshape(pieces.shape[:2])


def _at_corners(pieces: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Float["2 pieces triangles corners"] of Float["triangles 3 2"], given at corners."""
    return np.matmul(linear.transpose(2, 0, 1)[:, None], pieces.transpose(0, 2, 1))


def _supporting(
    law: Repetitions, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(value, slope, place) of lines below the convex a between low and high, not below 0 there."""
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    step = np.maximum(1e-3 * (high - low), 1e-12)
    middle = 0.5 * (low + high)
    value, slope = _line_below(law, middle, step, middle + step)
    # e^epsilon multiplies what a line says, so that one that falls below 0, as where a bends much,
    # proves nothing: the line at the upper end does not, as a falls, and 0 itself is one.
    negative = value + slope * (high - middle) < 0.0
    if np.any(negative):
        end = high[negative]
        at_end, slope_there = _line_below(law, end, step[negative], end)
        useless = at_end < 0.0
        value[negative] = np.where(useless, 0.0, at_end)
        slope[negative] = np.where(useless, 0.0, slope_there)
        middle[negative] = end
    return value, slope, middle


def _line_below(
    law: Repetitions, place: np.ndarray, step: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(value at the place, slope) of lines below a, along its chords from place - step to end."""
    # A law of K gives a = f'(1 - u) but not its derivative; a chord about the place stands in for
    # the tangent.
    left, right = np.maximum(place - step, 0.0), np.minimum(end, 1.0)
    before, at, after = (slope_at(law, x) for x in (left, 0.5 * (left + right), right))
    # a falls; rounding might say otherwise, where it hardly does.
    slope = np.minimum((after - before) / np.maximum(right - left, 1e-300), 0.0)
    chord = before + slope * (0.5 * (left + right) - left)
    # A chord exceeds a convex function by at most twice the excess at the midpoint.
    least = np.minimum(at, chord) - 2.0 * np.maximum(chord - at, 0.0)
    return least + slope * (place - 0.5 * (left + right)), slope


def _gradients_at_corners(mesh: PathMesh, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of W at the corners of each triangle, and what it is added up from.

    W is quadratic on a triangle, so that its gradient is linear and these decide.

    Returns:
      Float["triangles corners 2"], and of the same shape the sums of absolute values, which
      rounding errors grow with.
    """
    corners = np.array([gradients(mesh, tuple(place)) for place in np.eye(3)])
    # W may be large where nothing forbids it; only its differences within a triangle count.
    local = values[mesh.nodes] - values[mesh.nodes[:, :1]]
    steep = np.einsum("tq,vqtx->tvx", local, corners)
    return steep, np.einsum("tq,vqtx->tvx", np.abs(local), np.abs(corners))


class Pieces(NamedTuple):
    """A mesh whose triangles are cut into small ones, with bounds on a at their corners.

    Attributes:
      mesh: covers the paths of all rankings.
      law: of K.
      small: Float["pieces corners 3"], barycentric, the pieces of a triangle.
      ours: Float["pieces triangles corners"], of a linear function that a(u) is at most.
      theirs: the same of one that a(u') is at least.
      order: Int["pieces*triangles"], pieces of all triangles, those above one thin column together.
      starts: Int["thin columns"], where those above each begin.
      thin: Int["thin columns"], the numbers of these: ``parts`` in each column.
    """

    mesh: PathMesh
    law: Repetitions
    small: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    thin: np.ndarray


def cut(law: Repetitions, mesh: PathMesh, parts: int = _PARTS) -> Pieces:
    """The mesh with ``parts`` parts of each edge of a triangle, and of each column."""
    small = _small_triangles(parts)
    points = _at_corners(small, mesh.corners)
    first, second, third = np.moveaxis(points, 3, 0)
    low = np.minimum(np.minimum(first, second), third)
    high = np.maximum(np.maximum(first, second), third)
    ends = slope_at(law, np.stack([low[0], high[0]]))
    value, slope, middle = _supporting(law, low[1], high[1])
    # Never 0 but for columns that coincide in float64, whose chord is then flat.
    span = np.maximum(high[0] - low[0], 1e-300)
    rise = (points[0] - low[0][..., None]) / span[..., None]
    # a(u) stands in the inequality with +, a(u') with -: the one needs an upper bound, the other a
    # lower.
    ours = ends[0][..., None] + (ends[1] - ends[0])[..., None] * rise
    theirs = value[..., None] + slope[..., None] * (points[1] - middle[..., None])
    # Pieces of a triangle never cross a line between thin columns: parts of its edges end there.
    start, width = mesh.edges[mesh.column], np.diff(mesh.edges)[mesh.column]
    centre = (points[0].mean(axis=2) - start) / width
    part = np.clip((centre * parts).astype(int), 0, parts - 1)
    number = (mesh.column * parts + part).ravel()
    order = np.argsort(number, kind="stable")
    thin, starts = np.unique(number[order], return_index=True)
    return Pieces(mesh, law, small, ours, theirs, order, starts, thin)


class _Failure:
    """Bounds on the integral over u of the largest violation of the inequality, by column.

    What does not depend on epsilon is computed once.

    Args:
      pieces: of the mesh.
      price: convex.
      steep, added: from ``_gradients_at_corners``.
    """

    def __init__(self, pieces: Pieces, price: Price, steep: np.ndarray, added: np.ndarray) -> None:
        self._pieces, self._price = pieces, price
        along, self._across = _at_corners(pieces.small, steep)
        size = np.max(added, axis=1)
        size_along, self._size = (size[None, :, None, side] for side in range(2))
        self._along = along + _UNIT * (size_along + pieces.ours)
        # Neighbouring pieces have corners in common, where it is the same.
        points, place = _corner_points(pieces.small)
        without_gain = _conjugate(price, steep[..., 1] @ points.T, size[:, None, 1])
        self._without_gain = np.ascontiguousarray(without_gain.T[place].transpose(0, 2, 1))

    def at(self, epsilon: float) -> np.ndarray:
        """Float["columns"]."""
        pieces, mesh = self._pieces, self._pieces.mesh
        # The gain is the larger of 0 and its value without the bracket.
        # The largest over s of s W_u' - lambda(s), plus the gain, is a conjugate of the price at
        # each of the two slopes that the bracket allows.
        less = math.exp(epsilon) * pieces.theirs
        gained = _conjugate(self._price, self._across - less, self._size + less)
        gained += pieces.ours
        failing = np.maximum(self._without_gain, gained, out=gained)
        failing += self._along
        # Of the three corners, without a loop for each piece.
        largest = functools.reduce(np.maximum, np.moveaxis(failing, 2, 0))
        width, parts = np.diff(mesh.edges), math.isqrt(pieces.small.shape[0])
        worst = np.full((width.size, parts), -np.inf)
        worst.flat[pieces.thin] = np.maximum.reduceat(largest.flat[pieces.order], pieces.starts)
        # Parts of a column as thin as rounding errors are not told apart: all have its largest
        # value.
        thin = (width < _THIN)[:, None] | np.isneginf(worst)
        worst = np.where(thin, worst.max(axis=1, keepdims=True), worst)
        # Signed: where (3) has room to spare, the bound falls by it.
        return np.sum(worst * (width[:, None] / parts), axis=1)


def certifier(
    pair: DominatingPair, pieces: Pieces, price: Price, values: np.ndarray
) -> Callable[[float], Certificate]:
    """What a price and a potential prove of the direction of the pair, at any epsilon.

    Args:
      pair: dominates the base's laws.
      pieces: of a mesh that covers the paths of all rankings; see ``cut``.
      price: any price; it is made convex first.
      values: Float["nodes"], of any W.

    Returns:
      epsilon >= 0 -> the bound, inf where numbers overflow and beyond epsilon = 700, and what it
      lost where. A price and W prove little at epsilons far from that of their program, on either
      side.
    """
    mesh, law, price = pieces.mesh, pieces.law, _convex(price)
    # The convex price needs a last slope of at least its last chord; (3) needs it to be at least
    # every W_u', whose largest value is at a corner.
    slope = np.diff(price.values[-2:]) / np.diff(price.knots[-2:])
    steep, added = _gradients_at_corners(mesh, values)
    rise = steep[..., 1] + _UNIT * added[..., 1]
    steepest = max(float(slope[0]), float(np.max(rise)))
    price = price._replace(last_slope=steepest)
    proposed = proposed_delta(pair, mesh, price, values)
    # Sums cancel: what float64 loses grows with the numbers in them, not with their result.
    _, beyond = price_weights(pair, price.knots)
    size = float(np.max(np.abs(price.values))) + (1.0 + beyond) * abs(steepest)
    size += sum(float(np.abs(values[at]) @ np.abs(part)) for at, part in (mesh.start, mesh.end))
    failure = _Failure(pieces, price, steep, added)

    def certified(epsilon: float) -> Certificate:
        if epsilon > _LARGEST:
            return Certificate(math.inf, np.zeros(mesh.edges.size - 1))
        lost = failure.at(epsilon)
        delta = proposed + float(np.sum(lost)) + ROUNDING * law.mean + _UNIT * size
        return Certificate(delta if math.isfinite(delta) else math.inf, lost)

    return certified
