"""Claims of Liu & Talwar 2019, Theorem 4.7 (1.4), (a): privacy of Algorithm 5, then Algorithm 1."""

import math
from typing import Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, exact_epsilon
from jaxsel.accounting.single_run.pairs import random_pure_pair
from jaxsel.families.percentile.claims.estimates_privacy import pure_of_search
from jaxsel.families.percentile.claims.pipeline import random_plan
from jaxsel.families.percentile.parameters import BaseEpsilon, FullSlack, Samples, Shift
from jaxsel.families.percentile.pipeline_laws import pipeline, pipeline_law
from jaxsel.language.base import Budget, Relation
from jaxsel.language.papers import LT


@LT.privacy(
    "LT-Thm4.7(a)", "Theorem 4.7 (Theorem 1.4)(a), corrected", Relation.BASE, erratum="LT-E10"
)
def approximate(*, base_epsilon: BaseEpsilon = 0.5, slack: FullSlack = 0.5) -> float:
    """Over a base that is epsilon_1-DP, Algorithm 5 with epsilon_3 = epsilon_0/2 and then Algorithm
    1, at the threshold found and with slack epsilon_0/2, are (2 epsilon_1 + epsilon_0, delta)-DP
    together, whatever N and gamma are (compared: epsilon, with the exact one at delta)."""
    return 2.0 * base_epsilon + slack


def _outcomes(generator: np.random.Generator, epsilon: float):
    """Random scores and an epsilon-close pair of their laws, in which no outcome is very rare.

    Returns:
      Three Float["outcomes"]: the scores, and the law on either side.
    """
    size = int(generator.integers(2, 6))
    laws = random_pure_pair(generator, size, epsilon, 1.0)
    scores = np.append(generator.uniform(0.0, 1.0, size - 1), 0.0)
    return scores, *(0.8 * law + 0.2 / size for law in laws)


def _worst(epsilon: float):
    """Scores and a pair of laws whose two upper outcomes move against each other, as ``_outcomes``.

    Both outcomes are above the threshold that is found.
    """
    high = 0.5 / (1.0 + math.exp(epsilon))
    laws = pairs.three_outcome(epsilon, high, 1e-3)
    return np.array([1.0, 0.5, 0.0]), *laws


def _privacy_instances(budget: Budget):
    """Cases with the theorem's settings, and with few samples, where all of them matter.

    Yields:
      (arguments of ``pipeline``, its settings, (scores, law, neighbour's law), generator).
    """
    for base, slack in ((0.6, 0.2), (2.0, 1.0)):
        plan: dict[str, Any] = {"base_epsilon": base, "slack": slack}
        plan |= {"beta": 0.5, "delta": 1e-9}
        settings = pipeline(**plan, thresholds=3)
        yield plan, settings, _worst(base), np.random.default_rng(budget.seed)
    for number, generator in enumerate(budget.draws(24)):
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


@LT.privacy("LT-Thm4.7(a)-sharp", "Theorem 4.7 (Theorem 1.4)(a)-sharp, corrected", Relation.BASE)
def pure(
    *,
    base_epsilon: BaseEpsilon = 0.1,
    slack: FullSlack = 1.0,
    samples: Samples = 50,
    shift: Shift = 8.0,
) -> float:
    """For any N and Delta, Algorithm 5 and then Algorithm 1, as in LT-Thm4.7(a), are purely ((L/S)
    epsilon_0/2 + 2 epsilon_1 + epsilon_0/2)-DP together, with L = log(1 + N/Delta) and S =
    epsilon_1 + epsilon_0/2."""
    half = slack / 2.0
    search = pure_of_search(
        samples=samples, shift=shift, sensitivity=base_epsilon + half, final_epsilon=half
    )
    return search + 2.0 * base_epsilon + half


@approximate.bounds(few=False)
@pure.bounds(few=True)
def in_a_row(budget, few):
    """The exact privacy of Algorithm 5 and then Algorithm 1.

    ``few`` takes few samples and a small Delta, and the pure epsilon; otherwise they are those of
    the settings, and it is the epsilon at delta.
    """
    for plan, settings, (scores, first, second), generator in _privacy_instances(budget):
        point = {name: plan[name] for name in ("base_epsilon", "slack")}
        if few:
            shift = float(10.0 ** generator.uniform(-0.5, 2.0))
            few_samples = {"samples": int(generator.integers(1, 60)), "shift": shift}
            settings = settings._replace(test=settings.test._replace(**few_samples))
            point |= few_samples
        laws = [pipeline_law(scores, law, settings) for law in (first, second)]
        seen = exact_epsilon(*laws) if few else epsilon_at_delta(laws[0], laws[1], plan["delta"])
        where = f"scores {scores.tolist()}, laws {first.tolist()}, {second.tolist()}"
        yield point, seen, f"{where}, {settings}"
