"""Koskela, Redberg & Wang 2024, Theorems 4.1 and B.2: the general bound, for any K.

Theorem 4.1 with Remark 4.2, Theorem B.2, and what K = 0 adds to it, on finite pairs.
"""

import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import hockey_stick, renyi_divergence
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import number
from jaxsel.language.papers import KRW
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.general_profile import (
    general_hockey_stick,
    general_renyi,
    refined_hockey_stick,
)
from jaxsel.tuning.claims.base_pairs import BasePair, base_pairs, tuned_pair
from jaxsel.tuning.claims.profile.cases import (
    TOLERANCE,
    BaseEpsilon,
    Epsilon,
    at_laws,
    base_of,
    coin_laws,
    coin_pair,
    random_law,
    run_counts,
    swapped,
)
from jaxsel.tuning.parameters import FirstLaw, Law, SecondLaw

_FAMILIES = ("negative_binomial", "poisson", "binomial")


@KRW.privacy("KRW-Thm4.1", "Theorem 4.1", Relation.BASE)
def sum_of_suprema(
    *,
    epsilon: Epsilon = 2.0,
    base_epsilon: BaseEpsilon = 1.0,
    repetitions: Law = "geometric:gamma=0.1",
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """H_f(A || A') <= sum_y f(Q f'(q_y)/(Q' f'(q'_y))) Q' f'(q'_y), f' being the slope of the
    generating function and (q_y, q'_y) the worst masses of worse outcomes, chosen for each y; P[K =
    0] > 0 adds f(1) P[K = 0].

    Bound on the hockey-stick divergence of the best of K randomised responses, or of draws
    from two laws."""
    return general_hockey_stick(*base_of(base_epsilon, first, second)[:2], epsilon, repetitions)


def _random_instances(budget: Budget) -> Iterator[tuple[BasePair, Repetitions]]:
    generator = np.random.default_rng(budget.seed + 1)
    for i, pair in enumerate(base_pairs(budget)):
        law = random_law(generator, _FAMILIES[i % 3])
        if i % 2:
            pair = swapped(pair)
        yield pair, law


@sum_of_suprema.bounds(tolerance=TOLERANCE)
def hockey_sticks(budget):
    coin, once = coin_pair(1.0), laws.point_mass(1)
    seen = hockey_stick(*tuned_pair(coin, once), 0.3)
    yield at_laws(coin, epsilon=0.3, repetitions=once), seen, "equality: one run"
    generator = np.random.default_rng(budget.seed + 2)
    for pair, law in _random_instances(budget):
        epsilon = float(generator.choice([-0.5, 0.0, 0.3, 1.0, 3.0]))
        seen = hockey_stick(*tuned_pair(pair, law), epsilon)
        yield at_laws(pair, epsilon=epsilon, repetitions=law), seen


@KRW.privacy("KRW-Rem4.2", "Remark 4.2 (Papernot & Steinke 2022, Lemma 7)", Relation.BASE)
def product(
    *,
    order: Annotated[float, number("of the divergence", above=1.0, below=1e3)] = 3.0,
    base_epsilon: BaseEpsilon = 1.0,
    repetitions: Law = "geometric:gamma=0.1",
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """For f(z) = z^a Theorem 4.1 is the product of the base's divergence and of one worst f'(q)^a
    f'(q')^(1 - a), plus P[K = 0].

    Bound on the Renyi divergence of the best of K randomised responses, or of draws from
    two laws."""
    sides = base_of(base_epsilon, first, second)[:2]
    return general_renyi(*sides, np.asarray(order), repetitions)


def _better(law: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Masses of better outcomes, where these parts of an outcome itself are better."""
    return np.minimum(np.concatenate([[0.0], np.cumsum(law)[:-1]]) + parts * law, 1.0)


def _sum_of_suprema(pair: BasePair, order: float, law: Repetitions) -> float:
    """Theorem 4.1 for z^order on a grid of (q, q'), plus P[K = 0], as a divergence."""
    parts = np.linspace(0.0, 1.0, 201)[:, None]
    a, b = (law.log_pgf_derivative_tail(_better(side, parts)) for side in pair[:2])
    slopes = math.exp(float(np.max(order * a + (1.0 - order) * b)))
    terms = pair.first**order * pair.second ** (1.0 - order) * slopes
    return math.log(law.probability_zero + float(terms.sum())) / (order - 1.0)


@product.bounds()
def sums_and_divergences(budget):
    generator = np.random.default_rng(budget.seed + 2)
    for i, (pair, law) in enumerate(_random_instances(budget)):
        order = float(generator.choice([1.1, 2.0, 5.0]))
        if i % 5:
            continue
        point = at_laws(pair, order=order, repetitions=law)
        yield point, _sum_of_suprema(pair, order, law), "sum"
        yield point, renyi_divergence(*tuned_pair(pair, law), order)


@KRW.identity("KRW-ThmB.2", "Theorem B.2", relation=Relation.BASE)
def continuous_score(
    *,
    epsilon: Epsilon = 2.0,
    base_epsilon: BaseEpsilon = 1.0,
    repetitions: Law = "geometric:gamma=0.1",
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """For a continuous score, H_f(A || A') is the integral of f(Q f'(q)/(Q' f'(q'))) Q' f'(q') with
    q, q' the masses of worse outputs; for the hockey stick it is a sum of differences of generating
    functions between roots of the loss.

    Exact hockey-stick divergence for randomised response, or for two laws, with ties broken
    uniformly."""
    return refined_hockey_stick(*base_of(base_epsilon, first, second)[:2], epsilon, repetitions)


def _integral(pair: BasePair, epsilon: float, law: Repetitions) -> float:
    """Theorem B.2's integral by the midpoint rule, 4000 cells an outcome."""
    parts = (np.arange(4000) + 0.5)[:, None] / 4000.0
    a, b = (law.pgf_derivative_tail(_better(side, parts)) for side in pair[:2])
    gap = pair.first * a - math.exp(epsilon) * pair.second * b
    none = -law.probability_zero * math.expm1(min(epsilon, 0.0))
    return float(np.maximum(gap, 0.0).mean(axis=0).sum()) + none


@continuous_score.equals(tolerance=1e-5)
def smooth_laws(budget):
    """Laws of K for which the midpoint rule is good to 1e-5."""
    generator = np.random.default_rng(budget.seed + 2)
    texts = (
        "geometric:gamma=0.2",
        "tnb:eta=-0.5,gamma=0.3",
        "poisson:mean=3",
        "binomial:count=5,probability=0.4",
        "point_mass:count=3",
    )
    for i, pair in enumerate(base_pairs(budget._replace(cases=budget.cases // 10))):
        text, each = texts[i % len(texts)], pair if i % 2 else swapped(pair)
        law, epsilon = laws.parse(text), float(generator.choice([-0.5, 0.0, 0.3, 1.0]))
        yield at_laws(each, epsilon=epsilon, repetitions=law), _integral(each, epsilon, law)


# For K ~ Poisson and randomised response, ties broken by an independent uniform score: there
# Theorem B.2 is an equality.

_Function = Callable[[np.ndarray], np.ndarray]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)

# Small enough for every power of a ratio to be a float64.
PowerOrder = Annotated[float, number("f(z) = z^order", above=1.0, below=20.0)]
# Densities, which are multiples of the mean, keep their digits.
FewRuns = Annotated[float, number("of K ~ Poisson", at_least=1e-300, below=20.0)]
Coin = Annotated[float, number("of randomised response", at_least=0.0, below=5.0)]


def _tails(base: np.ndarray) -> np.ndarray:
    """Masses of better outcomes at the quadrature nodes, ties broken by a uniform score:
    Float["sides outcomes nodes"]."""
    better = np.cumsum(base, axis=1) - base
    return better[..., None] + base[..., None] * (1.0 + _NODES) / 2.0


def _integral_of(function: _Function, densities: np.ndarray) -> float:
    """The integral of f(A/A') A', densities being Float["sides outcomes nodes"]."""
    density, other = densities
    return float(np.sum(function(density / other) * other * _WEIGHTS / 2.0))


def _with_no_run(function: _Function, at_zero: float, mean: float, base_epsilon: float) -> float:
    """Theorem B.2's integral plus f(at_zero) P[K = 0]."""
    law, base = laws.poisson(mean), coin_laws(base_epsilon)
    integral = _integral_of(function, base[..., None] * law.pgf_derivative_tail(_tails(base)))
    return integral + float(function(np.asarray(at_zero))) * law.probability_zero


def _direct_divergence(function: _Function, mean: float, base_epsilon: float) -> float:
    """H_f from the law of K itself: density sum_k P[K = k] k q (1 - u)^(k - 1)."""
    law, base = laws.poisson(mean), coin_laws(base_epsilon)
    counts = run_counts(law)
    powers = (1.0 - _tails(base)[..., None]) ** (counts - 1.0)
    run = _integral_of(function, base[..., None] * (powers @ (counts * law.pmf(counts))))
    return float(run + function(np.ones(())) * law.pmf(0))


@KRW.identity("KRW-B-no-run-printed", "Appendix B, first paragraph", relation=Relation.BASE)
def f_of_zero(*, order: PowerOrder = 3.0, mean: FewRuns = 0.5, base_epsilon: Coin = 0.0):
    """P[K = 0] > 0 adds the term f(0) P[K = 0] to the f-divergence of Theorem B.2.

    H_f, f(z) = z^order."""
    return _with_no_run(lambda ratio: ratio**order, 0.0, mean, base_epsilon)


@KRW.identity("KRW-B-no-run", "Appendix B, first paragraph corrected", relation=Relation.BASE)
def f_of_one(*, order: PowerOrder = 3.0, mean: FewRuns = 0.5, base_epsilon: Coin = 0.0):
    """P[K = 0] > 0 adds the term f(1) P[K = 0] to the f-divergence of Theorem B.2.

    H_f, f(z) = z^order."""
    return _with_no_run(lambda ratio: ratio**order, 1.0, mean, base_epsilon)


def _hockey(ratio: np.ndarray) -> np.ndarray:
    """At a negative epsilon: it has f(0) = 0 and f(1) > 0, too."""
    return np.maximum(ratio - math.exp(-0.5), 0.0)


def _no_run(at_zero: float):
    def exact(order, mean, base_epsilon):
        yield _direct_divergence(lambda ratio: ratio**order, mean, base_epsilon)
        if (base_epsilon, order) == (1.0, 6.0):
            where = f"hockey stick at epsilon=-0.5, {mean=:g}"
            claimed = _with_no_run(_hockey, at_zero, mean, 0.0)
            yield Judged(claimed, _direct_divergence(_hockey, mean, 0.0), where)

    return exact


_FEW_RUNS = grid(mean=(0.5, 0.3, 1.0, 4.0), base_epsilon=(0.0, 0.5, 1.0), order=(1.5, 3.0, 6.0))
f_of_zero.equals(_FEW_RUNS)(_no_run(0.0))
f_of_one.equals(_FEW_RUNS)(_no_run(1.0))

E_KRW_6 = KRW.misprint(
    "E-KRW-6",
    "Appendix B, first paragraph",
    "statement",
    printed="P[K = 0] > 0 could be included as an additional term f(0) P[K = 0].",
    correct="No run gives the same output with the same probability on both sides, so that the "
    "term is f(1) P[K = 0]. It vanishes for the hockey stick with epsilon >= 0, in both "
    "directions, as the paper goes on to say; it does not for Renyi divergences (f(1) = 1, "
    "f(0) = 0) nor for epsilon < 0.",
    refuted=[f_of_zero],
    corrected=[f_of_one],
)


# Their erratum stands in poisson.
def _tuned_coin(mean: float, base_epsilon: float) -> np.ndarray:
    """Laws of the best of K ~ Poisson randomised responses, a row a side."""
    law = laws.poisson(mean)
    return np.array([tuned_law(row, law) for row in coin_laws(base_epsilon)])


@KRW.identity(
    "KRW-B.2-weight-printed",
    "Equation (B.2), first line",
    relation=Relation.BASE,
    holds=False,
    erratum="E-KRW-7",
    correction="The weight is A'(y): KRW-B.2-weight.",
)
def weight_of_the_first(*, order: PowerOrder = 2.0, mean: FewRuns = 2.0, base_epsilon: Coin = 1.0):
    """H_f(A || A') is the sum over y of f(A(y)/A'(y)) A(y).

    That sum, for f(z) = z^order."""
    first, second = _tuned_coin(mean, base_epsilon)
    return np.sum((first / second) ** order * first)


@KRW.identity(
    "KRW-B.2-weight",
    "Equation (B.2), first line corrected",
    relation=Relation.BASE,
    erratum="E-KRW-7",
)
def weight_of_the_second(*, order: PowerOrder = 2.0, mean: FewRuns = 2.0, base_epsilon: Coin = 1.0):
    """H_f(A || A') is the sum over y of f(A(y)/A'(y)) A'(y).

    That sum, for f(z) = z^order."""
    first, second = _tuned_coin(mean, base_epsilon)
    return np.sum((first / second) ** order * second)


_WEIGHTED = grid(order=(2.0, 1.5, 4.0), mean=(0.5, 2.0, 10.0), base_epsilon=(1.0,))


@weight_of_the_first.equals(_WEIGHTED)
@weight_of_the_second.equals(_WEIGHTED)
def moment(order, mean, base_epsilon):
    first, second = _tuned_coin(mean, base_epsilon)
    return math.exp((order - 1.0) * float(renyi_divergence(first, second, order)))
