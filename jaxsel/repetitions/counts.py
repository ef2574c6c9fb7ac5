"""Fixed, Poisson, binomial and beta-binomial numbers of repetitions."""

import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.language.domains import number
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Chance, Mean, Rounds, Runs
from jaxsel.repetitions.record import Generating, OfCounts, Repetitions, build, log_complement
from jaxsel.repetitions.special import log_beta, stirling_remainder

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def _times(count: float, log_x: np.ndarray) -> np.ndarray:
    """log x^count, 0 for count = 0 also at x = 0."""
    return count * log_x if count else np.zeros(np.shape(log_x))


@validated
def point_mass(count: Runs) -> Repetitions:
    """K = count, always; f(x) = x^count.

    The naive best of K: no better than composition (Papernot & Steinke 2022,
    Proposition 17; Liu & Talwar 2019, Appendix B.1).
    """
    log_count = math.log(count)
    return build(
        "point_mass",
        {"count": count},
        OfCounts(
            pmf=lambda k: np.ones(k.shape),
            cdf=lambda k: np.zeros(k.shape),
            survival=lambda k: np.ones(k.shape),
        ),
        Generating(
            pgf=lambda x, u: np.exp(count * log_complement(x, u)),
            gap=lambda x, u: -np.expm1(count * log_complement(x, u)),
            log_derivative=lambda x, u: log_count + _times(count - 1, log_complement(x, u)),
        ),
        mean=count,
        variance=0.0,
        probability_zero=0.0,
        minimum=count,
        maximum=count,
    )


def _poisson_tail_ratio(k: np.ndarray, mean: float) -> np.ndarray:
    """P[K > k]/P[K = k] for k > mean, P[K <= k]/P[K = k] for k < mean; mean >> 1.

    int exp(s + k log(1 - s/mean)) ds over s in [0, mean], or over s <= 0: the integral
    form of the incomplete gamma functions, on the side where the integrand decays.
    """
    rate = np.abs(k / mean - 1.0)
    # Beyond this the integrand is below e^-45, by its linear or its quadratic decay;
    # below the mean the quadratic one weakens as |s| grows, at most by a factor 4 here.
    reach = np.minimum(45.0 / rate, 2.0 * mean * np.sqrt(90.0 / np.maximum(k, 90.0)))
    reach = np.where(k > mean, np.minimum(reach, mean), reach)
    panels = 8
    unit = (np.arange(panels)[:, None] + 0.5 * (_NODES + 1.0)).ravel() / panels
    weights = np.tile(_WEIGHTS * 0.5 / panels, panels)
    s = np.where(k > mean, 1.0, -1.0)[..., None] * reach[..., None] * unit
    exponent = s + k[..., None] * np.log1p(-s / mean)
    return reach * (np.exp(exponent) @ weights)


@validated
def poisson(mean: Mean) -> Repetitions:
    """K ~ Poisson(mean); f(1 - u) = e^(-mean u), P[K = 0] = e^(-mean).

    Papernot & Steinke 2022, Theorem 6, which as printed needs mean >= 1 (E-PS-1).
    """
    log_mean = math.log(mean)

    def pmf(k: np.ndarray) -> np.ndarray:
        # e^-mean mean^k / k!, with k log(k/mean) + mean - k written by its small
        # argument near the mode (Loader's saddle-point form) and Stirling's k!.
        count = np.maximum(k, 1.0)
        x = (mean - count) / count
        near = count * (x - np.log1p(np.where(np.abs(x) < 0.5, x, 0.0)))
        far = count * np.log(count) - count * log_mean + mean - count
        deviance = np.where(np.abs(x) < 0.5, near, far)
        log_positive = -deviance - 0.5 * np.log(2.0 * np.pi * count) - stirling_remainder(count)
        return np.exp(np.where(k == 0, -mean, log_positive))

    def tail(k: np.ndarray, upper: bool) -> np.ndarray:
        library = special.gammainc if upper else special.gammaincc
        value = np.asarray(library(k + 1.0, mean))
        # Far from a large mean SciPy's series stops before it has converged.
        far = (mean > 1000.0) & (np.abs(k - mean) > 4.0 * math.sqrt(mean))
        if np.any(far):
            count = k[far]
            outer = pmf(count) * _poisson_tail_ratio(count, mean)
            value[far] = np.where((count > mean) == upper, outer, 1.0 - outer)
        return value

    return build(
        "poisson",
        {"mean": mean},
        OfCounts(
            pmf=pmf, cdf=lambda k: tail(k, upper=False), survival=lambda k: tail(k, upper=True)
        ),
        Generating(
            pgf=lambda x, u: np.exp(-mean * u),
            gap=lambda x, u: -np.expm1(-mean * u),
            log_derivative=lambda x, u: log_mean - mean * u,
        ),
        mean=mean,
        variance=mean,
        probability_zero=math.exp(-mean),
        minimum=0,
        maximum=None,
    )


@validated
def binomial(count: Rounds, probability: Chance) -> Repetitions:
    """K ~ Bin(count, probability); f(1 - u) = (1 - probability u)^count.

    ``count`` runs may happen, each with that probability, independently (Koskela, Redberg &
    Wang 2024, Theorem 5.7).
    """
    p = probability
    log_mean = math.log(count) + math.log(p)

    def pmf(k: np.ndarray) -> np.ndarray:
        from scipy import stats  # takes half a second and is not needed for bounds

        return stats.binom.pmf(k, float(count), p)

    def log_factor(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        # log(1 - p u) = log((1 - p) + p x)
        with np.errstate(divide="ignore"):
            return np.where(
                p * u < 0.5, np.log1p(-np.minimum(p * u, 0.5)), np.log((1.0 - p) + p * x)
            )

    return build(
        "binomial",
        {"count": count, "probability": p},
        OfCounts(
            pmf=pmf,
            cdf=lambda k: special.betaincc(k + 1.0, count - k, p),
            survival=lambda k: special.betainc(k + 1.0, count - k, p),
        ),
        Generating(
            pgf=lambda x, u: np.exp(count * log_factor(x, u)),
            gap=lambda x, u: -np.expm1(count * log_factor(x, u)),
            log_derivative=lambda x, u: log_mean + _times(count - 1, log_factor(x, u)),
        ),
        mean=count * p,
        variance=count * p * (1.0 - p),
        probability_zero=math.exp(count * math.log1p(-p)) if p < 1 else 0.0,
        minimum=0 if p < 1 else count,
        maximum=count,
    )


def _log_mixed_power(count: int, gamma: float, x: np.ndarray, u: np.ndarray):
    """log E[(1 - p u)^count] for p = U^(1/gamma), U uniform.

    In closed form gamma u^-gamma B(gamma, count+1) I_u(gamma, count+1). Where u lies
    below the mean of that beta law, I_u may underflow; there the Pfaff transform of the
    same hypergeometric function is a quickly converging series of positive terms,
    (1 - u)^count sum_j prod_{i<j} ((count-i)/(gamma+1+i)) (u/(1-u))^j.
    """
    result = np.zeros(u.shape)
    if count == 0:
        return result
    series = count * u <= x * (gamma + 1.0)
    far_x, far_u = x[~series], u[~series]
    if far_u.size:
        result[~series] = (
            math.log(gamma)
            - gamma * log_complement(far_u, far_x)  # log u
            + log_beta(gamma, count + 1.0)
            + np.log(special.betainc(gamma, count + 1.0, far_u))
        )
    near_x, near_u = x[series], u[series]
    if near_u.size:
        odds = near_u / near_x
        term = np.ones(near_u.shape)
        total = np.ones(near_u.shape)
        for j in range(count):
            term = term * ((count - j) / (gamma + 1.0 + j)) * odds
            total += term
            if np.all(term <= 1e-18 * total):
                break
        result[series] = count * log_complement(near_x, near_u) + np.log(total)
    return result


def _mixed_gap(count: int, gamma: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """1 - E[(1 - p u)^count], by its alternating series where count u <= 1."""
    small = count * u <= 1.0
    result = np.asarray(-np.expm1(_log_mixed_power(count, gamma, x, u)))
    if np.any(small):
        near = u[small]
        term = -np.ones(near.shape)
        total = np.zeros(near.shape)
        for j in range(1, min(count, 24) + 1):
            term = -term * ((count - j + 1) / j) * near
            total += term * (gamma / (gamma + j))
        result[small] = total
    return result


@validated
def beta_binomial(
    count: Rounds,
    gamma: Annotated[
        float,
        # Below the least one 1 - f(1-u) would have no digits; at the largest p is almost 1.
        number("exponent of the prior of p, no stopping probability", at_least=1e-12, at_most=1e9),
    ],
) -> Repetitions:
    r"""K ~ Bin(count, p) where p = U^(1/gamma), U uniform, is drawn once.

    Selection of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Algorithm 1, with ``count``
    rounds of one candidate (their tau); the beta-binomial law with weights gamma and 1.
    With u the tail,

    .. math::
        f(1-u) &= E(1-pu)^\tau
               = \gamma u^{-\gamma} B(\gamma, \tau+1) I_u(\gamma, \tau+1), \\
        f'(1-u) &= \tau\gamma u^{-\gamma-1} B(\gamma+1, \tau) I_u(\gamma+1, \tau),

    and E[K] = count gamma/(gamma + 1). gamma = 1 makes K uniform on 0..count.
    For gamma < 1, 1 - f(1-u) is accurate to about 1e-15/gamma, relatively. gamma is the exponent
    of the prior of p, P[p <= x] = x^gamma, and no stopping probability.
    """
    mean = count * (gamma / (gamma + 1.0))
    log_zero = math.log(gamma) + float(log_beta(gamma, count + 1.0))

    def pmf(k: np.ndarray) -> np.ndarray:
        positive = np.maximum(k, 1.0)
        ratio = -np.log(positive) - log_beta(positive, gamma)
        return np.exp(log_zero + np.where(k == 0, 0.0, ratio))

    # P[K <= j] = prod_{i=j+1}^{count} i/(i + gamma). Near the top the logarithm of the
    # product is summed directly, elsewhere it is a difference of log Gamma ratios.
    top = min(count, 4096)
    indices = np.arange(count, count - top, -1, dtype=np.float64)
    log_products = np.concatenate([[0.0], np.cumsum(np.log1p(gamma / indices))])

    def remainder(z: np.ndarray) -> np.ndarray:
        # log(Gamma(z + gamma)/Gamma(z)) - gamma log z
        return (
            (z + gamma - 0.5) * np.log1p(gamma / z)
            - gamma
            + stirling_remainder(z + gamma)
            - stirling_remainder(z)
        )

    def log_cdf(k: np.ndarray) -> np.ndarray:
        missing = count - k
        direct = log_products[np.minimum(missing, top).astype(np.int64)]
        far = gamma * np.log1p(missing / (k + 1.0)) + (
            remainder(np.asarray(count + 1.0)) - remainder(k + 1.0)
        )
        return -np.where(missing <= top, direct, far)

    return build(
        "beta_binomial",
        {"count": count, "gamma": gamma},
        OfCounts(
            pmf=pmf, cdf=lambda k: np.exp(log_cdf(k)), survival=lambda k: -np.expm1(log_cdf(k))
        ),
        Generating(
            pgf=lambda x, u: np.exp(_log_mixed_power(count, gamma, x, u)),
            gap=lambda x, u: _mixed_gap(count, gamma, x, u),
            log_derivative=lambda x, u: (
                math.log(mean) + _log_mixed_power(count - 1, gamma + 1.0, x, u)
            ),
        ),
        mean=mean,
        variance=mean * (1.0 + gamma + count) / ((gamma + 1.0) * (gamma + 2.0)),
        probability_zero=math.exp(log_zero),
        minimum=0,
        maximum=count,
    )
