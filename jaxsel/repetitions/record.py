"""The record of a law of K, and a wrapper that checks the arguments of its functions."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, printed

Function = Callable[[ArrayLike], np.ndarray]
# A function of validated arguments: of k, of u, or of the pair (x, u) with x = 1 - u.
Raw = Callable[[np.ndarray], np.ndarray]
RawPair = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Sums of probabilities may leave [0, 1] by this much: vectors that sum to 1 within 1e-9
# are accepted everywhere.
_ROUNDING = 2e-9


@printed
class Repetitions(NamedTuple):
    """The law of the number of repetitions K, as numbers and pure functions.

    With f(x) = E[x^K] the probability generating function and u = 1 - x, the best of K
    independent draws lies among the best fraction u of the outcomes with probability
    1 - f(1 - u) (Papernot & Steinke 2022, Appendix A.2); everything that accounting
    needs is a function of the tail u, and is computed without forming 1 - u where that
    would cancel. All functions take scalars or arrays and return float64 of the same
    shape; points outside [0, 1] raise InputError, except rounding errors, which are
    clipped.

    Attributes:
      family: which family the law belongs to, one of ``FAMILIES``, "conditioned" or
        "capped".
      parameters: the arguments of the family's factory.
      pmf: k -> P[K = k]; 0 where k is not a whole number.
      cdf: k -> P[K <= k].
      survival: k -> P[K > k], with full relative accuracy in the upper tail.
      pgf: x -> f(x).
      pgf_tail: u -> f(1 - u).
      pgf_gap: u -> 1 - f(1 - u), with full relative accuracy for small u.
      pgf_derivative_tail: u -> f'(1 - u).
      log_pgf_derivative_tail: u -> log f'(1 - u).
      mean: E[K] = f'(1), in base runs.
      variance: Var[K].
      probability_zero: P[K = 0], the probability that nothing is run.
      minimum: the smallest possible K.
      maximum: the largest possible K, None if unbounded.
      inner: for "conditioned" and "capped", the law that was restricted.
    """

    family: str
    parameters: Mapping[str, float]
    pmf: Function
    cdf: Function
    survival: Function
    pgf: Function
    pgf_tail: Function
    pgf_gap: Function
    pgf_derivative_tail: Function
    log_pgf_derivative_tail: Function
    mean: float
    variance: float
    probability_zero: float
    minimum: int
    maximum: int | None
    inner: "Repetitions | None" = None

    @property
    def name(self) -> str:
        """The text from which ``jaxsel.repetitions.parse`` makes the same law."""
        if self.inner is not None:
            return f"{self.inner.name},{self.family}={self.parameters['maximum']}"
        values = ",".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{self.family}:{values}"

    def summary(self) -> Summary:
        """The family of the law with its parameters, and its main numbers."""
        given = ", ".join(f"{key}={value:g}" for key, value in self.parameters.items())
        if len(self.parameters) > 8:
            given = f"{len(self.parameters)} counts"
        of = f" of another: {self.inner.summary().sentence[10:-1]}" if self.inner else ""
        rows = [
            ["E[K]", self.mean],
            ["Var[K]", self.variance],
            ["P[K = 0]", self.probability_zero],
            ["largest K", "unbounded" if self.maximum is None else self.maximum],
        ]
        sentence = f"Law of K: {self.family}({given}){of}."
        return Summary(sentence, ("", "value"), rows)


def log_complement(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """log x for x = 1 - u, from whichever of the two is exact; -inf at x = 0."""
    with np.errstate(divide="ignore"):
        return np.where(u < 0.5, np.log1p(-np.minimum(u, 0.5)), np.log(x))


def _unit(name: str, values: ArrayLike) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers in [0, 1]") from None
    inside = (array >= -_ROUNDING) & (array <= 1.0 + _ROUNDING)
    if not np.all(inside):
        worst = array[~inside].flat[0]
        raise InputError(f"{name} holds {worst}; every value must lie in [0, 1]")
    return np.clip(array, 0.0, 1.0)


def _counts(values: ArrayLike) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("k must be numbers") from None
    if np.any(np.isnan(array)):
        raise InputError("k holds NaN; every value must be a number")
    return array


class OfCounts(NamedTuple):
    """Raw functions of float64 whole numbers k inside the support of a law.

    Attributes:
      pmf: P[K = k].
      cdf, survival: P[K <= k] and P[K > k], below the maximum.
    """

    pmf: Raw
    cdf: Raw
    survival: Raw


class Generating(NamedTuple):
    """Raw functions of (x, u), x = 1 - u, both in [0, 1]; whichever is below 1/2 is exact.

    Attributes:
      pgf, gap, log_derivative: f(x), 1 - f(x) and log f'(x).
    """

    pgf: RawPair
    gap: RawPair
    log_derivative: RawPair


def build(
    family: str,
    parameters: Mapping[str, float],
    counts: OfCounts,
    generating: Generating,
    *,
    mean: float,
    variance: float,
    probability_zero: float,
    minimum: int,
    maximum: int | None,
    inner: Repetitions | None = None,
) -> Repetitions:
    """Wraps raw functions of one law into a record.

    Args:
      counts, generating: raw functions of K's values, and of its generating function's argument.
      Others: as in :class:`Repetitions`.
    """
    pmf, cdf, survival = counts
    pgf, gap, log_derivative = generating
    top = np.inf if maximum is None else float(maximum)

    def pmf_of(k: ArrayLike) -> np.ndarray:
        k = _counts(k)
        inside = (k >= minimum) & (k <= top) & (k == np.floor(k)) & np.isfinite(k)
        return np.where(inside, pmf(np.where(inside, k, float(minimum))), 0.0)[()]

    def cdf_of(k: ArrayLike) -> np.ndarray:
        k = np.floor(_counts(k))
        below, above = k < minimum, (k >= top) | (k == np.inf)
        value = cdf(np.where(below | above, float(minimum), k))
        return np.where(below, 0.0, np.where(above, 1.0, value))[()]

    def survival_of(k: ArrayLike) -> np.ndarray:
        k = np.floor(_counts(k))
        below, above = k < minimum, (k >= top) | (k == np.inf)
        value = survival(np.where(below | above, float(minimum), k))
        return np.where(below, 1.0, np.where(above, 0.0, value))[()]

    def pgf_of(x: ArrayLike) -> np.ndarray:
        x = _unit("x", x)
        return pgf(x, 1.0 - x)[()]

    def pgf_tail(u: ArrayLike) -> np.ndarray:
        u = _unit("u", u)
        return pgf(1.0 - u, u)[()]

    def pgf_gap(u: ArrayLike) -> np.ndarray:
        u = _unit("u", u)
        return np.minimum(gap(1.0 - u, u), 1.0)[()]

    def log_derivative_of(u: ArrayLike) -> np.ndarray:
        u = _unit("u", u)
        return log_derivative(1.0 - u, u)[()]

    def derivative_of(u: ArrayLike) -> np.ndarray:
        return np.exp(log_derivative_of(u))[()]

    return Repetitions(
        family=family,
        parameters=dict(parameters),
        pmf=pmf_of,
        cdf=cdf_of,
        survival=survival_of,
        pgf=pgf_of,
        pgf_tail=pgf_tail,
        pgf_gap=pgf_gap,
        pgf_derivative_tail=derivative_of,
        log_pgf_derivative_tail=log_derivative_of,
        mean=float(mean),
        variance=float(variance),
        probability_zero=float(probability_zero),
        minimum=minimum,
        maximum=maximum,
        inner=inner,
    )
