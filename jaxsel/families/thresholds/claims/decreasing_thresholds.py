"""Liu & Talwar 2019, Appendix B.2: Algorithm 6, a threshold that is lowered."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.thresholds.decreasing_laws import (
    LEVELS,
    decreasing_threshold_law,
    decreasing_threshold_pure,
    thresholds,
)
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.papers import LT

Epsilon = Annotated[float, positive("of the base")]
Levels = Annotated[int, whole("R, how often the threshold is lowered", at_least=0)]
Gamma = Annotated[float, number("of lowering it", above=0.0, at_most=1.0)]
Success = Annotated[float, number("probability of the score 1", at_least=0.0, at_most=1.0)]


def _loss(pair: pairs.LawPair, scores, levels: int, gamma: float) -> float:
    """Pure epsilon of Algorithm 6; "nothing" cannot happen with scores >= 0."""
    found = [decreasing_threshold_law(side, scores, levels, gamma) for side in pair]
    return exact_epsilon(found[0][:-1], found[1][:-1])


def _law_value(
    *,
    success: Success = 0.3,
    middle: Annotated[
        float, number("probability of the score 1/2", at_least=0.0, at_most=1.0)
    ] = 0.2,
    levels: Annotated[int, LEVELS] = 5,
    gamma: Gamma = 0.1,
) -> float:
    """Chance that Algorithm 6 releases the score 0, of scores 1, 1/2 and 0."""
    law = [success, middle, 1.0 - success - middle]
    return float(decreasing_threshold_law(law, [1.0, 0.5, 0.0], levels, gamma)[2])


def _step_by_step(q, scores, levels: int, gamma: float) -> np.ndarray:
    """The law again, one draw after another, until little is left."""
    alive, out = np.zeros(levels + 2), np.zeros(q.size + 1)
    alive[0] = 1.0
    passes = scores >= np.append(thresholds(levels), np.inf)[:, None]
    for _ in range(100_000):
        if alive[:-1].sum() < 1e-14:
            break
        out[:-1] += q * (alive[:-1] @ passes[:-1])
        failed = alive[:-1] * (~passes[:-1] @ q)
        alive[:-1] = (1.0 - gamma) * failed
        alive[1:] += gamma * failed
    out[-1] = alive[-1]
    return out


def _law_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 40)):
        size, levels = int(generator.integers(2, 6)), int(generator.integers(0, 12))
        gamma = 1.0 if case == 0 else float(generator.uniform(0.1, 1.0))
        q = generator.dirichlet(np.ones(size))
        scores = generator.integers(-1, 11, size) / 10.0
        seen = _step_by_step(q, scores, levels, gamma)
        found = decreasing_threshold_law(q, scores, levels, gamma)
        for i in range(size + 1):
            where = f"outcome {i}, {q.tolist()}, {scores.tolist()}, R={levels}, {gamma=}"
            yield float(found[i]), float(seen[i]), where


def _hope(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon 2 epsilon that Algorithm 1 has, hoped for with falling thresholds."""
    return 2.0 * epsilon


def _hope_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.1, 1.0):
        pair = pairs.randomised_response(epsilon)
        for levels in (1, 2, 5, 20):
            seen = _loss(pair, [1.0, 0.0], levels, 0.1)
            where = f"randomised response, epsilon={epsilon:g}, R={levels}, gamma=0.1"
            yield _hope(epsilon=epsilon), seen, where


def _display(*, success: Success = 0.3, levels: Levels = 5, gamma: Gamma = 0.1) -> float:
    """Chance (1-p) gamma^R ((1-p)/(p (1-gamma) + gamma))^R to release the score 0."""
    p = success
    return (1.0 - p) * (gamma * (1.0 - p) / (p * (1.0 - gamma) + gamma)) ** levels


def _lowering_settings(budget: Budget) -> Iterator[tuple[float, int, float]]:
    yield 0.3, 5, 0.1
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        gamma = float(10.0 ** generator.uniform(-3.0, 0.0))
        yield float(generator.uniform(0.0, 1.0)), int(generator.integers(0, 30)), gamma


def _display_cases(budget: Budget) -> Iterator[Case]:
    for p, levels, gamma in _lowering_settings(budget):
        seen = decreasing_threshold_law([p, 1.0 - p], [1.0, 0.0], levels, gamma)[1]
        claimed = _display(success=p, levels=levels, gamma=gamma)
        where = f"p={p!r}, R={levels}, {gamma=}"
        yield math.log(claimed), math.log(float(seen)), f"logarithms, {where}"


def _growth(*, epsilon: Epsilon = 1.0, levels: Levels = 5) -> float:
    """(R + 1) epsilon, a loss that Algorithm 6 has at least."""
    return (levels + 1.0) * epsilon


def _growth_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for p, levels, gamma in _lowering_settings(budget):
        if not 0.0 < p < 1.0:
            continue
        # Success is likelier on the other side, by no more than e^epsilon either.
        largest = min(-math.log1p(-p), 3.0)
        epsilon = float(generator.uniform(0.05, 1.0)) * largest
        other = -math.expm1(-epsilon) + p * math.exp(-epsilon)
        first, second = (_display(success=x, levels=levels, gamma=gamma) for x in (p, other))
        where = f"p={p!r} and {other!r}, R={levels}, {gamma=}"
        yield _growth(epsilon=epsilon, levels=levels), math.log(first / second), where


def _pure(*, epsilon: Epsilon = 1.0, levels: Levels = 5) -> float:
    """Pure epsilon (2 R + 1) epsilon of Algorithm 6 on scores >= 0."""
    return decreasing_threshold_pure(epsilon, levels)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        epsilon = float(generator.uniform(0.05, 2.0))
        size = int(generator.integers(2, 6))
        pair = pairs.random_pure_pair(generator, size, epsilon)
        scores = np.sort(generator.integers(0, 11, size))[::-1] / 10.0
        levels = int(generator.integers(0, 12))
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        where = f"{pair.first.tolist()}, {pair.second.tolist()}, {scores.tolist()}"
        seen = _loss(pair, scores, levels, gamma)
        claimed = _pure(epsilon=epsilon, levels=levels)
        yield claimed, seen, f"R={levels}, {gamma=}, {where}"
    for epsilon, levels, gamma in ((1.0, 5, 1e-9), (0.1, 50, 1e-9), (2.0, 0, 0.5)):
        pair = pairs.randomised_response(epsilon)
        where = f"randomised response, {epsilon=}, R={levels}, {gamma=}"
        seen = _loss(pair, [1.0, 0.0], levels, gamma)
        yield _pure(epsilon=epsilon, levels=levels), seen, where


def _attained(
    *,
    epsilon: Annotated[float, number("of randomised response", above=0.0, at_most=700.0)] = 1.0,
    levels: Levels = 5,
    gamma: Gamma = 0.1,
) -> float:
    """Exact loss of Algorithm 6 on randomised response.

    (R + 1) e + R log((e^e + gamma)/(1 + gamma e^e)), e for epsilon, which tends to
    (2 R + 1) e as gamma vanishes.
    """
    large = math.exp(epsilon)
    ratio = (large + gamma) / (1.0 + gamma * large)
    return (levels + 1) * epsilon + levels * math.log(ratio)


def _attained_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _, levels, gamma in _lowering_settings(budget):
        epsilon = float(generator.uniform(0.01, 3.0))
        pair = pairs.randomised_response(epsilon)
        seen = _loss(pair, [1.0, 0.0], levels, gamma)
        claimed = _attained(epsilon=epsilon, levels=levels, gamma=gamma)
        yield claimed, seen, f"randomised response, {epsilon=}, R={levels}, {gamma=}"


STATEMENTS = (
    LT.misprint(
        "LT-E20",
        "Algorithm 6",
        "misprint",
        printed="output (m, i); tau <- tau - 1/R until tau = 0.",
        correct="The output is (x, q). In floating point R subtractions of 1/R need "
        "not give 0: count the levels.",
    ),
    LT.identity(
        "LT-Alg6",
        "Algorithm 6",
        "Algorithm 6 releases x with probability q(x) times the sum over levels l "
        "that x reaches of prod_(l' < l) (1-p_l') gamma/D_l' / D_l, with p_l = "
        "P[score >= 1 - l/R] and D_l = p_l (1-gamma) + gamma.",
        _law_value,
        equal(_law_cases, 1e-11),
    ),
    LT.privacy(
        "LT-Alg6-hope",
        "Appendix B.2, against it",
        "Lowering the threshold after failures is as private as Algorithm 1, 2 "
        "epsilon, however many thresholds are tried.",
        Relation.BASE,
        _hope,
        at_most(_hope_cases),
        holds=False,
        correction="Every threshold costs up to 2 epsilon: LT-Alg6-sharp, LT-B.2-growth.",
    ),
    LT.identity(
        "LT-B.2",
        "Appendix B.2, display",
        "On Bernoulli(p) scores Algorithm 6 releases 0 with probability (1-p) gamma^R "
        "((1-p)/(p (1-gamma) + gamma))^R.",
        _display,
        equal(_display_cases, 1e-9),
    ),
    LT.privacy(
        "LT-B.2-growth",
        "Appendix B.2",
        "If 1 - p is e^epsilon times as large on one side as on the other, Algorithm "
        "6 loses at least (R + 1) epsilon on the score 0.",
        Relation.BASE,
        _growth,
        at_least(_growth_cases),
    ),
    LT.privacy(
        "LT-Alg6-sharp",
        "Algorithm 6, bounded",
        "On an epsilon-DP base with scores >= 0, Algorithm 6 with R levels is (2 R + "
        "1) epsilon-DP.",
        Relation.BASE,
        _pure,
        at_most(_pure_cases),
    ),
    LT.privacy(
        "LT-Alg6-attained",
        "Algorithm 6 on randomised response",
        "On randomised response Algorithm 6 loses exactly (R + 1) epsilon + R "
        "log((e^epsilon + gamma)/(1 + gamma e^epsilon)), hence (2 R + 1) epsilon as "
        "gamma vanishes.",
        Relation.BASE,
        _attained,
        equal(_attained_cases, 1e-9),
    ),
)
