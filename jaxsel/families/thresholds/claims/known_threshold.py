"""Liu & Talwar 2019, Theorems 1.2 and 3.1: selection with a known threshold."""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import LawPair
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
from jaxsel.families.thresholds.parameters import (
    Delta,
    Epsilon,
    Gamma,
    PositiveSlack,
    Slack,
    SmallEpsilon,
    Success,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid, in_units
from jaxsel.language.domains import number, whole
from jaxsel.language.papers import LT
from jaxsel.tuning.claims.base_pairs import approximate_pairs, pure_pairs


def _random_parameters(generator: np.random.Generator) -> tuple[float, float, int]:
    """gamma, epsilon_0 and a T that Theorem 3.1 allows."""
    gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
    slack = float(10.0 ** generator.uniform(-2.0, 0.0))
    return gamma, slack, threshold_steps(gamma, slack) + int(generator.integers(0, 3))


def _random_accepted(generator: np.random.Generator, size: int) -> int:
    """How many of the best outcomes reach the threshold; rarely all of them."""
    return int(generator.integers(1, size + (generator.uniform() < 0.1)))


def enumerated(q: np.ndarray, accepted: int, gamma: float, steps: int):
    """The law of Algorithm 1, "nothing" last, and its expected number of draws.

    Both are summed draw by draw, as an oracle of ``threshold_law``.

    Args:
      q: base probabilities, best outcome first.
      accepted: how many of the best outcomes reach the threshold.
      gamma: stopping probability after a failure.
      steps: T, the largest number of draws.
    """
    success = min(float(q[:accepted].sum()), 1.0)
    # alive before draw j: all earlier draws failed, and no coin said stop
    draw = np.arange(steps)
    alive = ((1.0 - success) * (1.0 - gamma)) ** draw
    released = np.array([np.sum(alive * mass) for mass in q[:accepted]])
    stopped = float(np.sum(alive * (1.0 - success) * gamma))
    exhausted = alive[-1] * (1.0 - success) * (1.0 - gamma)
    return np.append(released, stopped + exhausted), float(np.sum(alive))


def _both_laws(pair, *settings):
    """Exact laws of Algorithm 1 on both sides."""
    return threshold_law(pair.first, *settings), threshold_law(pair.second, *settings)


def shown(q: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.17g}" for x in q) + "]"


# --- Privacy --------------------------------------------------------------------------


@LT.privacy("LT-Thm1.2", "Theorem 1.2(a)", Relation.BASE)
def unlimited(*, epsilon: Epsilon = 1.0) -> float:
    """Drawing from an epsilon-DP base until a score reaches the threshold is 2 epsilon-DP."""
    return threshold_pure(epsilon)


@unlimited.bounds()
def draws_until_success(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        accepted = _random_accepted(generator, pair.first.size)
        tuned = [side[:accepted] / side[:accepted].sum() for side in (pair.first, pair.second)]
        epsilon = exact_epsilon(pair.first, pair.second)
        where = f"threshold at outcome {accepted - 1}, {pair.where}"
        yield {"epsilon": epsilon}, exact_epsilon(*tuned), where


@LT.privacy("LT-Thm3.1(b)", "Theorem 3.1(b)", Relation.BASE)
def pure(*, epsilon: Epsilon = 1.0, slack: Slack = 0.1) -> float:
    """For an epsilon-DP base and T >= max((1/gamma) log(2/epsilon_0), 1 + 1/(e gamma)), Algorithm 1
    is (2 epsilon + epsilon_0)-DP."""
    return threshold_pure(epsilon, slack)


@pure.bounds()
def pure_bases(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        epsilon = exact_epsilon(pair.first, pair.second)
        accepted = _random_accepted(generator, pair.first.size)
        settings = [(accepted, *_random_parameters(generator))]
        if pair.where.startswith("pairs"):
            # a rare success, a rare stop: the bound is approached
            settings.append((pair.first.size - 1, 1e-6, 0.01, threshold_steps(1e-6, 0.01)))
        for accepted, gamma, slack, steps in settings:
            seen = exact_epsilon(*_both_laws(pair, accepted, gamma, steps))
            where = f"{gamma=!r}, T={steps}, threshold at outcome {accepted - 1}, {pair.where}"
            yield {"epsilon": epsilon, "slack": slack}, seen, where


@LT.privacy(
    "LT-Thm3.1(c)",
    "Theorem 3.1(c)",
    Relation.BASE,
    loose="without a last draw delta is at most d/gamma (LT-Thm3.1(c)-sharp), and the last draw "
    "adds next to nothing: the factor 3 e^(2 epsilon + epsilon_0) is to spare",
)
def approximate(
    *, epsilon: SmallEpsilon = 1.0, delta: Delta = 1e-6, gamma: Gamma = 0.1, slack: Slack = 0.1
) -> float:
    """For an (epsilon, d)-DP base and T as in LT-Thm3.1(b), Algorithm 1 is (2 epsilon + epsilon_0,
    3 e^(2 epsilon + epsilon_0) d/gamma)-DP.

    Returns this delta.
    """
    return threshold_approximate(epsilon, delta, gamma, slack).delta


@LT.privacy("LT-Thm3.1(c)-sharp", "Theorem 3.1(c), sharpened", Relation.BASE)
def approximate_sharp(*, epsilon: Epsilon = 1.0, delta: Delta = 1e-6, gamma: Gamma = 0.1) -> float:
    """For an (epsilon, d)-DP base, Algorithm 1 without a last draw is (2 epsilon, d/(gamma + d (1 -
    gamma)))-DP.

    Without a last draw means T = infinity. Returns this delta.
    """
    return threshold_approximate_sharp(epsilon, delta, gamma).delta


@approximate.bounds(limited=True)
@approximate_sharp.bounds(limited=False)
def approximate_bases(budget, limited):
    if limited:
        # A score that one side alone can reach, where the bound's factor is least.
        pair = LawPair(np.array([1e-4, 1.0 - 1e-4]), np.array([0.0, 1.0]))
        first, second = _both_laws(pair, 1, 0.1, threshold_steps(0.1, 0.01))
        point = {"epsilon": 0.0, "delta": 1e-4, "gamma": 0.1, "slack": 0.01}
        seen = float(profile_delta(first, second, 0.01))
        yield point, seen, "reached with probability d, or never"
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        accepted = _random_accepted(generator, pair.first.size)
        gamma, slack, steps = _random_parameters(generator)
        point = {"epsilon": pair.epsilon, "delta": pair.delta, "gamma": gamma}
        where = f"threshold at outcome {accepted - 1}, {pair.where}"
        if limited:
            level = threshold_pure(pair.epsilon, slack)
            seen = float(profile_delta(*_both_laws(pair, accepted, gamma, steps), level))
            yield point | {"slack": slack}, seen, f"T={steps}, {where}"
        else:
            level = threshold_pure(pair.epsilon)
            seen = float(profile_delta(*_both_laws(pair, accepted, gamma), level))
            yield point, in_units(seen), f"relative, {where}"  # delta may be tiny


# --- Utility --------------------------------------------------------------------------


@LT.identity("LT-Thm3.1(a)", "Theorem 3.1(a)")
def release(
    *,
    share: Annotated[
        float, number("q, probability of the outcome", at_least=0.0, at_most=1.0)
    ] = 0.1,
    success: Success = 0.5,
) -> float:
    """Algorithm 1 releases outcomes that reach the threshold in proportion to their probability in
    one draw.

    Returns the probability q/p_1 that a given outcome is released, given that any is.
    """
    if share > success:
        raise InputError(f"share is {share}; it must be at most success, {success}")
    return share / success


@release.equals()
def random_laws(budget):
    for generator in budget.draws():
        size = int(generator.integers(2, 7))
        q = generator.dirichlet(np.full(size, 0.7)) + 1e-9
        q = q / q.sum()
        accepted = _random_accepted(generator, size)
        gamma, _, steps = _random_parameters(generator)
        law, draws = enumerated(q, accepted, gamma, steps)
        success = min(float(q[:accepted].sum()), 1.0)
        chosen = int(generator.integers(accepted))
        where = f"q={shown(q)}, {accepted} accepted, gamma={gamma!r}, T={steps}"
        point = {"share": min(float(q[chosen]), success), "success": success}
        seen = float(law[chosen] / law[:-1].sum())
        yield point, seen, f"outcome {chosen} given a release, {where}"
        exact = threshold_law(q, accepted, gamma, steps)
        worst = int(np.argmax(np.abs(exact - law)))
        text = f"as implemented, outcome {worst}, {where}"
        yield Judged(float(law[worst]), float(exact[worst]), text)
        exact_draws = threshold_expected_draws(success, gamma, steps)
        yield Judged(1.0, exact_draws / draws, f"expected draws, {where}")


@LT.utility("LT-Thm3.1(d)", "Theorem 3.1(d)")
def draws(
    *,
    success: Annotated[
        float, number("p_1 = P[score >= threshold]", at_least=0.0, at_most=1.0)
    ] = 0.1,
    gamma: Gamma = 0.01,
) -> float:
    """With p_1 = P[score >= threshold], Algorithm 1 makes at most 1/(p_1 (1 - gamma) + gamma) <=
    min(1/p_1, 1/gamma) draws on average."""
    return threshold_expected_draws_bound(success, gamma)


@LT.utility("LT-Thm3.1(e)", "Theorem 3.1(e)")
def failure(*, success: Success = 0.1, gamma: Gamma = 0.01, slack: PositiveSlack = 0.1) -> float:
    """Algorithm 1 returns nothing with probability at most (1 - p_1)(1 + epsilon_0/2) gamma/p_1."""
    return threshold_failure_bound(success, gamma, slack)


def settings(budget):
    known = grid(success=(1e-4, 0.01, 0.5, 1.0), gamma=(1e-4, 0.1, 1.0), slack=(0.01, 1.0))
    for point in known(budget):
        yield point | {"steps": threshold_steps(point["gamma"], point["slack"])}
    for generator in budget.draws():
        gamma, slack, steps = _random_parameters(generator)
        success = float(10.0 ** generator.uniform(-4.0, 0.0))
        yield {"success": success, "gamma": gamma, "slack": slack, "steps": steps}


@draws.bounds(settings)
def summed_draws(success, gamma, steps):
    _, seen = enumerated(np.array([success, 1.0 - success]), 1, gamma, steps)
    # in relative terms: thousands of draws are summed
    yield in_units(seen), "relative"
    least = min(1.0 / success, 1.0 / gamma)
    yield lambda claimed: (least / claimed, 1.0), "second bound, relative"


@failure.bounds(settings)
def nothing(success, gamma, steps):
    law, _ = enumerated(np.array([success, 1.0 - success]), 1, gamma, steps)
    return float(law[-1])


@LT.utility("LT-Thm1.2(c)", "Theorem 1.2(c)")
def calls(*, candidates: Annotated[int, whole("K", at_least=1)] = 10) -> float:
    """If one of K candidates has P[score >= threshold] >= 1/2, drawing from a uniform candidate
    until a score reaches it makes at most 2 K calls on average."""
    return 2.0 * candidates


@calls.bounds()
def uniform_candidates(budget):
    for case, generator in enumerate(budget.draws(200)):
        candidates = int(generator.integers(1, 40))
        success = generator.uniform(size=candidates) * (case % 3)
        success = np.minimum(success, 1.0)
        success[0] = max(0.5, float(success[0]) * (case % 2))
        # a uniform candidate at each draw; summed until less than 1e-15 is left
        mean = float(success.mean())
        terms = (1.0 - mean) ** np.arange(math.ceil(40.0 / mean))
        where = f"success probabilities {shown(success)}"
        yield {"candidates": candidates}, float(np.sum(terms)), where
