"""Papernot & Steinke 2022, Proposition 15 and Corollary 16: conditional sampling."""

import math
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.accounting.single_run.pairs import randomised_response
from jaxsel.families.tuning.bounds.conditional import conditional_at_exponents, conditional_part
from jaxsel.families.tuning.claims.base_pairs import base_pairs
from jaxsel.families.tuning.claims.parameters import (
    Epsilon,
    ModerateEpsilon,
    Order,
    OrderOrInfinity,
    Rho,
)
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import number
from jaxsel.language.papers import PS

_ORDERS = (1.02, 1.5, 1.9, 2.0, 3.0, 8.0)

OrderFromTwo = Annotated[float, number("of the Renyi divergence", at_least=2.0, at_most=math.inf)]
Probability = Annotated[float, number("Q(S)", above=0.0, at_most=1.0)]
InverseQ = Annotated[float, number("1/q", at_least=0.0, at_most=1.0)]
InverseR = Annotated[float, number("1/r; at most 1 together with 1/q", at_least=0.0, at_most=1.0)]


class Conditioned(NamedTuple):
    """A base pair, and the set S of outputs that end the search.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"].
      kept: Bool[np.ndarray, "outcomes"], which outcomes are in S.
      where: how to make the pair again.
    """

    first: np.ndarray
    second: np.ndarray
    kept: np.ndarray
    where: str

    def forward(self, order: np.ndarray) -> np.ndarray:
        """D_order(Q || Q')."""
        return renyi_divergence(self.first, self.second, order)

    def backward(self, order: np.ndarray) -> np.ndarray:
        """D_order(Q' || Q)."""
        return renyi_divergence(self.second, self.first, order)

    @property
    def probability(self) -> float:
        """Q(S)."""
        return float(self.first[self.kept].sum())

    def exact(self, order: float) -> float:
        """D_order(Q_S || Q'_S)."""
        first, second = self.first[self.kept], self.second[self.kept]
        divergence = renyi_divergence(first / first.sum(), second / second.sum(), order)
        return float(divergence)


def _instances(budget: Budget) -> Iterator[Conditioned]:
    """Base pairs with S given by its outcomes; S = everything as well."""
    generator = np.random.default_rng(budget.seed + 1)
    for pair in base_pairs(budget):
        everything = np.ones(pair.first.size, dtype=bool)
        sets = [everything] if pair.where.startswith("pairs") else []
        chosen = generator.uniform(size=pair.first.size) < 0.6
        chosen[generator.integers(chosen.size)] = True
        for kept in (*sets, chosen):
            where = f"S = outcomes {np.flatnonzero(kept).tolist()}, {pair.where}"
            yield Conditioned(pair.first, pair.second, kept, where)


def _response(epsilon: float) -> Conditioned:
    first, second = randomised_response(epsilon)
    where = f"S = everything, randomised response with epsilon={epsilon:g}"
    return Conditioned(first, second, np.ones(2, dtype=bool), where)


def concentrated(rho: float) -> RenyiCurve:
    """Renyi curve rho * order; rho > 0."""
    return lambda order: rho * np.asarray(order, dtype=np.float64)


# --- Proposition 15 -------------------------------------------------------------------


def _exponents(
    *,
    order: Order = 5.0,
    inverse_q: InverseQ = 0.1,
    inverse_r: InverseR = 0.5,
    rho: Rho = 0.1,
    probability: Probability = 0.5,
) -> float:
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base; order + 1/q is at least 2."""
    curve = concentrated(rho)
    return conditional_at_exponents(order, inverse_q, inverse_r, curve, curve, probability)


def _exponents_printed(
    *,
    order: Order = 1.5,
    inverse_q: InverseQ = 0.0,
    inverse_r: InverseR = 1.0,
    base_epsilon: ModerateEpsilon = 1.0,
) -> float:
    """Printed bound on D_order(Q_S || Q'_S), randomised response with S = everything."""
    case = _response(base_epsilon)
    return conditional_at_exponents(
        order, inverse_q, inverse_r, case.forward, case.backward, 1.0, corrected=False
    )


def _proposition_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 2)
    for case in _instances(budget):
        for order in generator.choice(_ORDERS, 2, replace=False):
            inverse_q = float(generator.uniform(max(0.0, 2.0 - order), 1.0))
            # r = inf, where the forward divergence is of order inf, now and then
            share = max(0.0, float(generator.uniform(-0.1, 1.0)))
            inverse_r = share * (1.0 - inverse_q)
            claimed = conditional_at_exponents(
                order, inverse_q, inverse_r, case.forward, case.backward, case.probability
            )
            where = f"order {order:g}, 1/q={inverse_q!r}, 1/r={inverse_r!r}, {case.where}"
            yield claimed, case.exact(order), where


def _proposition_printed_cases(budget: Budget) -> Iterator[Case]:
    case = _response(1.0)
    for order, inverse_q in ((1.5, 0.0), (1.5, 0.4), (1.1, 0.0)):
        claimed = _exponents_printed(order=order, inverse_q=inverse_q, inverse_r=1.0 - inverse_q)
        where = f"order {order:g}, 1/q={inverse_q:g}, 1/p=0, {case.where}"
        yield claimed, case.exact(order), where


# --- Corollary 16 ---------------------------------------------------------------------


def _pure(*, epsilon: Epsilon = 1.0) -> float:
    """Pure epsilon 2 epsilon of conditional sampling from an epsilon-DP base."""
    return 2.0 * epsilon


def _part_2(*, order: OrderFromTwo = 5.0, rho: Rho = 0.1, probability: Probability = 0.5) -> float:
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base."""
    curve = concentrated(rho)
    return conditional_part(2, order, curve, curve, probability)


def _pure_curve(epsilon: float) -> RenyiCurve:
    """Renyi curve min(epsilon, epsilon^2 order / 2) of a pure base (Lemma 13)."""
    return lambda order: np.fmin(epsilon, 0.5 * epsilon**2 * np.asarray(order))


def _part_3(
    *, order: OrderFromTwo = 5.0, epsilon: ModerateEpsilon = 1.0, probability: Probability = 0.5
) -> float:
    """Bound on D_order(Q_S || Q'_S) for an epsilon-DP base."""
    curve = _pure_curve(epsilon)
    return conditional_part(3, order, curve, curve, probability)


def _part_4(
    *, order: OrderOrInfinity = 5.0, epsilon: ModerateEpsilon = 1.0, probability: Probability = 0.5
) -> float:
    """Bound on D_order(Q_S || Q'_S) for an epsilon-DP base."""
    curve = _pure_curve(epsilon)
    return conditional_part(4, order, curve, curve, probability)


def _part_5(
    *,
    order: OrderFromTwo = 5.0,
    rho: Rho = 0.1,
    probability: Probability = 0.5,
    exponent: Annotated[float, number("r", at_least=1.0)] = 2.0,
) -> float:
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base."""
    curve = concentrated(rho)
    return conditional_part(5, order, curve, curve, probability, exponent=exponent)


def _printed_part(part: int) -> Callable[..., float]:
    def evaluate(*, order: Order = 1.5, base_epsilon: ModerateEpsilon = 3.0) -> float:
        """Printed bound on D_order(Q_S || Q'_S), randomised response, S = everything."""
        case = _response(base_epsilon)
        return conditional_part(part, order, case.forward, case.backward, 1.0, corrected=False)

    return evaluate


def _part_cases(part: int) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 2)
        for case in _instances(budget):
            if part == 1:
                orders = [math.inf]
            else:
                least = 1.0 if part == 4 else 2.0
                orders = [order for order in _ORDERS if order >= least]
                orders = generator.choice(orders, 2, replace=False).tolist()
            for order in orders:
                exponent = float(generator.uniform(1.0, 4.0)) if part == 5 else 1.0
                claimed = conditional_part(
                    part, order, case.forward, case.backward, case.probability, exponent=exponent
                )
                where = f"order {order:g}, r={exponent!r}, {case.where}"
                yield claimed, case.exact(order), where

    return cases


def _part_printed_cases(part: int) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for epsilon in (3.0, 1.0):
            case = _response(epsilon)
            for order in (1.5, 1.1):
                claimed = _printed_part(part)(order=order, base_epsilon=epsilon)
                yield claimed, case.exact(order), f"order {order:g}, {case.where}"

    return cases


# --- Footnote 11 ----------------------------------------------------------------------


def _halting(
    *,
    order: OrderFromTwo = 5.0,
    rho: Rho = 0.1,
    probability: Annotated[float, number("Q(S)", at_least=0.0, at_most=1.0)] = 0.0,
    halt: Annotated[
        float, number("p, of halting without an output", above=0.0, at_most=1.0)
    ] = 0.01,
) -> float:
    """Bound on D_order for a rho-zCDP base that also halts with probability p a run."""
    curve = concentrated(rho)
    ends = halt + (1.0 - halt) * probability
    return conditional_part(2, order, curve, curve, ends)


def _halting_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 3)
    for case in _instances(budget):
        halt = float(10.0 ** generator.uniform(-4.0, -0.3))
        first, second = (np.append((1.0 - halt) * side, halt) for side in (case.first, case.second))
        # S may be empty: then the loop ends with the extra outcome alone.
        kept = np.append(case.kept & (generator.uniform() < 0.9), True)
        halted = Conditioned(first, second, kept, f"p={halt!r}, {case.where}")
        ends = halted.probability
        runs = 1.0 / ends
        yield 1.0 / halt, runs, f"expected runs, {halted.where}"
        for order in (2.0, 3.0, 8.0):
            # The base's own divergences: halting alike on both sides adds nothing.
            claimed = conditional_part(2, order, case.forward, case.backward, ends)
            yield claimed, halted.exact(order), f"order {order:g}, {halted.where}"


# --- Statements -----------------------------------------------------------------------

_FORMULAS = {
    1: "D_inf(Q_S || Q'_S) <= D_inf(Q || Q') + D_inf(Q' || Q)",
    2: "D_a(Q_S || Q'_S) <= D_a(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + 2/(a-1) log(1/Q(S))",
    3: "D_a(Q_S || Q'_S) <= D_inf(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + 1/(a-1) log(1/Q(S))",
    4: "D_a(Q_S || Q'_S) <= a/(a-1) D_inf(Q || Q') + D_a(Q' || Q) + 1/(a-1) log(1/Q(S))",
    5: "D_a(Q_S || Q'_S) <= D_(r(a-1)+1)(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + "
    "(1/r+1)/(a-1) log(1/Q(S)) for every r >= 1",
}
_PARTS = {1: _pure, 2: _part_2, 3: _part_3, 4: _part_4, 5: _part_5}
_ORDERS_OF = {1: "", 4: ", for all a > 1"}
_MISPRINTED = (2, 3, 5)
_PROPOSITION = (
    "D_a(Q_S || Q'_S) <= (a-1/p-1/r)/(a-1) D_(r(a-1/p))(Q || Q') + "
    "(a+1/q-2)/(a-1) D_(a+1/q-1)(Q' || Q) + (1/r+1)/(a-1) log(1/Q(S))"
)


def _part_claim(part: int) -> Claim:
    corrected = ", corrected" if part in _MISPRINTED else ""
    return PS.privacy(
        f"PS-Cor16({part})",
        f"Corollary 16, inequality {part}{corrected}",
        _FORMULAS[part] + _ORDERS_OF.get(part, ", for all a >= 2") + ".",
        Relation.BASE,
        _PARTS[part],
        at_most(_part_cases(part)),
    )


def _part_printed_claim(part: int) -> Claim:
    return PS.privacy(
        f"PS-Cor16({part})-printed",
        f"Corollary 16, inequality {part}",
        _FORMULAS[part] + ", for all a > 1.",
        Relation.BASE,
        _printed_part(part),
        at_most(_part_printed_cases(part)),
    )


STATEMENTS = (
    PS.misprint(
        "E-PS-2",
        "Proposition 15 and Corollary 16 (2), (3), (5)",
        "statement",
        printed="The inequalities hold for all orders a > 1.",
        correct="Their proof applies post-processing to D_(a+1/q-1)(Q' || Q) with the "
        "factor (a+1/q-2)/(a-1), which is negative for a + 1/q < 2. They hold for "
        "a + 1/q >= 2, hence (2), (3), (5) for a >= 2; (1) and (4) are right. "
        "Randomised response with epsilon = 1, S = everything and a = 1.5 has D = 0.627, "
        "and (2) states 0.387.",
        refuted=(
            PS.privacy(
                "PS-Prop15-printed",
                "Proposition 15",
                _PROPOSITION + ", for all a > 1 and 1/p + 1/q + 1/r = 1.",
                Relation.BASE,
                _exponents_printed,
                at_most(_proposition_printed_cases),
            ),
            *(_part_printed_claim(part) for part in _MISPRINTED),
        ),
        corrected=(
            PS.privacy(
                "PS-Prop15",
                "Proposition 15, corrected",
                _PROPOSITION + ", for 1/p + 1/q + 1/r = 1 and a + 1/q >= 2.",
                Relation.BASE,
                _exponents,
                at_most(_proposition_cases),
            ),
            *(_part_claim(part) for part in _MISPRINTED),
        ),
    ),
    _part_claim(1),
    _part_claim(4),
    PS.privacy(
        "PS-Footnote11",
        "Appendix C, footnote 11",
        "If the base also halts with probability p a run, without an output, conditional "
        "sampling takes at most 1/p runs on average and D_a <= D_a(Q || Q') + "
        "(a-2)/(a-1) D_(a-1)(Q' || Q) + 2/(a-1) log(1/(p + (1-p) Q(S))), for all a >= 2, "
        "however small Q(S).",
        Relation.BASE,
        _halting,
        at_most(_halting_cases),
    ),
)
