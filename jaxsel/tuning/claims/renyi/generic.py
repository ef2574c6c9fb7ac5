"""Papernot & Steinke 2022, Lemma 7: the generic bound for any K; Lemma 22: K truncated.

The erratum that both share with Theorem 6 and Corollary 21 stands here.
"""

import functools
import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, Point, grid, listed
from jaxsel.language.domains import number, probability, whole
from jaxsel.language.papers import PS
from jaxsel.tuning.bounds.generic import correct_for_no_runs, generic_pair_epsilon, lemma_7
from jaxsel.tuning.claims.base_pairs import BasePair, base_pairs, random_law_text, tuned_pair
from jaxsel.tuning.parameters import FirstLaw, Law, Order, SecondLaw, both

_ORDERS = np.array([1.02, 1.5, 3.0, 25.0])
_LARGEST = 2**22  # of the truncation points: a sum over all k below

Response = Annotated[
    float, number("epsilon of randomised response; 0: equal laws", at_least=0.0, at_most=50.0)
]
Maximum = Annotated[int, whole("m, where K is truncated", at_least=1, at_most=_LARGEST)]


def _response(epsilon: float) -> BasePair:
    """Randomised response; equal laws at epsilon 0."""
    rare, common = 1.0 / (1.0 + math.exp(epsilon)), 1.0 / (1.0 + math.exp(-epsilon))
    return BasePair(np.array([rare, common]), np.array([common, rare]), f"epsilon={epsilon:g}")


def _of_responses(epsilon: float, bound, order: float, *settings, corrected: bool = True) -> float:
    """The larger bound of the two directions of randomised response."""
    first, second, _ = _response(epsilon)
    sides = ((first, second), (second, first))
    return max(float(bound(order, *side, *settings, corrected=corrected)) for side in sides)


@PS.privacy(
    "PS-Lem7-printed",
    "Lemma 7",
    Relation.BASE,
    correction="P[K = 0] must be added, as in PS-Lem7; without it the bound on equal laws is "
    "log(E[K])/(a-1) at best, below 0 if E[K] < 1.",
)
def printed(
    *, order: Order = 3.0, base_epsilon: Response = 0.0, repetitions: Law = "poisson:mean=0.5"
):
    """For any law of K with generating function f there is g with D_a(A || A') <= D_a(Q || Q') +
    log(f'(q)^a f'(q')^(1-a))/(a-1), q = E_Q[g], q' = E_Q'[g].

    Renyi bound at ``order`` for the best of K randomised responses.
    """
    return _of_responses(base_epsilon, generic_pair_epsilon, order, repetitions, corrected=False)


_SELDOM = ("poisson:mean=0.5", "poisson:mean=0.9", "binomial:count=6,probability=0.1")


@printed.bounds(grid(repetitions=_SELDOM, base_epsilon=(0.0, 0.5), order=(1.02,)))
def responses(order, base_epsilon, repetitions):
    tuned = tuned_pair(_response(base_epsilon), laws.parse(repetitions))
    return renyi_divergence(*tuned, order)


def _truncation_penalty(
    order: npt.ArrayLike, repetitions: laws.Repetitions, maximum: int
) -> np.ndarray:
    """What Lemma 7 loses when K is replaced by K given K <= maximum.

    log(1/P[K <= m])/(order - 1) + log(1 + E[K; K > m]/E[K; K <= m]).

    Raises:
      InputError: if P[1 <= K <= maximum] = 0.
    """
    counts = np.arange(1, maximum + 1)
    kept = float(np.sum(counts * repetitions.pmf(counts)))
    if kept <= 0.0:
        raise InputError(f"maximum is {maximum}; it must leave a positive probability of a run")
    lost = max(repetitions.mean - kept, 0.0)
    log_kept_mass = math.log1p(-float(repetitions.survival(maximum)))
    excess = np.asarray(order, dtype=np.float64) - 1.0
    return (-log_kept_mass / excess + math.log1p(lost / kept))[()]


def truncated_renyi(
    curve: RenyiCurve, repetitions: laws.Repetitions, maximum: int, *, corrected: bool = True
) -> RenyiCurve:
    """Renyi curve for K given K <= maximum, from one of Lemma 7 for K without what K = 0 adds.

    ``corrected=False`` leaves that out of the answer as well (E-PS-1), as printed.
    """

    def truncated(order: np.ndarray) -> np.ndarray:
        bound = curve(order) + _truncation_penalty(order, repetitions, maximum)
        if not corrected:
            return bound
        none = repetitions.probability_zero / float(repetitions.cdf(maximum))
        return correct_for_no_runs(order, bound, none)

    return truncated


def _truncated_bound(order, first, second, law, maximum, corrected=True):
    untruncated = functools.partial(
        generic_pair_epsilon, p=first, q=second, repetitions=law, corrected=False
    )
    return truncated_renyi(untruncated, law, maximum, corrected=corrected)(np.asarray(order))


@PS.privacy(
    "PS-Lem22-printed",
    "Lemma 22",
    Relation.BASE,
    correction="As in Lemma 7 the outcome 'no run' is missing: PS-Lem22.",
)
def truncated_printed(
    *,
    order: Order = 3.0,
    base_epsilon: Response = 0.0,
    repetitions: Law = "poisson:mean=0.5",
    maximum: Maximum = 10,
):
    """For K given K <= m and any law of K, the bound of Lemma 7 with the untruncated f holds with
    log(1/P[K <= m])/(a-1) + log(1 + E[K; K > m]/E[K; K <= m]) added.

    Renyi bound for the best of K randomised responses, K given K <= maximum.
    """
    return _of_responses(
        base_epsilon, _truncated_bound, order, repetitions, maximum, corrected=False
    )


@truncated_printed.bounds(
    grid(
        maximum=(10, 100),
        repetitions=("poisson:mean=0.5", "poisson:mean=0.9"),
        base_epsilon=(0.0,),
        order=_ORDERS.tolist(),
    )
)
def truncated_responses(order, base_epsilon, repetitions, maximum):
    law = laws.conditioned(laws.parse(repetitions), maximum)
    return renyi_divergence(*tuned_pair(_response(base_epsilon), law), order)


@PS.privacy("PS-Lem22", "Lemma 22, corrected", Relation.BASE)
def truncated(
    *,
    order: Order = 3.0,
    base_epsilon: Response = 1.0,
    repetitions: Law = "geometric:mean=10",
    maximum: Maximum = 50,
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """For K given K <= m, D_a <= log(P[K = 0 | K <= m] + e^((a-1)B))/(a-1) with B the bound of
    Lemma 7 for K plus log(1/P[K <= m])/(a-1) + log(1 + E[K; K > m]/E[K; K <= m]).

    Renyi bound for the best of K randomised responses, K given K <= maximum; or from the best of
    K runs with the first of two given laws to that with the second.
    """
    sides = both(first, second)
    if sides is None:
        return _of_responses(base_epsilon, _truncated_bound, order, repetitions, maximum)
    return _truncated_bound(order, *sides, repetitions, maximum)


def _truncated_cases(pair: BasePair, text: str, maximum: int, point: Point):
    """Exact divergences of the best of truncated numbers of runs."""
    law = laws.conditioned(laws.parse(text), maximum)
    seen = renyi_divergence(*tuned_pair(pair, law), _ORDERS)
    at = point | {"repetitions": text, "maximum": maximum}
    for order, divergence in zip(_ORDERS.tolist(), seen.tolist(), strict=True):
        yield at | {"order": order}, divergence, pair.where


def _slopes(text: str, maximum: int, order: float, q: float, r: float) -> Judged:
    """The step of the proof before q and r are chosen, as a logarithm.

    g'(q)^a g'(r)^(1-a) <= f'(q)^a f'(r)^(1-a) e^((a-1) penalty), f and g being the
    generating functions of K and of K given K <= m: an equality at q = 0, r = 1.
    """
    law = laws.parse(text)
    cut = laws.conditioned(law, maximum)

    def log_moment(of: laws.Repetitions) -> float:
        slopes = of.log_pgf_derivative_tail(np.array([1.0 - q, 1.0 - r]))
        return order * slopes[0] + (1.0 - order) * slopes[1]

    claimed = log_moment(law) + (order - 1.0) * _truncation_penalty(order, law, maximum)
    where = f"slopes at {q:g} and {r:g}, order {order:g}, K ~ {text}, m = {maximum}"
    return Judged(claimed, log_moment(cut), where)


_TRUNCATED = (("geometric:gamma=0.2", 3), ("tnb:eta=0.5,gamma=0.05", 12), ("poisson:mean=6", 4))


@truncated.bounds()
def truncated_laws(budget):
    generator = np.random.default_rng(budget.seed + 2)
    for text, maximum in _TRUNCATED:
        for order in _ORDERS.tolist():
            yield _slopes(text, maximum, order, 0.0, 1.0)
            yield _slopes(text, maximum, order, *generator.uniform(0.0, 1.0, 2).tolist())
    generator = np.random.default_rng(budget.seed + 1)
    for epsilon in (0.0, 1.0):
        point = {"base_epsilon": epsilon, "first": None, "second": None}
        yield from _truncated_cases(_response(epsilon), "poisson:mean=0.5", 10, point)
    for pair in base_pairs(budget._replace(cases=min(budget.cases, 120))):
        family = 0 if generator.integers(2) else 3
        text = random_law_text(generator, family, (-1.0, 1.0), 4.0, (-2.0, -0.1))
        point = {"base_epsilon": 1.0, "first": pair.first, "second": pair.second}
        yield from _truncated_cases(pair, text, int(10.0 ** generator.uniform(0.0, 2.0)), point)


@PS.identity("PS-Lem22-penalty", "Lemma 22")
def penalty(
    *,
    order: Order = 3.0,
    gamma: Annotated[float, probability("of the geometric K")] = 0.1,
    maximum: Annotated[int, whole("m", at_least=1, at_most=_LARGEST)] = 20,
):
    """For K geometric, what Lemma 22 adds is -log(1 - r^m)/(a-1) - log(1 - (1 + m gamma) r^m), r =
    1 - gamma.

    log(1/P[K <= m])/(a-1) + log(1 + E[K; K > m]/E[K; K <= m]), where P[K <= m] = 1 - r^m and
    E[K; K <= m] = E[K] (1 - (1 + m gamma) r^m).
    """
    if maximum * gamma < 1e-4:
        # Both logarithms would lose their digits: P[K <= m] = 1 - r^m, and the chance of two
        # successes among m + 1, C(m+1, 2) gamma^2 (1 - 2 (m-1) gamma/3 + ...).
        log_within = math.log(-math.expm1(maximum * math.log1p(-gamma)))
        first = (maximum - 1.0) * gamma
        second = first * (maximum - 2.0) * gamma
        log_kept = math.log(maximum * (maximum + 1.0) / 2.0) + 2.0 * math.log(gamma)
        log_kept += math.log1p(-2.0 * first / 3.0 + second / 4.0)
        return -log_within / (order - 1.0) - log_kept
    left = (1.0 - gamma) ** maximum
    kept = 1.0 - (1.0 + maximum * gamma) * left
    return -math.log1p(-left) / (order - 1.0) - math.log(kept)


_GEOMETRIC = ((0.1, 3), (0.1, 20), (0.5, 1), (0.02, 200))
_AT_ORDERS = ((order, *law) for order in (1.5, 3.0, 20.0) for law in _GEOMETRIC)


@penalty.equals(listed("order gamma maximum", *_AT_ORDERS))
def exact_penalty(order, gamma, maximum):
    return _truncation_penalty(order, laws.geometric(gamma), maximum)


E_PS_1 = PS.misprint(
    "E-PS-1",
    "Lemma 7, Theorem 6, Corollary 21, Lemma 22",
    "statement",
    printed="P[K = 0] = 0 may be assumed without loss of generality, so that the bounds hold for "
    "every K >= 0.",
    correct="The outcome 'no run' has probability P[K = 0] on both sides and adds it to exp((a-1) "
    "D_a). For K ~ Poisson(mean) the printed Theorem 6 holds for all bases if and only if mean >= "
    "1: for equal base laws it states log(mean)/(a-1), below 0 = D_a if mean < 1. Adding P[K = 0] "
    "is always enough.",
    refuted=[printed, "PS-Thm6-printed", "PS-Cor21-printed", truncated_printed],
    corrected=[lemma_7, "PS-Thm6", "PS-Cor21", truncated],
)
