"""Papernot & Steinke 2022, Corollary 4, and Theorem 6 as printed: a random number of runs.

Theorems 2 and 6 and Corollary 3 are bounds on any search, and stand in ``jaxsel.tuning.bounds``.
"""

import math
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import number
from jaxsel.language.papers import PS
from jaxsel.repetitions.parameters import Mean as PoissonMean
from jaxsel.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_epsilon
from jaxsel.tuning.claims.base_pairs import (
    EQUAL_LAWS,
    base_pairs,
    gaussian_tuned_renyi,
    least_rho,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.tuning.parameters import Mean, ModerateEta, Order, Rho

_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0])


def _gamma(eta: float, mean: float) -> float:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return law.parameters["gamma"]


def _random_shape(generator: np.random.Generator) -> tuple[float, float]:
    """eta and gamma of a truncated negative binomial law, extreme ones included."""
    eta = float(generator.choice([-0.7, 0.0, 1.0, 5.0, generator.uniform(-0.9, 4.0)]))
    return eta, 10.0 ** generator.uniform(-7.0, -0.05)


@PS.privacy("PS-Cor4", "Corollary 4", Relation.BASE)
def concentrated(*, order: Order = 2.0, rho: Rho = 0.1, eta: ModerateEta = 0.0, mean: Mean = 10.0):
    """For a rho-zCDP base with rho <= log(1/gamma), D_a <= rho (m-1) + log(E[K])/(m-1) + 2 (1+eta)
    sqrt(rho log(1/gamma)) - eta rho with m = max(a, 1 + sqrt(log(E[K])/rho)).

    Above rho = log(1/gamma), which the corollary leaves out, Theorem 2 at second order 1.
    """
    return zcdp_negative_binomial_renyi(order, rho, eta, _gamma(eta, mean))


@concentrated.bounds()
def concentrated_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for noise in (4.0, 1.0):
        for eta, gamma in ((0.0, 0.03), (1.0, 1e-4), (5.0, 0.3), (-0.5, 1e-3)):
            law = laws.truncated_negative_binomial(eta, gamma)
            point = {"rho": 0.5 / noise**2, "eta": eta, "mean": law.mean}
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    seen = gaussian_tuned_renyi(order, noise, law, sign)
                    yield point | {"order": order}, seen, f"Gaussian base, {noise=:g}, {sign=}"
    for pair in base_pairs(budget):
        rho = least_rho(*pair[:2])
        eta, gamma = _random_shape(generator)
        law = laws.truncated_negative_binomial(eta, max(min(gamma, math.exp(-rho)), 1e-290))
        point = {"rho": rho, "eta": eta, "mean": law.mean}
        for order, seen in zip(
            _ORDERS, two_sided_renyi(*tuned_pair(pair, law), _ORDERS), strict=True
        ):
            yield point | {"order": float(order)}, seen, pair.where


# The erratum stands with the generic bound, from which the theorem comes.
@PS.privacy(
    "PS-Thm6-printed",
    "Theorem 6",
    Relation.BASE,
    holds=False,
    erratum="E-PS-1",
    correction="For mean < 1 the bound fails, for equal base laws at every such mean; P[K = 0] "
    "must be added: PS-Thm6.",
)
def poisson_printed(
    *,
    order: Order = 3.0,
    epsilon: Annotated[float, number("Renyi bound of the base", at_least=0.0)] = 0.0,
    delta: Annotated[
        float, number("of the base at log(1 + 1/(a-1))", at_least=0.0, at_most=1.0)
    ] = 0.0,
    mean: PoissonMean = 0.5,
):
    """For every mean > 0, the best of K ~ Poisson(mean) runs of a base with D_a <= e that is (e',
    d)-DP, exp(e') <= 1 + 1/(a-1), has D_a <= e + mean d + log(mean)/(a-1)."""
    return poisson_epsilon(order, epsilon, delta, mean, corrected=False)


@poisson_printed.bounds(
    grid(mean=(0.5, 0.05, 0.99, 1.0, 4.0), order=_ORDERS.tolist(), epsilon=(0.0,), delta=(0.0,))
)
def equal_laws(order, mean):
    tuned = tuned_pair(EQUAL_LAWS, laws.poisson(mean))
    return two_sided_renyi(*tuned, order), EQUAL_LAWS.where
