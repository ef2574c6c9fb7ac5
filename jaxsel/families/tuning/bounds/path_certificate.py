"""What a proposed price and W prove: docs/priced.md, section 4.

Each triangle is cut into smaller ones. There the gradient of W is linear, a(u) lies below
its chord and a(u') above a supporting line, so that the left side of the inequality is at
most a convex function, largest at a corner; in s it is convex between the knots of the
price. So finitely many numbers bound by how much the inequality fails anywhere, and what
fails in a column adds at most its largest value times the width of the column.
"""

import math

import numpy as np

from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.families.tuning.bounds.path_mesh import PathMesh, gradients
from jaxsel.families.tuning.bounds.path_program import (
    Price,
    proposed_delta,
    slope_at,
)
from jaxsel.repetitions import Repetitions

PARTS = 16  # of each edge of a triangle
# Rounding of the sums, relative to E[K]: far above what float64 loses in them.
ROUNDING = 1e-11


def _convex(price: Price) -> Price:
    """The largest convex function below the price at its knots."""
    kept = [0]
    for k in range(1, price.knots.size):
        while len(kept) > 1:
            first, second = kept[-2], kept[-1]
            rise = price.values[[second, k]] - price.values[first]
            run = price.knots[[second, k]] - price.knots[first]
            if rise[0] * run[1] < rise[1] * run[0]:
                break
            kept.pop()
        kept.append(k)
    return Price(price.knots[kept], price.values[kept], price.last_slope)


def _small_triangles(parts: int) -> list[np.ndarray]:
    """Barycentric corners, Float["3 3"], of the parts**2 pieces of a triangle."""

    def corner(i: int, j: int) -> list[float]:
        return [(parts - i - j) / parts, i / parts, j / parts]

    pieces = []
    for i in range(parts):
        for j in range(parts - i):
            pieces.append((corner(i, j), corner(i + 1, j), corner(i, j + 1)))
            if i + j < parts - 1:
                pieces.append(
                    (corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1))
                )
    return [np.array(piece) for piece in pieces]


def _supporting(law: Repetitions, low: np.ndarray, high: np.ndarray):
    """(value at the middle, slope) of lines below the convex a between low and high."""
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    middle = 0.5 * (low + high)
    step = np.maximum(1e-3 * (high - low), 1e-12)
    left, right = np.maximum(middle - step, 0.0), np.minimum(middle + step, 1.0)
    before, at, after = (slope_at(law, x) for x in (left, middle, right))
    slope = np.minimum((after - before) / (right - left), 0.0)
    chord = before + slope * (middle - left)
    # Inside, a chord exceeds a convex function by at most twice what it does half-way.
    return np.minimum(at, chord) - 2.0 * np.maximum(chord - at, 0.0), slope, middle


def _failure(
    mesh: PathMesh,
    values: np.ndarray,
    law: Repetitions,
    epsilon: float,
    price: Price,
    parts: int,
) -> float:
    """A bound on the integral over u of the most by which the inequality fails."""
    columns = mesh.edges.size - 1
    worst = np.full((columns, parts), -np.inf)
    ratio = math.exp(epsilon)
    nodal = values[mesh.nodes]
    left, width = mesh.edges[mesh.column], np.diff(mesh.edges)[mesh.column]
    for piece in _small_triangles(parts):
        points = np.einsum("cv,tvx->tcx", piece, mesh.corners)
        low, high = points.min(axis=1), points.max(axis=1)
        ends = slope_at(law, low[:, 0]), slope_at(law, high[:, 0])
        value, slope, middle = _supporting(law, low[:, 1], high[:, 1])
        span = np.maximum(high[:, 0] - low[:, 0], 1e-300)
        found = np.full(mesh.column.size, -np.inf)
        for number in range(3):
            u, v = points[:, number, 0], points[:, number, 1]
            ours = ends[0] + (ends[1] - ends[0]) * (u - low[:, 0]) / span
            theirs = value + slope * (v - middle)
            basis = gradients(mesh, tuple(piece[number]))
            steep = np.einsum("tq,qtc->tc", nodal, np.array(basis))
            gain = ours[:, None] - ratio * price.knots * theirs[:, None]
            total = (
                steep[:, :1] + steep[:, 1:] * price.knots + np.maximum(gain, 0.0)
            ) - price.values
            found = np.maximum(found, total.max(axis=1))
        centre = points[:, :, 0].mean(axis=1)
        part = np.clip(((centre - left) / width * parts).astype(int), 0, parts - 1)
        np.maximum.at(worst, (mesh.column, part), found)
    return float(np.sum(worst * (np.diff(mesh.edges)[:, None] / parts)))


def certified(
    pair: DominatingPair,
    law: Repetitions,
    mesh: PathMesh,
    epsilon: float,
    price: Price,
    values: np.ndarray,
    *,
    parts: int = PARTS,
) -> float:
    """A proven bound on delta(epsilon) in the direction of the pair.

    Args:
      pair: dominates the base's laws.
      law: of K.
      mesh: covers the paths of all rankings.
      epsilon: >= 0.
      price: any; made convex first.
      values: Float["nodes"], of any W.
      parts: of each edge of a triangle, for the check.

    Returns:
      The bound; it may exceed 1.
    """
    price = _convex(price)
    slope = np.diff(price.values[-2:]) / np.diff(price.knots[-2:])
    steepest = float(slope[0])
    for number in range(3):
        place = tuple(np.eye(3)[number])
        basis = gradients(mesh, place)
        rise = np.einsum("tq,qt->t", values[mesh.nodes], np.array(basis)[:, :, 1])
        steepest = max(steepest, float(np.max(rise)))
    proposed = proposed_delta(pair, mesh, price._replace(last_slope=steepest), values)
    failure = _failure(mesh, values, law, epsilon, price, parts)
    size = float(np.max(np.abs(price.values))) + float(np.max(np.abs(values)))
    return proposed + failure + ROUNDING * (law.mean + size)
