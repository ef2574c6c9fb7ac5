"""Claims of Liu & Talwar 2019, Theorem 4.7 (1.4), (b) and (c): quality and number of runs.

The pipeline is Algorithm 5, which finds a threshold, and then Algorithm 1, which draws until a run
reaches it.
"""

import math
from typing import Annotated, Any

import numpy as np

from jaxsel.families.percentile.parameters import (
    BaseEpsilon,
    Beta,
    Candidates,
    Delta,
    FullSlack,
    HalfBeta,
    Thresholds,
)
from jaxsel.families.percentile.pipeline_laws import Pipeline, most_calls, pipeline, pipeline_law
from jaxsel.families.sparse_vector.halting_law import laplace_difference_tail
from jaxsel.language.base import Budget
from jaxsel.language.checking import grid
from jaxsel.language.domains import positive
from jaxsel.language.papers import LT

_CALL_CONSTANT = 250.0


def random_plan(generator: np.random.Generator) -> dict[str, Any]:
    """Random arguments of ``pipeline_laws.pipeline``, by name."""
    return {
        "base_epsilon": float(generator.uniform(0.05, 0.6)),
        "slack": float(generator.uniform(0.2, 1.0)),
        "beta": float(generator.uniform(0.02, 0.5)),
        "delta": float(10.0 ** generator.uniform(-8.0, -2.0)),
        "thresholds": int(generator.integers(2, 7)),
        "candidates": int(generator.integers(1, 5)),
    }


# --- Theorem 4.7 (b): quality, and the chance of nothing ------------------------------


@LT.utility(
    "LT-Thm4.7(b)",
    "Theorem 4.7 (Theorem 1.4)(b), corrected",
    erratum="LT-E8",
    loose="at beta/4 the only test that may miss fails with probability (2/3) (beta/4)^(3/2) - "
    "(beta/4)^3/6 at most, which is below 0.081 beta",
)
def quality(*, beta: Beta = 0.1, delta: Delta = 1e-6, thresholds: Thresholds = 5) -> float:
    """With Algorithms 5 and 1 both at beta/4, the release scores below tau* - 1/(R-1), tau* being
    the best of the candidates' medians, with probability at most beta + delta/R."""
    return beta + delta / thresholds


@LT.utility(
    "LT-Thm4.7(b)-sharp",
    "Theorem 4.7 (Theorem 1.4)(b)-sharp, corrected",
    formula=quality,
    loose="the only test that may miss fails with probability (4 beta^(3/2) - beta^3)/6 at most, "
    "which is below beta/2",
)
def quality_sharp():
    """With Algorithm 5 at beta itself, whose exact failure is of order beta^(3/2), and gamma = p_1
    beta/4, the release scores below tau* - 1/(R-1) with probability at most beta + delta/R."""


@LT.utility("LT-Thm4.7-nothing", "Theorem 4.7 (Theorem 1.4), corrected", erratum="LT-E10")
def nothing(*, beta: HalfBeta = 0.1, delta: Delta = 1e-6) -> float:
    """With Algorithm 5 at beta <= 1/2 and gamma = p_1 beta/4, nothing is released with probability
    at most beta + delta."""
    return beta + delta


@LT.utility(
    "LT-Thm4.7-step-failure-sharp",
    "Theorem 4.7 (Theorem 1.4), corrected",
    erratum="LT-E10",
    formula=nothing,
)
def added_up():
    """With Algorithm 5 at beta <= 1/2 and gamma = p_1 beta/4, a threshold found too early, none
    found, and Algorithm 1 giving up have probabilities that add up to at most beta + delta."""


def _candidates(generator: np.random.Generator, count: int, settings: Pipeline):
    """Random laws of the scores of K candidates, whose best score is very rare.

    It is about as rare as the rarest scores that a threshold may still notice.

    Args:
      generator: draws the laws.
      count: K.
      settings: of the pipeline, whose p_1 says what is noticed.

    Returns:
      The possible scores and the law of a random candidate's, both Float["5"], and the best
      median of all candidates.
    """
    size = 5
    scores = np.sort(generator.uniform(0.0, 1.0, size))[::-1]
    laws = generator.dirichlet(np.full(size, 0.5), count) * 0.9 + 0.02
    tiny = settings.least_share * 10.0 ** generator.uniform(-2.0, 4.0)
    laws[:, 0] = np.minimum(laws[:, 0], tiny)
    laws /= laws.sum(axis=1, keepdims=True)
    medians = [scores[np.argmax(np.cumsum(law) >= 0.5)] for law in laws]
    return scores, laws.mean(axis=0), float(max(medians))


def _releases(budget: Budget, reading: str):
    """Random cases: (arguments, scores, best median, exact law of the release, text)."""
    for generator in budget.draws(30):
        plan = random_plan(generator)
        plan["slack"] = float(generator.uniform(0.5, 1.0))
        settings = pipeline(**plan, reading=reading)
        scores, law, best = _candidates(generator, plan["candidates"], settings)
        where = f"scores {scores.tolist()}, mixture {law.tolist()}, {plan}"
        yield plan, scores, best, pipeline_law(scores, law, settings), where


@quality.bounds(reading="corrected")
@quality_sharp.bounds(reading="sharp")
def low_scores(budget, reading):
    # As rare a high score as its median allows among many candidates: if its threshold is
    # missed, the next one lets nearly every run pass.
    plan: dict[str, Any] = {"beta": 0.9, "delta": 1e-6, "thresholds": 3}
    many = 10**6
    settings = pipeline(base_epsilon=0.05, **plan, candidates=many, reading=reading)
    law = np.array([0.5 / many, 1.0 - 0.5 / many])
    seen = float(pipeline_law(np.array([0.99, 0.0]), law, settings)[1])
    yield plan, seen, f"scores 0.99, with probability 1/(2 K), and 0; K={many}, epsilon_1=0.05"
    for plan, scores, best, out, where in _releases(budget, reading):
        spacing = 1.0 / (plan["thresholds"] - 1.0)
        low = float(out[:-1][scores < best - spacing - 1e-12].sum())
        point = {name: plan[name] for name in ("beta", "delta", "thresholds")}
        yield point, low, f"best median {best!r}, {where}"


@nothing.bounds()
def no_release(budget):
    # All scores are 0: only the last threshold can be reached, and much noise may miss it
    # or pass an earlier one.
    plan: dict[str, Any] = {"beta": 0.5, "delta": 1e-6}
    settings = pipeline(base_epsilon=1.0, slack=0.2, **plan, thresholds=5, reading="sharp")
    seen = float(pipeline_law(np.zeros(1), np.ones(1), settings)[-1])
    yield plan, seen, "all scores 0, R=5, epsilon_1=1, epsilon_0=0.2"
    for plan, _, _, out, where in _releases(budget, "sharp"):
        yield {"beta": plan["beta"], "delta": plan["delta"]}, float(out[-1]), where


@added_up.bounds()
def parts(budget):
    """The sum of all failures: exact tails of the Laplace noises at the worst shares, plus the
    parts of delta that are allowed for the counts."""
    generator = np.random.default_rng(budget.seed)
    plans = [random_plan(generator) for _ in range(min(budget.cases, 100))]
    for plan in [*plans, plans[0] | {"beta": 0.5, "thresholds": 2}]:
        beta, delta, count = plan["beta"], plan["delta"], plan["thresholds"]
        half = plan["slack"] / 2.0
        # A test errs if noise exceeds 3 log(1/x) scales of the threshold noise, whatever S is; x
        # is beta/(R+1) for halting too early, beta for missing the far threshold.
        low = 3.0 * math.log((count + 1.0) / beta)
        early = count * float(laplace_difference_tail(low, 2.0, 1.0)) + delta / 2.0
        far = 3.0 * math.log(1.0 / beta)
        missed = float(laplace_difference_tail(far, 2.0, 1.0)) + delta / (2.0 * count)
        gave_up = (1.0 + half / 2.0) * beta / 4.0  # Theorem 3.1(e), gamma = p_1 beta/4
        yield {"beta": beta, "delta": delta}, early + missed + gave_up, f"{plan}"


# --- Theorem 4.7 (c): the number of calls ---------------------------------------------


@LT.utility("LT-Thm4.7(c)", "Theorem 4.7 (Theorem 1.4)(c), corrected")
def calls(
    *,
    base_epsilon: BaseEpsilon = 0.1,
    slack: FullSlack = 1.0,
    beta: Beta = 0.1,
    delta: Delta = 1e-6,
    thresholds: Thresholds = 5,
    candidates: Candidates = 1,
) -> float:
    """With Algorithm 5 at beta and gamma = p_1 beta/4, never more than 250 K ((R+1)/beta^2)^(6 + 12
    epsilon_1/epsilon_0) (log(4 R/delta)/epsilon_0^2 + log(4/epsilon_0)/beta) runs are made (in
    logarithms)."""
    exponent = 6.0 + 12.0 * base_epsilon / slack
    searching = math.log(4.0 * thresholds / delta) / slack / slack
    drawing = math.log(4.0 / slack) / beta
    power = exponent * (math.log(thresholds + 1.0) - 2.0 * math.log(beta))
    return math.log(_CALL_CONSTANT * candidates * (searching + drawing)) + power


@LT.utility("LT-Thm4.7(c)-printed", "Theorem 4.7(c), second bound")
def calls_printed(
    *, beta: Beta = 1e-9, constant: Annotated[float, positive("of the O()")] = 1e6
) -> float:
    """The number of runs is at most a constant times K ((R+1)/beta^2)^(6 + 12 epsilon_1/epsilon_0)
    (log(R/delta)/epsilon_0^2 + log(1/epsilon_0)/beta), for epsilon_0 up to 1 (in logarithms).

    Returns the natural logarithm of this number at epsilon_0 = 1, epsilon_1 = 0.1, delta = 1e-6,
    R = 5 and K = 1.
    """
    power = 7.2 * (math.log(6.0) - 2.0 * math.log(beta))
    searching = math.log(5.0 / 1e-6)  # and log(1/epsilon_0)/beta is 0
    return math.log(constant * searching) + power


@calls.bounds()
def most(budget):
    for generator in budget.draws(300):
        plan: dict[str, Any] = {
            "base_epsilon": float(generator.uniform(0.01, 1.0)),
            "slack": float(generator.uniform(0.3, 1.0)),
            "beta": float(10.0 ** generator.uniform(-3.0, -0.01)),
            "delta": float(10.0 ** generator.uniform(-12.0, -0.5)),
            "thresholds": int(generator.integers(2, 100)),
            "candidates": int(generator.integers(1, 1000)),
        }
        if calls(**plan) < 420.0:
            yield plan, math.log(most_calls(pipeline(**plan, reading="sharp")))


@calls_printed.bounds(grid(beta=(1e-9, 1e-12), constant=(1e3, 1e6)))
def drawn(beta):
    # As printed: gamma = p_1 beta; epsilon_0 = 1 in the number of draws.
    return math.log(pipeline(beta=beta, reading="sharp").max_draws / 4.0), "epsilon_0=1"


R_LT_23 = LT.remark(
    "R-LT-23",
    "Theorems 1.4(c) and 4.7(c)",
    "The second term of O(K (...) (log(R/delta)/epsilon_0^2 + log(1/epsilon_0)/beta)) vanishes at "
    "the edge epsilon_0 = 1, where Algorithm 1 may make log(4/epsilon_0)/(p_1 beta) draws: read "
    "log(4/epsilon_0), and epsilon_0 > 0. To run Algorithm 5 at beta/4, as LT-E10 suggests, costs "
    "a factor 16^(6 + 12 epsilon_1/epsilon_0); its exact failures are of order beta^(3/2), so beta "
    "itself will do for beta <= 1/2.",
    readings=[calls_printed],
    holds=[calls, "LT-Thm4.7-step-failure-sharp"],
)
