"""Papernot & Steinke 2022, Appendix A.2: generating functions of the number of runs."""

import math
from typing import Annotated

import numpy as np
from scipy import optimize, special

from jaxsel import repetitions as laws
from jaxsel.families.tuning.claims.parameters import Gamma, Law
from jaxsel.language.checking import Judged, grid, in_units, listed
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


@PS.identity("PS-A.2-moments", "Appendix A.2")
def moments(*, repetitions: Law = "poisson:mean=3") -> float:
    """f(0) = P[K = 0], f(1) = 1, f'(1) = E[K] and f''(1) = E[K (K - 1)].

    f''(1) = E[K (K - 1)].
    """
    return repetitions.variance + repetitions.mean * (repetitions.mean - 1.0)


@moments.equals(listed("repetitions", *_LAWS), tolerance=1e-10)
def summed(repetitions):
    law = laws.parse(repetitions)
    k, pmf = _table(law)
    yield Judged(law.pgf(0.0), pmf[0], f"f(0) = P[K = 0], {repetitions}")
    yield Judged(law.pgf(1.0), 1.0, f"f(1) = 1, {repetitions}")
    for x in (0.2, 0.7, 0.95):
        where = f"f({x:g}) = E[x^K], {repetitions}"
        yield Judged(law.pgf(x), pmf @ x**k, where)
    slope = float(law.pgf_derivative_tail(0.0))
    yield Judged(slope / float(pmf @ k), 1.0, f"f'(1) = E[K], {repetitions}")
    second = float(pmf @ (k * (k - 1.0)))
    scale = max(second, 1.0)
    yield lambda claimed: (claimed / scale, second / scale), "f''(1)"


@PS.identity("PS-A.2-mixture", "Appendix A.2")
def mixture(
    *,
    eta: Shape = 0.5,
    gamma: Gamma = 0.2,
    count: Annotated[int, whole("k", at_least=1, at_most=10**6)] = 3,
) -> float:
    """K ~ Poisson(L) with L Gamma of shape eta and scale (1-gamma)/gamma is negative binomial;
    given K > 0 it is D(eta, gamma).

    P[K = k | K > 0] of the negative binomial law, from its generating function.
    """
    log_pmf = special.gammaln(count + eta) - special.gammaln(eta)
    log_pmf += count * math.log1p(-gamma) - special.gammaln(count + 1.0)
    # gamma^eta / (1 - gamma^eta), as what is conditioned on has probability 1 - gamma^eta
    return math.exp(log_pmf) / math.expm1(-eta * math.log(gamma))


compound = PS.identity(
    "PS-A.2-compound",
    "Appendix A.2",
    statement="The sum of a Poisson number, of mean eta log(1/gamma), of independent logarithmic "
    "variables is negative binomial; given K > 0 it is D(eta, gamma).",
)(mixture.evaluate)


_SHAPES = listed("eta gamma", (0.5, 0.2), (1.0, 0.1), (3.0, 0.4), (0.05, 0.3))


@mixture.equals(tolerance=1e-8)
def quadrature(budget):
    """Poisson of a Gamma variable, by quadrature over its quantiles' logarithm."""
    for shape in _SHAPES(budget):
        eta, gamma = shape["eta"], shape["gamma"]
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
            yield shape | {"count": k}, seen
            where = f"as implemented, P[K = {k} | K > 0], {eta=}, {gamma=}"
            yield Judged(law.pmf(k), seen, where)


@compound.equals(tolerance=1e-11)
def recursion(budget):
    """A Poisson number of logarithmic variables, by Panjer's recursion."""
    for shape in _SHAPES(budget):
        eta, gamma = shape["eta"], shape["gamma"]
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
            yield shape | {"count": k}, total[k]
            where = f"as implemented, P[K = {k} | K > 0], {eta=}, {gamma=}"
            yield Judged(law.pmf(k), total[k], where)


@PS.utility("PS-A.2-limits", "Appendix A.2, with rates")
def limits(
    *,
    eta: Annotated[float, number("shape of K", above=0.0, at_most=1e9)] = 1e-4,
    mean: Annotated[float, number("mu of the limit", above=0.0, at_most=50.0)] = 3.0,
) -> float:
    """With gamma = eta/(eta + mu) and eta -> infinity, D(eta, gamma) tends to Poisson(mu) given K >
    0, and for eta -> 0 to the logarithmic law: within mu/eta (over P[K > 0]) and eta log(1/gamma)
    in total variation (checked in units of these).

    Bound on the total variation to the limit: Poisson for large eta, else logarithmic.

    mu/eta to Poisson(mu) given K > 0, gamma = eta/(eta + mu), over P[K > 0]; eta
    log(1/gamma) to the logarithmic law, gamma = 1/(1 + mu).
    """
    if eta > 1.0:
        return mean / eta / -math.expm1(-mean)
    return eta * math.log1p(mean)


@limits.bounds(grid(mean=(0.5, 3.0, 20.0), eta=(1e2, 1e4, 1e6, 1e-1, 1e-3, 1e-5)))
def distance(eta, mean):
    k = np.arange(1, 2000)
    if eta > 1.0:
        gamma = eta / (eta + mean)
        limit = np.asarray(laws.poisson(mean).pmf(k)) / -math.expm1(-mean)
    else:
        gamma = 1.0 / (1.0 + mean)
        limit = np.asarray(laws.logarithmic(gamma).pmf(k))
    law = laws.truncated_negative_binomial(eta, gamma)
    seen = 0.5 * float(np.sum(np.abs(law.pmf(k) - limit)))
    return lambda bound: (1.0, seen / bound)


@PS.utility("PS-A.2-runtime", "Appendix A.2.1")
def long_run(
    *,
    mean: Annotated[float, number("E[K]", above=0.0, at_most=1e6)] = 10.0,
    count: Annotated[int, whole("k, above the mean", at_least=1)] = 30,
) -> float:
    """P[K >= k] <= f(e^t) e^(-t k) for all t > 0 at which f is finite (checked in units of the
    least such bound).

    Bound f(e^t) e^(-t k), at its best t, on P[K >= k] for K ~ Poisson(mean).
    """
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


@long_run.bounds()
def tails(budget):
    for mean in (0.5, 10.0, 100.0):
        for times in (1.2, 2.0, 4.0):
            k = max(1, math.ceil(times * mean))
            seen = float(laws.poisson(mean).survival(k - 1))
            yield {"mean": mean, "count": k}, in_units(seen)
    for eta, gamma in ((0.0, 0.1), (1.0, 0.1), (3.0, 0.02), (-0.5, 0.3)):
        law = laws.truncated_negative_binomial(eta, gamma)
        for times in (2.0, 6.0):
            k = math.ceil(times * law.mean)
            seen = float(law.survival(k - 1))
            where = f"P[K >= {k}], eta={eta:g}, gamma={gamma:g}"
            yield Judged(1.0, seen / _moment_bound(eta, gamma, k), where)
