"""Cohen et al. 2022, Theorem 1 for one selection that releases one candidate.

Selection(tau, k = 1) makes Bin(tau, p) runs, p = U^(1/gamma), and releases the best: the
best of K runs, K beta-binomial. Several calls, k > 1 and Test are other mechanisms.
"""

from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import LawPair, random_pair, random_pure_pair
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.claims.parameters import BaseDelta, Epsilon, Gamma
from jaxsel.language.base import Relation
from jaxsel.language.domains import number
from jaxsel.language.papers import CL
from jaxsel.tuning.attained.exact_laws import tuned_law

_PLACE = "Theorem 1 (one call of Selection with k = 1)"

Most = Annotated[float, number("tau, the largest number of runs", at_least=1.0)]


@CL.privacy("CL-Thm1", _PLACE, Relation.BASE)
def pure(*, epsilon: Epsilon = 1.0, gamma: Gamma = 0.5) -> float:
    """One selection of the best of K runs, K ~ Bin(tau, p) and p = U^(1/gamma), of an epsilon-DP
    base is (2 + gamma) epsilon-DP.

    (2 + gamma) epsilon, for an epsilon-DP base.
    """
    return interaction_epsilon(epsilon, gamma, 1)


@CL.privacy("CL-Thm1-approximate", _PLACE, Relation.BASE)
def approximate(*, delta: BaseDelta = 1e-6, count: Most = 100.0) -> float:
    """The same selection of an (epsilon, delta)-DP base has at most tau delta at (2 + gamma)
    epsilon.

    count delta, at (2 + gamma) epsilon, for an (epsilon, delta)-DP base.
    """
    return count * delta


def _three_blocks(epsilon: float) -> LawPair:
    """Small blocks, the best of them likeliest on the second side, as is worst."""
    first = np.array([0.2, 1e-7 * np.exp(epsilon)])
    second = np.array([0.2 * np.exp(epsilon), 1e-7])
    first, second = first / (1.0 + np.exp(epsilon)), second / (1.0 + np.exp(epsilon))
    return LawPair(np.append(first, 1.0 - first.sum()), np.append(second, 1.0 - second.sum()))


def _tuned(pair: LawPair, count: int, gamma: float) -> tuple[np.ndarray, np.ndarray, str]:
    """Laws of the selection on both sides, and where."""
    law = laws.beta_binomial(count, gamma)
    where = f"gamma={gamma:g}, {count} runs, laws {pair.first.tolist()}, {pair.second.tolist()}"
    return tuned_law(pair.first, law), tuned_law(pair.second, law), where


@pure.bounds()
def pure_pairs(budget):
    for case, generator in enumerate(budget.draws()):
        epsilon = generator.uniform(0.05, 2.0)
        gamma = float(generator.choice([0.5, 1.0, 2.0]))
        count = int(generator.choice([1, 3, 30, 1000]))
        if case % 4 == 0:
            # So many runs that the likely best block is hardly ever missed.
            pair, count = _three_blocks(epsilon), 100_000
        else:
            pair = random_pure_pair(generator, int(generator.integers(2, 6)), epsilon)
        first, second, where = _tuned(pair, count, gamma)
        yield {"epsilon": epsilon, "gamma": gamma}, exact_epsilon(first, second), where


@approximate.bounds()
def random_pairs(budget):
    for generator in budget.draws():
        pair = random_pair(generator, int(generator.integers(2, 6)))
        gamma = float(generator.choice([0.5, 1.0, 2.0]))
        count = int(generator.choice([1, 2, 4]))
        level = generator.uniform(0.0, 1.0)
        first, second, where = _tuned(pair, count, gamma)
        base = float(profile_delta(pair.first, pair.second, level))
        exact = float(profile_delta(first, second, (2.0 + gamma) * level))
        yield {"delta": base, "count": count}, exact, f"epsilon={level!r}, {where}"
