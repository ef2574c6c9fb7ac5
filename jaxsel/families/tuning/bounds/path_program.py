"""A price of likelihood ratios, and what paths can still gain, by a linear program.

For docs/priced.md: a convex price lambda(s) >= 0 of the ratio s = q'/q, and a function
W(u, u') with

    W_u + s W_u' + [a(u) - e^eps s a(u')]_+ <= lambda(s)    for all s and (u, u'),

give the bound E_P[lambda(p'/p)] + W(0, 0) - W(1, 1). The program minimises it, asking for
the inequality at six points of each triangle only; what it finds is a proposal, which
path_certificate puts right.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jaxsel.accounting.numerics.interior_point import nearly_solved
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.families.tuning.bounds.path_mesh import PathMesh, gradients
from jaxsel.repetitions import Repetitions

_MIDDLE, _TAIL = 1e-3, 1e-13  # masses of P beyond the dense and beyond all knots
_DENSE = 0.75  # share of the knots between
_PLACES = (
    (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0),
    (0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5),
)  # fmt: skip


class Price(NamedTuple):
    """A piecewise linear function of the ratio s = q'/q >= 0.

    Attributes:
      knots: Float["knots"], from 0, increasing.
      values: Float["knots"], at the knots.
      last_slope: beyond the last knot; the price of mass that has q = 0.
    """

    knots: np.ndarray
    values: np.ndarray
    last_slope: float


def slope_at(law: Repetitions, u: np.ndarray) -> np.ndarray:
    """a(u) = f'(1 - u); beyond 0 and 1 its value there."""
    return np.asarray(law.pgf_derivative_tail(np.clip(u, 0.0, 1.0)))


def ratio_knots(pair: DominatingPair, count: int) -> np.ndarray:
    """About ``count`` ratios p'/p, from 0, dense where P has its mass."""
    finite = np.isfinite(pair.loss) & (pair.first > 0.0)
    loss = pair.loss[finite]
    reached = np.cumsum(pair.first[finite])
    ends = np.interp(
        [_TAIL, _MIDDLE, 1.0 - _MIDDLE, 1.0 - _TAIL], reached / reached[-1], loss
    )
    dense, rest = int(_DENSE * count), (count - int(_DENSE * count)) // 2
    losses = np.concatenate([
        np.linspace(ends[0], ends[1], rest + 1)[:-1],
        np.linspace(ends[1], ends[2], max(dense, 2)),
        np.linspace(ends[2], ends[3], rest + 1)[1:],
    ])  # fmt: skip
    return np.append(0.0, np.unique(np.exp(-losses)))


def price_weights(pair: DominatingPair, knots: np.ndarray) -> tuple[np.ndarray, float]:
    """E_P[lambda(p'/p)] as weights of a price's values, and of its last slope.

    P' mass where P has none, or that a pair leaves out, counts beyond the last knot.
    """
    seen = pair.first > 0.0
    mass, loss = pair.first[seen], pair.loss[seen]
    ratio = np.exp(-loss)  # 0 at infinite loss
    weights = np.zeros(knots.size)
    inside = ratio <= knots[-1]
    place = np.clip(
        np.searchsorted(knots, ratio[inside], side="right") - 1, 0, knots.size - 2
    )
    part = (ratio[inside] - knots[place]) / (knots[place + 1] - knots[place])
    np.add.at(weights, place, mass[inside] * (1.0 - part))
    np.add.at(weights, place + 1, mass[inside] * part)
    weights[-1] += float(np.sum(mass[~inside]))
    beyond = float(np.sum(mass[~inside] * (ratio[~inside] - knots[-1])))
    return weights, beyond + max(0.0, 1.0 - float(np.sum(mass * ratio)))


class _Rows:
    """Constraints, gathered."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.limits: list[np.ndarray] = []
        self.count = 0

    def add(
        self, columns: list[np.ndarray], values: list[np.ndarray], limits: np.ndarray
    ) -> None:
        """len(limits) constraints; each list holds one array an unknown."""
        rows = self.count + np.arange(limits.size)
        for column, value in zip(columns, values, strict=True):
            self.parts.append((rows, column, value))
        self.limits.append(limits)
        self.count += limits.size

    def matrix(self, unknowns: int) -> sparse.csr_matrix:
        rows, columns, values = (
            np.concatenate(part) for part in zip(*self.parts, strict=True)
        )
        return sparse.csr_matrix(
            (values, (rows, columns)), shape=(self.count, unknowns)
        )


def _inequalities(
    rows: _Rows, mesh: PathMesh, law: Repetitions, epsilon: float, knots: np.ndarray
) -> None:
    """The inequality at six points of each triangle, at every knot and beyond the last."""
    triangles = mesh.nodes.shape[0]
    ratio = math.exp(epsilon)
    last = np.full(triangles, mesh.count + knots.size)
    for place in _PLACES:
        point = np.einsum("v,tvc->tc", np.array(place), mesh.corners)
        ours, theirs = slope_at(law, point[:, 0]), slope_at(law, point[:, 1])
        basis = gradients(mesh, place)
        used = [q for q in range(6) if np.any(basis[q] != 0.0)]
        nodes = [mesh.nodes[:, q] for q in used]
        for number, s in enumerate(knots.tolist()):
            scale = 1.0 / (1.0 + s)
            gain = np.maximum(0.0, ours - ratio * s * theirs)
            price = np.full(triangles, mesh.count + number)
            rows.add(
                [*nodes, price],
                [
                    *((basis[q][:, 0] + s * basis[q][:, 1]) * scale for q in used),
                    np.full(triangles, -scale),
                ],
                -gain * scale,
            )
        if max(place) == 1.0:
            rows.add(
                [*nodes, last],
                [*(basis[q][:, 1] for q in used), np.full(triangles, -1.0)],
                np.zeros(triangles),
            )


def _convexity(rows: _Rows, count: int, knots: np.ndarray) -> None:
    """Slopes of the price do not fall."""
    steps = np.diff(knots)
    for k in range(1, knots.size):
        left = 1.0 / steps[k - 1]
        if k < knots.size - 1:
            right = 1.0 / steps[k]
            columns, values = (k - 1, k, k + 1), (-left, left + right, -right)
        else:
            columns, values = (k - 1, k, k + 1), (-left, left, -1.0)
        scale = 1.0 / max(abs(value) for value in values)
        rows.add(
            [np.array([count + column]) for column in columns],
            [np.array([value * scale]) for value in values],
            np.zeros(1),
        )


def proposal(
    pair: DominatingPair,
    law: Repetitions,
    mesh: PathMesh,
    knots: np.ndarray,
    epsilon: float,
) -> tuple[Price, np.ndarray]:
    """A price, and W at the nodes of the mesh, that nearly minimise the bound."""
    rows = _Rows()
    _inequalities(rows, mesh, law, epsilon, knots)
    _convexity(rows, mesh.count, knots)
    unknowns = mesh.count + knots.size + 1
    cost = np.zeros(unknowns)
    weights, beyond = price_weights(pair, knots)
    cost[mesh.count : -1], cost[-1] = weights, beyond
    np.add.at(cost, mesh.start[0], mesh.start[1])
    np.add.at(cost, mesh.end[0], -mesh.end[1])
    # W is known but for a constant: its value at one node is 0.
    free = np.delete(np.arange(unknowns), mesh.end[0][0])
    matrix = rows.matrix(unknowns).tocsc()[:, free].tocsr()
    found = np.zeros(unknowns)
    found[free] = nearly_solved(cost[free], matrix, np.concatenate(rows.limits))
    price = Price(knots, found[mesh.count : -1], float(found[-1]))
    return price, found[: mesh.count]
