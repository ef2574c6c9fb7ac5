"""Triangles that cover the paths of all rankings, for docs/priced.md.

A ranking is a path u -> u' from (0, 0) to (1, 1): the probabilities of a better run on
either side. All paths stay between two trade-off curves, 1 - T(1 - u) <= u' <= T(u). A mesh is a
polygon around that region, cut into columns of u and each column into triangles; a
function on it is quadratic on every triangle and continuous, hence given by its values at
the corners and at the middles of the edges.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.dominating import DominatingPair, pair_tradeoff
from jaxsel.repetitions import Repetitions

# Where the region is thin, as at (0, 0) and (1, 1), a triangle without height has no gradient.
_THICKNESS = 1e-5  # least height of the polygon, on either side of u' = u
_CROWDED = 1.5  # exponent that concentrates rows near the upper edge, where the worst paths are
_WEIGHT = 0.5  # weight of the law of K in the spacing of columns; the rest is sqrt(u)


class PathMesh(NamedTuple):
    """A mesh of "triangles" triangles in "columns" columns.

    Attributes:
      edges: Float["columns + 1"], ends of the columns, from 0 to 1.
      corners: Float["triangles 3 2"], (u, u') of each corner.
      column: Int["triangles"].
      nodes: Int["triangles 6"], indices of the nodes at the corners 0, 1, 2 and at the
        middles of the edges 01, 12, 20.
      count: the number of nodes.
      slopes: Float["triangles 3 2"], gradients of the barycentric coordinates.
      start, end: (nodes, weights) that give the value at (0, 0) and at (1, 1).
    """

    edges: np.ndarray
    corners: np.ndarray
    column: np.ndarray
    nodes: np.ndarray
    count: int
    slopes: np.ndarray
    start: tuple[np.ndarray, np.ndarray]
    end: tuple[np.ndarray, np.ndarray]


def gradients(mesh: PathMesh, place: tuple[float, float, float]) -> list[np.ndarray]:
    """Gradients of the six basis functions of every triangle, at a barycentric point.

    Returns:
      Six Float["triangles 2"].
    """
    # The quadratic basis is b (2 b - 1) at a corner and 4 b b' at the middle of an edge, b and b'
    # being barycentric coordinates.
    found = [(4.0 * place[v] - 1.0) * mesh.slopes[:, v] for v in range(3)]
    for p, q in ((0, 1), (1, 2), (2, 0)):
        found.append(4.0 * (place[p] * mesh.slopes[:, q] + place[q] * mesh.slopes[:, p]))
    return found


def first_columns(law: Repetitions, count: int) -> np.ndarray:
    """Ends of ``count`` columns, from 0 to 1, dense where the best of K is likely to be."""
    # For large K all that matters happens at u of about 1/K.
    u = np.append(0.0, np.geomspace(1e-9, 1.0, 20_001))
    reached = np.asarray(law.pgf_gap(u))
    # A trade-off may be steepest at its start, where sqrt(u) puts columns whatever K is.
    travelled = _WEIGHT * reached / reached[-1] + (1.0 - _WEIGHT) * np.sqrt(u)
    ends = np.interp(np.linspace(0.0, 1.0, count + 1), travelled, u)
    ends[0], ends[-1] = 0.0, 1.0
    return ends


def split_columns(ends: np.ndarray, lost: np.ndarray, least: float, count: int) -> np.ndarray:
    """Ends of a mesh with up to ``count`` more columns, where a proof lost most.

    Args:
      ends: Float["columns + 1"], of the mesh of that proof.
      lost: Float["columns"], what the proof lost in each; not above 0 where nothing was lost.
      least: columns that are thought to lose less are not split.
      count: of columns to add.
    """
    parts = np.ones(lost.size, dtype=int)
    left = np.array(lost)
    for _ in range(count):
        worst = int(np.argmax(left))
        if not left[worst] > least:
            break
        parts[worst] += 1
        # A column in n parts loses about 1/n^2 as much: chords err by the square of their lengths.
        left[worst] = lost[worst] / parts[worst] ** 2
    pieces = [
        np.linspace(first, last, part, endpoint=False)
        for first, last, part in zip(ends[:-1], ends[1:], parts, strict=True)
    ]
    return np.append(np.concatenate(pieces), ends[-1])


def _above(
    curve: Callable[[np.ndarray], np.ndarray], kinks: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Heights at the ends such that chords are above a concave curve with these kinks."""
    heights = np.asarray(curve(ends), dtype=np.float64)
    inside = kinks[(kinks > 0.0) & (kinks < 1.0)]
    chord = np.interp(inside, ends, heights)
    over = np.maximum(np.asarray(curve(inside)) - chord, 0.0)
    # The curve is piecewise linear, so checking its kinks is sufficient.
    place = np.clip(np.searchsorted(ends, inside, side="right") - 1, 0, ends.size - 2)
    # Both ends of a chord by what its worst kink needs: a chord that is raised by so much at both
    # lies above all of them.
    gap = np.zeros(ends.size - 1)
    np.maximum.at(gap, place, over)
    raised = heights.copy()
    raised[:-1] = np.maximum(raised[:-1], heights[:-1] + gap)
    raised[1:] = np.maximum(raised[1:], heights[1:] + gap)
    return raised


def _value_at(heights: np.ndarray, at: float, first: int):
    """(nodes, weights) of a point on a vertical edge with corners at these heights."""
    row = int(np.clip(np.searchsorted(heights, at) - 1, 0, heights.size - 2))
    part = (at - heights[row]) / (heights[row + 1] - heights[row])
    # The quadratic through both corners and the middle of the edge, at this part of it: (0, 0) and
    # (1, 1) are no nodes.
    weights = np.array(
        [(1.0 - part) * (1.0 - 2.0 * part), 4.0 * part * (1.0 - part), part * (2.0 * part - 1.0)]
    )
    return first + 2 * row + np.arange(3), weights


def _with_middles(lines: np.ndarray) -> np.ndarray:
    """Lines with the middles between neighbours, along the first axis."""
    found = np.repeat(lines, 2, axis=0)[:-1]
    found[1::2] = 0.5 * (lines[:-1] + lines[1:])
    return found


def path_mesh(pair: DominatingPair, ends: np.ndarray, *, rows: int) -> PathMesh:
    """The mesh of one direction.

    Args:
      pair: (P, P'), dominating; its trade-off bounds the paths.
      ends: Float["columns + 1"], of the columns of u, from 0 to 1; see `first_columns`.
      rows: cells across the region in each column, two triangles each.
    """
    columns = ends.size - 1
    tradeoff = pair_tradeoff(pair)
    # T adds the outputs in the order of their losses: it turns where the next one begins.
    kinks = np.cumsum(pair.first)
    margin = 1e-12 + _THICKNESS
    # A trade-off lies above u, but for rounding; the path of equal laws, u' = u, is to stay inside.
    upper = np.maximum(_above(tradeoff, kinks, ends), ends) + margin
    # The lower edge 1 - T(1 - u) is the upper one turned round.
    below = _above(tradeoff, kinks, 1.0 - ends[::-1])[::-1]
    lower = np.minimum(1.0 - below, ends) - margin
    share = 1.0 - np.linspace(1.0, 0.0, rows + 1) ** _CROWDED
    heights = lower[:, None] + (upper - lower)[:, None] * share
    # Every second line of this grid has corners, the others have middles of edges.
    grid_v = _with_middles(_with_middles(heights).T).T
    grid_u = np.repeat(_with_middles(ends)[:, None], 2 * rows + 1, axis=1)
    number = np.arange(grid_u.size).reshape(grid_u.shape)

    def block(i: int, j: int) -> np.ndarray:
        return number[i : i + 2 * columns - 1 : 2, j : j + 2 * rows - 1 : 2].ravel()

    a, b, c, d = (block(i, j) for i, j in ((0, 0), (0, 2), (2, 0), (2, 2)))
    ab, ac, bd, cd, ad = (block(i, j) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1), (1, 1)))
    # Each cell along the diagonal a-d, from its lower left to its upper right, as paths run.
    nodes = np.concatenate(
        [np.stack([a, c, d, ac, cd, ad], axis=1), np.stack([a, d, b, ad, bd, ab], axis=1)]
    )
    points = np.stack([grid_u.ravel(), grid_v.ravel()], axis=1)
    corners = points[nodes[:, :3]]
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    # Gradients of the second and third coordinate; the three sum to 1, and their gradients to 0.
    one = np.stack([second[:, 1], -second[:, 0]], axis=1) / area[:, None]
    two = np.stack([-first[:, 1], first[:, 0]], axis=1) / area[:, None]
    column = np.tile(np.repeat(np.arange(columns), rows), 2)
    width = 2 * rows + 1
    return PathMesh(
        edges=ends,
        corners=corners,
        column=column,
        nodes=nodes,
        count=grid_u.size,
        slopes=np.stack([-one - two, one, two], axis=1),
        start=_value_at(heights[0], 0.0, 0),
        end=_value_at(heights[-1], 1.0, grid_u.size - width),
    )
