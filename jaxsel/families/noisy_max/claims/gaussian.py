"""Claims on report noisy max with Gaussian and Laplace noise.

They are those of Koskela, Redberg & Wang 2024, Section 3. Each bound is checked by exact laws of
the winner, on random neighbours and on two groups of scores that move apart, which are the worst
neighbours that are known.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.families.noisy_max.bounds import (
    noisy_max_chernoff_epsilon,
    noisy_max_delta,
    noisy_max_epsilon,
    noisy_max_noise,
    noisy_max_renyi,
)
from jaxsel.families.noisy_max.claims import instances
from jaxsel.families.noisy_max.group_bounds import group_delta, worst_group_pair
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.families.noisy_max.parameters import (
    Candidates,
    Delta,
    Level,
    Noise,
    Order,
    Scale,
    Several,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim, Relation
from jaxsel.language.checking import listed
from jaxsel.language.domains import number
from jaxsel.language.papers import JX, KRW

_ORDERS = np.array([1.05, 1.5, 2.0, 5.0, 30.0])
_DELTAS = (1e-9, 1e-6, 1e-3, 0.1)
_CHERNOFF = {
    Relation.GENERAL: "2/s^2 + (2/s) sqrt(2 log(m/delta))",
    Relation.MONOTONE: "1/(2 s^2) + (1/s) sqrt(2 log(m/delta))",
}


def _theorems(relation: Relation) -> Iterator[Claim]:
    """Theorems 3.1 and 3.2 and Corollary 3.4 for one way in which scores may change."""
    ending, moved = instances.ENDING[relation], instances.MOVES[relation]
    shift = noisy_max_shift(relation)

    @KRW.privacy(
        f"KRW-Thm3.1{ending}",
        "Theorem 3.1 (Zhu & Wang 2022, Theorem 8)",
        relation,
        statement=f"Noisy max over m {moved}, has Renyi divergence at most "
        f"that of the additive noise at a shift of {shift:g} + log m/(order - 1).",
    )
    def renyi(
        *,
        order: Order = 10.0,
        noise_scale: Scale = 4.0,
        candidates: Candidates = 10,
        noise: Noise = "gaussian",
    ) -> float:
        """Returns the Renyi bound of one noisy score that moves against all others, plus
        log m/(order - 1)."""
        base = noisy_max_noise(noise, noise_scale, relation)
        return float(noisy_max_renyi(order, base, candidates))

    @renyi.bounds()
    def divergences(budget):
        for each in instances.instances(relation, budget.seed, budget.cases):
            laws = each.first, each.second
            yield from instances.renyi_cases(_ORDERS, laws, each.where, **each.point)

    @KRW.privacy(
        f"KRW-Thm3.2{ending}",
        "Theorem 3.2",
        relation,
        statement=f"Noisy max over m {moved}, has at most m times the privacy "
        f"profile of the additive noise at a shift of {shift:g}.",
    )
    def profile(
        *,
        epsilon: Level = 1.0,
        noise_scale: Scale = 4.0,
        candidates: Candidates = 10,
        noise: Noise = "gaussian",
    ) -> float:
        """Returns delta(epsilon): m times that of one noisy score that moves against all others;
        at most 1."""
        base = noisy_max_noise(noise, noise_scale, relation)
        return float(noisy_max_delta(epsilon, base, candidates))

    @profile.bounds(tolerance=instances.TOLERANCE)
    def profiles(budget):
        return instances.profile_points(budget, relation)

    @KRW.privacy(
        f"KRW-Cor3.4{ending}",
        "Corollary 3.4",
        relation,
        statement=f"Noisy max over m {moved}, with noise N(0, s^2) is "
        f"(epsilon, delta)-DP for epsilon = {_CHERNOFF[relation]}.",
    )
    def chernoff(
        *, delta: Delta = 1e-6, noise_scale: Scale = 4.0, candidates: Candidates = 10
    ) -> float:
        """Returns epsilon(delta) of noisy max with Gaussian noise."""
        return float(noisy_max_chernoff_epsilon(delta, noise_scale, candidates, relation))

    @chernoff.bounds()
    def epsilons(budget):
        for each in instances.instances(relation, budget.seed, budget.cases):
            if each.noise == "gaussian":
                point = {"noise_scale": each.scale, "candidates": each.candidates}
                for delta in _DELTAS:
                    seen = epsilon_at_delta(each.first, each.second, delta)
                    yield {"delta": delta, **point}, seen, each.where

    yield from (renyi, profile, chernoff)


THEOREMS = (*_theorems(Relation.GENERAL), *_theorems(Relation.MONOTONE))
_LOOSE, _CLOSE = 20.0, 0.96


@JX.privacy(
    "KRW-Thm3.2-single",
    "on Koskela, Redberg & Wang 2024, Theorem 3.2",
    Relation.GENERAL,
    statement="Where one of 10 candidates moves against all others, sigma = 4 and epsilon "
    f"= 1, Theorem 3.2's delta is more than {_LOOSE:g} times the exact one.",
)
def looseness(
    *,
    epsilon: Annotated[float, number("at which", at_least=0.0, below=50.0)] = 1.0,
    noise_scale: Scale = 4.0,
    candidates: Several = 10,
) -> float:
    """Returns the ratio of Theorem 3.2's delta to the exact one, with Gaussian noise.

    In the exact one, a candidate gains or loses against all others, which have equal scores; its
    lead over them is the worst.
    """
    bound = noisy_max_delta(epsilon, noisy_max_noise("gaussian", noise_scale), candidates)
    exact = max(
        group_delta(epsilon, *sizes, noise_scale)
        for sizes in ((1, candidates - 1), (candidates - 1, 1))
    )
    if exact == 0.0:
        raise InputError(
            f"noise_scale is {noise_scale}; at epsilon {epsilon} delta underflows there"
        )
    return float(bound) / exact


@looseness.bounds(listed("epsilon noise_scale candidates", (1.0, 4.0, 10)))
def loose():
    return _LOOSE, "the ratio stated"


@JX.privacy(
    "KRW-Thm3.2-groups",
    "on Koskela, Redberg & Wang 2024, Theorem 3.2",
    Relation.GENERAL,
    statement="With 10,000 candidates, sigma = 4 and delta = 1e-6, two groups of scores "
    f"that move apart have an exact epsilon of at least {_CLOSE:g} times Theorem "
    "3.2's: for many candidates it cannot be much improved.",
)
def closeness(
    *, delta: Delta = 1e-6, noise_scale: Scale = 4.0, candidates: Several = 10_000
) -> float:
    """Returns the ratio of the worst two groups' exact epsilon to Theorem 3.2's, with Gaussian
    noise."""
    pair = worst_group_pair(delta, candidates, noise_scale)
    noise = noisy_max_noise("gaussian", noise_scale)
    return pair.epsilon / noisy_max_epsilon(delta, noise, candidates)


@closeness.bounds(listed("delta noise_scale candidates", (1e-6, 4.0, 10_000)))
def close():
    return _CLOSE, "the ratio stated"
