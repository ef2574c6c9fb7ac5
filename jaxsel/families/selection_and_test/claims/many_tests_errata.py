"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 2: many answers of Test.

CL-E3 as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.selection_and_test.bounds import (
    tests_epsilon_simple,
    tests_renyi_rate,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Theorem 2, approximate part (CL-E3) ----------------------------------------------


def _root_bound(
    *,
    epsilon: float = 0.5,
    gamma: float = 1.0,
    calls: int = 20000,
    delta: float = 0.01,
    constant: float = 2.0,
) -> float:
    """Printed form gamma epsilon + C epsilon sqrt(c log(1/delta)), for a constant C.

    Args:
      epsilon: of each test, > 0.
      gamma: exponent of the prior of p, > 0.
      calls: c, answers "top" until the end, at least 1.
      delta: in (0, 1).
      constant: C, > 0.
    """
    epsilon, gamma = check_positive("epsilon", epsilon), check_positive("gamma", gamma)
    calls = check_integer("calls", calls, 1)
    root = math.sqrt(calls * -math.log(probability("delta", delta)))
    return gamma * epsilon + check_positive("constant", constant) * epsilon * root


_renyi_rate = tests_renyi_rate


def _test_bound(
    *, epsilon: float = 0.5, gamma: float = 1.0, calls: int = 20000, delta: float = 0.01
) -> float:
    """Epsilon at delta of tests until c answers "top".

    min of (2 c + gamma) epsilon and, over Renyi orders, (c lambda(order) +
    log(1/delta))/(order - 1), which is of order epsilon sqrt(c log(1/delta)) +
    c epsilon^2.

    Args:
      epsilon: of each test, > 0.
      gamma: exponent of the prior of p, > 0.
      calls: c, at least 1.
      delta: in (0, 1).
    """
    return tests_epsilon_simple(epsilon, gamma, calls, delta)


def _ratio_delta(epsilon: float, half: int, level: float) -> float:
    """Delta at ``level`` of an adversary that first learns p, then uses it.

    It first asks tests that say "top" with the same tiny probability on both sides,
    until ``half`` of them did, then tests that are e^epsilon rarer on the second side,
    until ``half`` more did. The ratio of the two waiting times is beta prime, whatever
    p is, and e^epsilon larger on the second side; its privacy loss falls with it.
    """
    best = 0.0
    for extra in (0.0, 40.0):
        # Loss > level + extra: smaller events are lower bounds where Q underflows.
        grown = math.exp((half * epsilon - level - extra) / (2.0 * half))
        if grown <= 1.0:
            continue
        ratio = (grown - 1.0) / (1.0 - grown * math.exp(-epsilon))
        other = ratio * math.exp(-epsilon)
        first = float(special.betainc(half, half, ratio / (1.0 + ratio)))
        second = float(special.betainc(half, half, other / (1.0 + other)))
        if second > 0.0:
            charge = math.exp(min(level + math.log(second), 700.0))
        else:
            charge = first * math.exp(-extra)  # by the choice of the event
        best = max(best, first - charge)
    return best


def _root_cases(budget: Budget) -> Iterator[Case]:
    for constant, calls in ((2.0, 20000), (10.0, 400_000), (100.0, 40_000_000)):
        level = _root_bound(calls=calls, constant=constant)
        where = (
            f"epsilon=0.5, gamma=1, c={calls}, C={constant:g}, at epsilon {level:.6g}"
        )
        yield 0.01, _ratio_delta(0.5, calls // 2, level), where


def _test_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.5, 20000, 0.01), (0.05, 20000, 0.01), (0.01, 2000, 1e-3)]
    for _ in range(min(budget.cases, 60)):
        epsilon = float(10.0 ** generator.uniform(-3.0, 0.0))
        calls = 2 * int(10.0 ** generator.uniform(0.5, 5.5))
        settings.append((epsilon, calls, float(10.0 ** generator.uniform(-6.0, -0.3))))
    for epsilon, calls, delta in settings:
        level = _test_bound(epsilon=epsilon, calls=calls, delta=delta)
        where = f"{epsilon=!r}, gamma=1, c={calls}, {delta=!r}, at epsilon {level:.6g}"
        yield delta, _ratio_delta(epsilon, calls // 2, level), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm2-approximate-printed",
        source=f"{_PAPER}, Theorem 2",
        statement="There is a constant C such that tests until c answers 'top' are "
        "(gamma epsilon + C epsilon sqrt(c log(1/delta)), delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_root_bound,
        check=at_most(_root_cases),
        holds=False,
        erratum="CL-E3",
        correction="A term of order c epsilon^2 is missing: CL-Thm2-approximate.",
    ),
    Claim(
        id="CL-Thm2-approximate",
        source=f"{_PAPER}, Theorem 2, corrected",
        statement="Tests until c answers 'top' are (epsilon', delta)-DP with epsilon' "
        "= min((2 c + gamma) epsilon, min_a (c lambda(a) + log(1/delta))/(a - 1)), of "
        "order epsilon sqrt(c log(1/delta)) + c epsilon^2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_test_bound,
        check=at_most(_test_cases),
        erratum="CL-E3",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E3",
        source=f"{_PAPER}, Theorem 2",
        kind="statement",
        printed="(O(epsilon gamma + epsilon sqrt(c log(1/delta))), delta)-DP for every "
        "delta > 0.",
        correct="A term of order c epsilon^2 is missing (or epsilon sqrt(c) must be of "
        "order sqrt(log(1/delta))). An adversary who first learns p has a privacy "
        "loss linear in c: at epsilon = 0.5 about 0.031 c, so no constant is enough.",
        refuted=("CL-Thm2-approximate-printed",),
        corrected=(
            "CL-Thm2-approximate",
            "CL-Lem3-approximate",
        ),
    ),
)
