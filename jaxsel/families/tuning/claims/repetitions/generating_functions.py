"""Papernot & Steinke 2022, Appendix A.2: generating functions of the number of runs."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import optimize, special

from jaxsel import repetitions as laws
from jaxsel.families.tuning.claims.parameters import Gamma, Law
from jaxsel.language.base import Budget
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import PS

_LAWS = (
    "poisson:mean=0.4",
    "poisson:mean=7",
    "binomial:count=9,probability=0.3",
    "point_mass:count=4",
    "tnb:eta=-0.6,gamma=0.2",
    "logarithmic:gamma=0.1",
    "tnb:eta=2.5,gamma=0.15",
    "beta_binomial:count=12,gamma=1.5",
)
# eta >= 0: of the untruncated law, which has no other
Shape = Annotated[float, number("eta", above=0.0, at_most=1e4)]


def _table(law: laws.Repetitions) -> tuple[np.ndarray, np.ndarray]:
    """k and P[K = k]; what is left out has probability below 1e-16."""
    last = law.maximum or 16
    while law.maximum is None and law.survival(last) > 1e-16:
        last *= 2
    k = np.arange(last + 1)
    return k, np.asarray(law.pmf(k))


# --- Moments --------------------------------------------------------------------------


def _second(*, repetitions: Law = "poisson:mean=3") -> float:
    """f''(1) = E[K (K - 1)]."""
    return repetitions.variance + repetitions.mean * (repetitions.mean - 1.0)


def _moment_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for text in _LAWS:
        law = laws.parse(text)
        k, pmf = _table(law)
        yield float(law.pgf(0.0)), float(pmf[0]), f"f(0) = P[K = 0], {text}"
        yield float(law.pgf(1.0)), 1.0, f"f(1) = 1, {text}"
        for x in (0.2, 0.7, 0.95):
            yield float(law.pgf(x)), float(pmf @ x**k), f"f({x:g}) = E[x^K], {text}"
        slope = float(law.pgf_derivative_tail(0.0))
        yield slope / float(pmf @ k), 1.0, f"f'(1) = E[K], {text}"
        second = float(pmf @ (k * (k - 1.0)))
        claimed = _second(repetitions=law)
        yield claimed / max(second, 1.0), second / max(second, 1.0), f"f''(1), {text}"


# --- The negative binomial law three ways ---------------------------------------------


def _negative_binomial(
    *,
    eta: Shape = 0.5,
    gamma: Gamma = 0.2,
    count: Annotated[int, whole("k", at_least=1, at_most=10**6)] = 3,
) -> float:
    """P[K = k | K > 0] of the negative binomial law, from its generating function."""
    log_pmf = special.gammaln(count + eta) - special.gammaln(eta)
    log_pmf += count * math.log1p(-gamma) - special.gammaln(count + 1.0)
    # gamma^eta / (1 - gamma^eta), as what is conditioned on has probability 1 - gamma^eta
    return math.exp(log_pmf) / math.expm1(-eta * math.log(gamma))


_SHAPES = ((0.5, 0.2), (1.0, 0.1), (3.0, 0.4), (0.05, 0.3))


def _mixture_cases(budget: Budget) -> Iterator[Case]:
    """Poisson of a Gamma variable, by quadrature over its quantiles' logarithm."""
    del budget
    for eta, gamma in _SHAPES:
        law = laws.truncated_negative_binomial(eta, gamma)
        scale = (1.0 - gamma) / gamma
        log_rate = np.linspace(-60.0, math.log(400.0 * scale), 60_001)
        rate = np.exp(log_rate)
        weight = np.exp(
            eta * log_rate - rate / scale - eta * math.log(scale) - special.gammaln(eta)
        )
        for k in (1, 2, 7):
            poisson = np.exp(k * log_rate - rate - special.gammaln(k + 1.0))
            seen = float(np.trapezoid(weight * poisson, log_rate))
            seen /= -math.expm1(eta * math.log(gamma))
            where = f"P[K = {k} | K > 0], eta={eta:g}, gamma={gamma:g}"
            yield _negative_binomial(eta=eta, gamma=gamma, count=k), seen, where
            yield float(law.pmf(k)), seen, f"as implemented, {where}"


def _compound_cases(budget: Budget) -> Iterator[Case]:
    """A Poisson number of logarithmic variables, by Panjer's recursion."""
    del budget
    for eta, gamma in _SHAPES:
        law = laws.truncated_negative_binomial(eta, gamma)
        mean, last = -eta * math.log(gamma), 30
        parts = np.asarray(laws.logarithmic(gamma).pmf(np.arange(last + 1)))
        total = np.zeros(last + 1)
        total[0] = math.exp(-mean)
        for n in range(1, last + 1):
            j = np.arange(1, n + 1)
            total[n] = mean / n * float(np.sum(j * parts[j] * total[n - j]))
        total /= 1.0 - total[0]
        for k in (1, 2, 5, 30):
            where = f"P[K = {k} | K > 0], eta={eta:g}, gamma={gamma:g}"
            claimed = _negative_binomial(eta=eta, gamma=gamma, count=k)
            yield claimed, float(total[k]), where
            yield float(law.pmf(k)), float(total[k]), f"as implemented, {where}"


# --- Limits ---------------------------------------------------------------------------


def _distance(
    *,
    eta: Annotated[float, number("shape of K", above=0.0, at_most=1e9)] = 1e-4,
    mean: Annotated[float, number("mu of the limit", above=0.0, at_most=50.0)] = 3.0,
) -> float:
    """Bound on the total variation to the limit: Poisson for large eta, else logarithmic.

    mu/eta to Poisson(mu) given K > 0, gamma = eta/(eta + mu), over P[K > 0]; eta
    log(1/gamma) to the logarithmic law, gamma = 1/(1 + mu).
    """
    if eta > 1.0:
        return mean / eta / -math.expm1(-mean)
    return eta * math.log1p(mean)


def _limit_cases(budget: Budget) -> Iterator[Case]:
    del budget
    k = np.arange(1, 2000)
    for mean in (0.5, 3.0, 20.0):
        poisson = np.asarray(laws.poisson(mean).pmf(k)) / -math.expm1(-mean)
        for eta in (1e2, 1e4, 1e6):
            law = laws.truncated_negative_binomial(eta, eta / (eta + mean))
            seen = 0.5 * float(np.sum(np.abs(law.pmf(k) - poisson)))
            where = f"to Poisson({mean:g}) given K > 0, {eta=:g}"
            yield 1.0, seen / _distance(eta=eta, mean=mean), where
        gamma = 1.0 / (1.0 + mean)
        logarithmic = np.asarray(laws.logarithmic(gamma).pmf(k))
        for eta in (1e-1, 1e-3, 1e-5):
            law = laws.truncated_negative_binomial(eta, gamma)
            seen = 0.5 * float(np.sum(np.abs(law.pmf(k) - logarithmic)))
            where = f"to the logarithmic law, {gamma=:g}, {eta=:g}"
            yield 1.0, seen / _distance(eta=eta, mean=mean), where


# --- Time -----------------------------------------------------------------------------


def _long_run(
    *,
    mean: Annotated[float, number("E[K]", above=0.0, at_most=1e6)] = 10.0,
    count: Annotated[int, whole("k, above the mean", at_least=1)] = 30,
) -> float:
    """Bound f(e^t) e^(-t k), at its best t, on P[K >= k] for K ~ Poisson(mean)."""
    if count <= mean:
        return 1.0
    return math.exp(count - mean - count * math.log(count / mean))


def _moment_bound(eta: float, gamma: float, count: int) -> float:
    """The least f(e^t) e^(-t k) over t > 0 for a truncated negative binomial law."""
    most = -math.log1p(-gamma)  # f is finite below

    def log_bound(t: float) -> float:
        inside = -math.expm1(t + math.log1p(-gamma))
        if eta == 0.0:
            value = math.log(inside) / math.log(gamma)
        else:
            value = math.expm1(-eta * math.log(inside)) / math.expm1(-eta * math.log(gamma))
        return math.log(value) - t * count

    found = optimize.minimize_scalar(
        log_bound,
        bounds=(1e-9 * most, (1.0 - 1e-9) * most),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return math.exp(min(float(found.fun), 0.0))  # type: ignore[attr-defined]


def _long_run_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for mean in (0.5, 10.0, 100.0):
        law = laws.poisson(mean)
        for times in (1.2, 2.0, 4.0):
            k = max(1, math.ceil(times * mean))
            seen = float(law.survival(k - 1))
            claimed = _long_run(mean=mean, count=k)
            yield 1.0, seen / claimed, f"P[K >= {k}], Poisson({mean:g})"
    for eta, gamma in ((0.0, 0.1), (1.0, 0.1), (3.0, 0.02), (-0.5, 0.3)):
        law = laws.truncated_negative_binomial(eta, gamma)
        for times in (2.0, 6.0):
            k = math.ceil(times * law.mean)
            seen = float(law.survival(k - 1))
            where = f"P[K >= {k}], eta={eta:g}, gamma={gamma:g}"
            yield 1.0, seen / _moment_bound(eta, gamma, k), where


STATEMENTS = (
    PS.identity(
        "PS-A.2-moments",
        "Appendix A.2",
        "f(0) = P[K = 0], f(1) = 1, f'(1) = E[K] and f''(1) = E[K (K - 1)].",
        _second,
        equal(_moment_cases, 1e-10),
    ),
    PS.identity(
        "PS-A.2-mixture",
        "Appendix A.2",
        "K ~ Poisson(L) with L Gamma of shape eta and scale (1-gamma)/gamma is negative "
        "binomial; given K > 0 it is D(eta, gamma).",
        _negative_binomial,
        equal(_mixture_cases, 1e-8),
    ),
    PS.identity(
        "PS-A.2-compound",
        "Appendix A.2",
        "The sum of a Poisson number, of mean eta log(1/gamma), of independent "
        "logarithmic variables is negative binomial; given K > 0 it is D(eta, gamma).",
        _negative_binomial,
        equal(_compound_cases, 1e-11),
    ),
    PS.utility(
        "PS-A.2-limits",
        "Appendix A.2, with rates",
        "With gamma = eta/(eta + mu) and eta -> infinity, D(eta, gamma) tends to "
        "Poisson(mu) given K > 0, and for eta -> 0 to the logarithmic law: within mu/eta "
        "(over P[K > 0]) and eta log(1/gamma) in total variation (checked in units of "
        "these).",
        _distance,
        at_most(_limit_cases),
    ),
    PS.utility(
        "PS-A.2-runtime",
        "Appendix A.2.1",
        "P[K >= k] <= f(e^t) e^(-t k) for all t > 0 at which f is finite (checked in "
        "units of the least such bound).",
        _long_run,
        at_most(_long_run_cases),
    ),
)
