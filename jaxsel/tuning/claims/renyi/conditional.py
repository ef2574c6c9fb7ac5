"""Papernot & Steinke 2022, Proposition 15 and Corollary 16: conditional sampling."""

import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.accounting.single_run.pairs import randomised_response, tight_conditional
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import Judged, grid, listed
from jaxsel.language.domains import number
from jaxsel.language.papers import PS
from jaxsel.tuning import parameters
from jaxsel.tuning.bounds.conditional import conditional_at_exponents, conditional_part
from jaxsel.tuning.claims.base_pairs import base_pairs, least_rho

_ORDERS = (1.02, 1.5, 1.9, 2.0, 3.0, 8.0)

OrderFromTwo = Annotated[float, number("of the Renyi divergence", at_least=2.0, at_most=math.inf)]
Probability = Annotated[float, number("Q(S)", above=0.0, at_most=1.0)]


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

    def bound(self, part: int, order: float, exponent: float = 1.0) -> float:
        """An inequality of Corollary 16, with the pair's own divergences."""
        own = (self.forward, self.backward, self.probability)
        return conditional_part(part, order, *own, exponent=exponent)

    @property
    def probability(self) -> float:
        """Q(S)."""
        return min(1.0, float(self.first[self.kept].sum()))

    def points(self, known: str) -> Iterator[dict[str, Any]]:
        """Parameters of claims: Q, Q' and Q(S); of some pairs also rho or epsilon alone.

        Args:
          known: which of the two.
        """
        chance, laws = {"probability": self.probability}, (self.first, self.second)
        yield chance | {"first": self.first, "second": self.second, known: 1.0}
        if "pairs." in self.where:
            alone = {"rho": least_rho, "epsilon": exact_epsilon}[known](*laws)
            yield chance | {"first": None, "second": None, known: alone}

    def exact(self, order: float) -> float:
        """D_order(Q_S || Q'_S)."""
        first, second = self.first[self.kept], self.second[self.kept]
        return float(renyi_divergence(first / first.sum(), second / second.sum(), order))


def _instances(budget: Budget) -> Iterator[Conditioned]:
    """Base pairs with S given by its outcomes; S = everything as well."""
    generator = np.random.default_rng(budget.seed + 1)
    for first, second, pair in base_pairs(budget):
        chosen = generator.uniform(size=first.size) < 0.6
        chosen[generator.integers(chosen.size)] = True
        everything = np.ones_like(chosen)
        for kept in (everything, chosen) if pair.startswith("pairs") else (chosen,):
            where = f"S = outcomes {np.flatnonzero(kept).tolist()}, {pair}"
            yield Conditioned(first, second, kept, where)


# S is rare, one of its outcomes rarer and the other far likelier on the second side.
_RARE = Conditioned(
    *tight_conditional(8.0, 3.0, 2.3e-5),
    np.array([True, True, False]),
    "S = outcomes [0, 1], pairs.tight_conditional(8.0, 3.0, 2.3e-5)",
)


def _response(epsilon: float) -> Conditioned:
    first, second = randomised_response(epsilon)
    where = f"S = everything, randomised response with epsilon={epsilon:g}"
    return Conditioned(first, second, np.ones(2, dtype=bool), where)


def concentrated(rho: float) -> RenyiCurve:
    """Renyi curve rho * order; rho > 0."""
    return lambda order: rho * np.asarray(order, dtype=np.float64)


def _curves(
    curve: RenyiCurve, first: np.ndarray | None, second: np.ndarray | None
) -> tuple[RenyiCurve, RenyiCurve]:
    """Renyi curves of D(Q || Q') and D(Q' || Q): of the two laws; where none are given, this."""
    sides = parameters.both(first, second)
    if sides is None:
        return curve, curve
    given = Conditioned(*sides, np.ones(sides[0].size, dtype=bool), "S = everything")
    return given.forward, given.backward


_PROPOSITION = (
    "D_a(Q_S || Q'_S) <= (a-1/p-1/r)/(a-1) D_(r(a-1/p))(Q || Q') + "
    "(a+1/q-2)/(a-1) D_(a+1/q-1)(Q' || Q) + (1/r+1)/(a-1) log(1/Q(S))"
)


@PS.privacy(
    "PS-Prop15-printed",
    "Proposition 15",
    Relation.BASE,
    statement=_PROPOSITION + ", for all a > 1 and 1/p + 1/q + 1/r = 1.",
)
def proposition_printed(
    *,
    order: parameters.Order = 1.5,
    inverse_q: parameters.InverseQ = 0.0,
    inverse_r: parameters.InverseR = 1.0,
    base_epsilon: parameters.ModerateEpsilon = 1.0,
):
    """Printed bound on D_order(Q_S || Q'_S), randomised response with S = everything."""
    case = _response(base_epsilon)
    return conditional_at_exponents(
        order, inverse_q, inverse_r, case.forward, case.backward, 1.0, corrected=False
    )


@proposition_printed.bounds(
    listed("order inverse_q inverse_r", (1.5, 0.0, 1.0), (1.5, 0.4, 0.6), (1.1, 0.0, 1.0))
)
def responses(order, base_epsilon):
    return _response(base_epsilon).exact(order), "1/p=0, S = everything"


@PS.privacy(
    "PS-Prop15",
    "Proposition 15, corrected",
    Relation.BASE,
    statement=_PROPOSITION + ", for 1/p + 1/q + 1/r = 1 and a + 1/q >= 2.",
)
def proposition(
    *,
    order: parameters.Order = 5.0,
    inverse_q: parameters.InverseQ = 0.1,
    inverse_r: parameters.InverseR = 0.5,
    rho: parameters.Rho = 0.1,
    probability: Probability = 0.5,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base, or for two given laws Q and Q'; order +
    1/q is at least 2."""
    curves = _curves(concentrated(rho), first, second)
    return conditional_at_exponents(order, inverse_q, inverse_r, *curves, probability)


@proposition.bounds()
def exponents(budget):
    generator = np.random.default_rng(budget.seed + 2)
    for case in _instances(budget):
        for order in generator.choice(_ORDERS, 2, replace=False).tolist():
            inverse_q = float(generator.uniform(max(0.0, 2.0 - order), 1.0))
            # r = inf, where the forward divergence is of order inf, now and then
            share = max(0.0, generator.uniform(-0.1, 1.0))
            inverse_r = share * (1.0 - inverse_q)
            for point in case.points("rho"):
                point |= {"order": order, "inverse_q": inverse_q, "inverse_r": inverse_r}
                yield point, case.exact(order), case.where


_FORMULAS = {
    1: "D_inf(Q_S || Q'_S) <= D_inf(Q || Q') + D_inf(Q' || Q)",
    2: "D_a(Q_S || Q'_S) <= D_a(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + 2/(a-1) log(1/Q(S))",
    3: "D_a(Q_S || Q'_S) <= D_inf(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + 1/(a-1) log(1/Q(S))",
    4: "D_a(Q_S || Q'_S) <= a/(a-1) D_inf(Q || Q') + D_a(Q' || Q) + 1/(a-1) log(1/Q(S))",
    5: "D_a(Q_S || Q'_S) <= D_(r(a-1)+1)(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) + "
    "(1/r+1)/(a-1) log(1/Q(S)) for every r >= 1",
}
_ORDERS_OF = {1: "", 4: ", for all a > 1"}
_MISPRINTED = (2, 3, 5)


def _printed_part(part: int) -> Claim:
    @PS.privacy(
        f"PS-Cor16({part})-printed",
        f"Corollary 16, inequality {part}",
        Relation.BASE,
        statement=_FORMULAS[part] + ", for all a > 1.",
    )
    def printed(
        *, order: parameters.Order = 1.5, base_epsilon: parameters.ModerateEpsilon = 3.0
    ) -> float:
        """Printed bound on D_order(Q_S || Q'_S), randomised response, S = everything."""
        case = _response(base_epsilon)
        return conditional_part(part, order, case.forward, case.backward, 1.0, corrected=False)

    printed.bounds(grid(base_epsilon=(3.0, 1.0), order=(1.5, 1.1)))(responses)
    return printed


PRINTED = tuple(map(_printed_part, _MISPRINTED))


def _part(part: int, known: str) -> Callable[[Callable[..., float]], Claim]:
    """Decorates the formula of an inequality.

    Args:
      part: which of them.
      known: its parameter of a base whose laws are not given, "rho" or "epsilon".
    """

    def stated(formula):
        corrected = ", corrected" if part in _MISPRINTED else ""
        claim = PS.privacy(
            f"PS-Cor16({part})",
            f"Corollary 16, inequality {part}{corrected}",
            Relation.BASE,
            statement=_FORMULAS[part] + _ORDERS_OF.get(part, ", for all a >= 2") + ".",
        )(formula)
        names = tuple(claim.parameters)

        @claim.bounds()
        def cases(budget):
            generator = np.random.default_rng(budget.seed + 2)
            allowed = [order for order in _ORDERS if order >= (1.0 if part == 4 else 2.0)]
            for case in (*_instances(budget), _RARE):
                some = [8.0] if case is _RARE else generator.choice(allowed, 2, replace=False)
                for order in [math.inf] if part == 1 else some:
                    exponent = float(generator.uniform(1.0, 4.0)) if part == 5 else 1.0
                    for base in case.points(known):
                        point = base | {"order": float(order), "exponent": exponent}
                        named = {name: point[name] for name in names}
                        yield named, case.exact(order), case.where

        return claim

    return stated


def _pure_curve(epsilon: float) -> RenyiCurve:
    """Renyi curve min(epsilon, epsilon^2 order / 2) of a pure base (Lemma 13)."""

    def renyi(order: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # a square that is 0, at order inf: fmin skips the NaN
            return np.fmin(epsilon, 0.5 * epsilon**2 * np.asarray(order))

    return renyi


@_part(1, "epsilon")
def pure(
    *,
    epsilon: parameters.Epsilon = 1.0,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Pure epsilon of conditional sampling: 2 epsilon from an epsilon-DP base, or that from two
    given laws Q and Q'."""
    curves = _curves(lambda order: np.asarray(epsilon), first, second)
    return conditional_part(1, math.inf, *curves, 1.0)


@_part(2, "rho")
def part_2(
    *,
    order: OrderFromTwo = 5.0,
    rho: parameters.Rho = 0.1,
    probability: Probability = 0.5,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base, or for two given laws Q and Q'."""
    curves = _curves(concentrated(rho), first, second)
    return conditional_part(2, order, *curves, probability)


@_part(3, "epsilon")
def part_3(
    *,
    order: OrderFromTwo = 5.0,
    epsilon: parameters.ModerateEpsilon = 1.0,
    probability: Probability = 0.5,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Bound on D_order(Q_S || Q'_S) for an epsilon-DP base, or for two given laws Q and Q'."""
    curves = _curves(_pure_curve(epsilon), first, second)
    return conditional_part(3, order, *curves, probability)


@_part(4, "epsilon")
def part_4(
    *,
    order: parameters.OrderOrInfinity = 5.0,
    epsilon: parameters.ModerateEpsilon = 1.0,
    probability: Probability = 0.5,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Bound on D_order(Q_S || Q'_S) for an epsilon-DP base, or for two given laws Q and Q'."""
    curves = _curves(_pure_curve(epsilon), first, second)
    return conditional_part(4, order, *curves, probability)


@_part(5, "rho")
def part_5(
    *,
    order: OrderFromTwo = 5.0,
    rho: parameters.Rho = 0.1,
    probability: Probability = 0.5,
    exponent: parameters.Exponent = 2.0,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """Bound on D_order(Q_S || Q'_S) for a rho-zCDP base, or for two given laws Q and Q'."""
    curves = _curves(concentrated(rho), first, second)
    return conditional_part(5, order, *curves, probability, exponent=exponent)


E_PS_2 = PS.misprint(
    "E-PS-2",
    "Proposition 15 and Corollary 16 (2), (3), (5)",
    "statement",
    printed="The inequalities hold for all orders a > 1.",
    correct="Their proof applies post-processing to D_(a+1/q-1)(Q' || Q) with the factor "
    "(a+1/q-2)/(a-1), which is negative for a + 1/q < 2. They hold for a + 1/q >= 2, hence (2), "
    "(3), (5) for a >= 2; (1) and (4) are right. Randomised response with epsilon = 1, S = "
    "everything and a = 1.5 has D = 0.627, and (2) states 0.387.",
    refuted=[proposition_printed, *PRINTED],
    corrected=[proposition, part_2, part_3, part_5],
)


@PS.privacy("PS-Footnote11", "Appendix C, footnote 11", Relation.BASE)
def halting(
    *,
    order: OrderFromTwo = 5.0,
    rho: parameters.Rho = 0.1,
    probability: Annotated[float, number("Q(S)", at_least=0.0, at_most=1.0)] = 0.0,
    halt: Annotated[
        float, number("p, of halting without an output", above=0.0, at_most=1.0)
    ] = 0.01,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """If the base also halts with probability p a run, without an output, conditional sampling
    takes at most 1/p runs on average and D_a <= D_a(Q || Q') + (a-2)/(a-1) D_(a-1)(Q' || Q) +
    2/(a-1) log(1/(p + (1-p) Q(S))), for all a >= 2, however small Q(S).

    Bound on D_order for a rho-zCDP base, or for two given laws Q and Q', that also halts with
    probability p a run.
    """
    ends = halt + (1.0 - halt) * probability
    return part_2(order=order, rho=rho, probability=ends, first=first, second=second)


@halting.bounds()
def halted_searches(budget):
    generator = np.random.default_rng(budget.seed + 3)
    for case in _instances(budget):
        halt = 10.0 ** generator.uniform(-4.0, -0.3)
        first, second = (np.append((1.0 - halt) * side, halt) for side in (case.first, case.second))
        # S may be empty: then the loop ends with the extra outcome alone.
        good = case.kept & (generator.uniform() < 0.9)
        halted = Conditioned(first, second, np.append(good, True), f"p={halt!r}, {case.where}")
        ends = halted.probability
        yield Judged(1.0 / halt, 1.0 / ends, f"expected runs, {halted.where}")
        # The base's own laws: halting alike on both sides adds nothing.
        for point in case._replace(kept=good).points("rho"):
            for order in (2.0, 3.0, 8.0):
                yield point | {"halt": halt, "order": order}, halted.exact(order), case.where
