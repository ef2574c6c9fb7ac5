"""Settings of Algorithms 3 to 5 of Liu & Talwar 2019 for the checks of its errata."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel.base import Budget
from jaxsel.errata_numbers import probability

# With threshold noise of scale 1 Algorithm 3 has query noise of scale 2, and a factor
# x^(12 epsilon_1/epsilon_3) in Phi is 3 log x noise scales, whatever the epsilons are.
SCALES = (2.0, 1.0)


def level(ratio: float) -> float:
    """Level ratio^(12 epsilon_1/epsilon_3) Phi(p*) of Algorithm 3, in noise scales."""
    return 3.0 * math.log(ratio)


def allowed_failure(*, beta: float = 0.1) -> float:
    """Failure probability that the statement allows: beta itself.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def random_plans(
    budget: Budget, cases: int, name: str, highest: int
) -> Iterator[dict[str, Any]]:
    """Random settings of either algorithm.

    At most ``cases``; ``name`` ("queries" or "thresholds") is at most ``highest``.
    """
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, cases)):
        slack, base_epsilon = generator.uniform(0.02, 0.95, 2)
        exponent = float(generator.uniform(0.05, 1.5))
        yield {
            "target": float(generator.uniform(0.02, 0.98)),
            "beta": float(10.0 ** generator.uniform(-3.0, -0.05)),
            "slack": float(slack),
            "base_epsilon": float(base_epsilon),
            "final_epsilon": 12.0 * float(slack + base_epsilon) / exponent,
            "delta": float(10.0 ** generator.uniform(-9.0, -2.0)),
            name: int(generator.integers(2, highest + 1)),
        }
