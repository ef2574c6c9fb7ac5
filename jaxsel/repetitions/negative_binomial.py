"""The truncated negative binomial law of K; geometric and logarithmic are its cases."""

import math

import numpy as np
from scipy import special

from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Eta, Gamma
from jaxsel.repetitions.record import Generating, OfCounts, Repetitions, build
from jaxsel.repetitions.special import exprel_difference, log_beta, log_exprel

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def excess_mean(eta: float, log_inverse_gamma: float) -> float:
    """E[K] - 1 of the law D(eta, gamma), accurate also where it is tiny.

    With L = log(1/gamma) and r(x) = (e^x - 1)/x, E[K] = r(L) / r(-eta L), increasing in
    L from 1 (gamma = 1) to infinity.
    """
    x = -eta * log_inverse_gamma
    return exprel_difference(log_inverse_gamma, x) / float(special.exprel(x))


def _small_eta_survival(
    k: np.ndarray, eta: float, odds: float, log_inverse_gamma: float, log_c: float
) -> np.ndarray:
    """P[K > k] for -1 < eta <= 0, by quadrature of a positive integrand.

    The remainder of Taylor's formula for f at 1, with 1 - x = (e^t - 1)/odds, says
    P[K > k] = a c int_0^L e^(eta t) (1 - gamma e^t)^k dt, c = eta/(e^(eta L) - 1) and
    a = Gamma(k+1+eta)/(Gamma(1+eta) k!). (For eta > 0 the integral is an incomplete
    beta function.)
    """
    result = np.ones(k.shape)
    positive = np.flatnonzero(k > 0)
    chunk = 512
    for start in range(0, len(positive), chunk):
        chosen = positive[start : start + chunk]
        count = k[chosen]
        # Beyond t_max the integrand is below e^-45 of its value at 0.
        t_max = np.minimum(log_inverse_gamma, np.log1p(45.0 * odds / count))
        panels = max(4, math.ceil(float(t_max.max())))
        edges = np.arange(panels)[:, None]
        unit = ((edges + 0.5 * (_NODES + 1.0)) / panels).ravel()
        weights = np.tile(_WEIGHTS * 0.5 / panels, panels)
        t = t_max[:, None] * unit
        # (1 - gamma e^t)/(1 - gamma), relative to the value at t = 0
        relative = np.minimum(np.expm1(t) / odds, 1.0)
        with np.errstate(divide="ignore"):
            exponent = eta * t + count[:, None] * np.log1p(-relative)
        integral = t_max * (np.exp(exponent) @ weights)
        # log(1 - gamma) = log(odds/(1 + odds)) = -log1p(1/odds)
        log_front = log_c - np.log(count) - log_beta(count, 1.0 + eta)
        log_front -= count * math.log1p(1.0 / odds)
        result[chosen] = np.exp(log_front) * integral
    return np.minimum(result, 1.0)


@validated
def truncated_negative_binomial(eta: Eta, gamma: Gamma) -> Repetitions:
    r"""The law D(eta, gamma) on k >= 1 (Papernot & Steinke 2022, Definition 1).

    .. math::
        P[K = k] = \frac{(1-\gamma)^k}{\gamma^{-\eta} - 1}
                   \prod_{l=0}^{k-1} \frac{l + \eta}{l + 1},
        \qquad E[K] = \frac{\eta (1 - \gamma)}{\gamma (1 - \gamma^\eta)},

    and their limits at eta = 0, where it is the logarithmic law. eta = 1 is the
    geometric law. As eta grows with gamma = eta/(eta + mu) it tends to the Poisson(mu)
    law conditioned on K >= 1. For eta < 0 the mean is finite for every gamma > 0, but
    f(x) tends to the proper law 1 - (1 - x)^(-eta) as gamma tends to 0.

    Its generating function is f(x) = ((1-(1-gamma)x)^-eta - 1)/(gamma^-eta - 1)
    (Equation (7)), and f'(1-u) = E[K] (gamma/(gamma + (1-gamma) u))^(eta+1).
    """
    log_inverse_gamma = -math.log(gamma)  # L
    odds = (1.0 - gamma) / gamma  # e^L - 1
    log_one_minus_gamma = math.log1p(-gamma)
    # c = eta/expm1(eta L), 1/L at eta = 0: the one normalising constant for every eta
    log_c = -math.log(log_inverse_gamma) - log_exprel(eta * log_inverse_gamma)
    # E[K] = odds / (L exprel(-eta L)), 1 + excess where that is near 1
    scale = float(special.exprel(-eta * log_inverse_gamma))
    excess = excess_mean(eta, log_inverse_gamma)
    mean = 1.0 + excess if excess < 1 else odds / (log_inverse_gamma * scale)
    log_mean = math.log1p(excess) if excess < 1 else math.log(mean)
    # Var = E[K] ((eta+1) odds + 1 - E[K]); the factor is written so that nothing
    # cancels for gamma near 1 (exprel(L) = odds/L) nor for large eta.
    x = eta * log_inverse_gamma
    if x < 0.5:
        factor = odds + exprel_difference(x, log_inverse_gamma) / special.exprel(x)
    else:
        factor = 1.0 + odds - odds / log_inverse_gamma * math.exp(-log_exprel(x))

    def pmf(k: np.ndarray) -> np.ndarray:
        # Gamma(k+eta)/(Gamma(1+eta) k!) = 1/(B(k, 1+eta) k (k+eta))
        return np.exp(
            k * log_one_minus_gamma + log_c - log_beta(k, 1.0 + eta) - np.log(k) - np.log(k + eta)
        )

    gamma_to_eta = math.exp(-eta * log_inverse_gamma) if eta > 0 else 1.0
    positive_mass = -math.expm1(-eta * log_inverse_gamma)  # of the untruncated law

    def survival(k: np.ndarray) -> np.ndarray:
        if eta > 0:
            return special.betaincc(eta, k + 1.0, gamma) / positive_mass
        return _small_eta_survival(
            np.atleast_1d(k).ravel(), eta, odds, log_inverse_gamma, log_c
        ).reshape(k.shape)

    def cdf(k: np.ndarray) -> np.ndarray:
        upper = survival(k)
        if gamma_to_eta >= 0.5:  # then P[K = 1] >= 1/1000: nothing to lose
            return 1.0 - upper
        lower = (special.betainc(eta, k + 1.0, gamma) - gamma_to_eta) / positive_mass
        return np.where(upper < 0.5, 1.0 - upper, lower)

    def log_ratio(u: np.ndarray) -> np.ndarray:
        return np.log1p(odds * u)  # log((gamma + (1-gamma) u)/gamma)

    def gap(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        distance = log_ratio(u)
        return distance * special.exprel(-eta * distance) / (log_inverse_gamma * scale)

    def pgf(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        # z = -log(1 - (1-gamma) x)
        part = (1.0 - gamma) * x
        z = np.where(
            part < 0.5, -np.log1p(-np.minimum(part, 0.5)), -np.log(gamma + (1.0 - gamma) * u)
        )
        value = np.exp(-eta * log_ratio(u)) * z * special.exprel(-eta * z)
        complement = gap(x, u)
        return np.where(complement < 0.5, 1.0 - complement, value / (log_inverse_gamma * scale))

    def log_derivative(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return log_mean - (eta + 1.0) * log_ratio(u)

    return build(
        "truncated_negative_binomial",
        {"eta": eta, "gamma": gamma},
        OfCounts(pmf=pmf, cdf=cdf, survival=survival),
        Generating(pgf=pgf, gap=gap, log_derivative=log_derivative),
        mean=mean,
        variance=mean * max(float(factor), 0.0),
        probability_zero=0.0,
        minimum=1,
        maximum=None,
    )


@validated
def geometric(gamma: Gamma) -> Repetitions:
    """P[K = k] = gamma (1 - gamma)^(k-1): a stop coin after each run.

    The random stopping of Liu & Talwar 2019, Algorithm 2, and D(1, gamma) of Papernot &
    Steinke 2022, Definition 1; E[K] = 1/gamma.
    """
    return truncated_negative_binomial(1.0, gamma)


@validated
def logarithmic(gamma: Gamma) -> Repetitions:
    """P[K = k] = (1 - gamma)^k / (k log(1/gamma)), E[K] = (1/gamma - 1)/log(1/gamma).

    D(0, gamma) of Papernot & Steinke 2022, Definition 1.
    """
    return truncated_negative_binomial(0.0, gamma)
