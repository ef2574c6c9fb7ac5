"""Koskela, Redberg & Wang 2024, Remark C.8 and the proof of Corollary 5.8: Poisson K.

With the other slips in proofs of true statements, E-KRW-7.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_delta
from jaxsel.accounting.single_run.divergences import hockey_stick, profile_delta
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.claims.profile.cases import coin_laws, describe_pair, run_counts
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most, equal
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import KRW

# --- Remark C.8 -----------------------------------------------------------------------


def _level_delta(
    sign: float, epsilon: float, level: float, mean: float, profile: Callable[[float], np.ndarray]
) -> float:
    """Delta(epsilon) of (C.12), capped at 1; sign -1 adds what 1 subtracts."""
    shifted = epsilon - sign * mean * math.expm1(level) - mean * float(profile(level))
    return min(1.0, mean * float(profile(shifted)))


def _remark_c8(sign: float):
    """The claim with that sign before m (e^epsilon_1 - 1), and its check."""

    def evaluate(
        *,
        epsilon: Annotated[float, number(at_least=0.0)] = 1.0,
        level: Annotated[float, number("the paper's epsilon_1", at_least=0.0, at_most=50.0)] = 1.0,
        mean: Annotated[float, positive("m, of K ~ Poisson(m)")] = 2.0,
        base_epsilon: Annotated[float, positive("of randomised response")] = 1.0,
    ) -> float:
        return _level_delta(
            sign, epsilon, level, mean, lambda at: randomised_response_delta(at, base_epsilon)
        )

    shown = "-" if sign > 0 else "+"
    evaluate.__doc__ = f"mean delta(epsilon {shown} mean (e^level - 1) - mean delta(level)), or 1."

    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        instances = [(pairs.randomised_response(1.0), 1.0, 1.0, 2.0)]
        for _ in range(budget.cases):
            pair = pairs.random_pair(generator, int(generator.integers(2, 7)))
            epsilon, level = generator.exponential(size=2)
            mean = float(10.0 ** generator.uniform(-1.0, 1.0))
            instances.append((pair, float(epsilon), float(level), mean))
        for pair, epsilon, level, mean in instances:
            claimed = _level_delta(
                sign, epsilon, level, mean, lambda at, pair=pair: profile_delta(*pair, at)
            )
            tuned = [tuned_law(side, laws.poisson(mean)) for side in pair]
            exact = float(profile_delta(tuned[0], tuned[1], epsilon))
            where = f"epsilon={epsilon!r}, level={level!r}, mean={mean!r}"
            yield claimed, exact, f"{describe_pair(pair)}, {where}"

    return evaluate, at_most(cases)


# --- The first display of the proof of Corollary 5.8 ----------------------------------


def _by_number_of_runs(
    *,
    epsilon: Annotated[float, number("of the hockey stick", at_least=0.0, below=50.0)] = 1.0,
    mean: Annotated[float, number("of K ~ Poisson", above=0.0, below=20.0)] = 2.0,
    base_epsilon: Annotated[float, number("of randomised response", at_least=0.0, below=5.0)] = 1.0,
) -> float:
    """sum_k P[K = k] H(best of k || its neighbour), the display's second line."""
    law, base = laws.poisson(mean), coin_laws(base_epsilon)
    counts = run_counts(law)
    worst = base[:, 1:] ** counts  # P[every run gives the worse outcome]
    best_of_k = np.stack([1.0 - worst, worst], axis=1)
    excess = np.maximum(best_of_k[0] - math.exp(epsilon) * best_of_k[1], 0.0)
    return float(np.sum(excess, axis=0) @ law.pmf(counts))


def _display_cases(budget: Budget) -> Iterator[Case]:
    for mean in (0.5, 2.0, 10.0):
        for base_epsilon in (0.5, 1.0, 2.0):
            for epsilon in (0.0, 0.5, 1.0, 3.0):
                setting = {"epsilon": epsilon, "mean": mean, "base_epsilon": base_epsilon}
                law, base = laws.poisson(mean), coin_laws(base_epsilon)
                tuned = [tuned_law(side, law) for side in base]
                exact = float(hockey_stick(tuned[0], tuned[1], epsilon))
                yield _by_number_of_runs(**setting), exact, f"{setting}"


STATEMENTS = (
    KRW.misprint(
        "E-KRW-7",
        "Remark C.8, Appendices A.3, B and C.5, Sections 3 and 6.1",
        "proof",
        printed="Remark C.8 uses q' <= e^epsilon_1 q + delta and ends with epsilon - m "
        "(1 - e^epsilon_1) - m delta; the proof of Corollary 5.8 begins with an "
        "equality between a sum over outputs and one over numbers of runs; (B.2) "
        "begins with the weight A(y); the proof of Corollary 3.4 ends with P(loss "
        ">= epsilon) <= 1/m; (3.1) defines M_i with f; Section 6.1 uses Theorem "
        "5.1; Figure 3 names a Lemma 5.5.",
        correct="Remark C.8 needs q <= e^epsilon_1 q' + delta and ends with epsilon - m "
        "(e^epsilon_1 - 1) - m delta, as Corollary 5.8 states; the equality is an "
        "inequality; the weight is A'(y); 1/m is delta/m; f is f_i; Theorem 5.1 is "
        "Theorem 5.2; Lemma 5.5 is Corollary 5.5. The statements stand.",
        refuted=(
            KRW.privacy(
                "KRW-RemC.8-printed",
                "Remark C.8, last line of (C.12)",
                "For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m "
                "delta(epsilon - m (1 - e^epsilon_1) - m delta(epsilon_1)).",
                Relation.BASE,
                *_remark_c8(-1.0),
                correction="m (e^epsilon_1 - 1) is subtracted, not added: KRW-RemC.8.",
            ),
            KRW.identity(
                "KRW-C.5-display-printed",
                "proof of Corollary C.7, first display",
                "The hockey-stick divergence of the tuned laws is the mean over k of "
                "that between the best of k runs.",
                _by_number_of_runs,
                equal(_display_cases),
                Relation.BASE,
                correction="It is at most that mean, by convexity: KRW-C.5-display. The "
                "limit in total variation that the proof needs follows without it.",
            ),
            "KRW-B.2-weight-printed",
        ),
        corrected=(
            KRW.privacy(
                "KRW-RemC.8",
                "Remark C.8 with the signs of Corollary 5.8",
                "For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m "
                "delta(epsilon - m (e^epsilon_1 - 1) - m delta(epsilon_1)).",
                Relation.BASE,
                *_remark_c8(1.0),
            ),
            KRW.privacy(
                "KRW-C.5-display",
                "proof of Corollary C.7, first display corrected",
                "The hockey-stick divergence of the tuned laws is at most the mean over "
                "k of that between the best of k runs.",
                Relation.BASE,
                _by_number_of_runs,
                at_most(_display_cases),
            ),
            "KRW-B.2-weight",
        ),
    ),
)
