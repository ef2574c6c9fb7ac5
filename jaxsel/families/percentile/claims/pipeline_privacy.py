"""Liu & Talwar 2019, Theorem 4.7 (1.4), (a): privacy of Algorithms 5 and 1."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.accounting.single_run.pairs import random_pure_pair
from jaxsel.base import Budget, Claim
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_positive
from jaxsel.families.percentile.claims.pipeline import pipeline_claim, random_plan
from jaxsel.families.percentile.laws import count_range, sparse_vector_epsilon
from jaxsel.families.percentile.pipeline_laws import Pipeline, pipeline, pipeline_law

# --- Theorem 4.7 (a): privacy ---------------------------------------------------------


def _delta(*, delta: float = 1e-6) -> float:
    """delta itself, at 2 epsilon_1 + epsilon_0.

    Args:
      delta: in (0, 1).
    """
    return probability("delta", delta)


def _outcomes(generator: np.random.Generator, epsilon: float):
    """Scores and an epsilon-close pair of laws, no outcome of which is very rare."""
    size = int(generator.integers(2, 6))
    laws = random_pure_pair(generator, size, epsilon, 1.0)
    scores = np.append(generator.uniform(0.0, 1.0, size - 1), 0.0)
    return scores, *(0.8 * law + 0.2 / size for law in laws)


def _privacy_instances(budget: Budget):
    """The theorem's settings, and others in which few samples make all matter."""
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 24)):
        plan = random_plan(generator)
        settings = pipeline(**plan)
        if number % 3:
            # Privacy needs neither the theorem's N nor its p_1.
            stop = float(10.0 ** generator.uniform(-3.0, -0.5))
            most = math.ceil(math.log(4.0 / plan["slack"]) / stop + 1.0)
            settings = settings._replace(
                test=settings.test._replace(
                    samples=int(generator.integers(1, 120)),
                    offset=float(generator.uniform(0.0, 3.0)),
                ),
                stop_probability=stop,
                max_draws=most,
            )
        yield plan, settings, _outcomes(generator, plan["base_epsilon"]), generator


def _approximate(budget: Budget) -> Iterator[Case]:
    for plan, settings, (scores, first, second), _ in _privacy_instances(budget):
        laws = [pipeline_law(scores, law, settings) for law in (first, second)]
        total = 2.0 * plan["base_epsilon"] + plan["slack"]
        seen = float(profile_delta(laws[0], laws[1], total))
        where = f"scores {scores.tolist()}, laws {first.tolist()}, {second.tolist()}"
        yield plan["delta"], seen, f"{where}, {settings}"


def _pure_epsilon(base_epsilon: float, slack: float, settings: Pipeline) -> float:
    test = settings.test
    search = sparse_vector_epsilon(
        count_range(test, 1), test.query_scale, test.threshold_scale
    )
    return search + 2.0 * base_epsilon + slack / 2.0


def _pure(
    *,
    base_epsilon: float = 0.1,
    slack: float = 1.0,
    samples: int = 50,
    shift: float = 8.0,
) -> float:
    """(L/S) epsilon_0/2 + 2 epsilon_1 + epsilon_0/2, L = log(1 + N/Delta).

    Args:
      base_epsilon: epsilon_1 > 0.
      slack: epsilon_0 in (0, 1]; S = epsilon_1 + epsilon_0/2.
      samples: N.
      shift: Delta.
    """
    settings = pipeline(base_epsilon=base_epsilon, slack=slack)
    test = settings.test._replace(samples=samples, shift=check_positive("shift", shift))
    return _pure_epsilon(base_epsilon, slack, settings._replace(test=test))


def _pure_cases(budget: Budget) -> Iterator[Case]:
    for plan, settings, outcomes, generator in _privacy_instances(budget):
        scores, first, second = outcomes
        shift = float(10.0 ** generator.uniform(-0.5, 2.0))
        test = settings.test._replace(samples=int(generator.integers(1, 60)))
        settings = settings._replace(test=test._replace(shift=shift))
        laws = [pipeline_law(scores, law, settings) for law in (first, second)]
        seen = exact_epsilon(laws[0], laws[1])
        claimed = _pure_epsilon(plan["base_epsilon"], plan["slack"], settings)
        where = f"scores {scores.tolist()}, laws {first.tolist()}, {second.tolist()}"
        yield claimed, seen, f"{where}, {settings}"


CLAIMS: tuple[Claim, ...] = (
    pipeline_claim(
        "(a)",
        "Algorithm 5 with epsilon_3 = epsilon_0/2, then Algorithm 1 at the threshold "
        "found with slack epsilon_0/2, over a base that is epsilon_1-DP, is (2 "
        "epsilon_1 + epsilon_0, delta)-DP, whatever N and gamma are.",
        _delta,
        at_most(_approximate),
        "privacy",
        erratum="LT-E10",
    ),
    pipeline_claim(
        "(a)-sharp",
        "For any N and Delta the same is purely ((L/S) epsilon_0/2 + 2 epsilon_1 + "
        "epsilon_0/2)-DP, with L = log(1 + N/Delta) and S = epsilon_1 + epsilon_0/2.",
        _pure,
        at_most(_pure_cases),
        "privacy",
    ),
)
