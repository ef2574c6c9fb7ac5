"""Cohen et al. 2022, Theorem 1 for one selection that releases one candidate.

Selection(tau, k = 1) makes Bin(tau, p) runs, p = U^(1/gamma), and releases the best: the
best of K runs, K beta-binomial. Several calls, k > 1 and Test are other mechanisms.
"""

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import LawPair, random_pair, random_pure_pair
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_law


def _epsilon(*, epsilon: float = 1.0, gamma: float = 0.5) -> float:
    """(2 + gamma) epsilon, for an epsilon-DP base.

    Args:
      epsilon: of the base, > 0.
      gamma: of the law of p, > 0.
    """
    return (2.0 + check_positive("gamma", gamma)) * check_positive("epsilon", epsilon)


def _delta(*, delta: float = 1e-6, count: float = 100.0) -> float:
    """count delta, at (2 + gamma) epsilon, for an (epsilon, delta)-DP base.

    Args:
      delta: of the base, in [0, 1).
      count: tau, the largest number of runs, >= 1.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    return check_positive("count", count) * delta


def _three_blocks(epsilon: float) -> LawPair:
    """Small blocks, the best of them likeliest on the second side, as is worst."""
    first = np.array([0.2, 1e-7 * np.exp(epsilon)])
    second = np.array([0.2 * np.exp(epsilon), 1e-7])
    first, second = first / (1.0 + np.exp(epsilon)), second / (1.0 + np.exp(epsilon))
    return LawPair(
        np.append(first, 1.0 - first.sum()), np.append(second, 1.0 - second.sum())
    )


def _pure_cases(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for number in range(budget.cases):
        epsilon = float(generator.uniform(0.05, 2.0))
        gamma = float(generator.choice([0.5, 1.0, 2.0]))
        count = int(generator.choice([1, 3, 30, 1000]))
        if number % 4 == 0:
            pair = _three_blocks(epsilon)
        else:
            size = int(generator.integers(2, 6))
            pair = random_pure_pair(generator, size, epsilon)
        law = laws.beta_binomial(count, gamma)
        exact = exact_epsilon(tuned_law(pair.first, law), tuned_law(pair.second, law))
        where = (
            f"epsilon={epsilon!r}, gamma={gamma:g}, {count} runs at most, laws "
            f"{pair[0].tolist()} and {pair[1].tolist()}"
        )
        yield (2.0 + gamma) * epsilon, exact, where


def _approximate_cases(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        pair = random_pair(generator, int(generator.integers(2, 6)))
        gamma = float(generator.choice([0.5, 1.0, 2.0]))
        count = int(generator.choice([1, 2, 4]))
        level = float(generator.uniform(0.0, 1.0))
        law = laws.beta_binomial(count, gamma)
        base = float(profile_delta(pair.first, pair.second, level))
        first, second = tuned_law(pair.first, law), tuned_law(pair.second, law)
        exact = float(profile_delta(first, second, (2.0 + gamma) * level))
        where = (
            f"epsilon={level!r}, gamma={gamma:g}, {count} runs at most, laws "
            f"{pair.first.tolist()} and {pair.second.tolist()}"
        )
        yield count * base, exact, where


_SOURCE = "Cohen et al. 2022, Theorem 1 (one call of Selection with k = 1)"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm1",
        source=_SOURCE,
        statement=(
            "One selection of the best of K runs, K ~ Bin(tau, p) and p = U^(1/gamma), "
            "of an epsilon-DP base is (2 + gamma) epsilon-DP."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_epsilon,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="CL-Thm1-approximate",
        source=_SOURCE,
        statement=(
            "The same selection of an (epsilon, delta)-DP base has at most tau delta at "
            "(2 + gamma) epsilon."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_delta,
        check=at_most(_approximate_cases),
    ),
)
