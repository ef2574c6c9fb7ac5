"""Exact searches on which bounds are put to the test: pairs of base laws, and laws of K."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.dominating import pair_from_laws, reversed_pair
from jaxsel.language.base import Budget
from jaxsel.language.checking import Judged
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.claims.base_pairs import (
    EQUAL_LAWS,
    BasePair,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
    random_law_text,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.tuning.claims.profile.cases import law_profile, law_tradeoff, sharp_instances
from jaxsel.tuning.search_bounds import PROFILE, Search, SearchBound

_ORDERS = (1.02, 1.5, 2.0, 5.0, 25.0)
_NUMBERS = {"poisson": 0, "binomial": 1, "point_mass": 2}  # of ``random_law_text``


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


def _at_order(base: BaseGuarantee, law: Repetitions, order: float) -> dict[str, Any]:
    """A point of a bound on a Renyi divergence."""
    return {"base": base, "law": law, "order": order, "delta": None, "epsilon": None}


def at_epsilon(base: BaseGuarantee, law: Repetitions, epsilon: float) -> dict[str, Any]:
    """A point of a bound on a profile."""
    return {"base": base, "law": law, "delta": None, "epsilon": epsilon}


OTHER_LAWS = (
    "beta_binomial:count=20,gamma=1",
    "beta_binomial:count=2,gamma=0.3",
    "geometric:gamma=0.05,capped=12",
    "poisson:mean=3,conditioned=4",
)
"""Laws of K for which no bound of their own is known."""


def _drawn_law(generator: np.random.Generator, family: str) -> Repetitions:
    """A random law of a family, extreme ones included."""
    if family == "truncated_negative_binomial":
        eta = float(generator.choice([-0.7, 0.0, 1.0, 5.0, generator.uniform(-0.9, 4.0)]))
        return laws.truncated_negative_binomial(eta, 10.0 ** generator.uniform(-7.0, -0.05))
    if family == "beta_binomial":
        count = int(generator.choice([1, 3, 30, 1000]))
        return laws.beta_binomial(count, float(generator.choice([0.5, 1.0, 2.0, 40.0])))
    text = random_law_text(generator, _NUMBERS[family], (-1.3, 2.0), 4.0, (-5.0, -0.05))
    return laws.parse(text)


def searches(budget: Budget, *families: str) -> Iterator[tuple[BasePair, Repetitions]]:
    """Where bounds are nearly attained, then every pair, each with a random law of a family."""
    for pair, law in sharp_instances().values():
        if law.family in families:
            yield pair, law
    generator = np.random.default_rng(budget.seed + 1)
    for index, pair in enumerate(base_pairs(budget)):
        chosen = families[index % len(families)]
        yield pair, _drawn_law(generator, chosen)
        if chosen == "poisson" and pair.where.startswith("pairs"):
            yield from ((pair, laws.poisson(mean)) for mean in (0.5, 1.0, 30.0))


def _renyi_at(pair: BasePair, law: Repetitions, orders: tuple[float, ...]) -> Iterator[Any]:
    base, tuned = guarantee(pair), tuned_pair(pair, law)
    for order in orders:
        yield _at_order(base, law, order), float(two_sided_renyi(*tuned, order))


def renyi_cases(budget: Budget, *families: str) -> Iterator[Any]:
    """Exact Renyi divergences of tuned pairs, the larger of both directions."""
    for index, (pair, law) in enumerate(searches(budget, *families)):
        yield from _renyi_at(pair, law, (*_ORDERS, 1000.0) if index == 0 else _ORDERS)


def equal_laws_cases(*texts: str) -> Iterator[Any]:
    """Equal base laws: only "no run" tells, and costs nothing."""
    for text in texts:
        yield from _renyi_at(EQUAL_LAWS, laws.parse(text), _ORDERS)


def other_laws_cases() -> Iterator[Any]:
    """Renyi divergences of tuned randomised responses, for laws without a bound of their own."""
    for epsilon in (1.0, 0.1):
        pair = BasePair(*pairs.randomised_response(epsilon), f"randomised response {epsilon:g}")
        for text in OTHER_LAWS:
            yield from _renyi_at(pair, laws.parse(text), _ORDERS)


_GAUSSIAN_LAWS = {
    "truncated_negative_binomial": [
        laws.truncated_negative_binomial(*shape)
        for shape in ((0.0, 0.03), (1.0, 1e-4), (5.0, 0.3), (-0.5, 1e-3))
    ],
    "poisson": [laws.poisson(mean) for mean in (0.5, 1.0, 10.0)],
}


def gaussian_renyi_cases(family: str) -> Iterator[Any]:
    """Renyi divergences of tuned Gaussians, ranked by their outcome either way."""
    for noise in (4.0, 1.0):
        base = curves.gaussian(noise)
        for law in _GAUSSIAN_LAWS[family]:
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    seen = gaussian_tuned_renyi(order, noise, law, sign)
                    yield _at_order(base, law, order), seen, f"{sign=}"


def pure_cases(budget: Budget, family: str) -> Iterator[Any]:
    """Exact pure epsilons of tuned pairs."""
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        chosen = [_drawn_law(generator, family)]
        if family == "truncated_negative_binomial" and pair.where.startswith("pairs"):
            # gamma -> 0 approaches the bound on three outcomes
            shapes = ((0.0, 1e-3), (1.0, 1e-3), (5.0, 1e-3), (-0.5, 1e-6))
            chosen += [laws.truncated_negative_binomial(*shape) for shape in shapes]
        base = guarantee(pair)
        for law in chosen:
            yield {"base": base, "law": law}, exact_epsilon(*tuned_pair(pair, law))


def three_blocks_cases(budget: Budget) -> Iterator[Any]:
    """Small blocks, the best of them likeliest on the second side, as is worst."""
    for generator in budget.draws(most=20):
        grown = math.exp(generator.uniform(0.05, 2.0))
        first = np.array([0.2, 1e-7 * grown]) / (1.0 + grown)
        second = np.array([0.2 * grown, 1e-7]) / (1.0 + grown)
        data, neighbour = (np.append(law, 1.0 - law.sum()) for law in (first, second))
        pair = BasePair(data, neighbour, f"three blocks, e^epsilon = {grown!r}")
        law = _drawn_law(generator, "beta_binomial")
        yield {"base": guarantee(pair), "law": law}, exact_epsilon(*tuned_pair(pair, law))


# Where profiles are compared: levels, and shares of the largest loss above a shift.
_LEVELS = np.array([-1.0, -0.2, 0.0, 0.05, 0.3, 1.0, 2.0])
_SHARES = np.array([-0.5, 0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 0.9999])


def levels(pair: BasePair, shift: float) -> np.ndarray:
    """Epsilons at which a bound with that shift may be nearest."""
    loss = np.abs(np.log(pair.first) - np.log(pair.second))
    shift = shift if math.isfinite(shift) else 0.0
    return np.concatenate([_LEVELS, shift + _SHARES * float(loss.max())])


def _profile_at(bound: SearchBound, pair: BasePair, law: Repetitions) -> Iterator[Any]:
    """Exact deltas of a tuned pair, where the bound may be nearest."""
    base = guarantee(pair)
    found = levels(pair, getattr(bound.formula(Search(base, law)), "shift", 0.0))
    if bound.states is not PROFILE:
        found = found[found >= 0.0]
    seen = law_profile(*tuned_pair(pair, law))(found)
    for epsilon, delta in zip(found.tolist(), seen.tolist(), strict=True):
        yield at_epsilon(base, law, epsilon), delta


def profile_cases(bound: SearchBound, budget: Budget, *families: str) -> Iterator[Any]:
    """Exact deltas of tuned pairs, the larger of both directions."""
    for pair, law in searches(budget, *families):
        if bound.lacks(Search(guarantee(pair), law)) is None:
            yield from _profile_at(bound, pair, law)


def profile_cases_of(bound: SearchBound, budget: Budget, *texts: str) -> Iterator[Any]:
    """The same for these laws, each with a pair of its own."""
    for text, pair in zip(texts, base_pairs(budget), strict=False):
        yield from _profile_at(bound, pair, laws.parse(text))


def shifts(budget: Budget, larger: SearchBound, bound: SearchBound) -> Iterator[Judged]:
    """Shifts of one bound against those of another that is never below it."""
    for pair, law in searches(budget, "truncated_negative_binomial"):
        search = Search(guarantee(pair), law)
        most, least = (each.formula(search).shift for each in (larger, bound))
        # The supremum is an upper bound, to 1e-8.
        yield Judged(most + 1e-6, least, f"shift of {larger.id}, {law.name}, {pair.where}")
