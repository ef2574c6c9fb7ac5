"""Papernot & Steinke 2022, Theorem 6: a Poisson number of runs."""

from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.families.tuning.claims.base_pairs import (
    EQUAL_LAWS,
    at_worst,
    base_pairs,
    gaussian_tuned_renyi,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.families.tuning.claims.parameters import Order, PoissonMean, Rho
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import number
from jaxsel.language.papers import PS

_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0])


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
def printed(
    *,
    order: Order = 3.0,
    epsilon: Annotated[float, number("Renyi bound of the base", at_least=0.0)] = 0.0,
    delta: Annotated[
        float, number("of the base at log(1 + 1/(a-1))", at_least=0.0, at_most=1.0)
    ] = 0.0,
    mean: PoissonMean = 0.5,
) -> float:
    """For every mean > 0, the best of K ~ Poisson(mean) runs of a base with D_a <= e that is (e',
    d)-DP, exp(e') <= 1 + 1/(a-1), has D_a <= e + mean d + log(mean)/(a-1)."""
    return float(poisson_epsilon(order, epsilon, delta, mean, corrected=False))


@printed.bounds(
    grid(mean=(0.5, 0.05, 0.99, 1.0, 4.0), order=_ORDERS.tolist(), epsilon=(0.0,), delta=(0.0,))
)
def equal_laws(order, mean):
    tuned = tuned_pair(EQUAL_LAWS, laws.poisson(mean))
    return float(two_sided_renyi(*tuned, order)), EQUAL_LAWS.where


@PS.privacy("PS-Thm6", "Theorem 6, corrected", Relation.BASE, erratum="E-PS-1")
def bound(*, order: Order = 5.0, rho: Rho = 0.1, mean: PoissonMean = 10.0) -> float:
    """With B = e + mean d + log(mean)/(a-1), the best of K ~ Poisson(mean) runs has D_a <= B if
    mean >= 1, and D_a <= log(e^-mean + e^((a-1)B))/(a-1) for every mean > 0.

    Renyi bound at ``order`` after tuning a rho-zCDP base a Poisson number of times. delta comes
    from Lemma 14 at its best order, and the least bound over larger orders is taken (Remark 5),
    as in Figure 3 of the paper; below mean 1 the outcome "no run" is added (E-PS-1).
    """
    curve = poisson_renyi(curves.zcdp(rho), mean, delta_from="renyi")
    return float(curve(np.asarray(order)))


def _judged(pair, mean):
    renyi = two_sided_renyi(pair.first, pair.second, _ORDERS)
    levels = np.log1p(1.0 / (_ORDERS - 1.0))
    delta = profile_delta(pair.first, pair.second, levels)
    claimed = poisson_epsilon(_ORDERS, renyi, delta, mean)
    seen = two_sided_renyi(*tuned_pair(pair, laws.poisson(mean)), _ORDERS)
    return at_worst(claimed, seen, _ORDERS, f"mean={mean!r}, {pair.where}")


@bound.bounds()
def any_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for mean in (0.5, 1.0, 4.0):
        yield _judged(EQUAL_LAWS, mean)
    for pair in base_pairs(budget):
        means = [10.0 ** generator.uniform(-1.3, 2.0)]
        if pair.where.startswith("pairs"):
            means += [0.5, 1.0, 30.0]
        for mean in means:
            yield _judged(pair, mean)
    for noise_multiplier in (4.0, 1.0):
        base = curves.gaussian(noise_multiplier)
        for mean in (0.5, 1.0, 10.0):
            curve = poisson_renyi(base, mean, monotonised=False)
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    yield Judged(
                        float(curve(np.asarray(order))),
                        gaussian_tuned_renyi(order, noise_multiplier, laws.poisson(mean), sign),
                        f"order {order:g}, mean={mean:g}, Gaussian base with noise "
                        f"multiplier {noise_multiplier:g}, sign {sign}",
                    )
