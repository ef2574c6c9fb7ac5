"""Renyi divergences from tallies on both sides of a pair, with exact confidence limits."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.host.errors import InputError, check_interval
from jaxsel.host.intervals import check_tallies, clopper_pearson_lower, clopper_pearson_upper


class RenyiInterval(NamedTuple):
    """Renyi divergence of tallied laws at each order, with limits for all at once.

    Attributes:
      estimate: divergence of the observed frequencies (biased; not a bound).
      low, high: limits that hold together, for every order, with the stated confidence.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _divergence(order: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """log(sum p^order q^(1 - order)) / (order - 1) for any non-negative p, q."""
    a = order[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = a * np.log(p) + (1.0 - a) * np.log(q)
    terms = np.where(p == 0.0, -np.inf, terms)
    return np.asarray(special.logsumexp(terms, axis=1)) / (order - 1.0)


def renyi_interval(
    counts: npt.ArrayLike,
    counts_neighbour: npt.ArrayLike,
    order: npt.ArrayLike,
    confidence: float = 0.95,
) -> RenyiInterval:
    """Interval for D_order(P || Q) of two laws over the same finitely many outcomes.

    The sum of p^order q^(1 - order) increases in every p and decreases in every q.
    Clopper-Pearson limits for all of them, each of which errs with probability (1 -
    confidence) / (4 outcomes), therefore bound it at all orders together. The lower limit is
    also valid for any mechanism of which the outcomes are post-processing.

    Args:
      counts, counts_neighbour: tallies of the same outcomes, every trial in exactly one.
      order: > 1 and finite, one-dimensional.
      confidence: in (0, 1).

    Returns:
      RenyiInterval; the upper limit is inf if an outcome that the first side may have was
      never seen on the second.

    Raises:
      InputError: for bad tallies, orders or confidence.
    """
    confidence = check_interval("confidence", confidence, 0.0, 1.0)
    first = check_tallies("counts", counts)
    second = check_tallies("counts of the neighbour", counts_neighbour)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError("both sides need one tally for each of the same outcomes")
    if min(first.sum(), second.sum()) == 0:
        raise InputError("counts sum to 0 on one side; each side needs a trial")
    order = np.atleast_1d(np.asarray(order, dtype=np.float64))
    if not np.all((order > 1.0) & np.isfinite(order)):
        raise InputError(f"order is {order}; every order must be > 1 and finite")
    error = (1.0 - confidence) / (4 * first.size)

    def limits(tallies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total = tallies.sum()
        return (
            clopper_pearson_lower(tallies, total, error=error),
            clopper_pearson_upper(tallies, total, error=error),
        )

    p_low, p_high = limits(first)
    q_low, q_high = limits(second)
    seen = first + second > 0
    estimate = _divergence(order, (first / first.sum())[seen], (second / second.sum())[seen])
    low = np.maximum(_divergence(order, p_low, q_high), 0.0)
    return RenyiInterval(estimate, low, _divergence(order, p_high, q_low))
