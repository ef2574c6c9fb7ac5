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
from jaxsel.language.domains import choice, number
from jaxsel.language.papers import KRW
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.claims.base_pairs import BasePair, base_pairs
from jaxsel.tuning.claims.profile.cases import (
    BaseEpsilon,
    Epsilon,
    at_laws,
    base_of,
    law_profile,
    swapped,
)
from jaxsel.tuning.parameters import FirstLaw, Law, SecondLaw

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
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """An (epsilon, delta)-DP pair has E_Q[g] <= e^epsilon E_Q'[g] + delta for every g with values
    in [0, 1], not only for events.

    Largest probability under Q of a test that has probability ``mass`` under Q': e^epsilon mass
    + delta(epsilon), for randomised response or for two laws Q and Q'."""
    profile = law_profile(*base_of(base_epsilon, first, second)[:2])
    return math.exp(epsilon) * mass + float(profile(np.asarray(epsilon)))


@largest_of_tests.bounds()
def events_and_randomised_tests(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in base_pairs(budget):
        size = pair.first.size
        tests = np.concatenate([_events(size), generator.random((20, size))])
        epsilon = generator.uniform(-1.0, 2.0)
        for each in (pair, swapped(pair)):
            # The test that comes nearest, whatever delta is.
            test = tests[np.argmax(tests @ (each.first - math.exp(epsilon) * each.second))]
            mass = min(float(test @ each.second), 1.0)
            point = at_laws(each, epsilon=epsilon, mass=mass)
            yield point, test @ each.first, f"test {test.tolist()}"


def _divergence(pair: BasePair, epsilon: float) -> float:
    """H_f for f(z) = (z - e^epsilon)_+: sum f(Q/Q') Q', and Q where Q' = 0."""
    both = pair.second > 0
    ratio = pair.first[both] / pair.second[both]
    inside = np.maximum(ratio - math.exp(epsilon), 0.0) @ pair.second[both]
    return float(inside + pair.first[~both].sum())


@KRW.identity(
    "KRW-Lem2.2", "Lemma 2.2 (Balle, Barthe & Gaboardi 2018, Theorem 1)", relation=Relation.BASE
)
def smallest_delta(
    *,
    epsilon: Epsilon = 0.5,
    base_epsilon: BaseEpsilon = 1.0,
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """The smallest delta of an (epsilon, delta)-DP pair is its H_f for f(z) = (z - e^epsilon)_+, an
    outcome with Q' = 0 counting Q.

    Delta at epsilon of randomised response, or of two laws Q and Q'."""
    return _divergence(base_of(base_epsilon, first, second), epsilon)


@smallest_delta.equals()
def worst_of_all_events(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for i, pair in enumerate(base_pairs(budget)):
        if i % 3 == 0:  # an outcome where Q' = 0
            first = np.concatenate([[0.0], pair.first[1:], pair.first[:1]])
            pair = BasePair(first, np.append(pair.second, 0.0), "best outcome replaced")
        epsilon = generator.uniform(-1.0, 2.0)
        for each in (pair, swapped(pair)):
            gaps = each.first - math.exp(epsilon) * each.second
            worst = float((_events(gaps.size) @ gaps).max())
            yield at_laws(each, epsilon=epsilon), worst


_CONVEX = {
    "power": lambda z, order, epsilon: z**order,
    "hockey_stick": lambda z, order, epsilon: max(z - math.exp(epsilon), 0.0),
    "z_log_z": lambda z, order, epsilon: z * math.log(z) if z > 0.0 else 0.0,
    "chi_squared": lambda z, order, epsilon: (z - 1.0) ** 2,
}


def _perspective(order: float, epsilon: float, x: np.ndarray, y: np.ndarray):
    """f(x/y) y for every ``_CONVEX`` f; a row each."""
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
    function: Annotated[str, choice(_CONVEX, "f")] = "power",
    epsilon: Annotated[float, number("of the hockey stick", at_least=-50.0, at_most=50.0)] = 0.0,
):
    """For convex f, f(x/y) y is jointly convex in x >= 0 and y > 0.

    Mean of f(x/y) y over two points (x, y), f(z) = z^order, z log z, (z - 1)^2 or the hockey stick:
    at least its value at their mean."""
    x, y = np.array([first, other_first]), np.array([second, other_second])
    values = _perspective(order, epsilon, x, y)[list(_CONVEX).index(function)]
    return weight * values[0] + (1.0 - weight) * values[1]


@mean_of_two_points.bounds()
def value_at_the_mean(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        x, y = generator.gamma(0.7, size=(2, 2))
        y = np.maximum(y, 1e-6)
        if generator.integers(4) == 0:
            x[0] = 0.0
        weight = generator.random()
        point = {
            "order": min(1.0 + generator.exponential(), 20.0),
            "epsilon": generator.normal(),
            "first": x[0],
            "second": y[0],
            "other_first": x[1],
            "other_second": y[1],
            "weight": weight,
        }
        mean_x, mean_y = (weight * each[0] + (1.0 - weight) * each[1] for each in (x, y))
        for function, f in _CONVEX.items():
            seen = f(mean_x / mean_y, point["order"], point["epsilon"]) * mean_y
            yield {"function": function, **point}, seen


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
def generating_function(*, z: Share = 0.5, repetitions: Law = "geometric:mean=10"):
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
    """1 if non-decreasing: by the sign of the slope, and by exact values; then slopes of chords,
    whose error is of the order of their length's square."""
    generator = np.random.default_rng(budget.seed)
    grid, chord = [Fraction(k, 7) for k in range(30)], Fraction(1, 10**6)
    for case in range(budget.cases):
        a, b, c, d = (Fraction(int(k)) for k in generator.integers(1, 9, size=4))
        if case % 5 == 0:
            a, b = 3 * c, 3 * d  # constant
        values = [(a * x + b) / (c * x + d) for x in grid]
        rises = float(all(y >= x for x, y in itertools.pairwise(values)))
        point = {"a": float(a), "b": float(b), "c": float(c), "d": float(d), "x": 1.0}
        yield point, lambda slope, rises=rises: (float(slope >= 0.0), rises)
        for x in (Fraction(1, 2), Fraction(1), Fraction(4)):
            ends = [(a * end + b) / (c * end + d) for end in (x - chord, x + chord)]
            yield {**point, "x": float(x)}, float((ends[1] - ends[0]) / (2 * chord))
