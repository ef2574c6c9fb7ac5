"""Laws of K that are cut off: K given K <= maximum, and min(K, maximum)."""

import math
from typing import Annotated

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, whole
from jaxsel.language.signature import validated
from jaxsel.repetitions.record import Generating, OfCounts, Repetitions, build, log_complement
from jaxsel.repetitions.special import log_power_sum, power_sum, suffix_sums

TABLE_LIMIT = 2**22  # largest maximum for which the law is kept as a table


def _complete(gap: np.ndarray, value: np.ndarray) -> np.ndarray:
    """f from 1 - f where f > 1/2, so that f(1) = 1 exactly; else f itself."""
    return np.where(gap < 0.5, 1.0 - gap, value)


def _from_table(
    family: str, law: Repetitions, maximum: int, probabilities: np.ndarray
) -> Repetitions:
    """A law on 0..maximum from its probabilities: every function is a positive sum."""
    counts = np.arange(len(probabilities), dtype=np.float64)
    upper = np.append(suffix_sums(probabilities), 0.0)[1:]  # P[K > k]
    lower = suffix_sums(probabilities[::-1])[::-1]  # P[K <= k]
    # 1 - f(1 - u) = u sum_k P[K > k] (1 - u)^k and f'(x) = sum_k (k+1) P[K=k+1] x^k
    derivative = (counts * probabilities)[1:]
    if len(derivative) == 0:
        derivative = np.zeros(1)
    mean = float(np.sum(upper))

    def pick(table: np.ndarray):
        return lambda k: table[k.astype(np.int64)]

    def gap(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u * power_sum(upper, log_complement(x, u))

    def pgf(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return _complete(gap(x, u), power_sum(probabilities, log_complement(x, u)))

    return build(
        family,
        {"maximum": maximum},
        OfCounts(pmf=pick(probabilities), cdf=pick(lower), survival=pick(upper)),
        Generating(
            pgf=pgf,
            gap=gap,
            log_derivative=lambda x, u: log_power_sum(derivative, log_complement(x, u)),
        ),
        mean=mean,
        variance=float(np.sum(probabilities * (counts - mean) ** 2)),
        probability_zero=float(probabilities[0]),
        minimum=min(law.minimum, maximum),
        maximum=maximum,
        inner=law,
    )


CONDITIONED: Domain = whole("largest K; the law given that it is not exceeded", at_least=0)
CAPPED: Domain = whole("largest K; a hard stop", at_least=1, at_most=1e15)


def _check_table(name: str, maximum: int) -> None:
    if maximum > TABLE_LIMIT:
        raise InputError(
            f"maximum is {maximum}; a {name} law needs a table of that many "
            f"probabilities, so it must be <= {TABLE_LIMIT}"
        )


@validated
def conditioned(law: Repetitions, maximum: Annotated[int, CONDITIONED]) -> Repetitions:
    """The law of K given K <= maximum (Papernot & Steinke 2022, Lemma 22).

    Args:
      law: the law to restrict, kept as ``inner``.
      maximum: at most 2^22, unless the law itself never exceeds it.

    Raises:
      InputError: if the table would be too large, or K <= maximum is impossible.
    """
    if law.maximum is not None and law.maximum <= maximum:
        return law._replace(family="conditioned", parameters={"maximum": maximum}, inner=law)
    _check_table("conditioned", maximum)
    probabilities = np.asarray(law.pmf(np.arange(maximum + 1)))
    # Subnormal tables would lose their digits; scale before the sum can underflow.
    largest = float(probabilities.max())
    if largest < 1e-290:
        raise InputError(
            f"maximum is {maximum}; the law of K never stays that low (P[K <= maximum] "
            "is 0 or below 1e-290), so choose a larger maximum"
        )
    return _from_table("conditioned", law, maximum, probabilities / np.sum(probabilities))


@validated
def capped(law: Repetitions, maximum: Annotated[int, CAPPED]) -> Repetitions:
    """The law of min(K, maximum), a hard stop (Liu & Talwar 2019, Section 3.1).

    For a geometric law (their Algorithm 2 with a limit T on the number of runs) it has
    the closed form, with r = (1 - gamma) x,
    f(x) = gamma x (1 - r^(T-1))/(1 - r) + (1 - gamma)^(T-1) x^T, and maximum may be
    anything; other laws are kept as tables.

    Args:
      law: the law to cap, kept as ``inner``.
      maximum: at most 2^22 unless the law is geometric or never exceeds it.

    Raises:
      InputError: if the table would be too large.
    """
    if law.maximum is not None and law.maximum <= maximum:
        return law._replace(family="capped", parameters={"maximum": maximum}, inner=law)
    if law.family == "truncated_negative_binomial" and law.parameters["eta"] == 1 and maximum > 1:
        return _capped_geometric(law, maximum)
    _check_table("capped", maximum)
    probabilities = np.asarray(law.pmf(np.arange(maximum + 1)))
    probabilities[maximum] = law.survival(maximum - 1)
    return _from_table("capped", law, maximum, probabilities)


def _weighted_geometric_sum(n: float, d: np.ndarray, log_r: np.ndarray) -> np.ndarray:
    """sum_{k=1}^n k r^(k-1) for r = 1 - d, n >= 1.

    In closed form (1 - (1 + n d) r^n)/d^2; where n d is small, which makes the
    numerator cancel, its expansion sum_i (i+1) C(n+1, i+2) (-d)^i.
    """
    small = n * d < 0.5
    safe = np.where(small, 1.0, d)
    closed = -np.expm1(np.log1p(n * safe) + n * log_r) / (safe * safe)
    base = np.where(small, d, 0.0)
    term = np.full(np.shape(d), 0.5 * (n + 1.0) * n)  # C(n+1, i+2)(-d)^i
    total = np.zeros(np.shape(d))
    for i in range(24):
        total = total + (i + 1) * term
        term = -term * base * ((n - 1 - i) / (i + 3))
    return np.where(small, total, closed)


def _capped_geometric(law: Repetitions, maximum: int) -> Repetitions:
    gamma, limit = law.parameters["gamma"], float(maximum)
    log_stay = math.log1p(-gamma)

    def log_r(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return log_stay + log_complement(x, u)

    def pgf(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        d = gamma + (1.0 - gamma) * u  # 1 - r
        stopped = -gamma * x * np.expm1((limit - 1.0) * log_r(x, u)) / d
        value = stopped + x * np.exp((limit - 1.0) * log_r(x, u))
        return _complete(gap(x, u), value)

    def gap(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        d = gamma + (1.0 - gamma) * u
        return -u * np.expm1(limit * log_r(x, u)) / d

    def log_derivative(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        d = gamma + (1.0 - gamma) * u
        exponent = log_r(x, u)
        stopped = gamma * _weighted_geometric_sum(limit - 1.0, d, exponent)
        return np.log(stopped + limit * np.exp((limit - 1.0) * exponent))

    mean = -math.expm1(limit * log_stay) / gamma
    if maximum <= 65536:
        counts = np.arange(1.0, maximum)
        stopped = np.exp(math.log(gamma) + (counts - 1.0) * log_stay)
        variance = (
            float(np.sum(stopped * (counts - mean) ** 2))
            + math.exp((limit - 1.0) * log_stay) * (limit - mean) ** 2
        )
    else:
        # E[K(K-1)] = 2 sum_{k<T} k (1-gamma)^k
        second = (
            2.0
            * (1.0 - gamma)
            * float(_weighted_geometric_sum(limit - 1.0, np.asarray(gamma), np.asarray(log_stay)))
        )
        variance = second + mean - mean * mean

    def pmf(k: np.ndarray) -> np.ndarray:
        stay = np.exp((k - 1.0) * log_stay)
        return np.where(k == limit, stay, gamma * stay)

    return build(
        "capped",
        {"maximum": maximum},
        OfCounts(
            pmf=pmf, cdf=lambda k: -np.expm1(k * log_stay), survival=lambda k: np.exp(k * log_stay)
        ),
        Generating(pgf=pgf, gap=gap, log_derivative=log_derivative),
        mean=mean,
        variance=variance,
        probability_zero=0.0,
        minimum=1,
        maximum=maximum,
        inner=law,
    )
