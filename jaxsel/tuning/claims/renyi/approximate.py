"""Papernot & Steinke 2022, Lemma 20 and Corollary 21: bases that may fail."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.pairs import randomised_response
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import whole
from jaxsel.language.papers import PS
from jaxsel.repetitions.parameters import Mean as PoissonMean
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.approximate import thinned
from jaxsel.tuning.bounds.generic import correct_for_no_runs
from jaxsel.tuning.claims.base_pairs import (
    approximate_pairs,
    at_worst,
    random_law_text,
    tuned_pair,
    two_sided_renyi,
)
from jaxsel.tuning.parameters import Delta, Law, ModerateEpsilon


def _short_law(generator: np.random.Generator) -> tuple[str, laws.Repetitions]:
    """A random law of K that a table of moderate length holds, and its text."""
    family = int(generator.integers(4))
    text = random_law_text(generator, family, (-1.3, 1.3), 3.0, (-1.5, -0.1))
    return text, laws.parse(text)


def _table(law: laws.Repetitions) -> tuple[np.ndarray, np.ndarray]:
    """k and P[K = k]; what is left out has probability below 1e-13."""
    last = law.maximum or int(50.0 * law.mean + 60.0)
    while law.maximum is None and law.survival(last) > 1e-14:
        last *= 2
    k = np.arange(last + 1)
    return k, np.asarray(law.pmf(k))


def _best_of(core: np.ndarray, k: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_k weights[k] P(best of k draws from ``core`` is i), without cancellation."""
    # no better than i, with itself: w^k - (w - core_i)^k
    w = np.cumsum(core[::-1])[::-1]
    share = np.divide(core, w, out=np.zeros_like(core), where=w > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(k > 0, np.power(w[:, None], k), 0.0)
        hit = np.where(k > 0, -np.expm1(k * np.log1p(-share)[:, None]), 0.0)
    return (powers * hit) @ weights


@PS.privacy("PS-Lem20", "Lemma 20", Relation.BASE)
def failing(*, repetitions: Law = "poisson:mean=10", failure: Delta = 1e-6):
    """If Q = (1-d) Q_good + d Q_bad, the best of K runs of Q is f(1-d) times the best of K~ runs of
    Q_good plus a rest of weight delta = 1 - f(1-d), with P[K~ = k] = P[K = k] (1-d)^k/f(1-d);
    hence the delta-approximate D_a of the former is at most the D_a of the latter.

    delta = 1 - f(1 - failure) of the tuned algorithm.
    """
    return repetitions.pgf_gap(failure)


@failing.bounds()
def decomposition(budget):
    """f(1 - failure) times the tuned good part is at most the tuned law, everywhere."""
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        text, law = _short_law(generator)
        k, pmf = _table(law)
        # the law of the lemma: P[K = k] (1 - failure)^k / f(1 - failure)
        kept = pmf * np.exp(k * math.log1p(-pair.delta))
        for base, core in zip(pair[:2], pair.core[:2], strict=True):
            good, seen = np.append(_best_of(core, k, kept), kept[0]), tuned_law(base, law)
            share = good[seen > 0.0] / seen[seen > 0.0]
            where = f"share of it, K ~ {text}, {pair.where}"
            yield at_worst(np.ones(share.size), share, np.flatnonzero(seen), where, "outcome")
        yield {"repetitions": text, "failure": pair.delta}, 1.0 - float(kept.sum())


@PS.identity("PS-Lem20-thinned", "Lemma 20 and footnote 12")
def without_failures(
    *,
    repetitions: Law = "geometric:mean=10",
    failure: Delta = 1e-3,
    count: Annotated[int | None, whole("k, to ask for P[K~ = k]", at_least=0)] = None,
):
    """K~ of Lemma 20 is Poisson(mean (1-d)) for K ~ Poisson(mean), and truncated negative binomial
    with gamma + d (1-gamma) for one with gamma.

    Mean of the law of K given that no run fails, or the probability that it is ``count``. For
    Poisson, truncated negative binomial and binomial laws, and for a fixed K.
    """
    law = thinned(repetitions, failure).repetitions
    return law.mean if count is None else law.pmf(count)


@without_failures.equals(tolerance=1e-10)
def laws_without_failures(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        text, law = _short_law(generator)
        failure = 10.0 ** generator.uniform(-6.0, -0.3)
        k, pmf = _table(law)
        kept = pmf * (1.0 - failure) ** k
        kept /= kept.sum()
        point = {"repetitions": text, "failure": failure}
        yield point | {"count": None}, float(k @ kept), "the mean"
        # Where it is largest, and where it differs most from the law of K.
        for place in (np.argmax(kept), np.argmax(np.abs(kept - pmf))):
            yield point | {"count": int(place)}, kept[place]


class ApproximateRenyi(NamedTuple):
    """delta-approximate Renyi DP: the bound epsilon at every order up to max_order."""

    epsilon: float
    delta: float
    max_order: float


def approximate_poisson_renyi(
    epsilon: float, delta: float, mean: float, *, corrected: bool = True
) -> ApproximateRenyi:
    """Poisson tuning of an (epsilon, delta)-DP base, epsilon > 0 and delta in [0, 1).

    Through Lemma 20 and Theorem 6 at mean (1 - delta), so that the printed bound needs
    mean (1 - delta) >= 1 (E-PS-1); below that the corrected one adds the outcome "no run".
    """
    odds = math.expm1(epsilon)
    bound = epsilon + odds * math.log(mean)
    if corrected and mean * (1.0 - delta) < 1.0:
        kept = mean * (1.0 - delta)
        raw = epsilon + odds * math.log(kept)
        bound = float(correct_for_no_runs(1.0 + 1.0 / odds, raw, math.exp(-kept)))
    return ApproximateRenyi(bound, -math.expm1(-mean * delta), 1.0 + 1.0 / odds)


# The erratum stands with the generic bound.
@PS.privacy(
    "PS-Cor21-printed",
    "Corollary 21",
    Relation.BASE,
    holds=False,
    erratum="E-PS-1",
    correction="It needs mean (1-d) >= 1, else P[K = 0] must be added: PS-Cor21.",
)
def printed(*, epsilon: ModerateEpsilon = 1.0, delta: Delta = 0.0, mean: PoissonMean = 0.5):
    """For every mean > 0, the best of K ~ Poisson(mean) runs of an (e, d)-DP base is (1 -
    e^(-mean d))-approximately (a, e + (exp(e) - 1) log(mean))-Renyi DP for all a <= 1 + 1/(exp(e)
    - 1)."""
    return approximate_poisson_renyi(epsilon, delta, mean, corrected=False).epsilon


@printed.bounds(grid(epsilon=(1.0, 0.3), mean=(0.5, 0.1, 2.0), delta=(0.0,)))
def equal_laws(epsilon, mean):
    # no divergence, approximate ones included, is negative
    law = tuned_law([0.5, 0.5], laws.poisson(mean))
    return two_sided_renyi(law, law, 1.0 + 1.0 / math.expm1(epsilon)), "equal base laws"


@PS.privacy("PS-Cor21", "Corollary 21, corrected", Relation.BASE, erratum="E-PS-1")
def poisson(*, epsilon: ModerateEpsilon = 1.0, delta: Delta = 1e-6, mean: PoissonMean = 10.0):
    """With m = mean (1-d) and a = 1 + 1/(exp(e) - 1) the approximate bound on D_a is e + (exp(e) -
    1) log(mean) if m >= 1, and else log(e^-m + m e^((a-1)e))/(a-1); it holds at smaller orders
    too.

    Renyi bound at all orders up to 1 + 1/(e^epsilon - 1). It holds delta'-approximately, delta' =
    1 - e^(-mean delta).
    """
    return approximate_poisson_renyi(epsilon, delta, mean).epsilon


@poisson.bounds()
def good_parts(budget):
    for epsilon, delta, mean in ((4.5, 1e-6, 1.000002), (2.25, 1e-3, 1.05), (3.0, 1e-3, 0.1)):
        good = tuned_pair(randomised_response(epsilon), laws.poisson(mean * (1.0 - delta)))
        order = approximate_poisson_renyi(epsilon, delta, mean).max_order
        point = {"epsilon": epsilon, "delta": delta, "mean": mean}
        yield point, two_sided_renyi(*good, order), f"{order=!r}, randomised responses"
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        mean = 10.0 ** generator.uniform(-1.0, 1.5)
        order = approximate_poisson_renyi(pair.epsilon, pair.delta, mean).max_order
        # dropping the failing part of both tuned laws leaves their good parts
        good = tuned_pair(pair.core, laws.poisson(mean * (1.0 - pair.delta)))
        point = {"epsilon": pair.epsilon, "delta": pair.delta, "mean": mean}
        yield point, two_sided_renyi(*good, order), f"{order=!r}, {pair.where}"
