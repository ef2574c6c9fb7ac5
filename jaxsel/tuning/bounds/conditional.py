"""Renyi bounds for conditional sampling (Papernot & Steinke 2022, Appendix C).

The base algorithm Q runs until its output falls into a set S of good outputs, hence the
output law is Q_S = Q given S. All bounds are on D_order(Q_S || Q'_S) and take

  forward: the Renyi curve of D(Q || Q'),
  backward: the Renyi curve of D(Q' || Q),
  probability: Q(S), on the first side.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.accounting.single_run.pairs import tight_conditional
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.signature import validated
from jaxsel.tuning import parameters

PARTS = (1, 2, 3, 4, 5)  # the inequalities of Corollary 16

# A sum of probabilities may exceed 1 by rounding.
Good = Annotated[float, number("Q(S)", above=0.0, below=1.0 + 1e-9)]


def _log_inverse(probability: float) -> float:
    return max(0.0, -math.log(probability))


def _at(curve: RenyiCurve, order: float) -> float:
    return float(curve(np.asarray(order, dtype=np.float64)))


def _weighted(weight: float, curve: RenyiCurve, order: float) -> float:
    """weight * curve(order), where weight 0 needs no curve."""
    return weight * _at(curve, order) if weight != 0.0 else 0.0


@validated
def conditional_at_exponents(
    order: parameters.Order,
    inverse_q: parameters.InverseQ,
    inverse_r: parameters.InverseR,
    forward: RenyiCurve,
    backward: RenyiCurve,
    probability: Good,
    *,
    corrected: bool = True,
) -> float:
    """Renyi bound after conditioning, by Proposition 15 with 1/p + 1/q + 1/r = 1.

    Args:
      order: finite.
      inverse_q, inverse_r: 1/q and 1/r, with sum at most 1.
      forward, backward: the Renyi curves of D(Q || Q') and of D(Q' || Q).
      probability: Q(S).
      corrected: the proof applies post-processing at order + 1/q - 1, which must be at
        least 1 (E-PS-2); False evaluates the printed formula elsewhere too.

    Returns:
      The bound on D_order(Q_S || Q'_S).

    Raises:
      InputError: if 1/q + 1/r is above 1, or if order + 1/q < 2 and ``corrected``.
    """
    inverse_p = 1.0 - inverse_q - inverse_r
    if inverse_p < -1e-12:
        raise InputError("1/p, 1/q and 1/r must be >= 0 and sum to 1")
    inverse_p = max(inverse_p, 0.0)
    if corrected and order + inverse_q < 2.0 - 1e-12:
        raise InputError(
            f"order + 1/q is {order + inverse_q:g}; it must be at least 2 for the bound to hold"
        )
    forward_order = (order - inverse_p) / inverse_r if inverse_r > 0 else math.inf
    return (
        _weighted((order - inverse_p - inverse_r) / (order - 1), forward, forward_order)
        + _weighted((order + inverse_q - 2) / (order - 1), backward, order + inverse_q - 1)
        + (inverse_r + 1) / (order - 1) * _log_inverse(probability)
    )


@validated
def conditional_part(
    part: int,
    order: parameters.OrderOrInfinity,
    forward: RenyiCurve,
    backward: RenyiCurve,
    probability: Good,
    *,
    exponent: parameters.Exponent = 1.0,
    corrected: bool = True,
) -> float:
    """Renyi bound after conditioning, by one of the five inequalities of Corollary 16.

    With a the order, D the forward and D' the backward curve, and L = log(1/Q(S)):
      1: D_inf + D'_inf
      2: D_a + (a-2)/(a-1) D'_(a-1) + 2/(a-1) L
      3: D_inf + (a-2)/(a-1) D'_(a-1) + 1/(a-1) L
      4: a/(a-1) D_inf + D'_a + 1/(a-1) L
      5: D_(r(a-1)+1) + (a-2)/(a-1) D'_(a-1) + (1/r+1)/(a-1) L, r the exponent.

    Args:
      part: 1 to 5.
      order: a.
      forward, backward: the Renyi curves of D(Q || Q') and of D(Q' || Q).
      probability: Q(S).
      exponent: r of part 5.
      corrected: parts 2, 3 and 5 hold for order >= 2 only (E-PS-2) and refuse other
        orders; False evaluates the printed formula there too.

    Returns:
      The bound on D_order(Q_S || Q'_S).

    Raises:
      InputError: for another part, or an order below 2 in parts 2, 3, 5.
    """
    if part not in PARTS:
        raise InputError(f"part is {part}; it must be one of: 1, 2, 3, 4, 5")
    if corrected and part in (2, 3, 5) and order < 2.0:
        raise InputError(f"order is {order:g}; part {part} of Corollary 16 holds for order >= 2")
    if part == 1 or math.isinf(order):
        return _at(forward, math.inf) + _at(backward, math.inf)
    log_term = _log_inverse(probability) / (order - 1.0)
    if part == 4:
        share = order / (order - 1.0)
        return share * _at(forward, math.inf) + _at(backward, order) + log_term
    rest = _weighted((order - 2.0) / (order - 1.0), backward, order - 1.0)
    if part == 2:
        return _at(forward, order) + rest + 2.0 * log_term
    if part == 3:
        return _at(forward, math.inf) + rest + log_term
    first = _at(forward, exponent * (order - 1.0) + 1.0)
    return first + rest + (1.0 / exponent + 1.0) * log_term


@validated
def fitted_tight_conditional(
    order: Annotated[float, number("of both divergences", at_least=1.05, at_most=64.0)],
    rho: parameters.TightRho = 0.1,
    a: parameters.TightShare = 0.25,
) -> tuple[float, float]:
    """Parameters (s, t) of the tight pair with both Renyi divergences rho * order.

    Solves D_order(Q || Q') = D_order(Q' || Q) = rho * order for the pair of Appendix
    D.2 (Figure 8; the paper does not state a, for which we take its largest value 1/4),
    by following the solution from order 2.

    Args:
      order: at which both divergences are to be rho * order.
      rho: the figure has 0.1.
      a: probability of the pair's common outcome.

    Returns:
      s and t, for pairs.tight_conditional.

    Raises:
      InputError: if there is no solution.
    """

    def residual(at_order: float) -> Callable[[np.ndarray], np.ndarray]:
        def gap(log_parameters: np.ndarray) -> np.ndarray:
            s, t = np.exp(np.clip(log_parameters, -30.0, 5.0))
            pair = tight_conditional(float(s), float(t), a)
            return (
                np.array(
                    [
                        renyi_divergence(pair.first, pair.second, at_order),
                        renyi_divergence(pair.second, pair.first, at_order),
                    ]
                )
                / (rho * at_order)
                - 1.0
            )

        return gap

    steps = max(2, math.ceil(abs(order - 2.0) / 0.25) + 1)
    point = np.log([0.8, 1.06])
    for at_order in np.linspace(2.0, order, steps):
        found = optimize.root(residual(float(at_order)), point, tol=1e-13)
        if np.max(np.abs(residual(float(at_order))(found.x))) > 1e-9:
            raise InputError(
                f"no pair with a={a:g} has both Renyi divergences {rho:g} * order at "
                f"order {order:g}"
            )
        point = found.x
    s, t = np.exp(point)
    return float(s), float(t)
