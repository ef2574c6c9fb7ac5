"""Papernot & Steinke 2022, Theorems 2 and 6, Corollaries 3 and 4: a random number of runs.

Negative binomial, and Poisson.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import number
from jaxsel.language.papers import PS
from jaxsel.tuning.bounds.negative_binomial import (
    negative_binomial_epsilon,
    pure_negative_binomial_epsilon,
    zcdp_negative_binomial_renyi,
)
from jaxsel.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.tuning.claims.base_pairs import (
    EQUAL_LAWS,
    BasePair,
    at_worst,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.tuning.claims.parameters import Epsilon, Eta, Mean, Order, PoissonMean, Rho
from jaxsel.tuning.claims.profile.cases import sharp_instances

_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0])
_SECOND_ORDERS = np.array([1.0, 1.1, 1.5, 2.0, 5.0, 20.0, 100.0])


def _gamma(eta: float, mean: float) -> float:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return law.parameters["gamma"]


def _random_shape(generator: np.random.Generator) -> tuple[float, float]:
    """eta and gamma of a truncated negative binomial law, extreme ones included."""
    eta = float(generator.choice([-0.7, 0.0, 1.0, 5.0, generator.uniform(-0.9, 4.0)]))
    return eta, 10.0 ** generator.uniform(-7.0, -0.05)


def _theorem_2(tight: bool):
    def bound(
        *,
        order: Order = 5.0,
        second_order: Annotated[
            float | None, number("of the other bound; empty: Theorem 2's best", at_least=1.0)
        ] = None,
        rho: Rho = 0.1,
        eta: Eta = 0.0,
        mean: Mean = 10.0,
    ) -> float:
        """Renyi bound at ``order`` after tuning a rho-zCDP base."""
        gamma = _gamma(eta, mean)
        if second_order is None:
            second_order = max(1.0, math.sqrt(-math.log(gamma) / rho))
        bound = negative_binomial_epsilon(
            order, rho * order, second_order, rho * second_order, eta, gamma, tight=tight
        )
        return float(bound)

    return bound


def _theorem_2_judged(pair, law, orders, seconds, tight) -> Judged:
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    seen = two_sided_renyi(*tuned_pair(pair, law), orders)
    claimed = negative_binomial_epsilon(
        orders[:, None],
        two_sided_renyi(pair.first, pair.second, orders)[:, None],
        seconds,
        two_sided_renyi(pair.first, pair.second, seconds),
        eta,
        gamma,
        tight=tight,
    )
    where = f"the best of second orders {seconds.tolist()}, {eta=!r}, {gamma=!r}, {pair.where}"
    return at_worst(claimed.min(axis=1), seen, orders, where)


def _any_laws(tight: bool):
    def cases(budget):
        generator = np.random.default_rng(budget.seed + 1)
        for pair, law in sharp_instances().values():
            if law.family == "truncated_negative_binomial":
                large = np.array([1000.0])
                yield _theorem_2_judged(pair, law, large, large, tight)
        for pair in base_pairs(budget):
            law = laws.truncated_negative_binomial(*_random_shape(generator))
            yield _theorem_2_judged(pair, law, _ORDERS, _SECOND_ORDERS, tight)

    return cases


theorem_2 = PS.privacy(
    "PS-Thm2",
    "Theorem 2",
    Relation.BASE,
    statement="For a base with D_a <= e and D_b <= e', the best of K truncated negative binomial "
    "runs has D_a <= e + (1+eta)(1 - 1/b) e' + (1+eta) log(1/gamma)/b + log(E[K])/(a-1).",
    aliases=("KRW-Thm5.1",),
)(_theorem_2(tight=False))
theorem_2.bounds()(_any_laws(tight=False))

before_the_last_step = PS.privacy(
    "PS-Thm2-tight",
    "proof of Theorem 2, before its last inequality",
    Relation.BASE,
    statement="In Theorem 2 the two middle terms may be replaced by ((1+eta)/b) log(1 + (1/gamma "
    "- 1) e^((b-1) e')).",
)(_theorem_2(tight=True))
before_the_last_step.bounds()(_any_laws(tight=True))


@PS.privacy("PS-Cor3", "Corollary 3", Relation.BASE, aliases=("KRW-Cor5.3",))
def pure(*, epsilon: Epsilon = 1.0, eta: Eta = 0.0):
    """The best of K truncated negative binomial runs of an (epsilon, 0)-DP base is ((2 + eta)
    epsilon, 0)-DP, for every gamma."""
    return pure_negative_binomial_epsilon(epsilon, eta)


@pure.bounds()
def pure_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        epsilon = exact_epsilon(pair.first, pair.second)
        shapes = [_random_shape(generator)]
        if pair.where.startswith("pairs"):
            # gamma -> 0 approaches the bound on three outcomes
            shapes += [(0.0, 1e-3), (1.0, 1e-3), (5.0, 1e-3), (-0.5, 1e-6)]
        for eta, gamma in shapes:
            seen = exact_epsilon(*tuned_pair(pair, laws.truncated_negative_binomial(eta, gamma)))
            yield {"epsilon": epsilon, "eta": eta}, seen, f"{gamma=!r}, {pair.where}"


@PS.privacy("PS-Cor4", "Corollary 4", Relation.BASE)
def concentrated(*, order: Order = 2.0, rho: Rho = 0.1, eta: Eta = 0.0, mean: Mean = 10.0):
    """For a rho-zCDP base with rho <= log(1/gamma), D_a <= rho (m-1) + log(E[K])/(m-1) + 2 (1+eta)
    sqrt(rho log(1/gamma)) - eta rho with m = max(a, 1 + sqrt(log(E[K])/rho)).

    Above rho = log(1/gamma), which the corollary leaves out, Theorem 2 at second order 1.
    """
    return zcdp_negative_binomial_renyi(order, rho, eta, _gamma(eta, mean))


def _least_rho(pair: BasePair) -> float:
    """An upper bound on the least rho for which the pair is rho-zCDP, within 2 %."""
    orders = 1.0 + np.exp(np.linspace(-6.0, 7.0, 600))
    values = two_sided_renyi(pair.first, pair.second, orders)
    # between two orders: the divergence at the larger over the smaller
    steps = np.append(values, exact_epsilon(pair.first, pair.second))
    return float(np.max(steps / np.append(1.0, orders)))


_GAUSSIAN = np.array([1.5, 5.0, 20.0])


def _tuned_gaussians(claimed: np.ndarray, noise: float, law: laws.Repetitions) -> Iterator[Judged]:
    """A bound at those orders, against a tuned Gaussian pair in both directions."""
    for bound, order in zip(claimed, _GAUSSIAN.tolist(), strict=True):
        for sign in (1, -1):
            where = f"{order=:g}, Gaussian base, {noise=:g}, {sign=}, {law.family} {law.parameters}"
            yield Judged(bound, gaussian_tuned_renyi(order, noise, law, sign), where)


@concentrated.bounds()
def concentrated_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for noise in (4.0, 1.0):
        for eta, gamma in ((0.0, 0.03), (1.0, 1e-4), (5.0, 0.3), (-0.5, 1e-3)):
            law = laws.truncated_negative_binomial(eta, gamma)
            claimed = zcdp_negative_binomial_renyi(_GAUSSIAN, 0.5 / noise**2, eta, gamma)
            yield from _tuned_gaussians(claimed, noise, law)
    for pair in base_pairs(budget):
        rho = _least_rho(pair)
        eta, gamma = _random_shape(generator)
        gamma = max(min(gamma, math.exp(-rho)), 1e-290)
        if rho > -math.log(gamma):
            continue
        law = laws.truncated_negative_binomial(eta, gamma)
        claimed = zcdp_negative_binomial_renyi(_ORDERS, rho, eta, gamma)
        seen = two_sided_renyi(*tuned_pair(pair, law), _ORDERS)
        where = f"{rho=!r}, {eta=!r}, {gamma=!r}, {pair.where}"
        yield at_worst(claimed, seen, _ORDERS, where)


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


@PS.privacy("PS-Thm6", "Theorem 6, corrected", Relation.BASE, erratum="E-PS-1")
def poisson(*, order: Order = 5.0, rho: Rho = 0.1, mean: PoissonMean = 10.0):
    """With B = e + mean d + log(mean)/(a-1), the best of K ~ Poisson(mean) runs has D_a <= B if
    mean >= 1, and D_a <= log(e^-mean + e^((a-1)B))/(a-1) for every mean > 0.

    Renyi bound at ``order`` after tuning a rho-zCDP base a Poisson number of times. delta comes
    from Lemma 14 at its best order, and the least bound over larger orders is taken (Remark 5),
    as in Figure 3 of the paper; below mean 1 the outcome "no run" is added (E-PS-1).
    """
    curve = poisson_renyi(curves.zcdp(rho), mean, delta_from="renyi")
    return curve(np.asarray(order))


def _poisson_judged(pair, mean):
    renyi = two_sided_renyi(pair.first, pair.second, _ORDERS)
    levels = np.log1p(1.0 / (_ORDERS - 1.0))
    delta = profile_delta(pair.first, pair.second, levels)
    claimed = poisson_epsilon(_ORDERS, renyi, delta, mean)
    seen = two_sided_renyi(*tuned_pair(pair, laws.poisson(mean)), _ORDERS)
    return at_worst(claimed, seen, _ORDERS, f"mean={mean!r}, {pair.where}")


@poisson.bounds()
def any_poisson_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for mean in (0.5, 1.0, 4.0):
        yield _poisson_judged(EQUAL_LAWS, mean)
    for pair in base_pairs(budget):
        means = [10.0 ** generator.uniform(-1.3, 2.0)]
        if pair.where.startswith("pairs"):
            means += [0.5, 1.0, 30.0]
        for mean in means:
            yield _poisson_judged(pair, mean)
    for noise in (4.0, 1.0):
        for mean in (0.5, 1.0, 10.0):
            curve = poisson_renyi(curves.gaussian(noise), mean, monotonised=False)
            yield from _tuned_gaussians(curve(_GAUSSIAN), noise, laws.poisson(mean))
