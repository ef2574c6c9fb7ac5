"""Liu & Talwar 2019, Appendix B.2: Algorithm 6, a threshold that is lowered."""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
    thresholds,
)
from jaxsel.families.thresholds.parameters import FewLevels, Levels
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import number, numbers, positive, whole
from jaxsel.language.papers import LT

Epsilon = Annotated[float, positive("of the base")]
Gamma = Annotated[float, number("of lowering it", above=0.0, at_most=1.0)]
Success = Annotated[float, number("probability of the score 1", at_least=0.0, at_most=1.0)]


LT_E20 = LT.misprint(
    "LT-E20",
    "Algorithm 6",
    "misprint",
    printed="output (m, i); tau <- tau - 1/R until tau = 0.",
    correct="The output is (x, q). In floating point R subtractions of 1/R need "
    "not give 0: count the levels.",
)


@LT.identity("LT-Alg6", "Algorithm 6")
def released(
    *,
    success: Success = 0.3,
    middle: Annotated[
        float, number("probability of the score 1/2", at_least=0.0, at_most=1.0)
    ] = 0.2,
    levels: FewLevels = 5,
    gamma: Gamma = 0.1,
    probabilities: Annotated[
        np.ndarray | None, numbers("q, in place of success and middle", at_least=0.0, at_most=1.0)
    ] = None,
    scores: Annotated[np.ndarray | None, numbers("of the outcomes of q")] = None,
    outcome: Annotated[int, whole("x, by its place; after the last: nothing", at_least=0)] = 2,
) -> float:
    """Algorithm 6 releases x with probability q(x) times the sum over levels l that x reaches of
    prod_(l' < l) (1-p_l') gamma/D_l' / D_l, with p_l = P[score >= 1 - l/R] and D_l = p_l (1-gamma)
    + gamma.

    Returns this probability, or that of releasing nothing. By default the scores are 1, 1/2 and 0,
    and x is the outcome of score 0.
    """
    if (probabilities is None) != (scores is None):
        raise InputError("probabilities and scores belong together; give both, or neither")
    if probabilities is None or scores is None:
        probabilities = np.array([success, middle, 1.0 - success - middle])
        scores = np.array([1.0, 0.5, 0.0])
    law = decreasing_threshold_law(probabilities, scores, levels, gamma)
    if outcome >= law.size:
        raise InputError(f"outcome is {outcome}; it must be at most {law.size - 1}")
    return float(law[outcome])


def _step_by_step(q, scores, levels: int, gamma: float) -> np.ndarray:
    """The law of Algorithm 6, summed draw by draw until less than 1e-14 is undecided."""
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


@released.equals(tolerance=1e-11)
def random_laws(budget):
    default = {name: domain.default for name, domain in released.parameters.items()}
    scores = np.array([1.0, 0.5, 0.0])
    for success, middle in ((0.3, 0.2), (0.01, 0.9), (0.0, 0.5)):
        seen = _step_by_step(np.array([success, middle, 1.0 - success - middle]), scores, 5, 0.1)
        yield default | {"success": success, "middle": middle}, float(seen[2])
    for case, generator in enumerate(budget.draws(40)):
        size, levels = int(generator.integers(2, 6)), int(generator.integers(0, 12))
        gamma = 1.0 if case == 0 else float(generator.uniform(0.1, 1.0))
        q = generator.dirichlet(np.ones(size))
        scores = generator.integers(-1, 11, size) / 10.0
        seen = _step_by_step(q, scores, levels, gamma)
        point = default | {"probabilities": q, "scores": scores, "levels": levels, "gamma": gamma}
        for i in range(size + 1):
            yield point | {"outcome": i}, float(seen[i])


def loss(pair: pairs.LawPair, scores, levels: int, gamma: float) -> float:
    """The exact pure epsilon of Algorithm 6 on a pair of base laws, for scores >= 0.

    "Nothing" is left out, as it has probability 0 for such scores, up to rounding.
    """
    found = [decreasing_threshold_law(side, scores, levels, gamma) for side in pair]
    return exact_epsilon(found[0][:-1], found[1][:-1])


@LT.privacy(
    "LT-Alg6-hope",
    "Appendix B.2, against it",
    Relation.BASE,
    holds=False,
    correction="Every threshold costs up to 2 epsilon: LT-Alg6-sharp, LT-B.2-growth.",
)
def hope(*, epsilon: Epsilon = 1.0) -> float:
    """Lowering the threshold after failures is as private as Algorithm 1, 2 epsilon, however many
    thresholds are tried."""
    return 2.0 * epsilon


@hope.bounds(grid(epsilon=(0.1, 1.0), levels=(1, 2, 5, 20), gamma=(0.1,)))
def responses(epsilon, levels, gamma):
    """The loss on randomised response."""
    return loss(pairs.randomised_response(epsilon), [1.0, 0.0], levels, gamma)


@LT.identity("LT-B.2", "Appendix B.2, display")
def display(*, success: Success = 0.3, levels: Levels = 5, gamma: Gamma = 0.1) -> float:
    """On Bernoulli(p) scores Algorithm 6 releases 0 with probability (1-p) gamma^R ((1-p)/(p
    (1-gamma) + gamma))^R."""
    p = success
    return (1.0 - p) * (gamma * (1.0 - p) / (p * (1.0 - gamma) + gamma)) ** levels


def _lowerings(budget):
    yield {"success": 0.3, "levels": 5, "gamma": 0.1}
    for generator in budget.draws():
        gamma = float(10.0 ** generator.uniform(-3.0, 0.0))
        success = float(generator.uniform(0.0, 1.0))
        yield {"success": success, "levels": int(generator.integers(0, 30)), "gamma": gamma}


@display.equals(_lowerings)
def logarithms(success, levels, gamma):
    law = decreasing_threshold_law([success, 1.0 - success], [1.0, 0.0], levels, gamma)
    return lambda claimed: (math.log(claimed), math.log(float(law[1]))), "logarithms"


@LT.privacy("LT-B.2-growth", "Appendix B.2", Relation.BASE)
def growth(*, epsilon: Epsilon = 1.0, levels: Levels = 5) -> float:
    """If 1 - p is e^epsilon times as large on one side as on the other, Algorithm 6 loses at least
    (R + 1) epsilon on the score 0."""
    return (levels + 1.0) * epsilon


@growth.bounds_below()
def likelier_successes(budget):
    generator = np.random.default_rng(budget.seed)
    for point in _lowerings(budget):
        p, levels = point["success"], point["levels"]
        if not 0.0 < p < 1.0:
            continue
        # Success is likelier on the other side, by no more than e^epsilon either.
        epsilon = float(generator.uniform(0.05, 1.0)) * min(-math.log1p(-p), 3.0)
        other = -math.expm1(-epsilon) + p * math.exp(-epsilon)
        seen = math.log(display(**point) / display(**point | {"success": other}))
        yield {"epsilon": epsilon, "levels": levels}, seen, f"p={other!r} against {point}"


@LT.privacy("LT-Alg6-sharp", "Algorithm 6, bounded", Relation.BASE)
def pure(*, epsilon: Epsilon = 1.0, levels: Levels = 5) -> float:
    """On an epsilon-DP base with scores >= 0, Algorithm 6 with R levels is (2 R + 1) epsilon-DP."""
    return decreasing_threshold_pure(epsilon, levels)


@pure.bounds()
def random_pairs(budget):
    for generator in budget.draws():
        epsilon = float(generator.uniform(0.05, 2.0))
        size = int(generator.integers(2, 6))
        pair = pairs.random_pure_pair(generator, size, epsilon)
        scores = np.sort(generator.integers(0, 11, size))[::-1] / 10.0
        levels = int(generator.integers(0, 12))
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        where = f"{gamma=}, {pair.first.tolist()}, {pair.second.tolist()}, {scores.tolist()}"
        seen = loss(pair, scores, levels, gamma)
        yield {"epsilon": epsilon, "levels": levels}, seen, where
    for epsilon, levels, gamma in ((1.0, 5, 1e-9), (0.1, 50, 1e-9), (2.0, 0, 0.5)):
        seen = responses(epsilon, levels, gamma)
        yield {"epsilon": epsilon, "levels": levels}, seen, f"randomised response, {gamma=}"


@LT.privacy("LT-Alg6-attained", "Algorithm 6 on randomised response", Relation.BASE)
def attained(
    *,
    epsilon: Annotated[float, number("of randomised response", above=0.0, at_most=700.0)] = 1.0,
    levels: Levels = 5,
    gamma: Gamma = 0.1,
) -> float:
    """On randomised response Algorithm 6 loses exactly (R + 1) epsilon + R log((e^epsilon +
    gamma)/(1 + gamma e^epsilon)), hence (2 R + 1) epsilon as gamma vanishes."""
    large = math.exp(epsilon)
    ratio = (large + gamma) / (1.0 + gamma * large)
    return (levels + 1) * epsilon + levels * math.log(ratio)


@attained.equals()
def randomised_responses(budget):
    generator = np.random.default_rng(budget.seed)
    for point in _lowerings(budget):
        del point["success"]
        point["epsilon"] = float(generator.uniform(0.01, 3.0))
        yield point, responses(**point)
