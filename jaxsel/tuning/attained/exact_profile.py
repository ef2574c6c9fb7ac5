"""Exact privacy profiles of tuned pairs on the real line (KRW Theorem B.2).

If one base run releases z with law P and runs are ranked by z without ties, the best of
K runs has density P(z) f'(1 - u), f being the generating function of K and u the P-mass
of better outcomes (Koskela, Redberg & Wang 2024, Theorem B.2 and Equation (B.4)). Its
privacy loss is the base's plus the logarithm of the ratio of slopes, and the
hockey-stick divergence is the integral of (A - e^epsilon A')_+ over the intervals on
which that loss exceeds epsilon. Their ends are found as roots; Gauss-Legendre inside.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from jaxsel.accounting.single_run.score_orders import (
    INDEPENDENT,
    NATURAL,
    BlockOrder,
    MergedOrder,
    Order,
    Piece,
    order_pieces,
)
from jaxsel.accounting.single_run.score_pairs import ScorePair, mirrored_pair, reversed_pair
from jaxsel.host.errors import InputError
from jaxsel.language import domains
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions, point_mass
from jaxsel.tuning.parameters import check_some_run

# Panels are as narrow as the laws are smooth (`ScorePair.width`), so that 16 nodes reach 1e-10.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_AT_ONCE = 4_000_000  # numbers in memory at a time

AttainedDelta = Annotated[float, domains.number("of a ranking", at_least=1e-280, below=1.0)]


class TunedProfile(NamedTuple):
    """The exact profile of a tuned pair in one direction.

    Attributes:
      delta: epsilon >= 0, of any shape -> H_{e^epsilon}(A || A'), element by element.
      epsilon: delta in [1e-280, 1) -> the smallest epsilon >= 0 with that delta.
    """

    delta: Callable[[npt.ArrayLike], np.ndarray]
    epsilon: Callable[[float], float]


class _Panels(NamedTuple):
    """Intervals on which the tuned densities are smooth, one per row."""

    left: np.ndarray
    right: np.ndarray
    upward: np.ndarray
    taken: np.ndarray
    piece: np.ndarray  # index of the piece of the ranking

    def rows(self, chosen: np.ndarray) -> "_Panels":
        return _Panels(*(field[chosen] for field in self))


def _panels(pieces: list[Piece], pair: ScorePair) -> _Panels:
    """The pieces in panels, truncated where the mass of both laws is negligible."""
    low, high = pair.reach
    count = math.ceil((high - low) / pair.width)
    # A Gauss rule converges where a density is smooth only: panels end at its kinks.
    knots = np.unique([*np.linspace(low, high, count + 1), *pair.kinks])
    rows = []
    for number, piece in enumerate(pieces):
        left, right = max(piece.left, low), min(piece.right, high)
        if left < right:
            first, last = np.searchsorted(knots, (left, right), side="right")
            inside = knots[first : max(first, last)]
            edges = np.array([left, *inside[inside < right], right])
            rows.append((edges[:-1], edges[1:], piece.upward, piece.taken, number))
    sizes = [len(row[0]) for row in rows]
    return _Panels(
        np.concatenate([row[0] for row in rows]),
        np.concatenate([row[1] for row in rows]),
        *(np.repeat([row[i] for row in rows], sizes) for i in (2, 3, 4)),
    )


def _log_slopes(
    z: np.ndarray, panels: _Panels, pair: ScorePair, repetitions: Repetitions
) -> tuple[np.ndarray, np.ndarray]:
    """log f'(1 - u) on both sides at points z, one row per panel."""
    upward, taken = panels.upward[:, None], panels.taken[:, None]
    found = []
    for law in (pair.first, pair.second):
        above, below = law.log_upper(z), law.log_lower(z)
        # The better outcomes are those on this piece's side, and those of pieces that were ranked
        # before: up to `taken` on the other.
        edge = np.where(upward, law.log_lower(taken), law.log_upper(taken))
        # u is a sum of two tails, each accurate however small.
        near, far = np.where(upward, above, below), np.where(upward, below, above)
        if repetitions.minimum < 2:
            # A tail form takes u itself: 1 - u would lose the digits that matter where u is small.
            u = np.exp(near) + np.exp(edge)
            found.append(repetitions.log_pgf_derivative_tail(np.minimum(u, 1.0)))
        else:
            # K is constant (no other law has a minimum above 1), and 1 - u must be
            # accurate.
            count = repetitions.minimum
            with np.errstate(divide="ignore"):
                # 1 - u is a difference of two tails; as their ratio it is accurate where both are
                # tiny.
                rest = np.log(-np.expm1(np.minimum(edge - far, 0.0))) + far
            found.append(math.log(count) + (count - 1.0) * rest)
    return found[0], found[1]


def _tuned_loss(
    z: np.ndarray, panels: _Panels, pair: ScorePair, repetitions: Repetitions
) -> np.ndarray:
    first, second = _log_slopes(z, panels, pair, repetitions)
    return pair.loss(z) + first - second


def _nodes(panels: _Panels) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of the quadrature, one row per panel."""
    half = (panels.right - panels.left)[:, None] / 2.0
    return panels.left[:, None] + half * (1.0 + _NODES), half * _WEIGHTS


def _split_at_extrema(
    panels: _Panels, loss: Callable[[np.ndarray, _Panels], np.ndarray]
) -> _Panels:
    """Panels on each of which the loss is monotone, so that it has one root at most."""
    points, _ = _nodes(panels)
    z, heights = points.ravel(), loss(points, panels).ravel()
    row = np.repeat(np.arange(len(panels.left)), len(_NODES))
    piece = panels.piece[row]
    ordered = np.lexsort((z, piece))
    z, heights, row, piece = z[ordered], heights[ordered], row[ordered], piece[ordered]
    cuts, rows = [], []
    # Between extrema the loss is monotone, and a sign at both ends tells whether there is a root:
    # none is missed.
    for sign in (1.0, -1.0):
        h = sign * heights
        # Of a plateau of equal heights one point is taken.
        peak = (h[1:-1] >= h[:-2]) & (h[1:-1] > h[2:]) & (piece[:-2] == piece[2:])
        # rounding errors on a plateau are not extrema
        rise = h[1:-1] - np.minimum(h[:-2], h[2:])
        at = np.flatnonzero(peak & (rise > 1e-12 * (1.0 + np.abs(h[1:-1])))) + 1
        left, right, inside = z[at - 1], z[at + 1], panels.rows(row[at])
        share = np.linspace(0.0, 1.0, 9)
        # Each round keeps a quarter: at the end 4^-8 of the distance of two nodes.
        for _ in range(8):
            grid = left[:, None] + (right - left)[:, None] * share
            best = np.argmax(sign * loss(grid, inside), axis=1)
            line = np.arange(len(at))
            left = grid[line, np.maximum(best - 1, 0)]
            right = grid[line, np.minimum(best + 1, 8)]
        cuts.append((left + right) / 2.0)
        rows.append(row[at])
    cut, owner = np.concatenate(cuts), np.concatenate(rows)
    # a node's neighbours may lie in the next panel of the same piece
    owner += (cut > panels.right[owner]).astype(int) - (cut < panels.left[owner])
    inside = (cut > panels.left[owner]) & (cut < panels.right[owner])
    cut, owner = cut[inside], owner[inside]
    starts = np.concatenate([panels.left, cut])
    owners = np.concatenate([np.arange(len(panels.left)), owner])
    ordered = np.lexsort((starts, owners))
    starts, owners = starts[ordered], owners[ordered]
    last = np.append(owners[1:] != owners[:-1], True)
    ends = np.where(last, panels.right[owners], np.append(starts[1:], 0.0))
    return panels.rows(owners)._replace(left=starts, right=ends)


def _roots(
    curve: Callable[[np.ndarray], np.ndarray],
    ends: tuple[np.ndarray, np.ndarray],
    heights: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """One root of a curve in each bracket, by the Illinois form of false position.

    An error dz of a root changes the integral by O(dz^2) only, so a tolerance of 1e-8 of
    the bracket is sufficient.
    """
    (left, right), (low, high) = ends, heights
    width = np.abs(right - left)
    for _ in range(60):
        with np.errstate(invalid="ignore", divide="ignore"):
            # All brackets at once as arrays; Newton would leave some of them.
            middle = (left * high - right * low) / (high - low)
        middle = np.where(np.isfinite(middle), middle, (left + right) / 2.0)
        value = curve(middle)
        crossed = np.sign(value) != np.sign(high)
        # keep the bracket; halve the height of an end that is retained
        left, low = np.where(crossed, right, left), np.where(crossed, high, low / 2.0)
        moved = np.abs(middle - right)
        right, high = middle, value
        if np.all((moved <= 1e-8 * width) | (value == 0.0)):
            break
    return right


def tuned_profile(
    pair: ScorePair, repetitions: Repetitions, order: Order = NATURAL
) -> TunedProfile:
    """The exact profile H(A || A') of the best of K runs, prepared for many epsilons.

    Args:
      pair: the laws of one run's output.
      repetitions: law of K. The outcome "no run" has the same probability on both sides
        and adds nothing at epsilon >= 0.
      order: which outputs are better; INDEPENDENT for a score that is pure noise, with
        which the winner, if there is one, has the base's own law.

    Returns:
      The profile, with a relative error of 1e-10 where it exceeds 1e-280 and E[K] is at
      most 1e12.

    Raises:
      InputError: if the cuts of the order overlap or K is always 0.
    """
    check_some_run(repetitions)
    chance = 1.0
    if order == INDEPENDENT:
        chance = float(repetitions.pgf_gap(1.0))
        # A rank that is pure noise picks a run whatever it released: its law is that of one run, if
        # there is one.
        repetitions, order = point_mass(1), NATURAL
    if isinstance(order, MergedOrder) and order.mirrored:
        pair = mirrored_pair(pair)
    assert isinstance(order, BlockOrder | MergedOrder)

    def loss(z: np.ndarray, panels: _Panels) -> np.ndarray:
        return _tuned_loss(z, panels, pair, repetitions)

    panels = _split_at_extrema(_panels(order_pieces(order), pair), loss)
    inset = 1e-10 * (panels.right - panels.left)  # slopes may be 0 at a piece's end
    ends = np.stack([panels.left + inset, panels.right - inset], axis=1)
    heights = loss(ends, panels)

    def parts(rows: _Panels) -> tuple[np.ndarray, np.ndarray]:
        """The tuned first law's mass and the privacy loss at the nodes."""
        z, weights = _nodes(rows)
        first, second = _log_slopes(z, rows, pair, repetitions)
        mass = np.exp(pair.first.log_density(z) + first) * weights
        return mass, pair.loss(z) + first - second

    mass, losses = parts(panels)
    largest = np.max(losses, axis=1)

    def chunk(epsilon: np.ndarray) -> np.ndarray:
        level = epsilon[:, None]
        crossing = (heights[:, 0] > level) != (heights[:, 1] > level)
        total = np.zeros(len(epsilon))
        # In other panels no loss exceeds an epsilon of this chunk, and (A - e^epsilon A')_+ is 0.
        rows = np.flatnonzero(largest > np.min(epsilon))
        excess = np.minimum(epsilon[:, None, None] - losses[rows], 0.0)
        # A - e^eps A' = A (1 - e^(eps - loss)), without cancellation at a loss just above epsilon.
        panel = np.sum(mass[rows] * -np.expm1(excess), axis=2)
        total += np.sum(np.where(crossing[:, rows], 0.0, panel), axis=1)
        # The integrand has a kink at the root: Gauss nodes are put on its one side.
        which, row = np.nonzero(crossing)
        if len(row):
            at, inside = epsilon[which], panels.rows(row)
            low, high = heights[row, 0] - at, heights[row, 1] - at
            root = _roots(
                lambda z: loss(z[:, None], inside)[:, 0] - at,
                (ends[row, 0], ends[row, 1]),
                (low, high),
            )
            left = np.where(low > 0, inside.left, root)
            right = np.where(low > 0, root, inside.right)
            some, loss_there = parts(inside._replace(left=left, right=right))
            excess = np.minimum(at[:, None] - loss_there, 0.0)
            piece = np.sum(some * -np.expm1(excess), axis=1)
            total += np.bincount(which, weights=piece, minlength=len(epsilon))
        return total

    def delta(epsilon: npt.ArrayLike) -> np.ndarray:
        levels = np.asarray(epsilon, dtype=np.float64)
        if not np.all(levels >= 0.0):
            raise InputError("epsilon must be >= 0")
        flat = levels.ravel()
        size = max(1, _AT_ONCE // mass.size)
        found = [chunk(flat[i : i + size]) for i in range(0, len(flat), size)]
        return chance * np.concatenate([[], *found]).reshape(levels.shape)[()]

    return TunedProfile(delta, lambda target: _epsilon_at(delta, target))


@validated
def _epsilon_at(delta_at: Callable[[npt.ArrayLike], np.ndarray], delta: AttainedDelta) -> float:
    """Smallest epsilon >= 0 at which a decreasing profile is at most delta."""

    def excess(epsilon: float) -> float:
        # A profile falls over hundreds of orders of magnitude, its logarithm slowly.
        return math.log(max(float(delta_at(epsilon)), 1e-300)) - math.log(delta)

    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > 0.0:
        low, high = high, 2.0 * high
    root = optimize.root_scalar(
        excess, bracket=(low, high), method="brentq", xtol=1e-13, rtol=1e-14
    )
    return float(root.root)


def tuned_delta(
    pair: ScorePair, repetitions: Repetitions, epsilon: npt.ArrayLike, order: Order = NATURAL
) -> np.ndarray:
    """Exact delta(epsilon) = H_{e^epsilon}(A || A') of the best of K runs.

    In one direction; ``reversed_pair`` gives the other. For many calls use
    :func:`tuned_profile`.

    Args:
      pair: the laws of one run's output.
      repetitions: law of K.
      epsilon: >= 0, any shape.
      order: which outputs are better.

    Returns:
      Float[np.ndarray, "*epsilon"].
    """
    return tuned_profile(pair, repetitions, order).delta(epsilon)


@validated
def exact_tuned_epsilon(
    pair: ScorePair, repetitions: Repetitions, delta: AttainedDelta, order: Order = NATURAL
) -> float:
    """Smallest epsilon >= 0 such that the tuned algorithm is (epsilon, delta)-DP.

    On these two neighbouring inputs, in both directions.

    Args:
      pair: the laws of one run's output.
      repetitions: law of K.
      delta: where epsilon is taken.
      order: which outputs are better.
    """
    return max(
        tuned_profile(side, repetitions, order).epsilon(delta)
        for side in (pair, reversed_pair(pair))
    )
