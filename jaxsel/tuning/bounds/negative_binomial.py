"""Tuning with a truncated negative binomial number of runs (Papernot & Steinke 2022).

eta = 1 is the geometric law of Liu & Talwar (2019), eta = 0 the logarithmic law.
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.optimise import minimise_over_orders
from jaxsel.accounting.single_run.conversions import RenyiCurve, monotone
from jaxsel.language.papers import PS
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Eta, Gamma
from jaxsel.tuning.parameters import Epsilon, Rho
from jaxsel.tuning.search_bounds import (
    PURE,
    RENYI,
    Former,
    Needs,
    Search,
    bound,
    pure_base,
    pure_epsilon,
)


def _logs(eta: float, gamma: float) -> tuple[float, float]:
    """log(1/gamma) and log E[K]."""
    return -math.log(gamma), math.log(laws.truncated_negative_binomial(eta, gamma).mean)


def _middle(
    second_order: npt.ArrayLike,
    second_epsilon: npt.ArrayLike,
    eta: float,
    log_inverse: float,
    tight: bool,
) -> np.ndarray:
    """The terms of the bound that contain the second order."""
    # L = log(1/gamma), b and e: the second order and its Renyi bound
    b = np.asarray(second_order, dtype=np.float64)
    e = np.where(b == 1.0, 0.0, np.asarray(second_epsilon, dtype=np.float64))
    share = np.where(np.isinf(b), 1.0, 1.0 - 1.0 / b)
    with np.errstate(invalid="ignore", over="ignore"):
        if tight:
            # log(1/gamma - 1) + (b - 1) e, over b; at b = inf the limit is e
            odds = log_inverse + math.log(-math.expm1(-log_inverse))
            finite = np.logaddexp(0.0, odds + (b - 1.0) * e) / b
            terms = np.where(np.isinf(b), e, finite)
        else:
            terms = share * e + log_inverse / b
        return (1.0 + eta) * terms


def _total(
    order: npt.ArrayLike, epsilon: npt.ArrayLike, middle: np.ndarray | float, log_mean: float
) -> np.ndarray:
    """The bound: that of the base, the terms of the second order, and the term of E[K]."""
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return (np.asarray(epsilon) + middle + log_mean / excess)[()]


@validated
def negative_binomial_renyi(
    base_renyi: RenyiCurve, eta: Eta, gamma: Gamma, *, tight: bool = False, monotonised: bool = True
) -> RenyiCurve:
    """Renyi curve of the tuned algorithm: Theorem 2 at its best second order.

    epsilon + (1 + eta)(1 - 1/b) e + (1 + eta) log(1/gamma)/b + log E[K]/(order - 1),
    with b, e the second order and the base's bound there.

    Args:
      base_renyi: Renyi curve of the base algorithm.
      eta, gamma: of K ~ D(eta, gamma).
      tight: replace the two terms of the second order b, at which the base's bound is e,
        by ((1 + eta)/b) log(1 + (1/gamma - 1) e^((b - 1) e)), the line of the same proof
        before its last inequality.
      monotonised: take the least bound over larger orders too (Remark 5).

    Returns:
      A Renyi curve; the second order is searched over 1, 1 + exp(t) and inf.
    """
    log_inverse, log_mean = _logs(eta, gamma)

    def middle(second_order) -> np.ndarray:
        at_second = base_renyi(np.asarray(second_order))
        return _middle(second_order, at_second, eta, log_inverse, tight)

    least = min(
        float(minimise_over_orders(middle)[1]), float(middle(np.inf)), (1.0 + eta) * log_inverse
    )

    def curve(order: np.ndarray) -> np.ndarray:
        return _total(order, base_renyi(np.asarray(order)), least, log_mean)

    return monotone(curve) if monotonised else curve


@validated
def pure_negative_binomial_epsilon(epsilon: Epsilon, eta: Eta) -> float:
    """Pure epsilon of the tuned algorithm: (2 + eta) epsilon (Corollary 3)."""
    return (2.0 + eta) * epsilon


@validated
def zcdp_negative_binomial_renyi(
    order: npt.ArrayLike, rho: Rho, eta: Eta, gamma: Gamma
) -> np.ndarray:
    """Renyi bound of the tuned algorithm for a rho-zCDP base (Corollary 4).

    The best second order is sqrt(log(1/gamma)/rho); it must be at least 1, and for
    rho > log(1/gamma), which the corollary leaves out, it is 1.

    Args:
      order: in (1, inf], any shape.
      rho: zCDP parameter of one run.
      eta, gamma: of K ~ D(eta, gamma).

    Returns:
      The bound in the shape of order, flat up to order 1 + sqrt(log E[K]/rho).
    """
    log_inverse, log_mean = _logs(eta, gamma)
    if rho <= log_inverse:
        middle = (1.0 + eta) * (2.0 * math.sqrt(rho * log_inverse) - rho)
    else:
        middle = (1.0 + eta) * log_inverse
    flat_until = math.sqrt(log_mean / rho)
    excess = np.maximum(np.asarray(order, dtype=np.float64) - 1.0, flat_until)
    return (rho * (excess + 1.0) + log_mean / excess + middle)[()]


# --- what is stated of a search ----------------------------------------------------------

_FAMILY = "truncated_negative_binomial"
_FORMER = Former(
    {"rho": "0.1", "eta": "0", "mean": "10"},
    "zcdp:rho={rho}",
    "tnb:eta={eta},mean={mean}",
    {"order": 5.0},
)


@bound(
    PS,
    "PS-Thm2",
    "Theorem 2",
    RENYI,
    needs=Needs(law=_FAMILY),
    words="Papernot & Steinke 2022: Renyi, truncated negative binomial",
    label="RDP, PS Thm 2",
    at=_FORMER,
    aliases=("KRW-Thm5.1",),
)
def theorem_2(search: Search) -> RenyiCurve:
    """For a base with D_a <= e and D_b <= e', the best of K truncated negative binomial
    runs has D_a <= e + (1+eta)(1 - 1/b) e' + (1+eta) log(1/gamma)/b + log(E[K])/(a-1).
    """
    return _renyi(search)


@bound(
    PS,
    "PS-Thm2-tight",
    "proof of Theorem 2, before its last inequality",
    RENYI,
    needs=Needs(law=_FAMILY),
    words="Papernot & Steinke 2022: Theorem 2 before its last inequality",
    label="RDP, PS Thm 2, tight",
    at=_FORMER,
)
def before_the_last_step(search: Search) -> RenyiCurve:
    """In Theorem 2 the two middle terms may be replaced by ((1+eta)/b) log(1 + (1/gamma
    - 1) e^((b-1) e')).
    """
    return _renyi(search, tight=True)


def _renyi(search: Search, *, tight: bool = False) -> RenyiCurve:
    eta, gamma = (search.law.parameters[name] for name in ("eta", "gamma"))
    return negative_binomial_renyi(search.base.renyi, eta, gamma, tight=tight, monotonised=False)


def _cases(budget):
    from jaxsel.tuning.claims.searches import gaussian_renyi_cases, renyi_cases

    yield from gaussian_renyi_cases(_FAMILY)
    yield from renyi_cases(budget, _FAMILY)


theorem_2.bounds()(_cases)
before_the_last_step.bounds()(_cases)


@bound(
    PS,
    "PS-Cor3",
    "Corollary 3",
    PURE,
    needs=Needs(law=_FAMILY, lacks=pure_base),
    words="(eta + 2) epsilon for a pure base; Papernot & Steinke 2022, too",
    label="pure, KRW Cor. 5.3",
    shown="KRW-Cor5.3",
    at=Former({"epsilon": "1", "eta": "0"}, "pure:epsilon={epsilon}", "tnb:eta={eta},gamma=0.1"),
    aliases=("KRW-Cor5.3",),
)
def pure(search: Search) -> float:
    """The best of K truncated negative binomial runs of an (epsilon, 0)-DP base is ((2 + eta)
    epsilon, 0)-DP, for every gamma."""
    return pure_negative_binomial_epsilon(pure_epsilon(search.base), search.law.parameters["eta"])


@pure.bounds()
def pure_laws(budget):
    from jaxsel.tuning.claims.searches import pure_cases

    return pure_cases(budget, _FAMILY)
