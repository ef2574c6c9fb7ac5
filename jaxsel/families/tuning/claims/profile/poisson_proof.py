"""Koskela, Redberg & Wang 2024, Remark C.8 and the proof of Corollary 5.8: Poisson K.

With the other slips in proofs of true statements, E-KRW-7.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_delta
from jaxsel.accounting.single_run.divergences import hockey_stick, profile_delta
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.claims.profile.cases import coin_laws, describe_pair, run_counts
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import KRW

Epsilon = Annotated[float, number(at_least=0.0)]
Level = Annotated[float, number("the paper's epsilon_1", at_least=0.0, at_most=50.0)]
Mean = Annotated[float, positive("m, of K ~ Poisson(m)")]
BaseEpsilon = Annotated[float, positive("of randomised response")]


def _level_delta(
    sign: float, epsilon: float, level: float, mean: float, profile: Callable[[float], np.ndarray]
) -> float:
    """Delta(epsilon) of (C.12), capped at 1; sign -1 adds what 1 subtracts."""
    shifted = epsilon - sign * mean * math.expm1(level) - mean * float(profile(level))
    return min(1.0, mean * float(profile(shifted)))


@KRW.privacy(
    "KRW-RemC.8-printed",
    "Remark C.8, last line of (C.12)",
    Relation.BASE,
    correction="m (e^epsilon_1 - 1) is subtracted, not added: KRW-RemC.8.",
)
def shift_added(
    *, epsilon: Epsilon = 1.0, level: Level = 1.0, mean: Mean = 2.0, base_epsilon: BaseEpsilon = 1.0
) -> float:
    """For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m delta(epsilon - m (1 -
    e^epsilon_1) - m delta(epsilon_1)).

    Delta(epsilon) for randomised response, or 1."""
    return _level_delta(
        -1.0, epsilon, level, mean, lambda at: randomised_response_delta(at, base_epsilon)
    )


@KRW.privacy("KRW-RemC.8", "Remark C.8 with the signs of Corollary 5.8", Relation.BASE)
def shift_subtracted(
    *, epsilon: Epsilon = 1.0, level: Level = 1.0, mean: Mean = 2.0, base_epsilon: BaseEpsilon = 1.0
) -> float:
    """For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m delta(epsilon - m
    (e^epsilon_1 - 1) - m delta(epsilon_1)).

    Delta(epsilon) for randomised response, or 1."""
    return _level_delta(
        1.0, epsilon, level, mean, lambda at: randomised_response_delta(at, base_epsilon)
    )


def _tuned_pairs(sign: float):
    def cases(budget):
        generator = np.random.default_rng(budget.seed)
        instances = [(pairs.randomised_response(1.0), 1.0, 1.0, 2.0)]
        for _ in range(budget.cases):
            pair = pairs.random_pair(generator, int(generator.integers(2, 7)))
            epsilon, level = generator.exponential(size=2)
            mean = 10.0 ** generator.uniform(-1.0, 1.0)
            instances.append((pair, float(epsilon), float(level), mean))
        for pair, epsilon, level, mean in instances:
            claimed = _level_delta(
                sign, epsilon, level, mean, lambda at, pair=pair: profile_delta(*pair, at)
            )
            tuned = [tuned_law(side, laws.poisson(mean)) for side in pair]
            exact = float(profile_delta(tuned[0], tuned[1], epsilon))
            where = f"{describe_pair(pair)}, {epsilon=!r}, {level=!r}, {mean=!r}"
            yield Judged(claimed, exact, where)

    return cases


shift_added.bounds()(_tuned_pairs(-1.0))
shift_subtracted.bounds()(_tuned_pairs(1.0))


@KRW.privacy("KRW-C.5-display", "proof of Corollary C.7, first display corrected", Relation.BASE)
def at_most_by_number_of_runs(
    *,
    epsilon: Annotated[float, number("of the hockey stick", at_least=0.0, below=50.0)] = 1.0,
    mean: Annotated[float, number("of K ~ Poisson", above=0.0, below=20.0)] = 2.0,
    base_epsilon: Annotated[float, number("of randomised response", at_least=0.0, below=5.0)] = 1.0,
) -> float:
    """The hockey-stick divergence of the tuned laws is at most the mean over k of that between the
    best of k runs.

    sum_k P[K = k] H(best of k || its neighbour), the display's second line."""
    law, base = laws.poisson(mean), coin_laws(base_epsilon)
    counts = run_counts(law)
    worst = base[:, 1:] ** counts  # P[every run gives the worse outcome]
    best_of_k = np.stack([1.0 - worst, worst], axis=1)
    excess = np.maximum(best_of_k[0] - math.exp(epsilon) * best_of_k[1], 0.0)
    return float(np.sum(excess, axis=0) @ law.pmf(counts))


by_number_of_runs = KRW.identity(
    "KRW-C.5-display-printed",
    "proof of Corollary C.7, first display",
    relation=Relation.BASE,
    statement="The hockey-stick divergence of the tuned laws is the mean over k of that "
    "between the best of k runs.",
    correction="It is at most that mean, by convexity: KRW-C.5-display. The limit in total "
    "variation that the proof needs follows without it.",
)(at_most_by_number_of_runs.evaluate)

_COINS = grid(mean=(0.5, 2.0, 10.0), base_epsilon=(0.5, 1.0, 2.0), epsilon=(0.0, 0.5, 1.0, 3.0))


@at_most_by_number_of_runs.bounds(_COINS)
@by_number_of_runs.equals(_COINS)
def tuned_coin(epsilon, mean, base_epsilon):
    tuned = [tuned_law(side, laws.poisson(mean)) for side in coin_laws(base_epsilon)]
    return float(hockey_stick(tuned[0], tuned[1], epsilon))


E_KRW_7 = KRW.misprint(
    "E-KRW-7",
    "Remark C.8, Appendices A.3, B and C.5, Sections 3 and 6.1",
    "proof",
    printed="Remark C.8 uses q' <= e^epsilon_1 q + delta and ends with epsilon - m (1 - "
    "e^epsilon_1) - m delta; the proof of Corollary 5.8 begins with an equality between a sum "
    "over outputs and one over numbers of runs; (B.2) begins with the weight A(y); the proof "
    "of Corollary 3.4 ends with P(loss >= epsilon) <= 1/m; (3.1) defines M_i with f; Section "
    "6.1 uses Theorem 5.1; Figure 3 names a Lemma 5.5.",
    correct="Remark C.8 needs q <= e^epsilon_1 q' + delta and ends with epsilon - m "
    "(e^epsilon_1 - 1) - m delta, as Corollary 5.8 states; the equality is an inequality; the "
    "weight is A'(y); 1/m is delta/m; f is f_i; Theorem 5.1 is Theorem 5.2; Lemma 5.5 is "
    "Corollary 5.5. The statements stand.",
    refuted=[shift_added, by_number_of_runs, "KRW-B.2-weight-printed"],
    corrected=[shift_subtracted, at_most_by_number_of_runs, "KRW-B.2-weight"],
)
