"""Laws of K on finitely many counts, given by their probabilities."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from jaxsel.host.errors import InputError
from jaxsel.repetitions.record import (
    Generating,
    OfCounts,
    Raw,
    RawPair,
    Repetitions,
    build,
    log_complement,
)

MOST_COUNT = 10_000_000  # the largest count allowed
_ROUNDING = 1e-9  # allowed deviation of a sum of probabilities from 1
_BLOCK = 2**16  # terms at once, which stay in the cache


def _checked(counts: ArrayLike, probabilities: ArrayLike) -> tuple[np.ndarray, ...]:
    """Counts in order and their probabilities, which sum to one; no zeros."""
    try:
        k = np.asarray(counts, dtype=np.float64)
        p = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("counts and probabilities of a law of K must be numbers") from None
    if k.ndim != 1 or k.shape != p.shape or k.size == 0:
        raise InputError(
            f"a law of K needs one probability for each count; there are {k.size} counts "
            f"and {p.size} probabilities"
        )
    wrong = ~((k >= 0.0) & (k <= MOST_COUNT) & (k == np.floor(k)))
    if np.any(wrong):
        raise InputError(
            f"the law of K has the count {k[wrong][0]:g}; counts are whole numbers from 0 "
            f"to {MOST_COUNT}"
        )
    wrong = ~((p >= 0.0) & (p <= 1.0 + _ROUNDING))
    if np.any(wrong):
        raise InputError(
            f"the law of K has P[K = {k[wrong][0]:g}] = {p[wrong][0]:g}; probabilities "
            "lie in [0, 1]"
        )
    order = np.argsort(k)
    k, p = k[order], p[order]
    twice = np.flatnonzero(np.diff(k) == 0.0)
    if twice.size:
        raise InputError(f"the law of K has the count {k[twice[0]]:g} twice")
    total = math.fsum(p)
    if abs(total - 1.0) > _ROUNDING:
        raise InputError(
            f"the probabilities of the law of K sum to {total:.12g}; they must sum to 1"
        )
    # Normalising again changes nothing, so that saving and reading gives the same law.
    if abs(total - 1.0) > 1e-15:
        p = p / total
    return k[p > 0.0], p[p > 0.0]


def _summed(terms: RawPair) -> RawPair:
    """(x, u) -> sum over the counts of terms(x, u), a block of points at a time."""

    def total(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, u = np.asarray(x, dtype=np.float64), np.asarray(u, dtype=np.float64)
        flat_x, flat_u = np.ravel(x), np.ravel(u)
        width = terms(np.ones(1), np.zeros(1)).size
        step = max(1, _BLOCK // max(width, 1))
        parts = [
            terms(flat_x[i : i + step, None], flat_u[i : i + step, None]).sum(axis=-1)
            for i in range(0, max(flat_x.size, 1), step)
        ]
        return np.concatenate(parts).reshape(np.shape(x))

    return total


def _log_derivative(k: np.ndarray, p: np.ndarray) -> RawPair:
    """log f'(x) = log sum_k k p_k x^(k - 1)."""
    seen = k > 0.0
    powers, log_weights = k[seen] - 1.0, np.log(k[seen] * p[seen])

    def logs(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, u = np.asarray(x, dtype=np.float64), np.asarray(u, dtype=np.float64)
        if powers.size == 0:
            return np.full(x.shape, -np.inf)
        log_x = np.ravel(log_complement(x, u))
        step = max(1, _BLOCK // powers.size)
        parts = []
        for i in range(0, max(log_x.size, 1), step):
            part = log_x[i : i + step, None]
            with np.errstate(invalid="ignore"):  # 0 * -inf, which is 0 here
                terms = np.where(powers == 0.0, 0.0, powers * part)
            terms += log_weights
            # As SciPy's logsumexp, which takes several times as long.
            largest = np.max(terms, axis=-1)
            terms -= np.where(np.isfinite(largest), largest, 0.0)[:, None]
            with np.errstate(divide="ignore"):
                parts.append(np.log(np.sum(np.exp(terms, out=terms), axis=-1)) + largest)
        return np.concatenate(parts).reshape(x.shape)

    return logs


def _lookup(k: np.ndarray, below: np.ndarray) -> Raw:
    """count -> below[number of counts of the law that it reaches]."""
    return lambda count: below[np.searchsorted(k, count, side="right")]


def table_law(counts: ArrayLike, probabilities: ArrayLike) -> Repetitions:
    """The law with these probabilities.

    Args:
      counts: Float["n"], whole numbers in [0, 10,000,000], each once.
      probabilities: Float["n"], >= 0, of sum 1 within 1e-9; normalised by their sum.

    Returns:
      A law of the family "pmf". Its functions are sums of terms of one sign.

    Raises:
      InputError: for counts or probabilities that are no law.
    """
    k, p = _checked(counts, probabilities)
    above = np.append(np.cumsum(p[::-1])[::-1], 0.0)  # P[K >= the i-th count], then 0
    below = np.append(0.0, np.cumsum(p))

    def at(count: np.ndarray) -> np.ndarray:
        place = np.minimum(np.searchsorted(k, count), k.size - 1)
        return np.where(k[place] == count, p[place], 0.0)

    def raised(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(counts of the law) * log x, 0 for the count 0."""
        with np.errstate(invalid="ignore"):
            return np.where(k == 0.0, 0.0, k * log_complement(x, u))

    mean = math.fsum(k * p)
    return build(
        "pmf",
        {f"{count:.0f}": float(chance) for count, chance in zip(k, p, strict=True)},
        OfCounts(
            pmf=at,
            cdf=_lookup(k, np.minimum(below, 1.0)),
            survival=_lookup(k, np.minimum(above, 1.0)),
        ),
        Generating(
            pgf=_summed(lambda x, u: p * np.exp(raised(x, u))),
            gap=_summed(lambda x, u: p * -np.expm1(raised(x, u))),
            log_derivative=_log_derivative(k, p),
        ),
        mean=mean,
        variance=math.fsum(p * (k - mean) ** 2),
        probability_zero=float(p[0]) if k[0] == 0.0 else 0.0,
        minimum=int(k[0]),
        maximum=int(k[-1]),
    )


def pmf(table: Mapping[int, float]) -> Repetitions:
    """Any probabilities of finitely many counts, as {count: probability}.

    Args:
      table: whole numbers in [0, 10,000,000] with probabilities >= 0 of sum 1.

    Raises:
      InputError: for counts or probabilities that are no law.
    """
    return table_law(list(table), list(table.values()))
