"""Papernot & Steinke 2022, Appendix D.1, Proposition 17: a fixed number of runs.

And the folklore against which they speak.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_renyi
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.families.tuning.claims.base_pairs import base_pairs, tuned_pair
from jaxsel.families.tuning.claims.parameters import (
    Count,
    OrderOrInfinity,
    PositiveEpsilon,
    Response,
)
from jaxsel.language.base import Budget, Pair, Relation, Verdict
from jaxsel.language.checking import CONFIDENCE, Case, at_least, at_most, equal
from jaxsel.language.papers import FOLKLORE, PS

_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0, math.inf])
_COUNTS = (1, 2, 5, 20)


def fixed_runs_epsilon(order: npt.ArrayLike, epsilon: npt.ArrayLike, count: int) -> np.ndarray:
    """What the generic bound gives: count epsilon + log(count)/(order - 1).

    Args:
      order: > 1, inf allowed.
      epsilon: Renyi bound of the base at that order.
      count: number of runs.
    """
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore"):
        return (count * np.asarray(epsilon) + math.log(count) / excess)[()]


def _generic(
    *, order: OrderOrInfinity = 5.0, base_epsilon: Response = 1.0, count: Count = 5
) -> float:
    """Bound k D_a + log(k)/(a-1) on the best of k randomised responses."""
    renyi = randomised_response_renyi(order, base_epsilon)
    return float(fixed_runs_epsilon(order, renyi, count))


def _composition(
    *, order: OrderOrInfinity = 5.0, base_epsilon: Response = 1.0, count: Count = 5
) -> float:
    """Bound k D_a on the best of k randomised responses."""
    return count * float(randomised_response_renyi(order, base_epsilon))


def _bound_cases(generic: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 1)
        for pair in base_pairs(budget):
            count = int(generator.choice(_COUNTS))
            renyi = renyi_divergence(pair.first, pair.second, _ORDERS)
            if generic:
                claimed = fixed_runs_epsilon(_ORDERS, renyi, count)
            else:
                claimed = count * renyi
            tuned = tuned_pair(pair, laws.point_mass(count))
            seen = renyi_divergence(*tuned, _ORDERS)
            worst = int(np.argmin(claimed - seen))
            yield (
                float(claimed[worst]),
                float(seen[worst]),
                f"order {_ORDERS[worst]:g}, {count} runs, {pair.where}",
            )

    return cases


def _settings(budget: Budget) -> Iterator[tuple[float, int]]:
    for epsilon in (0.1, 1.0, 3.0):
        for count in _COUNTS:
            yield epsilon, count
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        yield float(generator.uniform(0.01, 3.0)), int(generator.integers(1, 60))


def _attained(*, epsilon: Response = 1.0, count: Count = 5) -> float:
    """Pure epsilon of the best of ``count`` randomised responses: count epsilon."""
    return count * epsilon


def _attained_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        base = pairs.randomised_response(epsilon)
        seen = exact_epsilon(*tuned_pair(base, laws.point_mass(count)))
        where = f"epsilon={epsilon!r}, {count} runs"
        yield _attained(epsilon=epsilon, count=count), seen, where


def fixed_runs_lower_bound(order: npt.ArrayLike, epsilon: float, count: int) -> np.ndarray:
    """count epsilon - count log(1 + e^-epsilon)/(order - 1); count epsilon at inf."""
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore"):
        lost = math.log1p(math.exp(-epsilon)) / excess
    return (count * (epsilon - lost))[()]


def _renyi_attained(
    *, order: OrderOrInfinity = 5.0, epsilon: Response = 1.0, count: Count = 5
) -> float:
    """Renyi divergence that the best of ``count`` randomised responses exceeds.

    count epsilon - count log(1 + e^-epsilon)/(order - 1).
    """
    return float(fixed_runs_lower_bound(order, epsilon, count))


def _renyi_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        # the first law is the one on which the bad event is likely
        rare, common = pairs.randomised_response(epsilon)
        tuned = tuned_pair(pairs.LawPair(rare, common), laws.point_mass(count))
        claimed = fixed_runs_lower_bound(_ORDERS, epsilon, count)
        seen = renyi_divergence(*tuned, _ORDERS)
        worst = int(np.argmin(seen - claimed))
        where = f"order {_ORDERS[worst]:g}, epsilon={epsilon!r}, {count} runs"
        yield float(claimed[worst]), float(seen[worst]), where


def _constant(*, epsilon: PositiveEpsilon = 0.3, count: Count = 7) -> float:
    """Privacy loss count epsilon on an event of probability 1/e, second example."""
    return count * epsilon


def _constant_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        base = pairs.fixed_runs_constant(epsilon, count)
        tuned = tuned_pair(base, laws.point_mass(count))
        where = f"epsilon={epsilon!r}, {count} runs"
        yield math.exp(-1.0), float(tuned[0][1]), f"probability of event, {where}"
        forward = float(renyi_divergence(*tuned, math.inf))
        claimed = _constant(epsilon=epsilon, count=count)
        yield claimed, forward, f"max-divergence after tuning, {where}"
        one_run = float(renyi_divergence(*base, math.inf))
        yield epsilon, one_run, f"max-divergence of the base, {where}"


def _constant_base(*, epsilon: PositiveEpsilon = 0.3, count: Count = 7) -> float:
    """Bound log(count epsilon + 1) on the base's max-divergence the other way round."""
    return math.log1p(count * epsilon)


def _constant_base_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        first, second = pairs.fixed_runs_constant(epsilon, count)
        where = f"epsilon={epsilon!r}, {count} runs"
        back = renyi_divergence(second, first, np.array([1.0, math.inf]))
        most = _constant_base(epsilon=epsilon, count=count)
        claimed = (epsilon + 1.0 / count) * most
        yield claimed, float(back[0]), f"Kullback-Leibler, {where}"
        yield most, float(back[1]), f"max-divergence, {where}"


# --- Folklore -------------------------------------------------------------------------

_RUNS, _EPSILON = 5, 1.0


def _folklore(*, epsilon: PositiveEpsilon = _EPSILON) -> float:
    """Pure epsilon 3 epsilon that random stopping has, hoped for with any fixed K."""
    return 3.0 * epsilon


def _audited(budget: Budget) -> Verdict:
    """Refuted by the audit, from simulated trials alone, as a user would refute it."""
    from jaxsel.auditing.audit import audit
    from jaxsel.families.tuning.bases import randomised_response
    from jaxsel.families.tuning.private_tuning import private_tuning

    params = {"epsilon": _EPSILON, "repetitions": laws.point_mass(_RUNS)}
    why = "no run answers 1: five privacy losses of the same sign"
    pair = Pair("randomised-response", 1, 0, Relation.BASE, params, why)
    seen = audit(
        private_tuning(randomised_response(), "point_mass", method="rank"),
        pair,
        trials=max(budget.trials, 2),
        confidence=CONFIDENCE,
        seed=budget.seed,
        progress=False,
    )
    claimed, lower = _folklore(epsilon=_EPSILON), seen.bound.lower
    # A lower bound below the claim says nothing for it.
    outcome = "refuted" if lower > claimed else "inconclusive"
    detail = (
        f"audited lower bound at confidence 1 - 1e-6 from {seen.trials} trials a side, "
        f"best of {_RUNS} randomised responses with epsilon={_EPSILON:g}, event "
        f"{' or '.join(seen.event_labels)}"
    )
    slack = claimed - lower
    return Verdict(outcome, claimed, lower, slack, 1, detail, lower / claimed)


STATEMENTS = (
    PS.privacy(
        "PS-D1",
        "Appendix D.1",
        "For a fixed number k of runs Lemma 7 gives D_a(A || A') <= k D_a(Q || Q') + log(k)/(a-1).",
        Relation.BASE,
        _generic,
        at_most(_bound_cases(generic=True)),
    ),
    PS.privacy(
        "PS-D1-composition",
        "Appendix D.1",
        "For a fixed number k of runs composition gives D_a(A || A') <= k D_a(Q || Q').",
        Relation.BASE,
        _composition,
        at_most(_bound_cases(generic=False)),
    ),
    PS.privacy(
        "PS-Prop17",
        "Proposition 17, pure privacy",
        "The best of k randomised responses has pure epsilon exactly k epsilon.",
        Relation.BASE,
        _attained,
        equal(_attained_cases, 1e-9),
    ),
    PS.privacy(
        "PS-Prop17-renyi",
        "Proposition 17, Renyi privacy",
        "The best of k randomised responses has D_a >= k epsilon - k "
        "log(1 + e^-epsilon)/(a-1) for all a > 1.",
        Relation.BASE,
        _renyi_attained,
        at_least(_renyi_cases),
    ),
    PS.privacy(
        "PS-Prop17-constant",
        "Appendix D.1, second example",
        "With success probabilities 1 - e^(-1/k) and 1 - e^(-epsilon - 1/k), no "
        "success in k runs has probability 1/e and privacy loss k epsilon, while one "
        "run has max-divergence epsilon.",
        Relation.BASE,
        _constant,
        equal(_constant_cases, 1e-9),
    ),
    PS.privacy(
        "PS-Prop17-constant-base",
        "Appendix D.1, second example",
        "In that example D_inf(Q' || Q) <= log(k epsilon + 1) and D_1(Q' || Q) <= "
        "(epsilon + 1/k) log(k epsilon + 1).",
        Relation.BASE,
        _constant_base,
        at_most(_constant_base_cases),
    ),
    FOLKLORE.privacy(
        "FIXED-K-folklore",
        "against it Liu & Talwar 2019, Appendix B.1, and Papernot & Steinke 2022, Proposition 17",
        "Releasing the best of a fixed number of runs costs at most 3 epsilon, as with "
        "random stopping.",
        Relation.BASE,
        _folklore,
        _audited,
        holds=False,
        correction="It costs K epsilon, attained by randomised response: PS-Prop17, LT-B.1.",
    ),
)
