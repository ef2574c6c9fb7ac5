"""Theorem 3.5 with an earlier hard stop, and the exact worst case it is held against."""

from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.families.tuning.bounds.hard_stop import (
    hard_stop_excess,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from jaxsel.families.tuning.bounds.liu_talwar import hard_stop_law, stopping_pure
from jaxsel.families.tuning.claims.base_pairs import pure_pairs

_PAPER = "Liu & Talwar 2019"


def _sharp(*, epsilon: float = 1.0, gamma: float = 0.01, steps: int = 300) -> float:
    """3 epsilon + log(1 + T gamma (1-gamma)^(T-1)) - log(1 - (1-gamma)^T).

    Args:
      epsilon: of the base, >= 0.
      gamma: in (0, 1).
      steps: T >= 2/gamma - 1.
    """
    return stopping_pure(epsilon) + hard_stop_excess(gamma, steps)


def _settings(budget: Budget, cases: int) -> Iterator[tuple[float, int]]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, cases)):
        gamma = float(10.0 ** generator.uniform(-4.0, -0.2))
        slack = float(10.0 ** generator.uniform(-4.0, -0.31))
        yield gamma, hard_stop_steps_sharp(gamma, slack)


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    for number, (gamma, steps) in enumerate(_settings(budget, 60)):
        epsilon = (0.01, 0.1, 0.5, 1.0, 3.0)[number % 5]
        claimed = _sharp(epsilon=epsilon, gamma=gamma, steps=steps)
        seen = hard_stop_worst(epsilon, gamma, steps)
        yield claimed, seen, f"worst base, epsilon={epsilon:g}, {gamma=}, T={steps}"


def _worst(*, epsilon: float = 0.3, gamma: float = 0.003, steps: int = 36) -> float:
    """epsilon + max log f'(1-g)/f'(1-g') over epsilon-close g, g'.

    Args:
      epsilon: of the base, > 0.
      gamma: in (0, 1).
      steps: T >= 1.
    """
    return hard_stop_worst(epsilon, gamma, steps)


def _worst_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for pair in pure_pairs(budget._replace(cases=min(budget.cases, 60))):
        gamma = float(10.0 ** generator.uniform(-3.0, -0.1))
        steps = int(generator.choice([1, 2, 5, 36, 300]))
        stopped = [hard_stop_law(side, gamma, steps) for side in pair[:2]]
        epsilon = exact_epsilon(pair.first, pair.second)
        where = f"{gamma=}, T={steps}, {pair.where}"
        # The maximum is found on a grid: to five digits.
        claimed = hard_stop_worst(epsilon, gamma, steps) * (1.0 + 1e-5)
        yield claimed, exact_epsilon(*stopped), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm3.5-sharp",
        source=f"{_PAPER}, Theorem 3.5, proved with an earlier hard stop",
        statement="Algorithm 2 with at most T >= 2/gamma - 1 draws from an epsilon-DP base "
        "is (3 epsilon + log(1 + T gamma (1-gamma)^(T-1)) - log(1 - (1-gamma)^T))-DP: "
        "T of order log(1/epsilon_0)/gamma is enough for 3 epsilon + 3 epsilon_0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_sharp,
        check=at_most(_sharp_cases),
    ),
    Claim(
        id="LT-Alg2-hardstop-worst",
        source=f"{_PAPER}, Algorithm 2 with a hard stop",
        statement="On any epsilon-DP base, Algorithm 2 with at most T draws has pure "
        "epsilon at most epsilon + max log f'(1-g)/f'(1-g') over epsilon-close "
        "probabilities g and g', f being the generating function of the number of draws.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_worst,
        check=at_most(_worst_cases),
    ),
)
