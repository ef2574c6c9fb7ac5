"""Exact searches on which bounds are put to the test: pairs of base laws, and laws of K."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.dominating import pair_from_laws, reversed_pair
from jaxsel.language.base import Budget
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.claims.base_pairs import (
    BasePair,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
    random_law_text,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.tuning.claims.profile.cases import law_profile, law_tradeoff, sharp_instances

_ORDERS = (1.02, 1.5, 2.0, 5.0, 25.0)
_FAMILIES = {"poisson": 0, "point_mass": 2, "binomial": 1, "truncated_negative_binomial": 3}
_GAUSSIAN_LAWS = {
    "truncated_negative_binomial": ((0.0, 0.03), (1.0, 1e-4), (5.0, 0.3), (-0.5, 1e-3))
}


def guarantee(pair: BasePair) -> BaseGuarantee:
    """The exact guarantee of a base with these two laws, in both directions."""
    first = pair_from_laws(pair.first, pair.second)
    return BaseGuarantee(
        name=pair.where,
        renyi=lambda order: two_sided_renyi(pair.first, pair.second, order),
        pairs=lambda: (first, reversed_pair(first)),
        profile=law_profile(pair.first, pair.second),
        tradeoff=law_tradeoff(pair.first, pair.second),
    )


def at_order(base: BaseGuarantee, law: Repetitions, order: float) -> dict[str, Any]:
    """A point of a bound on a Renyi divergence."""
    return {"base": base, "law": law, "order": order, "delta": None, "epsilon": None}


def at_epsilon(base: BaseGuarantee, law: Repetitions, epsilon: float) -> dict[str, Any]:
    """A point of a bound on a profile."""
    return {"base": base, "law": law, "delta": None, "epsilon": epsilon}


def random_laws(budget: Budget, family: str) -> Iterator[Repetitions]:
    """Random laws of a family, extreme ones included, without end."""
    generator = np.random.default_rng(budget.seed + 1)
    while True:
        if family == "truncated_negative_binomial":
            eta = float(generator.choice([-0.7, 0.0, 1.0, 5.0, generator.uniform(-0.9, 4.0)]))
            yield laws.truncated_negative_binomial(eta, 10.0 ** generator.uniform(-7.0, -0.05))
        else:
            text = random_law_text(generator, _FAMILIES[family], (-1.3, 2.0), 4.0, (-5.0, -0.05))
            yield laws.parse(text)


def searches(budget: Budget, family: str) -> Iterator[tuple[BasePair, Repetitions]]:
    """The pair on which a bound is nearly attained, then every pair with a random law."""
    for pair, law in sharp_instances().values():
        if law.family == family:
            yield pair, law
    yield from zip(base_pairs(budget), random_laws(budget, family), strict=False)


def renyi_cases(budget: Budget, family: str) -> Iterator[Any]:
    """Exact Renyi divergences of tuned pairs, both ways, at orders from 1.02 to 1000."""
    for index, (pair, law) in enumerate(searches(budget, family)):
        base, tuned = guarantee(pair), tuned_pair(pair, law)
        for order in (*_ORDERS, 1000.0) if index == 0 else _ORDERS:
            yield at_order(base, law, order), float(two_sided_renyi(*tuned, order))


def gaussian_renyi_cases(family: str) -> Iterator[Any]:
    """Renyi divergences of tuned Gaussians, ranked by their outcome either way."""
    for noise in (4.0, 1.0):
        for eta, gamma in _GAUSSIAN_LAWS[family]:
            law = laws.truncated_negative_binomial(eta, gamma)
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    seen = gaussian_tuned_renyi(order, noise, law, sign)
                    yield at_order(curves.gaussian(noise), law, order), seen, f"{sign=}"


def pure_cases(budget: Budget, family: str) -> Iterator[Any]:
    """Exact pure epsilons of tuned pairs."""
    for pair, law in zip(pure_pairs(budget), random_laws(budget, family), strict=False):
        chosen = [law]
        if family == "truncated_negative_binomial" and pair.where.startswith("pairs"):
            # gamma -> 0 approaches the bound on three outcomes
            shapes = ((0.0, 1e-3), (1.0, 1e-3), (5.0, 1e-3), (-0.5, 1e-6))
            chosen += [laws.truncated_negative_binomial(*shape) for shape in shapes]
        for each in chosen:
            seen = exact_epsilon(*tuned_pair(pair, each))
            yield {"base": guarantee(pair), "law": each}, seen
