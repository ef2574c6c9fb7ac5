"""Slips in the proofs of true statements of Koskela, Redberg & Wang 2024: E-KRW-7.

Remark C.8 and the first displays of the proofs of Corollary 5.8 and Theorem 4.1, each
as printed and as corrected, for K ~ Poisson(mean).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_delta
from jaxsel.accounting.single_run.divergences import (
    hockey_stick,
    profile_delta,
    renyi_divergence,
)
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import bound_verdict, identity_verdict
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.claims.errata_cases import (
    coin_laws,
    describe_pair,
    run_counts,
)

_PAPER = "Koskela, Redberg & Wang 2024"
Case = tuple[float, float, str]
Profile = Callable[[float], np.ndarray]


# --- Remark C.8 (E-KRW-7) -------------------------------------------------------------


def _poisson_delta(
    sign: float, epsilon: float, level: float, mean: float, profile: Profile
) -> float:
    shifted = epsilon - sign * mean * math.expm1(level) - mean * float(profile(level))
    return min(1.0, mean * float(profile(shifted)))


def _remark_c8_at(
    sign: float, epsilon: float, level: float, mean: float, base_epsilon: float
) -> float:
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    level = check_interval("level", level, 0.0, 50.0, low_open=False)
    mean = check_positive("mean", mean)
    base = check_positive("base_epsilon", base_epsilon)
    return _poisson_delta(
        sign, epsilon, level, mean, lambda at: randomised_response_delta(at, base)
    )


def _remark_c8_printed(
    *,
    epsilon: float = 1.0,
    level: float = 1.0,
    mean: float = 2.0,
    base_epsilon: float = 1.0,
) -> float:
    """Printed delta(epsilon) of the last line of (C.12), capped at 1.

    mean delta(epsilon + mean (e^level - 1) - mean delta(level)).

    Args:
      epsilon: >= 0.
      level: the paper's epsilon_1, in [0, 50].
      mean: of K ~ Poisson, > 0.
      base_epsilon: parameter of the base, randomised response, > 0.
    """
    return _remark_c8_at(-1.0, epsilon, level, mean, base_epsilon)


def _remark_c8(
    *,
    epsilon: float = 1.0,
    level: float = 1.0,
    mean: float = 2.0,
    base_epsilon: float = 1.0,
) -> float:
    """Delta(epsilon) of (C.12) with its signs as in Corollary 5.8, capped at 1.

    mean delta(epsilon - mean (e^level - 1) - mean delta(level)).

    Args:
      epsilon: >= 0.
      level: the paper's epsilon_1, in [0, 50].
      mean: of K ~ Poisson, > 0.
      base_epsilon: parameter of the base, randomised response, > 0.
    """
    return _remark_c8_at(1.0, epsilon, level, mean, base_epsilon)


def _remark_cases(sign: float, budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    instances = [(pairs.randomised_response(1.0), 1.0, 1.0, 2.0)]
    for _ in range(budget.cases):
        pair = pairs.random_pair(generator, int(generator.integers(2, 7)))
        epsilon, level = generator.exponential(size=2)
        mean = float(10.0 ** generator.uniform(-1.0, 1.0))
        instances.append((pair, float(epsilon), float(level), mean))
    for pair, epsilon, level, mean in instances:

        def profile(at: float, pair=pair) -> np.ndarray:
            return profile_delta(*pair, at)

        claimed = _poisson_delta(sign, epsilon, level, mean, profile)
        tuned = [tuned_law(side, laws.poisson(mean)) for side in pair]
        exact = float(profile_delta(tuned[0], tuned[1], epsilon))
        where = f"epsilon={epsilon!r}, level={level!r}, mean={mean!r}"
        yield claimed, exact, f"{describe_pair(pair)}, {where}"


# --- The first display of the proof of Corollary 5.8, and of (B.2) (E-KRW-7) ----------


def _display_arguments(
    mean: float, base_epsilon: float
) -> tuple[laws.Repetitions, np.ndarray]:
    law = laws.poisson(check_interval("mean", mean, 0.0, 20.0))
    base = check_interval("base_epsilon", base_epsilon, 0.0, 5.0, low_open=False)
    return law, coin_laws(base)


def _by_number_of_runs(
    *, epsilon: float = 1.0, mean: float = 2.0, base_epsilon: float = 1.0
) -> float:
    """sum_k P[K = k] H(best of k || its neighbour), the display's second line.

    Args:
      epsilon: of the hockey stick, in [0, 50).
      mean: of K ~ Poisson, in (0, 20).
      base_epsilon: parameter of the base, randomised response, in [0, 5).
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, 50.0, low_open=False)
    law, base = _display_arguments(mean, base_epsilon)
    counts = run_counts(law)
    worst = base[:, 1:] ** counts  # P[every run gives the worse outcome]
    best_of_k = np.stack([1.0 - worst, worst], axis=1)
    excess = np.maximum(best_of_k[0] - math.exp(epsilon) * best_of_k[1], 0.0)
    return float(np.sum(excess, axis=0) @ law.pmf(counts))


def _display_cases() -> Iterator[Case]:
    for mean in (0.5, 2.0, 10.0):
        for base_epsilon in (0.5, 1.0, 2.0):
            for epsilon in (0.0, 0.5, 1.0, 3.0):
                law, base = _display_arguments(mean, base_epsilon)
                tuned = [tuned_law(side, law) for side in base]
                setting = {
                    "epsilon": epsilon,
                    "mean": mean,
                    "base_epsilon": base_epsilon,
                }
                exact = float(hockey_stick(tuned[0], tuned[1], epsilon))
                yield _by_number_of_runs(**setting), exact, f"{setting}"


def _weighted(
    side: int, order: float, mean: float, base_epsilon: float
) -> tuple[float, float]:
    """sum_y (A/A')^order times A (side 0) or A' (side 1); and the exact H_f."""
    order = check_interval("order", order, 1.0, 20.0)
    law, base = _display_arguments(mean, base_epsilon)
    tuned = np.array([tuned_law(row, law) for row in base])
    value = float(np.sum((tuned[0] / tuned[1]) ** order * tuned[side]))
    exact = math.exp((order - 1.0) * float(renyi_divergence(tuned[0], tuned[1], order)))
    return value, exact


def _weight_printed(
    *, order: float = 2.0, mean: float = 2.0, base_epsilon: float = 1.0
) -> float:
    """First line of (B.2) as printed: sum_y f(A/A') A, with f(z) = z^order.

    Args:
      order: in (1, 20).
      mean: of K ~ Poisson, in (0, 20).
      base_epsilon: parameter of the base, randomised response, in [0, 5).
    """
    return _weighted(0, order, mean, base_epsilon)[0]


def _weight(
    *, order: float = 2.0, mean: float = 2.0, base_epsilon: float = 1.0
) -> float:
    """First line of (B.2) corrected: sum_y f(A/A') A', with f(z) = z^order.

    Args:
      order: in (1, 20).
      mean: of K ~ Poisson, in (0, 20).
      base_epsilon: parameter of the base, randomised response, in [0, 5).
    """
    return _weighted(1, order, mean, base_epsilon)[0]


def _weight_cases(side: int) -> Iterator[Case]:
    for order in (2.0, 1.5, 4.0):
        for mean in (0.5, 2.0, 10.0):
            claimed, exact = _weighted(side, order, mean, 1.0)
            yield claimed, exact, f"order={order:g}, mean={mean:g}, base_epsilon=1"


CLAIMS = (
    Claim(
        id="KRW-RemC.8-printed",
        source=f"{_PAPER}, Remark C.8, last line of (C.12)",
        statement=(
            "For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m "
            "delta(epsilon - m (1 - e^epsilon_1) - m delta(epsilon_1))."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_remark_c8_printed,
        check=lambda budget: bound_verdict(_remark_cases(-1.0, budget)),
        holds=False,
        erratum="E-KRW-7",
        correction="m (e^epsilon_1 - 1) is subtracted, not added: KRW-RemC.8.",
    ),
    Claim(
        id="KRW-RemC.8",
        source=f"{_PAPER}, Remark C.8 with the signs of Corollary 5.8",
        statement=(
            "For K ~ Poisson(m), delta(epsilon) of the tuned algorithm is at most m "
            "delta(epsilon - m (e^epsilon_1 - 1) - m delta(epsilon_1))."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_remark_c8,
        check=lambda budget: bound_verdict(_remark_cases(1.0, budget)),
        erratum="E-KRW-7",
    ),
    Claim(
        id="KRW-C.5-display-printed",
        source=f"{_PAPER}, proof of Corollary C.7, first display",
        statement=(
            "The hockey-stick divergence of the tuned laws is the mean over k of that "
            "between the best of k runs."
        ),
        kind="identity",
        relation=Relation.BASE,
        evaluate=_by_number_of_runs,
        check=lambda budget: identity_verdict(_display_cases(), 1e-9),
        holds=False,
        erratum="E-KRW-7",
        correction=(
            "It is at most that mean, by convexity: KRW-C.5-display. The limit in "
            "total variation that the proof needs follows without it."
        ),
    ),
    Claim(
        id="KRW-C.5-display",
        source=f"{_PAPER}, proof of Corollary C.7, first display corrected",
        statement=(
            "The hockey-stick divergence of the tuned laws is at most the mean over k "
            "of that between the best of k runs."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_by_number_of_runs,
        check=lambda budget: bound_verdict(_display_cases()),
        erratum="E-KRW-7",
    ),
    Claim(
        id="KRW-B.2-weight-printed",
        source=f"{_PAPER}, Equation (B.2), first line",
        statement="H_f(A || A') is the sum over y of f(A(y)/A'(y)) A(y).",
        kind="identity",
        relation=Relation.BASE,
        evaluate=_weight_printed,
        check=lambda budget: identity_verdict(_weight_cases(0), 1e-9),
        holds=False,
        erratum="E-KRW-7",
        correction="The weight is A'(y): KRW-B.2-weight.",
    ),
    Claim(
        id="KRW-B.2-weight",
        source=f"{_PAPER}, Equation (B.2), first line corrected",
        statement="H_f(A || A') is the sum over y of f(A(y)/A'(y)) A'(y).",
        kind="identity",
        relation=Relation.BASE,
        evaluate=_weight,
        check=lambda budget: identity_verdict(_weight_cases(1), 1e-9),
        erratum="E-KRW-7",
    ),
)

ERRATA = (
    Erratum(
        id="E-KRW-7",
        source=f"{_PAPER}, Remark C.8, Appendices A.3, B and C.5, Sections 3 and 6.1",
        kind="proof",
        printed=(
            "Remark C.8 uses q' <= e^epsilon_1 q + delta and ends with epsilon - m "
            "(1 - e^epsilon_1) - m delta; the proof of Corollary 5.8 begins with an "
            "equality between a sum over outputs and one over numbers of runs; (B.2) "
            "begins with the weight A(y); the proof of Corollary 3.4 ends with P(loss "
            ">= epsilon) <= 1/m; (3.1) defines M_i with f; Section 6.1 uses Theorem "
            "5.1; Figure 3 names a Lemma 5.5."
        ),
        correct=(
            "Remark C.8 needs q <= e^epsilon_1 q' + delta and ends with epsilon - m "
            "(e^epsilon_1 - 1) - m delta, as Corollary 5.8 states; the equality is an "
            "inequality; the weight is A'(y); 1/m is delta/m; f is f_i; Theorem 5.1 is "
            "Theorem 5.2; Lemma 5.5 is Corollary 5.5. The statements stand."
        ),
        refuted=(
            "KRW-RemC.8-printed",
            "KRW-C.5-display-printed",
            "KRW-B.2-weight-printed",
        ),
        corrected=("KRW-RemC.8", "KRW-C.5-display", "KRW-B.2-weight"),
    ),
)
