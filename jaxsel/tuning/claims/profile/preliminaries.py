"""Koskela, Redberg & Wang 2024, Definitions 2.1 and 2.4, Lemmas 2.2, 2.3 and C.5.

Preliminaries on profiles and generating functions, on finite pairs of laws.
"""

import itertools
import math
from fractions import Fraction
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged
from jaxsel.language.domains import number
from jaxsel.language.papers import KRW
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.claims.base_pairs import BasePair, at_worst, base_pairs
from jaxsel.tuning.claims.profile.cases import (
    BaseEpsilon,
    Epsilon,
    LawOfK,
    coin_pair,
    coin_profile,
    law_profile,
    swapped,
)

Share = Annotated[float, number(at_least=0.0, at_most=1.0)]
Abscissa = Annotated[float, number("x of a point", at_least=0.0, at_most=1e6)]
Ordinate = Annotated[float, number("y of a point", at_least=1e-6, at_most=1e6)]
Coefficient = Annotated[float, number(at_least=1e-6, at_most=1e6)]


def _events(size: int) -> np.ndarray:
    """Every event of so many outcomes, a row each."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=size)))


@KRW.privacy("KRW-Def2.1", "Definition 2.1 and Equation (C.1)", Relation.BASE)
def largest_of_tests(
    *,
    epsilon: Epsilon = 0.5,
    base_epsilon: BaseEpsilon = 1.0,
    mass: Annotated[float, number("E_Q'[g] of the test g", at_least=0.0, at_most=1.0)] = 0.1,
):
    """An (epsilon, delta)-DP pair has E_Q[g] <= e^epsilon E_Q'[g] + delta for every g with values
    in [0, 1], not only for events.

    Largest probability under Q of a test that has probability ``mass`` under Q': e^epsilon mass
    + delta(epsilon), for randomised response."""
    return math.exp(epsilon) * mass + float(coin_profile(base_epsilon)(np.asarray(epsilon)))


@largest_of_tests.bounds()
def events_and_randomised_tests(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in base_pairs(budget):
        size = pair.first.size
        tests = np.concatenate([_events(size), generator.random((20, size))])
        epsilon = generator.uniform(-1.0, 2.0)
        delta = law_profile(*pair[:2])(np.asarray(epsilon))
        for each in (pair, swapped(pair)):
            claimed, places = (
                math.exp(epsilon) * (tests @ each.second) + delta,
                np.arange(len(tests)),
            )
            yield at_worst(claimed, tests @ each.first, places, f"{epsilon=}, {each.where}", "test")


def _divergence(pair: BasePair, epsilon: float) -> float:
    """H_f for f(z) = (z - e^epsilon)_+: sum f(Q/Q') Q', and Q where Q' = 0."""
    both = pair.second > 0
    ratio = pair.first[both] / pair.second[both]
    inside = np.maximum(ratio - math.exp(epsilon), 0.0) @ pair.second[both]
    return float(inside + pair.first[~both].sum())


@KRW.identity(
    "KRW-Lem2.2", "Lemma 2.2 (Balle, Barthe & Gaboardi 2018, Theorem 1)", relation=Relation.BASE
)
def smallest_delta(*, epsilon: Epsilon = 0.5, base_epsilon: BaseEpsilon = 1.0):
    """The smallest delta of an (epsilon, delta)-DP pair is its H_f for f(z) = (z - e^epsilon)_+, an
    outcome with Q' = 0 counting Q.

    Delta at epsilon of randomised response."""
    return _divergence(coin_pair(base_epsilon), epsilon)


@smallest_delta.equals()
def worst_of_all_events(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for i, pair in enumerate(base_pairs(budget)):
        if i % 3 == 0:  # an outcome where Q' = 0
            first = np.concatenate([[0.0], pair.first[1:], pair.first[:1]])
            where = f"best outcome replaced in {pair.where}"
            pair = BasePair(first, np.append(pair.second, 0.0), where)
        epsilon = generator.uniform(-1.0, 2.0)
        for each in (pair, swapped(pair)):
            gaps = each.first - math.exp(epsilon) * each.second
            worst = float((_events(gaps.size) @ gaps).max())
            yield Judged(_divergence(each, epsilon), worst, f"{epsilon=!r}, {each.where}")


def _perspective(order: float, epsilon: float, x: np.ndarray, y: np.ndarray):
    """f(x/y) y for z^order, the hockey stick, z log z and (z - 1)^2; a row each."""
    power, excess = x**order * y ** (1.0 - order), np.maximum(x - math.exp(epsilon) * y, 0.0)
    return np.stack([power, excess, special.xlogy(x, x / y), (x - y) ** 2 / y])


@KRW.identity("KRW-Lem2.3", "Lemma 2.3")
def mean_of_two_points(
    *,
    order: Annotated[float, number(at_least=1.0, at_most=20.0)] = 2.0,
    first: Abscissa = 0.9,
    second: Ordinate = 0.1,
    other_first: Abscissa = 0.2,
    other_second: Ordinate = 0.6,
    weight: Annotated[float, number("of the first point", at_least=0.0, at_most=1.0)] = 0.5,
):
    """For convex f, f(x/y) y is jointly convex in x >= 0 and y > 0.

    Mean of f(x/y) y over two points (x, y), f(z) = z^order: at least its value at their mean."""
    x, y = np.array([first, other_first]), np.array([second, other_second])
    values = _perspective(order, 0.0, x, y)[0]
    return weight * values[0] + (1.0 - weight) * values[1]


@mean_of_two_points.bounds()
def value_at_the_mean(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        x, y = generator.gamma(0.7, size=(2, 2))
        if generator.integers(4) == 0:
            x[0] = 0.0
        weight = generator.random()
        share = np.array([weight, 1.0 - weight])
        order, epsilon = 1.0 + generator.exponential(), generator.normal()
        ends = _perspective(order, epsilon, x, y) @ share
        middle = _perspective(order, epsilon, x @ share, y @ share)
        worst = int(np.argmin((ends - middle) / np.maximum(np.abs(ends), 1.0)))
        where = f"x={x.tolist()}, y={y.tolist()}, {weight=}, f number {worst}"
        yield Judged(ends[worst], middle[worst], where)


_MOST_TERMS = 2**22


def _series(law: Repetitions, z: float, *, slope: bool = False) -> float:
    """sum P[K = k] z^k, or its derivative, term by term."""
    last = 64
    while law.survival(last) > 1e-16 and law.maximum is None:
        last *= 2
        if last > _MOST_TERMS:
            raise InputError(
                f"the law of K ({law.family}) has more than {_MOST_TERMS} likely values; "
                "take a smaller mean"
            )
    k = np.arange(0, (law.maximum or last) + 1)
    mass = law.pmf(k)
    if slope:
        return float(np.sum(k[1:] * mass[1:] * z ** (k[1:] - 1.0)))
    return float(np.sum(mass * z**k))


@KRW.identity("KRW-Def2.4", "Definition 2.4 and Equation (5.1)")
def generating_function(*, z: Share = 0.5, repetitions: LawOfK = "geometric:mean=10"):
    """The generating function of K is sum_k P[K = k] z^k; its closed forms and their derivatives
    agree with the series, f'(1) = E[K] and f(0) = P[K = 0].

    The series at z."""
    return _series(repetitions, z)


_TEXTS = """geometric:mean=10 tnb:eta=0,mean=10 tnb:eta=-0.5,gamma=0.05 tnb:eta=5,mean=30
    poisson:mean=0.5 poisson:mean=10 binomial:count=20,mean=10 beta_binomial:count=20,gamma=1
    point_mass:count=7""".split()


@generating_function.equals()
def closed_forms(budget):
    for text in _TEXTS:
        law = laws.parse(text)
        for z in (0.0, 0.3, 0.9, 0.999, 1.0):
            yield {"z": z, "repetitions": text}, law.pgf(z)
            series, slope = _series(law, z, slope=True), law.pgf_derivative_tail(1.0 - z)
            yield Judged(series, slope, f"derivative, {text}, {z=:g}")
        yield Judged(law.mean, law.pgf_derivative_tail(0.0), f"f'(1), {text}")
        yield Judged(law.probability_zero, law.pgf(0.0), f"f(0), {text}")


@KRW.identity("KRW-LemC.5", "Lemma C.5")
def slope_of_fraction(
    *,
    a: Coefficient = 2.0,
    b: Coefficient = 1.0,
    c: Coefficient = 1.0,
    d: Coefficient = 3.0,
    x: Annotated[float, number(at_least=0.0, at_most=1e6)] = 1.0,
):
    """For a, b, c, d > 0 the function (a x + b)/(c x + d) of x >= 0 is non-decreasing if and only
    if a/b >= c/d.

    Derivative (a d - b c)/(c x + d)^2 of that function at x."""
    return (a * d - b * c) / (c * x + d) ** 2


@slope_of_fraction.equals()
def exact_fractions(budget):
    """1 if non-decreasing: by the sign of the slope, and by exact values."""
    generator = np.random.default_rng(budget.seed)
    grid = [Fraction(k, 7) for k in range(30)]
    for case in range(budget.cases):
        a, b, c, d = (Fraction(int(k)) for k in generator.integers(1, 9, size=4))
        if case % 5 == 0:
            a, b = 3 * c, 3 * d  # constant
        values = [(a * x + b) / (c * x + d) for x in grid]
        rises = float(all(y >= x for x, y in itertools.pairwise(values)))
        point = {"a": float(a), "b": float(b), "c": float(c), "d": float(d), "x": 1.0}
        yield point, lambda slope, rises=rises: (float(slope >= 0.0), rises)
