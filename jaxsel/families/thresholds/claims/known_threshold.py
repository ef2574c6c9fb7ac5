"""Liu & Talwar 2019, Theorems 1.2 and 3.1: selection with a known threshold."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.thresholds.laws import (
    threshold_approximate,
    threshold_approximate_sharp,
    threshold_expected_draws,
    threshold_expected_draws_bound,
    threshold_failure_bound,
    threshold_law,
    threshold_pure,
    threshold_steps,
)
from jaxsel.families.tuning.claims.base_pairs import approximate_pairs, pure_pairs
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import LT

Epsilon = Annotated[float, number("of the base", at_least=0.0)]
Delta = Annotated[float, number("d, of the base", at_least=0.0, below=1.0)]
Gamma = Annotated[float, number("stopping probability", above=0.0, at_most=1.0)]
Slack = Annotated[float, number("epsilon_0", at_least=0.0, at_most=1.0)]
Success = Annotated[float, number("p_1 = P[score >= threshold]", above=0.0, at_most=1.0)]


def _parameters(generator: np.random.Generator) -> tuple[float, float, int]:
    """gamma, epsilon_0 and a T that Theorem 3.1 allows."""
    gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
    slack = float(10.0 ** generator.uniform(-2.0, 0.0))
    return gamma, slack, threshold_steps(gamma, slack) + int(generator.integers(0, 3))


def _accepted(generator: np.random.Generator, size: int) -> int:
    """How many of the best outcomes reach the threshold; rarely all of them."""
    return int(generator.integers(1, size + (generator.uniform() < 0.1)))


def _enumerated(q: np.ndarray, accepted: int, gamma: float, steps: int):
    """Law of Algorithm 1 and its expected number of draws, summed draw by draw.

    Returns:
      Float[np.ndarray, "accepted+1"], "nothing" last, and E[number of draws].
    """
    success = min(float(q[:accepted].sum()), 1.0)
    # alive before draw j: all earlier draws failed, and no coin said stop
    draw = np.arange(steps)
    alive = ((1.0 - success) * (1.0 - gamma)) ** draw
    released = np.array([np.sum(alive * mass) for mass in q[:accepted]])
    stopped = float(np.sum(alive * (1.0 - success) * gamma))
    exhausted = alive[-1] * (1.0 - success) * (1.0 - gamma)
    return np.append(released, stopped + exhausted), float(np.sum(alive))


def _both(pair, accepted: int, gamma: float, steps: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of Algorithm 1 on both sides."""
    return (
        threshold_law(pair.first, accepted, gamma, steps),
        threshold_law(pair.second, accepted, gamma, steps),
    )


def _shown(q: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.17g}" for x in q) + "]"


# --- Privacy --------------------------------------------------------------------------


def _unlimited(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon 2 epsilon of drawing until a score reaches the threshold."""
    return threshold_pure(epsilon)


def _unlimited_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        accepted = _accepted(generator, pair.first.size)
        tuned = [side[:accepted] / side[:accepted].sum() for side in (pair.first, pair.second)]
        claimed = threshold_pure(exact_epsilon(pair.first, pair.second))
        where = f"threshold at outcome {accepted - 1}, {pair.where}"
        yield claimed, exact_epsilon(*tuned), where


def _pure(*, epsilon: Epsilon = 1.0, slack: Slack = 0.1) -> float:
    """Pure epsilon 2 epsilon + epsilon_0 of Algorithm 1."""
    return threshold_pure(epsilon, slack)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        accepted = _accepted(generator, pair.first.size)
        gamma, slack, steps = _parameters(generator)
        settings = [(accepted, gamma, slack, steps)]
        if pair.where.startswith("pairs"):
            # a rare success, a rare stop: the bound is approached
            settings.append((pair.first.size - 1, 1e-6, 0.01, threshold_steps(1e-6, 0.01)))
        for accepted, gamma, slack, steps in settings:
            tuned = _both(pair, accepted, gamma, steps)
            yield (
                threshold_pure(exact_epsilon(pair.first, pair.second), slack),
                exact_epsilon(*tuned),
                f"epsilon_0={slack!r}, gamma={gamma!r}, T={steps}, threshold at outcome "
                f"{accepted - 1}, {pair.where}",
            )


def _approximate(
    *,
    epsilon: Annotated[float, number("of the base", at_least=0.0, at_most=300.0)] = 1.0,
    delta: Delta = 1e-6,
    gamma: Gamma = 0.1,
    slack: Slack = 0.1,
) -> float:
    """delta of Algorithm 1 at 2 epsilon + epsilon_0.

    3 e^(2 epsilon + epsilon_0) d/gamma.
    """
    return threshold_approximate(epsilon, delta, gamma, slack).delta


def _approximate_sharp(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, gamma: Gamma = 0.1) -> float:
    """delta of Algorithm 1 without a last draw at 2 epsilon: d/(gamma + d (1 - gamma))."""
    return threshold_approximate_sharp(epsilon, delta, gamma).delta


def _approximate_cases(sharp: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 1)
        for pair in approximate_pairs(budget):
            accepted = _accepted(generator, pair.first.size)
            gamma, slack, steps = _parameters(generator)
            if sharp:
                bound = threshold_approximate_sharp(pair.epsilon, pair.delta, gamma)
                steps = None
            else:
                bound = threshold_approximate(pair.epsilon, pair.delta, gamma, slack)
            tuned = _both(pair, accepted, gamma, steps)
            seen = float(profile_delta(*tuned, bound.epsilon))
            where = (
                f"epsilon_0={slack!r}, gamma={gamma!r}, T={steps}, threshold at outcome "
                f"{accepted - 1}, {pair.where}"
            )
            if sharp:
                # relative: delta may be tiny
                yield 1.0, seen / bound.delta, where
            else:
                yield bound.delta, seen, where

    return cases


# --- Utility --------------------------------------------------------------------------


def _release(
    *,
    share: Annotated[
        float, number("q, probability of the outcome", at_least=0.0, at_most=1.0)
    ] = 0.1,
    success: Success = 0.5,
) -> float:
    """Probability that an outcome is released, given that one is: q/p_1."""
    if share > success:
        raise InputError(f"share is {share}; it must be at most success, {success}")
    return share / success


def _release_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        size = int(generator.integers(2, 7))
        q = generator.dirichlet(np.full(size, 0.7)) + 1e-9
        q = q / q.sum()
        accepted = _accepted(generator, size)
        gamma, _, steps = _parameters(generator)
        law, draws = _enumerated(q, accepted, gamma, steps)
        success = min(float(q[:accepted].sum()), 1.0)
        chosen = int(generator.integers(accepted))
        where = f"q={_shown(q)}, {accepted} accepted, gamma={gamma!r}, T={steps}"
        claimed = _release(share=min(float(q[chosen]), success), success=success)
        seen = float(law[chosen] / law[:-1].sum())
        yield claimed, seen, f"outcome {chosen} given a release, {where}"
        exact = threshold_law(q, accepted, gamma, steps)
        worst = int(np.argmax(np.abs(exact - law)))
        where = f"as implemented, outcome {worst}, {where}"
        yield float(law[worst]), float(exact[worst]), where
        exact_draws = threshold_expected_draws(success, gamma, steps)
        yield 1.0, exact_draws / draws, f"expected draws, {where}"


def _draws(
    *,
    success: Annotated[
        float, number("p_1 = P[score >= threshold]", at_least=0.0, at_most=1.0)
    ] = 0.1,
    gamma: Gamma = 0.01,
) -> float:
    """Expected number of draws of Algorithm 1, at most: 1/(p_1 (1 - gamma) + gamma)."""
    return threshold_expected_draws_bound(success, gamma)


def _failure(
    *,
    success: Success = 0.1,
    gamma: Gamma = 0.01,
    slack: Annotated[float, number("epsilon_0", above=0.0, at_most=1.0)] = 0.1,
) -> float:
    """Probability that Algorithm 1 returns nothing, at most.

    (1 - p_1)(1 + epsilon_0/2) gamma/p_1.
    """
    return threshold_failure_bound(success, gamma, slack)


def _settings(budget: Budget) -> Iterator[tuple[float, float, float, int]]:
    """success, gamma, epsilon_0, T."""
    for success in (1e-4, 0.01, 0.5, 1.0):
        for gamma in (1e-4, 0.1, 1.0):
            for slack in (0.01, 1.0):
                yield success, gamma, slack, threshold_steps(gamma, slack)
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        gamma, slack, steps = _parameters(generator)
        yield float(10.0 ** generator.uniform(-4.0, 0.0)), gamma, slack, steps


def _draws_cases(budget: Budget) -> Iterator[Case]:
    for success, gamma, _, steps in _settings(budget):
        _, draws = _enumerated(np.array([success, 1.0 - success]), 1, gamma, steps)
        where = f"p_1={success!r}, gamma={gamma!r}, T={steps}"
        bound = _draws(success=success, gamma=gamma)
        # in relative terms: thousands of draws are summed
        yield 1.0, draws / bound, where
        yield min(1.0 / success, 1.0 / gamma) / bound, 1.0, f"second bound, {where}"


def _failure_cases(budget: Budget) -> Iterator[Case]:
    for success, gamma, slack, steps in _settings(budget):
        law, _ = _enumerated(np.array([success, 1.0 - success]), 1, gamma, steps)
        where = f"p_1={success!r}, gamma={gamma!r}, epsilon_0={slack!r}, T={steps}"
        claimed = _failure(success=success, gamma=gamma, slack=slack)
        yield claimed, float(law[-1]), where


def _calls(*, candidates: Annotated[int, whole("K", at_least=1)] = 10) -> float:
    """Expected number of calls 2 K, at most, if one candidate has median >= threshold."""
    return 2.0 * candidates


def _calls_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 200)):
        candidates = int(generator.integers(1, 40))
        success = generator.uniform(size=candidates) * (case % 3)
        success = np.minimum(success, 1.0)
        success[0] = max(0.5, float(success[0]) * (case % 2))
        # a uniform candidate at each draw; summed until less than 1e-15 is left
        mean = float(success.mean())
        terms = (1.0 - mean) ** np.arange(math.ceil(40.0 / mean))
        where = f"success probabilities {_shown(success)}"
        yield _calls(candidates=candidates), float(np.sum(terms)), where


STATEMENTS = (
    LT.privacy(
        "LT-Thm1.2",
        "Theorem 1.2(a)",
        "Drawing from an epsilon-DP base until a score reaches the threshold is 2 epsilon-DP.",
        Relation.BASE,
        _unlimited,
        at_most(_unlimited_cases),
    ),
    LT.utility(
        "LT-Thm1.2(c)",
        "Theorem 1.2(c)",
        "If one of K candidates has P[score >= threshold] >= 1/2, drawing from a "
        "uniform candidate until a score reaches it makes at most 2 K calls on "
        "average.",
        _calls,
        at_most(_calls_cases),
    ),
    LT.identity(
        "LT-Thm3.1(a)",
        "Theorem 3.1(a)",
        "Algorithm 1 releases outcomes that reach the threshold in proportion to "
        "their probability in one draw.",
        _release,
        equal(_release_cases, 1e-9),
    ),
    LT.privacy(
        "LT-Thm3.1(b)",
        "Theorem 3.1(b)",
        "For an epsilon-DP base and T >= max((1/gamma) log(2/epsilon_0), 1 + 1/(e "
        "gamma)), Algorithm 1 is (2 epsilon + epsilon_0)-DP.",
        Relation.BASE,
        _pure,
        at_most(_pure_cases),
    ),
    LT.privacy(
        "LT-Thm3.1(c)",
        "Theorem 3.1(c)",
        "For an (epsilon, d)-DP base and such T, Algorithm 1 is (2 epsilon + "
        "epsilon_0, 3 e^(2 epsilon + epsilon_0) d/gamma)-DP.",
        Relation.BASE,
        _approximate,
        at_most(_approximate_cases(sharp=False)),
    ),
    LT.privacy(
        "LT-Thm3.1(c)-sharp",
        "Theorem 3.1(c), sharpened",
        "For an (epsilon, d)-DP base, Algorithm 1 without a last draw is (2 epsilon, "
        "d/(gamma + d (1 - gamma)))-DP.",
        Relation.BASE,
        _approximate_sharp,
        at_most(_approximate_cases(sharp=True)),
    ),
    LT.utility(
        "LT-Thm3.1(d)",
        "Theorem 3.1(d)",
        "With p_1 = P[score >= threshold], Algorithm 1 makes at most 1/(p_1 (1 - "
        "gamma) + gamma) <= min(1/p_1, 1/gamma) draws on average.",
        _draws,
        at_most(_draws_cases),
    ),
    LT.utility(
        "LT-Thm3.1(e)",
        "Theorem 3.1(e)",
        "Algorithm 1 returns nothing with probability at most (1 - p_1)(1 + "
        "epsilon_0/2) gamma/p_1.",
        _failure,
        at_most(_failure_cases),
    ),
)
