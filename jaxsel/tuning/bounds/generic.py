"""The generic Renyi bound for any number of runs (Papernot & Steinke 2022, Lemma 7).

With f the generating function of K, the tuned laws A, A' satisfy
D_a(A || A') <= D_a(Q || Q') + sup log(f'(q)^a f'(q')^(1 - a)) / (a - 1),
the supremum being over probabilities (q, q') that one event, a lower set of the order
on outcomes, can have under (Q, Q'). We work with u = 1 - q, the mass of the better
outcomes.
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.papers import PS
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.slope_cover import log_ratio_supremum, slope_cover
from jaxsel.tuning.search_bounds import RENYI, Former, Needs, Search, bound


def _share(order: np.ndarray) -> np.ndarray:
    """order/(order - 1), with its limit 1 at inf; 2 where the order is not above 1."""
    finite = np.where(np.isfinite(order) & (order > 1.0), order, 2.0)
    return np.where(np.isinf(order), 1.0, finite / (finite - 1.0))


def _scaled_ratio(
    order: np.ndarray, repetitions: Repetitions, u: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """log(f'(1 - u)^a f'(1 - other)^(1 - a)) / (a - 1), with its limit at order inf."""
    share = _share(order)
    first = np.asarray(repetitions.log_pgf_derivative_tail(u))
    second = np.asarray(repetitions.log_pgf_derivative_tail(other))
    return share * first - second


def correct_for_no_runs(
    order: npt.ArrayLike, bound: npt.ArrayLike, probability_zero: float
) -> np.ndarray:
    """Adds the outcome "no run" to a Renyi bound whose proof omits it (E-PS-1).

    That outcome has probability P[K = 0] on both sides, which is its contribution to
    exp((order - 1) D).

    Args:
      order, bound: the bound at each order.
      probability_zero: P[K = 0].
    """
    order, bound = np.broadcast_arrays(np.asarray(order, float), bound)
    if probability_zero <= 0.0:
        return bound[()]
    excess = order - 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        moment = np.logaddexp(math.log(probability_zero), excess * bound) / excess
    return np.where(np.isinf(order), np.maximum(bound, 0.0), moment)[()]


def generic_renyi(
    base: BaseGuarantee, repetitions: Repetitions, *, corrected: bool = True
) -> RenyiCurve:
    """Renyi curve of the tuned algorithm by Lemma 7, for any law of K.

    The supremum is over all pairs of probabilities that the base's trade-off allows, and
    bounded from above over the continuum (slope_cover).

    Args:
      base: guarantee of the base algorithm, with its trade-off function.
      repetitions: law of the number of runs.
      corrected: False omits the contribution of K = 0 (E-PS-1), as printed.

    Returns:
      A Renyi curve, not monotonised; inf at order 1. It may also be inf if f'(0) = 0
      (a fixed number of runs) and the trade-off comes within rounding of 1.

    Raises:
      InputError: if the base has no trade-off function.
    """
    if base.tradeoff is None:
        raise InputError(f"{base.name} has no trade-off function, which Lemma 7 starts from")
    cover = slope_cover(base.tradeoff, repetitions)
    largest = log_ratio_supremum(cover)

    def supremum(order: np.ndarray) -> np.ndarray:
        # a and b are scaled by E[K], which shifts it by log(E[K])/(order - 1).
        return largest(_share(order)) + cover.log_mean / (order - 1.0)

    def curve(order: np.ndarray) -> np.ndarray:
        order = np.asarray(order, dtype=np.float64)
        flat = np.atleast_1d(order).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = base.renyi(flat) + supremum(flat)
        bound = bound.reshape(order.shape)
        if corrected:
            bound = correct_for_no_runs(order, bound, repetitions.probability_zero)
        return np.where(order > 1.0, bound, np.inf)[()]

    return curve


def _positive_at_zero(repetitions: Repetitions) -> bool:
    return bool(np.isfinite(repetitions.log_pgf_derivative_tail(np.asarray(1.0))))


def generic_pair_epsilon(
    order: npt.ArrayLike,
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    repetitions: Repetitions,
    *,
    corrected: bool = True,
    count: int = 129,
) -> np.ndarray:
    """Renyi bound on the tuned algorithm for one known pair of base laws, by Lemma 7.

    In one direction.

    Args:
      order: in (1, inf], any shape.
      p, q: the two base laws, best outcome first.
      repetitions: law of the number of runs.
      corrected: as in generic_renyi.
      count: points inside each outcome (the proof splits outcomes, as ties do).

    Returns:
      The bound on D_order(A || A'), A and A' being the tuned p and q.
    """
    first = check_probability_vector("p", p)
    second = check_probability_vector("q", q)
    if first.shape != second.shape:
        raise InputError("p and q must list the same outcomes")
    order = np.asarray(order, dtype=np.float64)
    better = np.concatenate([[0.0], np.cumsum(first)[:-1]])[:, None]
    other = np.concatenate([[0.0], np.cumsum(second)[:-1]])[:, None]

    def objective(part: np.ndarray) -> np.ndarray:
        u = np.minimum(better + first[:, None] * part, 1.0)
        v = np.minimum(other + second[:, None] * part, 1.0)
        return -_scaled_ratio(order.ravel(), repetitions, u, v)

    # f'(0) can vanish, and its logarithm cancels only as q, q' -> 0: stop just short
    end = 1.0 if _positive_at_zero(repetitions) else 1.0 - 1e-6
    supremum = -np.min(minimise(objective, 0.0, end, count=count)[1], axis=0)
    bound = renyi_divergence(first, second, order) + supremum.reshape(order.shape)
    if corrected:
        bound = correct_for_no_runs(order, bound, repetitions.probability_zero)
    return np.asarray(bound)[()]


# --- what is stated of a search ----------------------------------------------------------


@bound(
    PS,
    "PS-Lem7",
    "Lemma 7, corrected",
    RENYI,
    needs=Needs(uses=("tradeoff",)),
    words="Papernot & Steinke 2022: Renyi, any K, with the trade-off",
    label="RDP, PS Lem. 7",
    at=Former(
        {"base_epsilon": "1", "repetitions": "poisson:mean=10"},
        "randomised_response:epsilon={base_epsilon}",
        "{repetitions}",
        {"order": 3.0},
    ),
)
def lemma_7(search: Search) -> RenyiCurve:
    """D_a(A || A') <= log(P[K = 0] + e^((a-1)B))/(a-1) with B = D_a(Q || Q') + sup log(f'(q)^a
    f'(q')^(1-a))/(a-1) over the masses (q, q') of lower sets of the order.

    The supremum is over all masses that the base's trade-off allows.
    """
    return generic_renyi(search.base, search.law)


@lemma_7.bounds()
def any_laws(budget):
    from jaxsel.tuning.claims.searches import equal_laws_cases, other_laws_cases, renyi_cases

    yield from equal_laws_cases("poisson:mean=0.5", "binomial:count=6,probability=0.1")
    yield from other_laws_cases()
    small = budget._replace(cases=min(budget.cases, 150))
    yield from renyi_cases(small, "poisson", "binomial", "truncated_negative_binomial")
