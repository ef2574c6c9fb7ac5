"""A fixed number of runs: Appendix D.1 and Proposition 17."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_renyi
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.bounds.fixed_runs import (
    fixed_runs_constant_event,
    fixed_runs_epsilon,
    fixed_runs_lower_bound,
)
from jaxsel.families.tuning.claims.base_pairs import base_pairs, tuned_pair

_PAPER = "Papernot & Steinke 2022"
_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0, math.inf])
_COUNTS = (1, 2, 5, 20)


def _order(order: float) -> float:
    return check_interval("order", order, 1.0, math.inf, high_open=False)


def _generic(*, order: float = 5.0, base_epsilon: float = 1.0, count: int = 5) -> float:
    """Bound k D_a + log(k)/(a-1) on the best of k randomised responses.

    Args:
      order: a, in (1, inf].
      base_epsilon: parameter of randomised response, > 0.
      count: k, number of runs, >= 1.
    """
    order, epsilon = _order(order), check_positive("base_epsilon", base_epsilon)
    renyi = randomised_response_renyi(order, epsilon)
    return float(fixed_runs_epsilon(order, renyi, count))


def _composition(
    *, order: float = 5.0, base_epsilon: float = 1.0, count: int = 5
) -> float:
    """Bound k D_a on the best of k randomised responses.

    Args:
      order: a, in (1, inf].
      base_epsilon: parameter of randomised response, > 0.
      count: k, number of runs, >= 1.
    """
    order, epsilon = _order(order), check_positive("base_epsilon", base_epsilon)
    return check_integer("count", count, 1) * float(
        randomised_response_renyi(order, epsilon)
    )


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


def _attained(*, epsilon: float = 1.0, count: int = 5) -> float:
    """Pure epsilon of the best of ``count`` randomised responses: count epsilon.

    Args:
      epsilon: of one randomised response, > 0.
      count: number of runs, >= 1.
    """
    return check_integer("count", count, 1) * check_positive("epsilon", epsilon)


def _attained_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        base = pairs.randomised_response(epsilon)
        seen = exact_epsilon(*tuned_pair(base, laws.point_mass(count)))
        where = f"epsilon={epsilon!r}, {count} runs"
        yield _attained(epsilon=epsilon, count=count), seen, where


def _renyi_attained(
    *, order: float = 5.0, epsilon: float = 1.0, count: int = 5
) -> float:
    """Renyi divergence that the best of ``count`` randomised responses exceeds.

    count epsilon - count log(1 + e^-epsilon)/(order - 1).

    Args:
      order: in (1, inf].
      epsilon: of one randomised response, > 0.
      count: number of runs, >= 1.
    """
    return float(fixed_runs_lower_bound(_order(order), epsilon, count))


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


def _constant(*, epsilon: float = 0.3, count: int = 7) -> float:
    """Privacy loss count epsilon on an event of probability 1/e, second example.

    Args:
      epsilon: max-divergence of the base, in one direction, > 0.
      count: number of runs, >= 1.
    """
    return fixed_runs_constant_event(epsilon, count).tuned_epsilon


def _constant_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        event = fixed_runs_constant_event(epsilon, count)
        base = pairs.fixed_runs_constant(epsilon, count)
        tuned = tuned_pair(base, laws.point_mass(count))
        where = f"epsilon={epsilon!r}, {count} runs"
        yield event.probability, float(tuned[0][1]), f"probability of event, {where}"
        forward = float(renyi_divergence(*tuned, math.inf))
        yield event.tuned_epsilon, forward, f"max-divergence after tuning, {where}"
        one_run = float(renyi_divergence(*base, math.inf))
        yield event.base_epsilon, one_run, f"max-divergence of the base, {where}"


def _constant_base(*, epsilon: float = 0.3, count: int = 7) -> float:
    """Bound log(count epsilon + 1) on the base's max-divergence the other way round.

    Args:
      epsilon: max-divergence of the base, in one direction, > 0.
      count: number of runs, >= 1.
    """
    return fixed_runs_constant_event(epsilon, count).base_epsilon_back


def _constant_base_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, count in _settings(budget):
        event = fixed_runs_constant_event(epsilon, count)
        first, second = pairs.fixed_runs_constant(epsilon, count)
        where = f"epsilon={epsilon!r}, {count} runs"
        back = renyi_divergence(second, first, np.array([1.0, math.inf]))
        yield event.base_kl_back, float(back[0]), f"Kullback-Leibler, {where}"
        yield event.base_epsilon_back, float(back[1]), f"max-divergence, {where}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="PS-D1",
        source=f"{_PAPER}, Appendix D.1",
        statement="For a fixed number k of runs Lemma 7 gives D_a(A || A') <= "
        "k D_a(Q || Q') + log(k)/(a-1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_generic,
        check=at_most(_bound_cases(generic=True)),
    ),
    Claim(
        id="PS-D1-composition",
        source=f"{_PAPER}, Appendix D.1",
        statement="For a fixed number k of runs composition gives D_a(A || A') <= "
        "k D_a(Q || Q').",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_composition,
        check=at_most(_bound_cases(generic=False)),
    ),
    Claim(
        id="PS-Prop17",
        source=f"{_PAPER}, Proposition 17, pure privacy",
        statement="The best of k randomised responses has pure epsilon exactly k epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_attained,
        check=equal(_attained_cases, 1e-9),
    ),
    Claim(
        id="PS-Prop17-renyi",
        source=f"{_PAPER}, Proposition 17, Renyi privacy",
        statement="The best of k randomised responses has D_a >= k epsilon - "
        "k log(1 + e^-epsilon)/(a-1) for all a > 1.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_renyi_attained,
        check=at_least(_renyi_cases),
    ),
    Claim(
        id="PS-Prop17-constant",
        source=f"{_PAPER}, Appendix D.1, second example",
        statement="With success probabilities 1 - e^(-1/k) and 1 - e^(-epsilon - 1/k), "
        "no success in k runs has probability 1/e and privacy loss k epsilon, while one "
        "run has max-divergence epsilon.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_constant,
        check=equal(_constant_cases, 1e-9),
    ),
    Claim(
        id="PS-Prop17-constant-base",
        source=f"{_PAPER}, Appendix D.1, second example",
        statement="In that example D_inf(Q' || Q) <= log(k epsilon + 1) and D_1(Q' || Q) "
        "<= (epsilon + 1/k) log(k epsilon + 1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_constant_base,
        check=at_most(_constant_base_cases),
    ),
)
