"""The laws of K that Figures 5 and 6 of Papernot & Steinke 2022 compare, and their epsilon.

The base algorithm is 0.1-zCDP and privacy is (epsilon, 1e-6)-DP. Epsilon is the paper's:
Theorem 2 in the form of Corollary 4 for truncated negative binomial laws, Theorem 6 with
delta from the Renyi curve (Lemma 14) for Poisson, plain composition for a fixed number
of runs; each through the best order of Lemma 14.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy.optimize import brentq

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import (
    optimal_epsilon_at_order,
    renyi_to_delta,
    renyi_to_epsilon,
)
from jaxsel.host.errors import InputError
from jaxsel.language.domains import positive, probability
from jaxsel.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_epsilon

RHO, DELTA = 0.1, 1e-6


class LawFamily(NamedTuple):
    """Laws of K with one free number, in which E[K] and epsilon increase.

    Attributes:
      name: family, and eta where there is one.
      law: log of the free number -> law of K. The number is log(1/gamma) of a truncated
        negative binomial law, the mean of a Poisson law.
      low, high: range of the logarithm.
    """

    name: str
    law: Callable[[float], laws.Repetitions]
    low: float
    high: float


def _negative_binomial(eta: float) -> LawFamily:
    return LawFamily(
        f"eta={eta:g}",
        lambda t: laws.truncated_negative_binomial(eta, math.exp(-math.exp(t))),
        math.log(1e-4),
        math.log(690.0),
    )


FAMILIES: dict[str, LawFamily] = {
    family.name: family
    for family in (
        *(_negative_binomial(eta) for eta in (-0.5, 0.0, 0.5, 1.0, 2.0)),
        LawFamily("poisson", lambda t: laws.poisson(math.exp(t)), -12.0, 12.0),
    )
}


@functools.cache
def _poisson_orders(rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Orders, and the delta of Theorem 6 at each: the costly part, shared by all means.

    Any set of orders gives an upper bound; this one is 1e-6 from the best order's.
    """
    orders = 1.0 + np.exp(np.linspace(-2.0, 6.0, 4001))
    delta = renyi_to_delta(curves.zcdp(rho).renyi, np.log1p(1.0 / (orders - 1.0)))
    return orders, delta


@dataclasses.dataclass(frozen=True)
class Price:
    """The epsilon of a law of K: that of a zCDP base that is run K times."""

    rho: Annotated[float, positive("zCDP of one run")] = RHO
    delta: Annotated[float, probability("delta of the whole search")] = DELTA

    def epsilon(self, law: laws.Repetitions) -> float:
        """Epsilon at ``delta``; for Poisson means below 1 the corrected Theorem 6 (E-PS-1).

        Raises:
          InputError: if the paper has no bound for this law.
        """
        parameters = law.parameters
        match law.family:
            case "truncated_negative_binomial":
                eta, gamma = parameters["eta"], parameters["gamma"]
                return renyi_to_epsilon(
                    lambda order: zcdp_negative_binomial_renyi(order, self.rho, eta, gamma),
                    self.delta,
                ).epsilon
            case "poisson":
                orders, delta = _poisson_orders(self.rho)
                renyi = poisson_epsilon(orders, self.rho * orders, delta, parameters["mean"])
                return float(np.min(optimal_epsilon_at_order(orders, renyi, self.delta)))
            case "point_mass":
                rho = self.rho * parameters["count"]
                return renyi_to_epsilon(curves.zcdp(rho).renyi, self.delta).epsilon
        raise InputError(f"there is no bound for {law.family} repetitions here")

    def common_epsilons(self) -> tuple[float, float]:
        """The range of epsilons that every family attains, rounded inwards to hundredths."""
        ends = [
            (self.epsilon(family.law(family.low)), self.epsilon(family.law(family.high)))
            for family in FAMILIES.values()
        ]
        least = max(low for low, _ in ends)
        most = min(high for _, high in ends)
        return (math.floor(least * 100.0 + 1.0) / 100.0, math.ceil(most * 100.0 - 1.0) / 100.0)

    def law_at(self, family: LawFamily, target: float) -> laws.Repetitions:
        """The law of the family whose epsilon is ``target``.

        Raises:
          InputError: if no law of the family has it.
        """

        def excess(t: float) -> float:
            return self.epsilon(family.law(t)) - target

        if not excess(family.low) < 0.0 < excess(family.high):
            least, most = self.common_epsilons()
            raise InputError(
                f"no law of {family.name} has epsilon {target:g}; take epsilons from "
                f"{least:g} to {most:g}, which all families have"
            )
        root = brentq(excess, family.low, family.high, xtol=1e-10)
        return family.law(float(root))  # type: ignore[arg-type]
