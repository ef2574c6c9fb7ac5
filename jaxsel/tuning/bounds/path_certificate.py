"""Certifies the bound of a proposed price and W: docs/priced.md, section 4.

Each triangle is cut into smaller ones. There the gradient of W is linear, a(u) lies below
its chord and a(u') above a supporting line, so that the left side of the inequality is at
most a convex function, largest at a corner; in s it is convex between the knots of the
price. So finitely many numbers bound the violation of the inequality everywhere, and the
violations in a column add at most their largest value times the width of the column.
"""

import math

import numpy as np

from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.path_mesh import PathMesh, gradients
from jaxsel.tuning.bounds.path_program import Price, proposed_delta, slope_at

# 256 pieces of a triangle, and as many thin columns of each column: what is lost by chords and by
# the largest value of a column falls with both.
_PARTS = 16  # of each edge of a triangle
# Allowance for rounding of the sums, relative to E[K]: far above the actual errors.
ROUNDING = 1e-11


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


def _conjugate(price: Price, slopes: np.ndarray) -> np.ndarray:
    """max over the knots s of slope s - price(s), for a convex price."""
    falls = np.diff(price.values) / np.diff(price.knots)
    # For a convex price slope s - price(s) grows as long as the price's slope is smaller.
    knot = np.searchsorted(falls, slopes)
    return slopes * price.knots[knot] - price.values[knot]


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


def _at_corners(pieces: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Float["2 pieces triangles corners"] of Float["triangles 3 2"], given at corners."""
    return np.matmul(linear.transpose(2, 0, 1)[:, None], pieces.transpose(0, 2, 1))


def _supporting(law: Repetitions, low: np.ndarray, high: np.ndarray):
    """(value at the middle, slope) of lines below the convex a between low and high."""
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    middle = 0.5 * (low + high)
    # A law of K gives a = f'(1 - u) but not its derivative; a chord about the middle stands in for
    # the tangent.
    step = np.maximum(1e-3 * (high - low), 1e-12)
    left, right = np.maximum(middle - step, 0.0), np.minimum(middle + step, 1.0)
    before, at, after = (slope_at(law, x) for x in (left, middle, right))
    # a falls; rounding might say otherwise, where it hardly does.
    slope = np.minimum((after - before) / (right - left), 0.0)
    chord = before + slope * (middle - left)
    # A chord exceeds a convex function by at most twice the excess at the midpoint.
    return np.minimum(at, chord) - 2.0 * np.maximum(chord - at, 0.0), slope, middle


def _failure(
    mesh: PathMesh, values: np.ndarray, law: Repetitions, epsilon: float, price: Price, parts: int
) -> float:
    """A bound on the integral over u of the largest violation of the inequality."""
    pieces = _small_triangles(parts)  # Float["pieces corners 3"], barycentric
    points = _at_corners(pieces, mesh.corners)
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
    # W is quadratic on a triangle, so its gradient is linear and given by its corner
    # values.
    corners = [np.array(gradients(mesh, tuple(place))) for place in np.eye(3)]
    steep = np.einsum("tq,vqtx->tvx", values[mesh.nodes], np.array(corners))
    along, across = _at_corners(pieces, steep)
    # The gain is the larger of 0 and its value without the bracket.
    # The largest over s of s W_u' - lambda(s), plus the gain, is a conjugate of the price at each
    # of the two slopes that the bracket allows.
    failing = along + np.maximum(
        _conjugate(price, across), ours + _conjugate(price, across - math.exp(epsilon) * theirs)
    )
    width = np.diff(mesh.edges)
    # Pieces of a triangle never cross a line between thin columns: parts of its edges end there.
    centre = (points[0].mean(axis=2) - mesh.edges[mesh.column]) / width[mesh.column]
    part = np.clip((centre * parts).astype(int), 0, parts - 1)
    worst = np.full((width.size, parts), -np.inf)
    place = np.broadcast_to(mesh.column, part.shape), part
    np.maximum.at(worst, place, failing.max(axis=2))
    # Signed: where (3) has room to spare, the bound falls by it.
    return float(np.sum(worst * (width[:, None] / parts)))


def certified(
    pair: DominatingPair,
    law: Repetitions,
    mesh: PathMesh,
    epsilon: float,
    price: Price,
    values: np.ndarray,
    *,
    parts: int = _PARTS,
) -> float:
    """A proven bound on delta(epsilon) in the direction of the pair.

    Args:
      pair: dominates the base's laws.
      law: of K.
      mesh: covers the paths of all rankings.
      epsilon: >= 0.
      price: any price; it is made convex first.
      values: Float["nodes"], of any W.
      parts: of each edge of a triangle, for the check.

    Returns:
      The bound; it may exceed 1.
    """
    price = _convex(price)
    # The convex price needs a last slope of at least its last chord; (3) needs it to be at least
    # every W_u', whose largest value is at a corner.
    slope = np.diff(price.values[-2:]) / np.diff(price.knots[-2:])
    steepest = float(slope[0])
    for place in np.eye(3):
        basis = gradients(mesh, tuple(place))
        rise = np.einsum("tq,qt->t", values[mesh.nodes], np.array(basis)[:, :, 1])
        steepest = max(steepest, float(np.max(rise)))
    proposed = proposed_delta(pair, mesh, price._replace(last_slope=steepest), values)
    failure = _failure(mesh, values, law, epsilon, price, parts)
    # Sums cancel: what float64 loses grows with the largest numbers in them, not with their result.
    size = float(np.max(np.abs(price.values))) + float(np.max(np.abs(values)))
    return proposed + failure + ROUNDING * (law.mean + size)
