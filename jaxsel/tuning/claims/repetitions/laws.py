"""Papernot & Steinke 2022, Definition 1, Equations (7) and (8), Appendix A.2: laws of K.

Their probabilities, means and generating functions.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from scipy import optimize, special

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.checking import Judged, grid, in_units, listed
from jaxsel.language.domains import number, parsed, whole
from jaxsel.language.papers import PS
from jaxsel.repetitions.parameters import Gamma
from jaxsel.tuning.parameters import Law, ModerateEta


def _printed_pmf(eta: float, gamma: float) -> np.ndarray:
    """P[K = k], k = 1, 2, ..., by the product of Definition 1; the rest is < 1e-13."""
    count = math.ceil((40.0 + 12.0 * max(eta, 0.0)) / -math.log1p(-gamma)) + 10
    k = np.arange(1.0, count + 1.0)
    if eta == 0.0:
        return (1.0 - gamma) ** k / (k * math.log(1.0 / gamma))
    product = np.cumprod((1.0 - gamma) * (k - 1.0 + eta) / k)
    return product / (gamma**-eta - 1.0)


def _settings(budget: Budget) -> Iterator[tuple[float, float]]:
    """(eta, gamma), for sums over all k that fit in memory."""
    yield from itertools.product((-0.7, 0.0, 0.5, 1.0, 5.0), (0.9, 0.1, 0.005))
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        eta = generator.uniform(-0.95, 6.0)
        yield eta, float(np.exp(generator.uniform(math.log(0.005), -0.05)))


@PS.identity("PS-Def1", "Definition 1")
def definition(*, eta: ModerateEta = 0.0, gamma: Gamma = 0.1):
    """P[K = k] = (1-gamma)^k/(gamma^-eta - 1) prod_(l<k) (l+eta)/(l+1), or (1-gamma)^k/(k
    log(1/gamma)) for eta = 0, sums to 1 over k >= 1 and has mean eta (1-gamma)/(gamma
    (1-gamma^eta)), or (1/gamma - 1)/log(1/gamma).

    E[K] of the truncated negative binomial law.
    """
    if abs(eta * math.log(gamma)) < 1e-17:  # 0 to float64
        return (1.0 / gamma - 1.0) / math.log(1.0 / gamma)
    return eta * (1.0 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))


@definition.equals(tolerance=1e-10)
def product(budget):
    for eta, gamma in _settings(budget):
        pmf = _printed_pmf(eta, gamma)
        k = np.arange(1, pmf.size + 1)
        where = f"eta={eta!r}, gamma={gamma!r}"
        yield Judged(1.0, pmf.sum(), f"sum of the probabilities, {where}")
        mean = float(np.sum(k * pmf))
        point = {"eta": eta, "gamma": gamma}
        yield point, in_units(mean), "sum over printed mean"
        law = laws.truncated_negative_binomial(eta, gamma)
        yield Judged(1.0, law.mean / mean, f"mean of the law as implemented, {where}")
        worst = np.argmax(np.abs(law.pmf(k) - pmf))
        yield Judged(pmf[worst], law.pmf(k[worst]), f"P[K = {k[worst]}], {where}")


@PS.identity("PS-Eq7", "Equation (7)")
def generating_function(
    *,
    eta: ModerateEta = 0.0,
    gamma: Gamma = 0.1,
    x: Annotated[float, number("where f is taken", at_least=0.0, at_most=1.0)] = 0.5,
):
    """The generating function of that law is f(x) = ((1-(1-gamma)x)^-eta - 1)/(gamma^-eta - 1), or
    log(1-(1-gamma)x)/log(gamma) for eta = 0."""
    inside = 1.0 - (1.0 - gamma) * x
    if eta == 0.0:
        return math.log(inside) / math.log(gamma)
    # Numerator and denominator times gamma^eta: no power overflows.
    ratio = math.expm1(eta * math.log(inside)) / math.expm1(eta * math.log(gamma))
    return (gamma / inside) ** eta * ratio


@generating_function.equals(tolerance=1e-10)
def enumerated(budget):
    for eta, gamma in _settings(budget):
        pmf = _printed_pmf(eta, gamma)
        law = laws.truncated_negative_binomial(eta, gamma)
        k = np.arange(1, pmf.size + 1)
        for x in (0.0, 0.3, 0.9, 0.999):
            where = f"as implemented, eta={eta!r}, gamma={gamma!r}, x={x:g}"
            seen = float(np.sum(pmf * x**k))
            yield {"eta": eta, "gamma": gamma, "x": x}, seen
            yield Judged(seen, law.pgf(x), f"f(x) {where}")
            slope = float(np.sum(k * pmf * x ** (k - 1.0)))
            both = np.array([slope, law.pgf_derivative_tail(1.0 - x)]) / max(slope, 1.0)
            yield Judged(both[0], both[1], f"f'(x) {where}")


@PS.utility("PS-Eq8", "Equation (8)")
def expected_quantile(*, repetitions: Law = "poisson:mean=10"):
    """The expected quantile of the best of K runs is E[1 - 1/(K+1)] = int_0^1 x f'(x) dx = 1 -
    int_0^1 f(x) dx."""
    parameters = repetitions.parameters
    match repetitions.family:
        case "truncated_negative_binomial":
            eta, gamma = parameters["eta"], parameters["gamma"]
            log_inverse = -math.log(gamma)
            if eta == 0.0:
                return 1.0 - 1.0 / log_inverse + gamma / (1.0 - gamma)
            if eta == 1.0:
                area = (log_inverse / (1.0 - gamma) - 1.0) / (1.0 / gamma - 1.0)
                return 1.0 - area
            power = gamma**eta
            area = (power - gamma) / ((1.0 - gamma) * (1.0 - eta)) - power
            return 1.0 - area / (1.0 - power)
        case "poisson":
            mean = parameters["mean"]
            return 1.0 + math.expm1(-mean) / mean
        case "point_mass":
            return repetitions.mean / (repetitions.mean + 1.0)
        case "binomial":
            n, p = parameters["count"], parameters["probability"]
            return 1.0 - (1.0 - (1.0 - p) ** (n + 1.0)) / ((n + 1.0) * p)
        case other:
            raise InputError(
                f"repetitions are {other}; the closed form is known for "
                "truncated_negative_binomial, poisson, point_mass and binomial"
            )


def _enumerable(budget: Budget) -> Iterator[str]:
    """Laws of K whose sums over all k are short."""
    for eta, gamma in _settings(budget):
        yield f"tnb:eta={eta!r},gamma={gamma!r}"
    for mean in (0.05, 0.5, 3.0, 40.0):
        yield f"poisson:mean={mean!r}"
    for count, chance in ((1, 0.3), (7, 0.9), (60, 0.05)):
        yield f"binomial:count={count},probability={chance!r}"
    for count in (1, 2, 30):
        yield f"point_mass:count={count}"


def _enumerated(law: laws.Repetitions) -> tuple[np.ndarray, np.ndarray]:
    """k and P[K = k]; the printed product for the truncated negative binomial."""
    if law.family == "truncated_negative_binomial":
        pmf = _printed_pmf(law.parameters["eta"], law.parameters["gamma"])
        return np.arange(1, pmf.size + 1), pmf
    last = law.maximum or int(law.mean + 40.0 * math.sqrt(law.mean) + 40.0)
    k = np.arange(last + 1)
    return k, np.asarray(law.pmf(k))


@expected_quantile.equals(tolerance=1e-10)
def integrals(budget):
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for name in _enumerable(budget):
        law, point = laws.parse(name), {"repetitions": name}
        k, pmf = _enumerated(law)
        yield point, np.sum(pmf * k / (k + 1.0)), "E[1 - 1/(K+1)]"
        yield point, laws.expected_quantile(law), "as implemented"
        if law.mean < 20.0:
            # int x f'(x) dx on panels that shrink towards 1, where f is steep
            edges = np.concatenate([[0.0], 1.0 - 0.5 ** np.arange(1, 30), [1.0]])
            half = np.diff(edges)[:, None] / 2.0
            x = (edges[:-1, None] + half * (1.0 + nodes)).ravel()
            slope = law.pgf_derivative_tail(1.0 - x)
            integral = np.sum((half * weights).ravel() * x * slope)
            yield point, integral, "int x f'(x) dx"


@PS.utility("PS-A.2.1", "Appendix A.2.1")
def success(
    *,
    repetitions: Law = "logarithmic:mean=10",
    base_success: Annotated[
        float, number("s, the chance that one run succeeds", at_least=0.0, at_most=1.0)
    ] = 0.01,
):
    """If one run succeeds with probability s, one of K runs succeeds with probability 1 - f(1 -
    s)."""
    return laws.success_probability(repetitions, base_success)


def _relative(observed):
    """Compared relative to what is claimed, since the chance may be tiny, or 0."""
    return lambda claimed: (claimed / max(claimed, 1e-300), observed / max(claimed, 1e-300))


@success.equals(tolerance=1e-10)
def failures(budget):
    for name in _enumerable(budget):
        k, pmf = _enumerated(laws.parse(name))
        for s in (0.0, 1e-9, 0.01, 0.5, 1.0):
            # every run fails with probability (1 - s)^K
            with np.errstate(divide="ignore"):
                fails = np.where(k > 0, np.maximum(k, 1) * np.log1p(-s), 0.0)
            yield (
                {"repetitions": name, "base_success": s},
                _relative(np.sum(pmf * -np.expm1(fails))),
            )


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
def moments(*, repetitions: Law = "poisson:mean=3"):
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
):
    """K ~ Poisson(L) with L Gamma of shape eta and scale (1-gamma)/gamma is negative binomial;
    given K > 0 it is D(eta, gamma).

    P[K = k | K > 0] of the negative binomial law, from its generating function.
    """
    log_pmf = special.gammaln(count + eta) - special.gammaln(eta)
    log_pmf += count * math.log1p(-gamma) - special.gammaln(count + 1.0)
    # gamma^eta / (1 - gamma^eta), as what is conditioned on has probability 1 - gamma^eta
    log_odds = -eta * math.log(gamma)
    if log_odds > 700.0:  # its exponential is no float, or nearly, and 1 more or less is nothing
        return math.exp(log_pmf - log_odds)
    return math.exp(log_pmf) / math.expm1(log_odds)


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


@PS.utility(
    "PS-A.2-limits",
    "Appendix A.2, with rates",
    loose="half of it would do: to first order in eta the distance to the logarithmic law is E|H - "
    "E H|/2 times eta with H = 1 + ... + 1/(K-1), which grows to half of eta log(1/gamma) as mu -> "
    "0 and no further, and the distance to Poisson is at most 0.245 times its bound, at mu = 8",
)
def limits(
    *,
    eta: Annotated[float, number("shape of K", above=0.0, at_most=1e9)] = 1e-4,
    mean: Annotated[float, number("mu of the limit", above=0.0, at_most=50.0)] = 3.0,
):
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


@limits.bounds(grid(mean=(0.01, 0.5, 3.0, 8.0, 20.0), eta=(1e2, 1e4, 1e6, 1e-1, 1e-3, 1e-5)))
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
    repetitions: Annotated[Any, parsed(laws.parse, "a truncated negative binomial law", "of K")] = (
        None
    ),
):
    """P[K >= k] <= f(e^t) e^(-t k) for all t > 0 at which f is finite (checked in units of the
    least such bound).

    Bound f(e^t) e^(-t k), at its best t, on P[K >= k] for K ~ Poisson(mean), or for a truncated
    negative binomial law that is given.
    """
    if repetitions is not None:
        if repetitions.family != "truncated_negative_binomial":
            raise InputError(
                f"repetitions are {repetitions.name}; they must be truncated negative binomial"
            )
        return _moment_bound(**repetitions.parameters, count=count)
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


_LONG = (
    "logarithmic:gamma=0.1",
    "geometric:gamma=0.1",
    "tnb:eta=3,gamma=0.02",
    "tnb:eta=-0.5,gamma=0.3",
)


@long_run.bounds()
def tails(budget):
    # Nearest at k = 1, just above the mean.
    shapes = itertools.product((0.5, 10.0, 100.0), (1.2, 2.0, 4.0))
    for mean, times in ((0.999, 1.0), *shapes):
        k = max(1, math.ceil(times * mean))
        point = {"mean": mean, "count": k, "repetitions": None}
        yield point, in_units(laws.poisson(mean).survival(k - 1))
    for text, times in (("tnb:eta=3,gamma=0.5", 0.8), *itertools.product(_LONG, (2.0, 6.0))):
        law = laws.parse(text)
        k = math.ceil(times * law.mean)
        point = {"mean": 10.0, "count": k, "repetitions": text}
        yield point, in_units(law.survival(k - 1))
