"""Quantities computed from a law of K alone: utility, quantiles, and a look-up table."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import validated
from jaxsel.repetitions.record import Repetitions
from jaxsel.repetitions.special import suffix_sums

Tail = Annotated[float, number("of the law of K", above=0.0, at_most=1.0)]
Omitted = Annotated[float, number("that may be left out at each end", at_least=0.0, below=0.5)]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def expected_quantile(law: Repetitions) -> float:
    """E[1 - 1/(K+1)]: the expected quantile of the best of K runs; 0 for no run.

    Equals 1 - int_0^1 f (Papernot & Steinke 2022, Equation (8)), in [0, 1): 1/2 for a
    single run. Computed as the integral of 1 - f(1-u) over log u, to about 1e-14.
    """
    # Every f is analytic in log u within pi of the real axis; u < e^-40 adds < 1e-17.
    width = 0.5
    left = -40.0 + width * np.arange(80)
    log_u = (left[:, None] + 0.5 * width * (_NODES + 1.0)).ravel()
    u = np.exp(log_u)
    weights = np.tile(0.5 * width * _WEIGHTS, len(left))
    return float(np.sum(weights * u * law.pgf_gap(u)))


def success_probability(law: Repetitions, base_success: ArrayLike) -> np.ndarray:
    """1 - f(1 - s): the probability that one of K runs succeeds.

    Papernot & Steinke 2022, Section 3.3; about s E[K] for small s.

    Args:
      law: the law of K.
      base_success: s, the probability that one run succeeds, in [0, 1]; any shape.
    """
    return law.pgf_gap(base_success)


def _first(condition: Callable[[int], bool], low: int, high: int | None) -> int:
    """The smallest k >= low with a condition that, once true, stays true."""
    if condition(low):
        return low
    step, top = 1, low
    while not condition(top):
        if high is not None and top >= high:
            return high
        low, top = top, top + step if high is None else min(top + step, high)
        step *= 2
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (low, middle) if condition(middle) else (middle, top)
    return top


@validated
def quantile(law: Repetitions, tail: Tail) -> int:
    """The least k with P[K > k] < tail: a draw of K, for ``tail`` uniform on (0, 1]."""
    return _first(lambda k: float(law.survival(k)) < tail, law.minimum, law.maximum)


@validated
def quantile_table(
    law: Repetitions,
    tail_mass: Omitted = 2.0**-53,
    limit: Annotated[int, whole("of entries", at_least=1)] = 2**22,
) -> tuple[int, np.ndarray]:
    """The distribution function of K as a table, for drawing K by look-up.

    Entry i is P[K <= first_value + i]; the last is 1. K = first_value +
    searchsorted(table, V) for uniform V. Values of K may be omitted at either end, with
    total probability at most ``tail_mass`` at each end, which is added to the nearest
    entry.

    Args:
      law: the law of K.
      tail_mass: probability that may be omitted at each end; 0 is possible for bounded laws
        only.
      limit: the largest number of entries allowed.

    Returns:
      (first_value, Float[np.ndarray, "entries"]), non-decreasing.

    Raises:
      InputError: if the table would need more than ``limit`` entries.
    """
    if tail_mass == 0 and law.maximum is None:
        raise InputError("tail_mass is 0; an unbounded law of K needs tail_mass > 0")
    first = _first(lambda k: float(law.cdf(k)) > tail_mass, law.minimum, law.maximum)
    last = _first(lambda k: float(law.survival(k)) <= tail_mass, first, law.maximum)
    entries = last - first + 1
    if entries > limit:
        raise InputError(
            f"the law of K ({law.family}) needs a table of {entries} entries; at most "
            f"{limit} are allowed, so lower its mean, raise tail_mass, or cap K"
        )
    probabilities = np.asarray(law.pmf(np.arange(first, last + 1)))
    probabilities[0] = law.cdf(first)
    # Below the median from the lower tail, above it from the upper tail.
    below = np.cumsum(probabilities, dtype=np.longdouble).astype(np.float64)
    above = np.append(suffix_sums(probabilities)[1:], 0.0) + law.survival(last)
    table = np.maximum.accumulate(np.where(below < 0.5, below, 1.0 - above))
    table[-1] = 1.0
    return first, table
