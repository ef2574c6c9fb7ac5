"""Zhu & Wang 2022, Definition 5, Lemmas 3, 4, 16 and 17: approximate Renyi DP."""

import math
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel.accounting.single_run.closed_forms import randomised_response_renyi
from jaxsel.accounting.single_run.conversions import (
    mironov_epsilon_at_order,
    optimal_epsilon_at_order,
)
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, renyi_divergence
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.families.top_k.claims.neighbours import delta_at_claim
from jaxsel.families.top_k.curves import ApproximateRenyiCurve, approximate_renyi_to_epsilon
from jaxsel.families.top_k.parameters import Epsilon, Order
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, probability
from jaxsel.language.papers import ZW

_ORDERS = (1.2, 2.0, 8.0)

Bound = Annotated[float, number("bound at that order", at_least=0.0)]
Delta = Annotated[float, probability("apart from the failure")]


def _random_laws(generator: np.random.Generator, outcomes: int) -> LawPair:
    """Two random laws, which may be near each other or far apart."""
    first = generator.dirichlet(np.ones(outcomes))
    tilt = generator.normal(scale=generator.uniform(0.05, 2.0), size=outcomes)
    second = first * np.exp(tilt)
    return LawPair(first, second / second.sum())


def _two_sided(pair: LawPair, order: float) -> float:
    """The larger one of the Renyi divergences in both directions."""
    first, second = pair
    forward = renyi_divergence(first, second, order)
    return max(float(forward), float(renyi_divergence(second, first, order)))


@ZW.privacy("ZW-Def5", "Definition 5", Relation.BASE)
def given_events(
    *,
    order: Order = 2.0,
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, number("chance to be left out", at_least=0.0, below=1.0)] = 0.1,
) -> float:
    """(epsilon, delta)-DP is delta-approximate Renyi DP with the curve of randomised response:
    given some events of probability 1 - delta on both sides, this curve bounds the divergences.

    Returns the curve at ``order``, log(cosh((order - 1/2) epsilon)/cosh(epsilon/2))/(order - 1).
    """
    return float(randomised_response_renyi(order, epsilon))


def events(pair: LawPair, epsilon: float, delta: float) -> LawPair | None:
    """Two laws conditional on events of probability 1 - delta, with ratios within e^epsilon.

    The events may be random: outcome i belongs to its side's event with chance part_i/law_i, where
    the parts are found by linear programming. None if there are no such events.
    """
    first, second = pair
    n, ratio = first.size, math.exp(epsilon)
    one = np.eye(n)
    found = optimize.linprog(
        np.zeros(2 * n),
        A_ub=np.block([[one, -ratio * one], [-ratio * one, one]]),
        b_ub=np.zeros(2 * n),
        A_eq=np.block([[np.ones((1, n)), np.zeros((1, n))], [np.zeros((1, n)), np.ones((1, n))]]),
        b_eq=np.full(2, 1.0 - delta),
        bounds=[(0.0, x) for x in (*first, *second)],
        method="highs",
    )
    if not found.success:
        return None
    parts = np.maximum(found.x, 0.0)
    return LawPair(parts[:n] / parts[:n].sum(), parts[n:] / parts[n:].sum())


@given_events.bounds(tolerance=1e-6)
def random_pairs(budget):
    for generator in budget.draws(100, stream=5):
        first, second = _random_laws(generator, 4)
        delta = float(generator.uniform(0.0, 0.5) * 0.5 * np.abs(first - second).sum())
        epsilon = max(epsilon_at_delta(first, second, delta), 1e-3)
        parts = events(LawPair(first, second), epsilon + 1e-9, delta)
        for order in _ORDERS:
            seen = math.inf if parts is None else _two_sided(parts, order)
            point = {"order": order, "epsilon": epsilon, "delta": delta}
            yield point, seen, f"laws {first.tolist()}, {second.tolist()}"


@ZW.privacy("ZW-Lem3", "Lemma 3", Relation.BASE)
def composed(
    *,
    first: Annotated[float, number("bound of the one", at_least=0.0)] = 0.5,
    second: Annotated[float, number("bound of the other", at_least=0.0)] = 0.25,
) -> float:
    """The Renyi bounds of adaptively composed mechanisms add at every order."""
    return first + second


@ZW.privacy("ZW-Lem16", "Lemma 16", Relation.BASE, formula=composed)
def composed_approximately():
    """Under adaptive composition the bounds and the failure probabilities of approximate Renyi DP
    add."""


@composed.bounds(approximate=False)
@composed_approximately.bounds(approximate=True)
def compositions(budget, approximate):
    """Adaptive compositions, in which the second mechanism depends on what the first released.

    In the approximate case each law is a mixture of a good one, of weight 1 - failure, and of
    another one. The events are that both draws are from good laws.
    """
    for generator in budget.draws(stream=3):
        one = _random_laws(generator, 3)
        then = [_random_laws(generator, 3) for _ in range(3)]
        failures = (generator.uniform(0.0, 0.3, size=2) * approximate).tolist()
        where = f"random laws of three outcomes, failures {failures}"
        joint = LawPair(
            *(np.concatenate([one[side][i] * then[i][side] for i in range(3)]) for side in (0, 1))
        )
        for order in _ORDERS:
            worst = max(_two_sided(pair, order) for pair in then)
            point = {"first": _two_sided(one, order), "second": worst}
            yield point, _two_sided(joint, order), f"{where}, {order=:g}"
        failing, then_failing = failures
        good = (1.0 - failing) * (1.0 - then_failing)
        point = {"first": failing, "second": then_failing}
        yield point, 1.0 - good, f"probability left out, {where}"


@ZW.privacy("ZW-Lem4", "Lemma 4", Relation.BASE)
def converted(*, order: Order = 10.0, renyi_epsilon: Bound = 0.5, delta: Delta = 1e-6) -> float:
    """(a, r)-Renyi DP implies (r + log(1/delta)/(a - 1), delta)-DP.

    Returns this epsilon. In Lemma 17 it is that at delta plus the failure.
    """
    return float(mironov_epsilon_at_order(order, renyi_epsilon, delta))


@ZW.privacy("ZW-Lem17", "Lemma 17", Relation.BASE, formula=converted)
def converted_approximately():
    """delta_1-approximate (a, r)-Renyi DP implies (r + log(1/delta)/(a - 1), delta +
    delta_1)-DP."""


@ZW.privacy(
    "ZW-Lem17-tight",
    "Lemma 17 with the conversion of Canonne, Kamath & Steinke 2020, Proposition 12",
    Relation.BASE,
)
def converted_tightly(
    *, order: Order = 10.0, renyi_epsilon: Bound = 0.5, delta: Delta = 1e-6
) -> float:
    """delta_1-approximate (a, r)-Renyi DP implies (r + log(1 - 1/a) - log(a delta)/(a - 1), delta +
    delta_1)-DP."""
    return float(optimal_epsilon_at_order(order, renyi_epsilon, delta))


@converted.bounds(approximate=False)
@converted_approximately.bounds(approximate=True)
@converted_tightly.bounds(approximate=True)
def conversions(budget, approximate):
    """The exact delta of random laws at the epsilon converted from a random order."""
    for case, generator in enumerate(budget.draws(stream=4)):
        good = _random_laws(generator, 4)
        junk = _random_laws(generator, 4)
        failure = float(generator.uniform(0.0, 0.2)) if approximate else 0.0
        if case % 2:  # what fails tells the two sides apart
            junk = LawPair(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        first, second = (
            np.concatenate([(1.0 - failure) * g, failure * j])
            for g, j in zip(good, junk, strict=True)
        )
        order = float(1.0 + np.exp(generator.uniform(-2.0, 3.0)))
        delta = float(10.0 ** generator.uniform(-4.0, -0.1))
        point = {"order": order, "renyi_epsilon": _two_sided(good, order), "delta": delta}
        where = f"{failure=!r}, laws {good}, {junk}"
        yield point, delta_at_claim(delta + failure, first, second), where


@ZW.privacy("ZW-Lem17-best-order", "Lemma 17 at its best order", Relation.BASE)
def over_orders(
    *,
    delta: Annotated[float, probability("above delta_t")] = 1e-6,
    delta_t: Annotated[float, number("failure probability", at_least=0.0, below=1.0)] = 5e-7,
) -> float:
    """At its best order the tight conversion gives no larger epsilon than the simple one at any
    order.

    Returns the epsilon at ``delta`` of delta_t-approximate 0.1-zCDP, by the tight conversion at its
    best order.
    """
    curve = ApproximateRenyiCurve(lambda a: 0.1 * np.asarray(a), delta_t)
    return approximate_renyi_to_epsilon(curve, delta).epsilon


@over_orders.bounds_below()
def simple_conversions(budget):
    for delta, share in ((1e-6, 0.5), (1e-2, 0.9), (1e-9, 0.01)):
        left = delta * (1.0 - share)
        for order in (1.5, 2.0, 5.0, 12.0, 40.0):
            simple = converted(order=order, renyi_epsilon=0.1 * order, delta=left)
            point = {"delta": delta, "delta_t": share * delta}
            yield point, simple, f"the simple conversion, {order=:g}"
