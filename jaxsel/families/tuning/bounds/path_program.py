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
    if not np.any(finite):  # every output tells the sides apart
        return np.array([0.0, 1.0])
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
    found = np.unique(np.append(0.0, np.exp(-losses)))
    return found if found.size > 1 else np.array([0.0, 1.0])


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


def proposed_delta(
    pair: DominatingPair, mesh: PathMesh, price: Price, values: np.ndarray
) -> float:
    """E_P[lambda(p'/p)] + W(0, 0) - W(1, 1): the bound, if the inequality held."""
    weights, beyond = price_weights(pair, price.knots)
    paid = float(weights @ price.values) + beyond * price.last_slope
    gained = float(values[mesh.start[0]] @ mesh.start[1])
    gained -= float(values[mesh.end[0]] @ mesh.end[1])
    return paid + gained


class _PathConstraints:
    """The inequality at six points of each triangle, at every knot and beyond the last.

    Unknowns are W at the nodes, the price at the knots, and its last slope. Constraints
    come in three groups: Float["triangles places knots"], the inequality; then
    Float["triangles corners"], W_u' at most the last slope; then Float["knots - 1"], slopes
    of the price that do not fall. All is summed by triangle, never as one large matrix.
    """

    def __init__(
        self, mesh: PathMesh, law: Repetitions, epsilon: float, knots: np.ndarray
    ) -> None:
        triangles, places = mesh.nodes.shape[0], len(_PLACES)
        # Float["triangles places nodes"]: what a node adds to W_u and to W_u'.
        steep = np.array([gradients(mesh, place) for place in _PLACES])
        steep = steep.transpose(2, 0, 1, 3)
        self._along, self._across = steep[..., 0].copy(), steep[..., 1].copy()
        self._scale = 1.0 / (1.0 + knots)
        self._knots, self._nodes, self._count = knots, mesh.nodes, mesh.count
        self._pinned = int(mesh.end[0][0])  # W is known but for a constant
        points = np.einsum("pv,tvc->tpc", np.array(_PLACES), mesh.corners)
        ours, theirs = slope_at(law, points[..., 0]), slope_at(law, points[..., 1])
        gain = ours[..., None] - math.exp(epsilon) * knots * theirs[..., None]
        self._shapes = (triangles, places, knots.size), (triangles, 3)
        self._ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        flat = np.zeros(triangles * 3 + knots.size - 1)
        limits = -np.maximum(gain, 0.0) * self._scale
        self.limits = np.concatenate([limits.ravel(), flat])
        self._convexity = self._second_differences(knots)
        held = np.arange(self._nodes.size)
        self._gather = sparse.csr_matrix(
            (np.ones(held.size), (self._nodes.ravel(), held)),
            shape=(mesh.count, held.size),
        )

    @staticmethod
    def _second_differences(knots: np.ndarray) -> np.ndarray:
        """Float["knots - 1, knots + 1"]: by how much slopes fall; the last one given."""
        steps = np.append(np.diff(knots), 1.0)
        slopes = np.zeros((knots.size, knots.size + 1))
        inner = np.arange(knots.size - 1)
        slopes[inner, inner], slopes[inner, inner + 1] = (
            -1.0 / steps[:-1],
            1.0 / steps[:-1],
        )
        slopes[-1, -1] = 1.0
        falls = slopes[:-1] - slopes[1:]
        return falls / np.max(np.abs(falls), axis=1, keepdims=True)

    def _parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second = self._ends
        return (
            rows[:first].reshape(self._shapes[0]),
            rows[first:second].reshape(self._shapes[1]),
            rows[second:],
        )

    def _scatter(self, by_node: np.ndarray) -> np.ndarray:
        """Sums over triangles of Float["triangles nodes ..."], by node."""
        return self._gather @ by_node.reshape(self._nodes.size, -1)

    def times(self, unknowns: np.ndarray) -> np.ndarray:
        """See Constraints."""
        nodal = unknowns[: self._count].copy()
        nodal[self._pinned] = 0.0
        values = nodal[self._nodes]
        along = np.einsum("tpq,tq->tp", self._along, values)
        across = np.einsum("tpq,tq->tp", self._across, values)
        price, last = unknowns[self._count : -1], unknowns[-1]
        rows = along[..., None] + across[..., None] * self._knots - price
        return np.concatenate([
            (rows * self._scale).ravel(),
            (across[:, :3] - last).ravel(),
            self._convexity @ unknowns[self._count :],
        ])  # fmt: skip

    def transposed(self, prices: np.ndarray) -> np.ndarray:
        """See Constraints."""
        rows, steepest, falls = self._parts(prices)
        rows = rows * self._scale
        across = rows @ self._knots
        across[:, :3] += steepest
        by_node = np.einsum("tp,tpq->tq", rows.sum(axis=2), self._along)
        by_node += np.einsum("tp,tpq->tq", across, self._across)
        nodal = self._scatter(by_node)[:, 0]
        nodal[self._pinned] = 0.0
        of_price = np.append(-rows.sum(axis=(0, 1)), -np.sum(steepest))
        return np.concatenate([nodal, of_price + self._convexity.T @ falls])

    def normal(self, weights: np.ndarray) -> np.ndarray:
        """See Constraints."""
        rows, steepest, falls = self._parts(weights)
        rows = rows * self._scale**2
        moments = [rows @ self._knots**power for power in range(3)]
        moments[2][:, :3] += steepest
        size, count = self._count + self._knots.size + 1, self._count
        found = np.zeros((size, size))
        block = np.einsum("tp,tpq,tpr->tqr", moments[0], self._along, self._along)
        mixed = np.einsum("tp,tpq,tpr->tqr", moments[1], self._along, self._across)
        block += mixed + mixed.transpose(0, 2, 1)
        block += np.einsum("tp,tpq,tpr->tqr", moments[2], self._across, self._across)
        one, other = np.broadcast_arrays(
            self._nodes[:, :, None], self._nodes[:, None, :]
        )
        nodal = sparse.csr_matrix(
            (block.ravel(), (one.ravel(), other.ravel())), shape=(count, count)
        )
        found[:count, :count] = nodal.toarray()
        coupled = np.zeros((*self._nodes.shape, self._knots.size + 1))
        coupled[..., :-1] = -np.einsum("tpk,tpq->tqk", rows, self._along)
        coupled[..., :-1] -= np.einsum("tpk,tpq->tqk", rows * self._knots, self._across)
        coupled[..., -1] = -np.einsum("tp,tpq->tq", steepest, self._across[:, :3])
        found[:count, count:] = self._scatter(coupled)
        found[count:, :count] = found[:count, count:].T
        price = np.diag(np.append(rows.sum(axis=(0, 1)), np.sum(steepest)))
        price += self._convexity.T @ (falls[:, None] * self._convexity)
        found[count:, count:] = price
        found[self._pinned, :] = found[:, self._pinned] = 0.0
        found[self._pinned, self._pinned] = 1.0
        return found


def proposal(
    pair: DominatingPair,
    law: Repetitions,
    mesh: PathMesh,
    knots: np.ndarray,
    epsilon: float,
) -> tuple[Price, np.ndarray]:
    """A price, and W at the nodes of the mesh, that nearly minimise the bound."""
    constraints = _PathConstraints(mesh, law, epsilon, knots)
    cost = np.zeros(mesh.count + knots.size + 1)
    weights, beyond = price_weights(pair, knots)
    cost[mesh.count : -1], cost[-1] = weights, beyond
    np.add.at(cost, mesh.start[0], mesh.start[1])
    np.add.at(cost, mesh.end[0], -mesh.end[1])
    cost[mesh.end[0][0]] = 0.0
    found = nearly_solved(cost, constraints, constraints.limits)
    found[mesh.end[0][0]] = 0.0
    price = Price(knots, found[mesh.count : -1], float(found[-1]))
    return price, found[: mesh.count]
