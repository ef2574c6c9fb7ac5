"""Fast approximate solutions of linear programs with few unknowns and many constraints.

A predictor-corrector interior point method (Mehrotra 1992) on the normal equations, which
are small and dense here. The result is nearly feasible and nearly optimal; callers must
check it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg

# What is not solved by then is given back as it is, and judged by the caller.
_STEPS = 90
# Nearer to the edge, iterates are centred worse and the next steps are shorter.
_SHORT_OF_THE_EDGE = 0.9
_CENTRING = 2  # exponent of Mehrotra's rule; his 3 takes as many steps, and more on hard programs
# At the start, relative to the cost there: the least slack, and the gap. Far from the edge and
# with a gap that is too large, the first steps are long.
_LEAST_SLACK, _FIRST_GAP = 0.025, 7.5
_LEAST_SLACK_NEARBY = 1e-8
# Of a solution nearby: the least product of a slack and its price, relative to their mean. Without
# it, whatever holds in one program and not in the other is at the edge, and the first steps are
# short.
_CENTRED = 3.0
# Largest violation of a constraint, absolute and relative to the value: the greater counts.
_FEASIBLE, _SMALL = 1e-8, 1e-5
_NEGLIGIBLE = 1e-4  # part of that which steps need not take into account any more
# Near the optimum weights price/slack span many orders of magnitude, and rounding makes the matrix
# indefinite.
_RIDGES = (1e-12, 1e-10, 1e-8, 1e-6)
# LAPACK's Cholesky factorisation and triangular solver for banded matrices.
_factored: Any
_back: Any
_factored, _back = linalg.get_lapack_funcs(("pbtrf", "tbtrs"), dtype=np.float64)


class Bordered(NamedTuple):
    """A symmetric matrix that is banded but for its last rows and columns.

    Attributes:
      band: Float["width n"]: entry (i, j), i >= j, stands in row i - j and column j.
      border: Float["n k"], the last k columns above the corner.
      corner: Float["k k"].
    """

    band: np.ndarray
    border: np.ndarray
    corner: np.ndarray


class Solved(NamedTuple):
    """An approximate solution.

    Attributes:
      unknowns: Float["unknowns"], nearly feasible and nearly optimal.
      prices: Float["constraints"], >= 0, of the dual: what the value of the program falls by for
        each unit that a limit is raised.
    """

    unknowns: np.ndarray
    prices: np.ndarray


class Constraints(Protocol):
    """The left sides of constraints that are linear in the unknowns, as a matrix A."""

    def times(self, unknowns: np.ndarray) -> np.ndarray:
        """A @ unknowns, Float["constraints"]."""
        ...

    def transposed(self, prices: np.ndarray) -> np.ndarray:
        """A.T @ prices, Float["unknowns"]."""
        ...

    def normal(self, weights: np.ndarray) -> np.ndarray | Bordered:
        """A.T @ diag(weights) @ A, Float["unknowns unknowns"]."""
        ...


def _longest(fastest: float) -> float:
    """The longest step, at most 1, that keeps values positive of which one falls so fast."""
    return 1.0 if fastest <= 1.0 else 1.0 / fastest


def _bordered_solver(normal: Bordered) -> Callable[[np.ndarray], np.ndarray] | None:
    """As _solver: the Cholesky factor keeps the band, and fills the border alone."""
    band, border, corner = normal
    size = band.shape[1]
    diagonal = np.concatenate([band[0], np.diag(corner)])
    # With a diagonal of ones, one ridge is the same relative change of every unknown.
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-300))
    inner, outer = scale[:size], scale[size:]
    scaled = band * inner
    for below in range(band.shape[0]):
        scaled[below, : size - below] *= inner[below:]
    border = border * outer * inner[:, None]
    corner = corner * outer * outer[:, None]
    for ridge in _RIDGES:
        scaled[0] = 1.0 + ridge
        corner[np.diag_indices_from(corner)] = 1.0 + ridge
        factor, failed = _factored(scaled, lower=1)
        if failed:
            continue
        filled, _ = _back(factor, border, uplo="L")
        try:
            # The Schur complement of the band: what is left of the corner when the band has been
            # eliminated.
            last = linalg.cholesky(corner - filled.T @ filled, lower=True, check_finite=False)
        except linalg.LinAlgError:
            continue

        def solve(right, factor=factor, filled=filled, last=last):
            right = scale * right
            first, _ = _back(factor, right[:size], uplo="L")
            second = linalg.cho_solve(
                (last, True), right[size:] - first @ filled, check_finite=False
            )
            first, _ = _back(factor, first - filled @ second, uplo="L", trans="T")
            return scale * np.concatenate([first, second])

        return solve
    return None


def _solver(normal: np.ndarray | Bordered) -> Callable[[np.ndarray], np.ndarray] | None:
    """A solver for a matrix that is positive definite up to rounding; None if it is not.

    The matrix is scaled to a diagonal of ones, and the least multiple of the identity that
    makes it factorise is added.
    """
    if isinstance(normal, Bordered):
        return _bordered_solver(normal)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    scaled = normal * scale * scale[:, None]
    for ridge in _RIDGES:
        scaled[np.diag_indices_from(scaled)] = 1.0 + ridge
        try:
            factor = linalg.cho_factor(scaled, check_finite=False)
        except linalg.LinAlgError:
            continue
        return lambda right: scale * linalg.cho_solve(factor, scale * right, check_finite=False)
    return None


def nearly_solved(
    cost: np.ndarray,
    constraints: Constraints,
    limits: np.ndarray,
    start: np.ndarray,
    *,
    relative_gap: float = 1e-2,
    prices: np.ndarray | None = None,
) -> Solved:
    """Approximately the x that minimises cost @ x subject to A x <= limits.

    Args:
      cost: Float["unknowns"].
      constraints: A.
      limits: Float["constraints"].
      start: Float["unknowns"], not far from feasible, whose cost is of the size of the optimum's:
        one that is too large by orders of magnitude takes a step or two for each.
      relative_gap: the relative gap between the primal and the dual value at which to stop;
        the primal value itself is then about ten times closer to the optimum.
      prices: Float["constraints"], of a solution nearby, if ``start`` is one; saves steps.

    Returns:
      The solution, or the last iterate if the gap was not reached.
    """
    rows = limits.size
    x = start
    size = abs(float(cost @ start)) or 1.0
    room = limits - constraints.times(x)
    slack = np.maximum(room, _LEAST_SLACK * size)
    if prices is None:
        # Equal products: no constraint is preferred at first.
        price = _FIRST_GAP * size / rows / slack
    else:
        slack = np.maximum(room, _LEAST_SLACK_NEARBY * size)
        price = np.maximum(prices, _CENTRED * float(slack @ prices) / rows / slack)
    # A step of a length leaves the rest of what a constraint is violated by, in all alike.
    violated, left = slack - room, 1.0
    most = float(np.max(violated))
    gap = float(slack @ price)
    for _ in range(_STEPS):
        value = abs(float(cost @ x))
        allowed = max(_FEASIBLE, _SMALL * value)
        if left * most < allowed and gap <= relative_gap * value:
            break
        weight = price / slack
        solve = _solver(constraints.normal(weight))
        if solve is None:
            break
        # Slack and price are eliminated from Newton's equations, and what is left is the normal
        # matrix. With r what constraints are violated by, still, and the products to be changed by
        # c - slack * price, a step satisfies
        #   A^T (price + of_price) = -cost,  A along + of_slack = -r,
        #   of_price = c / slack - price - weight * of_slack.
        violation = left * violated if left * most > _NEGLIGIBLE * allowed else None
        right = -cost
        if violation is not None:
            right = right - constraints.transposed(weight * violation)
        # Mehrotra's predictor aims at products of 0 (c = 0); how far it gets tells how much to
        # centre. The corrector aims there, with the predictor's second-order error, and shares the
        # factorisation.
        of_slack = constraints.times(-solve(right))
        if violation is not None:
            of_slack -= violation
        relative = of_slack / slack
        forward = _longest(-float(np.min(relative)))
        back = _longest(1.0 + float(np.max(relative)))  # of_price / price is -1 - relative
        first = float(price @ of_slack)
        relative *= of_slack
        relative += of_slack
        relative *= price  # -of_slack * of_price
        ahead = (1.0 - back) * gap + (forward - back) * first
        ahead -= forward * back * float(np.sum(relative))
        centring = (ahead / gap) ** _CENTRING * gap / rows
        relative += centring
        relative /= slack
        along = solve(right - constraints.transposed(relative))
        if not np.all(np.isfinite(along)):
            break
        of_slack = constraints.times(-along)
        if violation is not None:
            of_slack -= violation
        of_price = relative
        of_price -= price
        weight *= of_slack
        of_price -= weight
        # Primal and dual take their own lengths, which a linear program allows and which is faster.
        forward = _SHORT_OF_THE_EDGE * _longest(-float(np.min(of_slack / slack)))
        back = _SHORT_OF_THE_EDGE * _longest(-float(np.min(of_price / price)))
        x = x + forward * along
        of_slack *= forward
        slack += of_slack
        of_price *= back
        price += of_price
        left *= 1.0 - forward
        gap = float(slack @ price)
    return Solved(x, price)
