"""A linear program for a price of likelihood ratios and for the potential W of paths.

For docs/priced.md: a convex price lambda(s) >= 0 of the ratio s = q'/q, and a function
W(u, u') with

    W_u + s W_u' + [a(u) - e^eps s a(u')]_+ <= lambda(s)    for all s and (u, u'),

give the bound E_P[lambda(p'/p)] + W(0, 0) - W(1, 1). The program minimises it under the
inequality at six points of each triangle only; its solution is a proposal, which
path_certificate turns into a proven bound.
"""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jaxsel.accounting.numerics.interior_point import Bordered, nearly_solved
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.path_mesh import PathMesh, gradients

# A price has one slope beyond its last knot: where that lies in the mass, what is extrapolated is
# too low and fails (3) of docs/priced.md there.
_MIDDLE, _TAIL = 1e-3, 1e-13  # masses of P beyond the dense knots and beyond all knots
# The certificate proves whatever price it is given, and the program's value is some ten times
# nearer to the least one than the gap is.
_GAP = 1e-2  # relative gap between the program and its dual
_INSIDE = 0.05  # of the cost of a solution nearby, by which it is moved away from constraints
_LEAST_WEIGHT = 1e-6  # of a price's value in the cost, relative to the start's cost / E[K]
_DENSE = 0.75  # fraction of the knots in between
# Barycentric, the corners first: `_PathConstraints` takes the first three for W_u' <= slope, which
# is linear in a triangle and decided there. The middles are for a(u) and a(u'), which are not.
_PLACES = (
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
    (0.5, 0.5, 0.0),
    (0.0, 0.5, 0.5),
    (0.5, 0.0, 0.5),
)


class Price(NamedTuple):
    """A piecewise linear function of the ratio s = q'/q >= 0.

    Attributes:
      knots: Float["knots"], from 0, increasing.
      values: Float["knots"], at the knots.
      last_slope: slope beyond the last knot; the price of mass with q = 0.
    """

    knots: np.ndarray
    values: np.ndarray
    last_slope: float


class Proposal(NamedTuple):
    """The solution of a program, which proves a bound at every epsilon.

    Attributes:
      price: of likelihood ratios.
      values: Float["nodes"], of the potential W.
      delta: the value of the program, which is what a proof without losses would prove.
      slope: its derivative in epsilon, at most 0.
      epsilon: of the program.
      prices: Float["constraints"], of the dual.
    """

    price: Price
    values: np.ndarray
    delta: float
    slope: float
    epsilon: float
    prices: np.ndarray


def slope_at(law: Repetitions, u: np.ndarray) -> np.ndarray:
    """a(u) = f'(1 - u), with u clipped to [0, 1]."""
    # A mesh is a little larger than the region of the paths.
    return np.asarray(law.pgf_derivative_tail(np.clip(u, 0.0, 1.0)))


def ratio_knots(pair: DominatingPair, count: int) -> np.ndarray:
    """About ``count`` ratios p'/p, from 0, dense where P has its mass."""
    finite = np.isfinite(pair.loss) & (pair.first > 0.0)
    if not np.any(finite):  # every output distinguishes the sides
        return np.array([0.0, 1.0])
    loss = pair.loss[finite]
    reached = np.cumsum(pair.first[finite])
    ends = np.interp([_TAIL, _MIDDLE, 1.0 - _MIDDLE, 1.0 - _TAIL], reached / reached[-1], loss)
    dense, rest = int(_DENSE * count), (count - int(_DENSE * count)) // 2
    # Evenly in the loss, since the ratios that P reaches span orders of magnitude.
    losses = np.concatenate(
        [
            np.linspace(ends[0], ends[1], rest + 1)[:-1],
            np.linspace(ends[1], ends[2], max(dense, 2)),
            np.linspace(ends[2], ends[3], rest + 1)[1:],
        ]
    )
    # The ratio 0 belongs to outputs that P' does not have, whose price is the value at 0; and a
    # price is convex on all of s >= 0.
    found = np.unique(np.append(0.0, np.exp(-losses)))
    # Losses above 745 underflow to the ratio 0, and a price needs one interval at least.
    return found if found.size > 1 else np.array([0.0, 1.0])


def price_weights(pair: DominatingPair, knots: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of a price's values, and of its last slope, in its mean E_P[lambda(p'/p)].

    Mass of P' where P has none, or that is missing from it, counts beyond the last knot; mass
    that is missing from P counts at the ratio 0.
    """
    seen = pair.first > 0.0
    mass, loss = pair.first[seen], pair.loss[seen]
    # What P does not have is no part of E_P; it costs the last slope, in the last line.
    ratio = np.exp(-loss)  # 0 at infinite loss
    weights = np.zeros(knots.size)
    inside = ratio <= knots[-1]
    place = np.clip(np.searchsorted(knots, ratio[inside], side="right") - 1, 0, knots.size - 2)
    part = (ratio[inside] - knots[place]) / (knots[place + 1] - knots[place])
    np.add.at(weights, place, mass[inside] * (1.0 - part))
    np.add.at(weights, place + 1, mass[inside] * part)
    # Beyond the last knot the price is its value there, plus the last slope times what is over.
    weights[-1] += float(np.sum(mass[~inside]))
    # What P lacks to 1 counts as an output that P' does not have.
    weights[0] += max(0.0, 1.0 - float(np.sum(mass)))
    beyond = float(np.sum(mass[~inside] * (ratio[~inside] - knots[-1])))
    return weights, beyond + max(0.0, 1.0 - float(np.sum(mass * ratio)))


def _everywhere(
    weights: np.ndarray, beyond: float, knots: np.ndarray, least: float
) -> tuple[np.ndarray, float]:
    """Weights of two laws that are nearly the given ones, with about ``least`` at every ratio."""
    more = np.maximum(least / np.maximum(knots, 1.0) - weights, 0.0)
    # As much of either law: a program adds a + b s to a price and a u + b u' to W without limit if
    # that costs anything.
    over = float(np.sum(more * (1.0 - knots)))
    more[0] += least + max(-over, 0.0)
    whole = 1.0 + float(np.sum(more))
    return (weights + more) / whole, (beyond + least + max(over, 0.0)) / whole


def proposed_delta(pair: DominatingPair, mesh: PathMesh, price: Price, values: np.ndarray) -> float:
    """The bound on delta, if the inequality held: E_P[lambda(p'/p)] + W(0, 0) - W(1, 1).

    Args:
      pair: the dominating pair.
      mesh: of the potential W.
      price: lambda.
      values: of W at the nodes.
    """
    weights, beyond = price_weights(pair, price.knots)
    paid = float(weights @ price.values) + beyond * price.last_slope
    gained = float(values[mesh.start[0]] @ mesh.start[1])
    gained -= float(values[mesh.end[0]] @ mesh.end[1])
    return paid + gained


class _PathConstraints:
    """The inequality at six points of each triangle, at every knot and beyond the last.

    Unknowns are W at the nodes, the price at the knots, and its last slope. Constraints
    come in three groups: Float["triangles places knots"], the inequality; then
    Float["triangles corners"], W_u' at most the last slope; then Float["knots - 1"],
    non-decreasing slopes of the price. All products are summed by triangle, without one
    large matrix.
    """

    def __init__(self, mesh: PathMesh, law: Repetitions, epsilon: float, knots: np.ndarray) -> None:
        triangles, places = mesh.nodes.shape[0], len(_PLACES)
        # Float["triangles places nodes"]: contributions of a node to W_u and to W_u'.
        steep = np.array([gradients(mesh, place) for place in _PLACES])
        # Triangles first, then places: the first three rows of each triangle are its corners.
        steep = steep.transpose(2, 0, 1, 3)
        # W is determined up to a constant, so one node is fixed at 0.
        self._pinned = int(mesh.end[0][0])
        steep = np.where((mesh.nodes == self._pinned)[:, None, :, None], 0.0, steep)
        self._count = mesh.count
        along, across = (self._by_node(mesh.nodes, steep[..., side]) for side in range(2))
        # As s grows, (3) divided by s tends to W_u' <= last slope: these rows are the inequality
        # for all ratios beyond the last knot.
        corners = across[np.arange(triangles * places) % places < 3]
        self._of_corners = corners.T.tocsr()
        self._of_places = sparse.hstack([along.T, across.T], format="csr")
        self._to_places = sparse.vstack([along, across], format="csr")
        self._by_sides = sparse.vstack([along.T, across.T], format="csr")
        self._squares = self._band_of_squares(mesh.nodes, steep)
        # Entries of a row grow with its ratio, by orders of magnitude, and the solver's test for
        # feasibility is absolute: this makes all rows of one order.
        self._scale = 1.0 / (1.0 + knots)
        self._knots = knots
        # W enters the row of a ratio as W_u + s W_u': sums over ratios need the moments of 1 and s
        # alone, products of two rows those of s^2, too. So no matrix with a row per ratio is
        # formed.
        self._powers = knots[:, None] ** np.arange(3)
        points = np.einsum("pv,tvc->tpc", np.array(_PLACES), mesh.corners)
        self._ours, self._theirs = (slope_at(law, points[..., side]) for side in range(2))
        self._shapes = (triangles, places, knots.size), (triangles, 3)
        self._ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        self._convexity = self._second_differences(knots)
        self._set(epsilon)

    def at(self, epsilon: float) -> "_PathConstraints":
        """The constraints of another epsilon, which share all but the limits."""
        found = copy.copy(self)
        found._set(epsilon)
        return found

    def _set(self, epsilon: float) -> None:
        self._raised = math.exp(epsilon) * self._theirs
        gain = self._ours[..., None] - self._knots * self._raised[..., None]
        flat = np.zeros(math.prod(self._shapes[1]) + self._knots.size - 1)
        limits = -np.maximum(gain, 0.0) * self._scale
        self.limits = np.concatenate([limits.ravel(), flat])

    def _by_node(self, nodes: np.ndarray, steep: np.ndarray) -> sparse.csr_array:
        """Float["triangles*places count"], from Float["triangles places nodes"]."""
        rows = np.arange(steep.shape[0] * steep.shape[1]).reshape(steep.shape[:2])
        rows = np.broadcast_to(rows[..., None], steep.shape)
        columns = np.broadcast_to(nodes[:, None, :], steep.shape)
        entries = steep.ravel(), (rows.ravel(), columns.ravel())
        return sparse.csr_array(entries, shape=(rows.max() + 1, self._count))

    def _band_of_squares(self, nodes: np.ndarray, steep: np.ndarray) -> sparse.csr_array:
        """Contributions of weights of the places, times 1, s and s^2, to the normal matrix.

        Nodes of a triangle have close indices, so the matrix of nodes is banded: its
        entries, as in Bordered, are linear in the weights.
        """
        along, across = steep[..., 0], steep[..., 1]
        mixed = along[..., :, None] * across[..., None, :]
        products = np.stack(
            [
                along[..., :, None] * along[..., None, :],
                mixed + mixed.swapaxes(2, 3),
                across[..., :, None] * across[..., None, :],
            ]
        )
        one, other = nodes[:, None, :, None], nodes[:, None, None, :]
        cells = (one - other) * self._count + other
        # The matrix is symmetric, and `Bordered` holds its lower half.
        lower = np.broadcast_to(one >= other, products.shape)
        cells = np.broadcast_to(cells, products.shape)[lower]
        count = 3 * steep.shape[0] * steep.shape[1]
        places = np.arange(count)
        places = np.broadcast_to(places.reshape(*products.shape[:3], 1, 1), products.shape)[lower]
        width = int(np.max(nodes.max(axis=1) - nodes.min(axis=1))) + 1
        return sparse.csr_array(
            (products[lower], (cells, places)), shape=(width * self._count, count)
        )

    @staticmethod
    def _second_differences(knots: np.ndarray) -> np.ndarray:
        """Float["knots - 1, knots + 1"]: the decrease of slopes; the last slope is an unknown."""
        # The last slope is an unknown itself and no quotient: the step of 1 is never divided by.
        steps = np.append(np.diff(knots), 1.0)
        slopes = np.zeros((knots.size, knots.size + 1))
        inner = np.arange(knots.size - 1)
        slopes[inner, inner], slopes[inner, inner + 1] = (-1.0 / steps[:-1], 1.0 / steps[:-1])
        slopes[-1, -1] = 1.0
        falls = slopes[:-1] - slopes[1:]
        # Steps between knots differ by orders of magnitude; the sign of a row is all that counts.
        return falls / np.max(np.abs(falls), axis=1, keepdims=True)

    def _parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second = self._ends
        return (
            rows[:first].reshape(self._shapes[0]),
            rows[first:second].reshape(self._shapes[1]),
            rows[second:],
        )

    def times(self, unknowns: np.ndarray) -> np.ndarray:
        """See Constraints."""
        nodal = unknowns[: self._count]
        along, across = (self._to_places @ nodal).reshape(2, -1)
        price, last = unknowns[self._count : -1], unknowns[-1]
        found = np.empty(self.limits.size)
        rows, steepest, falls = self._parts(found)
        # One product instead of four passes over all rows, which are most of a program's time.
        of_knots = np.stack([np.ones(price.size), self._knots, -price]) * self._scale
        of_places = np.stack([along, across, np.ones(along.size)], axis=1)
        np.matmul(of_places, of_knots, out=rows.reshape(-1, price.size))
        np.subtract(across.reshape(self._shapes[0][:2])[:, :3], last, out=steepest)
        falls[:] = self._convexity @ unknowns[self._count :]
        return found

    def transposed(self, prices: np.ndarray) -> np.ndarray:
        """See Constraints."""
        rows, steepest, falls = self._parts(prices)
        rows = rows.reshape(-1, self._knots.size)
        sums = rows @ (self._powers[:, :2] * self._scale[:, None])
        # Sums over ratios first: of the weights for `along`, of s times the weights for `across`.
        nodal = self._of_places @ sums.T.ravel() + self._of_corners @ steepest.ravel()
        # The price of a ratio stands with -1 in each row of that ratio, the last slope in those of
        # corners.
        of_price = np.append(-self._scale * rows.sum(axis=0), -np.sum(steepest))
        return np.concatenate([nodal, of_price + self._convexity.T @ falls])

    def enveloping(self, weights: np.ndarray) -> np.ndarray:
        """A point inside: W = 0, and a price above the envelope's.

        Args:
          weights: Float["knots"], of the price's values in the bound.
        """
        gain, _, _ = self._parts(-self.limits)
        envelope = np.max(gain, axis=(0, 1)) / self._scale
        least = float(weights @ envelope)
        # Twice the envelope, whose slack is 0 somewhere, and room for every ratio and for W.
        price = 2.0 * envelope + least * (1.0 + self._knots)
        return np.concatenate([np.zeros(self._count), price, [2.0 * least]])

    def slope(self, prices: np.ndarray) -> float:
        """The derivative of the program's value in epsilon, from the prices of its solution."""
        rows, _, _ = self._parts(np.where(self.limits < 0.0, prices, 0.0))
        return -float(np.sum(self._raised * (rows @ (self._scale * self._knots))))

    def normal(self, weights: np.ndarray) -> Bordered:
        """See Constraints."""
        rows, steepest, falls = self._parts(weights)
        # A^T diag(weights) A has the scale of a row twice, A^T once.
        rows, scale = rows.reshape(-1, self._knots.size), self._scale**2
        moments = (rows @ (self._powers * scale[:, None])).T.copy()
        # A row of a corner is `across` alone, and its square is what the weights of s^2 multiply.
        moments[2].reshape(self._shapes[0][:2])[:, :3] += steepest
        band = (self._squares @ moments.ravel()).reshape(-1, self._count)
        # The pinned node has no entries; any positive number on its diagonal leaves it at 0 and the
        # matrix definite.
        band[0, self._pinned] = 1.0
        # Each price meets the nodes of all triangles, so that its column is full. Two prices never
        # meet in a row but for convexity: their corner is nearly diagonal.
        border = np.empty((self._count, self._knots.size + 1))
        along, across = (self._by_sides @ rows).reshape(2, self._count, -1)
        border[:, :-1] = -scale * (along + self._knots * across)
        border[:, -1] = self._of_corners @ -steepest.ravel()
        corner = np.diag(np.append(scale * rows.sum(axis=0), np.sum(steepest)))
        corner += self._convexity.T @ (falls[:, None] * self._convexity)
        return Bordered(band, border, corner)


class PathProgram:
    """The programs of a pair on one mesh, at any epsilon.

    Args:
      pair: the dominating pair.
      law: of K.
      mesh: of the potential W.
      knots: of the price.
    """

    def __init__(
        self, pair: DominatingPair, law: Repetitions, mesh: PathMesh, knots: np.ndarray
    ) -> None:
        self._pair, self._law, self._mesh, self._knots = pair, law, mesh, knots
        self._constraints = _PathConstraints(mesh, law, 0.0, knots)
        self._weights = price_weights(pair, knots)

    def _cost(self, start: np.ndarray) -> np.ndarray:
        """What the unknowns cost, given the start that costs most."""
        mesh, (weights, beyond) = self._mesh, self._weights
        cost = np.zeros(mesh.count + self._knots.size + 1)
        # A value that no mass pays for would grow without limit, and with it what rounding costs
        # the certificate.
        least = _LEAST_WEIGHT * float(weights @ start[mesh.count : -1]) / self._law.mean
        cost[mesh.count : -1], cost[-1] = _everywhere(weights, beyond, self._knots, least)
        np.add.at(cost, mesh.start[0], mesh.start[1])
        np.add.at(cost, mesh.end[0], -mesh.end[1])
        # The pinned node is no unknown; its value is 0, and so is what it costs.
        cost[mesh.end[0][0]] = 0.0
        return cost

    def _near(
        self, cost: np.ndarray, near: Sequence[Proposal], epsilon: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """A mixture of solutions, moved inside, and of their prices.

        The constraints are convex in e^epsilon, so that it keeps those of the mean of theirs.
        """
        parts = _parts(np.array([each.epsilon for each in near]), epsilon)
        start = parts @ np.array(
            [np.concatenate([each.values, *each.price[1:]], axis=None) for each in near]
        )
        prices = parts @ np.array([each.prices for each in near])
        more = _INSIDE * abs(float(cost @ start))
        start[self._mesh.count : -1] += more * (1.0 + self._knots)
        start[-1] += more
        return start, prices

    def proposal(
        self, epsilon: float, near: Sequence[Proposal] = (), *, gap: float | None = None
    ) -> Proposal:
        """A price, and W at the nodes of the mesh, that nearly minimise the bound.

        Args:
          epsilon: where delta is bounded.
          near: solutions at one or two other epsilons, of the same numbers of nodes and knots,
            which save steps.
          gap: relative, between the program and its dual, at which to stop; _GAP if not given.
        """
        mesh = self._mesh
        constraints = self._constraints.at(epsilon)
        start, prices = constraints.enveloping(self._weights[0]), None
        cost = self._cost(start)
        if near:
            start, prices = self._near(cost, near, epsilon)
        unknowns, prices = nearly_solved(
            cost, constraints, constraints.limits, start, relative_gap=gap or _GAP, prices=prices
        )
        unknowns[mesh.end[0][0]] = 0.0
        values, price = unknowns[: mesh.count], unknowns[mesh.count : -1]
        price = Price(self._knots, price, float(unknowns[-1]))
        delta = proposed_delta(self._pair, mesh, price, values)
        return Proposal(price, values, delta, constraints.slope(prices), epsilon, prices)


def _parts(epsilons: np.ndarray, epsilon: float) -> np.ndarray:
    """Parts of solutions in their mixture at an epsilon: all of one, or by e^epsilon of two."""
    if epsilons.size == 1:
        return np.ones(1)
    low, high = np.expm1(epsilons - epsilon)
    part = min(max(high / (high - low), 0.0), 1.0)
    return np.array([part, 1.0 - part])


def proposal(
    pair: DominatingPair, law: Repetitions, mesh: PathMesh, knots: np.ndarray, epsilon: float
) -> Proposal:
    """A price, and W at the nodes of the mesh, that nearly minimise the bound.

    Args:
      pair: the dominating pair.
      law: of K.
      mesh: of the potential W.
      knots: of the price.
      epsilon: where delta is bounded.
    """
    return PathProgram(pair, law, mesh, knots).proposal(epsilon)
