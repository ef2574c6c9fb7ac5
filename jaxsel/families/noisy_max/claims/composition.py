"""Claims on the composition of noisy maxima: Theorem 3.3 of Koskela, Redberg & Wang 2024.

The theorem stands here as printed and as corrected (E-KRW-3), for monotone scores, and in a
sharper form that composes a dominating pair. All are checked by exact laws of adaptive releases,
and of the worst known pair when it is released many times.
"""

import functools
import itertools
import math
from typing import Annotated

import numpy as np
import scipy
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_log_delta
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.noisy_max import parameters
from jaxsel.families.noisy_max.bounds import noisy_max_guarantee
from jaxsel.families.noisy_max.claims.instances import TOLERANCE, levels_of, moves
from jaxsel.families.noisy_max.composition_bounds import (
    composed_pair_delta,
    dominated_composition_delta,
    noisy_max_composed_delta,
)
from jaxsel.families.noisy_max.group_bounds import grouped_law, worst_composed_group_pair
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_shift
from jaxsel.language.base import Relation
from jaxsel.language.domains import whole
from jaxsel.language.papers import JX, KRW


def _stated(compositions: str, sensitivity: int) -> str:
    """The end of a statement, which says "an m-wise" or "a k-wise" and the sensitivity."""
    return (
        "adaptive composition of k noisy maxima over m scores has at most m^k times the "
        f"profile of {compositions} composition of the additive noise mechanism with "
        f"sensitivity {sensitivity}."
    )


# --- Two scores that move apart -------------------------------------------------------


@KRW.privacy(
    "KRW-Thm3.3-printed",
    "Theorem 3.3",
    Relation.GENERAL,
    statement=f"The {_stated('an m-wise', 2)}",
)
def printed(
    *,
    epsilon: parameters.AnyLevel = 100.0,
    candidates: parameters.Candidates = 2,
    compositions: parameters.Winners = 200,
    noise_scale: parameters.Scale = 1.0,
) -> float:
    """Returns the printed delta(epsilon) of k winners with Gaussian noise.

    It is m^k times the delta of m noisy scores together, each moved by 2; at most 1."""
    multiplier = noise_scale / (noisy_max_shift() * math.sqrt(candidates))
    log_delta = gaussian_log_delta(epsilon, multiplier)
    return math.exp(min(compositions * math.log(candidates) + float(log_delta), 0.0))


@KRW.privacy(
    "KRW-Thm3.3",
    "Theorem 3.3 with the composition of its proof",
    Relation.GENERAL,
    statement=f"The {_stated('a k-wise', 2)}",
)
def composed(
    *,
    epsilon: parameters.AnyLevel = 100.0,
    candidates: parameters.Candidates = 2,
    compositions: parameters.Winners = 200,
    noise_scale: parameters.Scale = 1.0,
) -> float:
    """Returns delta(epsilon) of k winners with Gaussian noise.

    It is m^k times the delta of k noisy scores together, each moved by 2; at most 1."""
    return float(noisy_max_composed_delta(epsilon, noise_scale, candidates, compositions))


def _chances(gap: float, scale: float) -> tuple[float, float]:
    """The probability that the first of two noisy scores wins, at leads of gap + 1 and gap - 1."""
    spread = scale * math.sqrt(2.0)
    return float(special.ndtr((gap + 1.0) / spread)), float(special.ndtr((gap - 1.0) / spread))


def _two_candidates_delta(epsilon: float, compositions: int, gap: float, scale: float) -> float:
    """The exact delta of k maxima of two scores, where the first leads by gap + 1 or gap - 1.

    On the neighbour both scores have moved by 1, in opposite directions. How often the first one
    wins is a sufficient statistic.

    Args:
      epsilon: at which delta is taken.
      compositions: k.
      gap: the mean lead of the first score, in units of the sensitivity.
      scale: standard deviation of the noise.
    """
    wins = np.arange(compositions + 1)
    first, second = _chances(gap, scale)
    log_first = scipy.stats.binom.logpmf(wins, compositions, first)
    log_second = scipy.stats.binom.logpmf(wins, compositions, second)
    excess = np.minimum(epsilon - (log_first - log_second), 0.0)
    return float(np.sum(-np.exp(log_first) * np.expm1(excess)))


@printed.bounds()
@composed.bounds()
def two_candidates(budget):
    point = {"epsilon": 100.0, "candidates": 2, "compositions": 200, "noise_scale": 1.0}
    yield point, _two_candidates_delta(100.0, 200, 0.0, 1.0), "the counterexample"
    for k, scale, gap, share in itertools.product(
        (1, 2, 5, 20, 200), (0.5, 1.0, 4.0), (0.0, -1.0, -4.0), (0.2, 0.5, 0.8)
    ):
        first, second = _chances(gap, scale)
        # a share of the largest privacy loss that there is
        epsilon = share * k * math.log(first / second)
        point = {"epsilon": epsilon, "candidates": 2, "compositions": k, "noise_scale": scale}
        yield point, _two_candidates_delta(epsilon, k, gap, scale), f"gap {gap:g}"


E_KRW_3 = KRW.misprint(
    "E-KRW-3",
    "Theorem 3.3 and Lemma A.2",
    "statement",
    printed="delta(epsilon) is the privacy profile of an m-wise composition.",
    correct="It is that of a k-wise composition, m being the number of scores and k "
    "that of the composed mechanisms; the proof, for k = 2, composes k. With m = 2 an "
    "m-wise composition would bound any number of releases: 200 of them with unit "
    "noise have a delta near 0.91 at epsilon = 100.",
    refuted=[printed],
    corrected=[composed],
)


# --- Adaptive releases ----------------------------------------------------------------


def _adaptive_laws(
    generator: np.random.Generator, relation: Relation, scale: float, m: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The laws, on two neighbours, of all k winners where every history has scores of its own.

    Args:
      generator: draws the scores and their moves.
      relation: how the scores of a round may change.
      scale: standard deviation of the noise, and spread of the scores.
      m, k: numbers of candidates and of rounds.

    Returns:
      Two Float["m^k"], the last winner varying fastest.
    """
    laws = (np.ones(1), np.ones(1))
    for _ in range(k):
        grown: tuple[list, list] = ([], [])
        for history in range(laws[0].size):
            scores = generator.normal(0.0, scale, m)
            moved = scores + moves(generator, relation, m)
            for side, levels in enumerate((scores, moved)):
                winner = noisy_max_law(levels / scale, "gaussian")
                grown[side].append(laws[side][history] * winner)
        laws = (np.concatenate(grown[0]), np.concatenate(grown[1]))
    return laws


@KRW.privacy(
    "KRW-Thm3.3-monotone",
    "Theorem 3.3 with the composition of its proof, Theorem 3.2",
    Relation.MONOTONE,
    statement=f"For monotone scores the {_stated('a k-wise', 1)}",
)
def composed_monotone(
    *,
    epsilon: parameters.Level = 3.0,
    noise_scale: parameters.Scale = 4.0,
    candidates: parameters.Candidates = 10,
    compositions: parameters.Winners = 5,
) -> float:
    """Returns delta(epsilon) of k winners with Gaussian noise and monotone scores.

    It is m^k times the delta of k noisy scores together, each moved by 1; at most 1."""
    return float(
        noisy_max_composed_delta(epsilon, noise_scale, candidates, compositions, Relation.MONOTONE)
    )


@JX.privacy(
    "KRW-Thm3.3-dominated",
    "after Koskela, Redberg & Wang 2024, Theorem 3.3, and Zhu, Dong & Wang 2022",
    Relation.GENERAL,
)
def dominated(
    *,
    epsilon: parameters.LevelFromZero = 6.0,
    noise_scale: parameters.Scale = 4.0,
    candidates: parameters.Several = 10,
    compositions: Annotated[
        int, whole("k, how many winners are released", at_least=1, at_most=100_000)
    ] = 5,
) -> float:
    """The adaptive composition of k noisy maxima with Gaussian noise has at most the profile
    of the k-wise composition of the pair of laws whose profile is the lower convex hull of the
    sharpened bound for one maximum (KRW-Thm3.2-sharp)."""
    return _dominated_delta(epsilon, noise_scale, candidates, compositions)


# Cached, since many random scores are judged by the same bound, which is slow to compute.
@functools.lru_cache(maxsize=64)
def _dominated_delta(epsilon: float, scale: float, candidates: int, compositions: int) -> float:
    """The delta of the composed dominating pair; arguments as of ``dominated``."""
    one = noisy_max_guarantee("gaussian", scale, candidates)
    return float(dominated_composition_delta(epsilon, one, compositions))


@composed_monotone.bounds(tolerance=TOLERANCE, relation=Relation.MONOTONE)
@dominated.bounds(tolerance=TOLERANCE, relation=Relation.GENERAL)
def winners(budget, relation):
    """Exact deltas of random adaptive scores, and of two groups that move apart in every round."""
    generator = np.random.default_rng(budget.seed)
    levels = np.array([0.0, 0.25, 0.5, 1.0, 2.0])
    for scale, m, k in ((1.0, 2, 3), (4.0, 2, 3), (1.0, 3, 2), (2.0, 4, 2)):
        point = {"noise_scale": scale, "candidates": m, "compositions": k}
        for case in range(max(budget.cases // 40, 1)):
            laws = _adaptive_laws(generator, relation, scale, m, k)
            where = f"{scale=:g}, {m=}, {k=}, adaptive scores number {case}"
            exact = profile_delta(*laws, levels)
            yield from levels_of("epsilon", levels, exact, where, **point)
    shift = noisy_max_shift(relation)
    for scale, m, k in ((2.0 * shift, 10, 20), (4.0 * shift, 100, 50)):
        point = {"noise_scale": scale, "candidates": m, "compositions": k}
        pair = worst_composed_group_pair(1e-3, m, scale, k, relation)
        sides = [
            grouped_law([pair.first, pair.second], [pair.lead + move, 0.0])
            for move in (shift / scale, 0.0)
        ]
        first, second = (side / side.sum() for side in sides)
        levels = pair.epsilon * np.array([0.0, 0.5, 1.0, 1.5])
        exact = composed_pair_delta(levels, first, second, k)
        where = f"{scale=:g}, {m=}, {k=}, two groups"
        yield from levels_of("epsilon", levels, exact, where, **point)
