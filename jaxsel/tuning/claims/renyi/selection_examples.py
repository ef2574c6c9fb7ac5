"""Papernot & Steinke 2022, Appendix D.4: selection by scores of sensitivity 1."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import grid, listed
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import PS
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.base_laws import survival
from jaxsel.tuning.bounds.negative_binomial import pure_negative_binomial_epsilon
from jaxsel.tuning.parameters import Law, Order

Exponential = Annotated[
    float, number("candidate j has weight exp(epsilon u_j/2)", above=0.0, at_most=1e6)
]
Candidates = Annotated[int, whole("m, how many candidates", at_least=2)]


def _exponential(scores: np.ndarray, epsilon: float) -> np.ndarray:
    return special.softmax(epsilon / 2.0 * scores)


def _ahead(candidates: int, lead: float) -> np.ndarray:
    """Scores of which the first is that much better than the others."""
    return np.append(lead, np.zeros(candidates - 1))


def _scores(budget: Budget) -> Iterator[tuple[np.ndarray, float]]:
    """Score vectors and an epsilon; the best score ahead, tied, and random ones."""
    for epsilon in (0.1, 1.0, 5.0):
        for m in (2, 10, 1000):
            for lead in (0.0, 0.5, 1.0, 2.0, 4.0):
                yield _ahead(m, lead * math.log(m) / epsilon), epsilon
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        epsilon = 10.0 ** generator.uniform(-1.0, 1.0)
        spread = 10.0 ** generator.uniform(-1.0, 1.5) / epsilon
        yield generator.normal(0.0, spread, generator.integers(2, 12)), epsilon


def _neighbours(budget: Budget) -> Iterator[tuple[np.ndarray, np.ndarray, float, str]]:
    """Score vectors that differ by at most 1 everywhere, an epsilon, and how to make them."""
    generator = np.random.default_rng(budget.seed + 1)
    for scores, epsilon in _scores(budget):
        m = scores.size
        moves = [np.where(np.arange(m) > 0, -1.0, 1.0)]
        if m <= 12:
            moves += [generator.choice([-1.0, 1.0], m), generator.uniform(-1.0, 1.0, m)]
        for move in moves:
            yield scores, scores + move, epsilon, f"scores {_shown(scores, scores + move)}"


def _shown(*vectors: np.ndarray) -> str:
    texts = []
    for vector in vectors:
        numbers = str(vector[:12].tolist())
        more = vector.size - 12
        texts.append(f"{numbers} and {more} more like the last" if more > 0 else numbers)
    return " against ".join(texts)


@PS.privacy("PS-D4-pure", "Appendix D.4", Relation.GENERAL)
def pure(*, epsilon: Exponential = 1.0):
    """The exponential mechanism, P[j] proportional to exp(epsilon u_j/2), with scores of
    sensitivity 1 is (epsilon, 0)-DP."""
    return epsilon


@pure.bounds()
def largest_losses(budget):
    for scores, neighbour, epsilon, where in _neighbours(budget):
        loss = special.log_softmax(epsilon / 2.0 * scores)
        loss = loss - special.log_softmax(epsilon / 2.0 * neighbour)
        yield {"epsilon": epsilon}, np.max(np.abs(loss)), where


@PS.privacy("PS-D4-zCDP", "Appendix D.4", Relation.GENERAL)
def concentrated(*, order: Order = 2.0, epsilon: Exponential = 1.0):
    """The exponential mechanism is epsilon^2/8-zCDP.

    Bound order epsilon^2/8 on its Renyi divergence.
    """
    return order * epsilon**2 / 8.0


@concentrated.bounds()
def divergences(budget):
    orders = (1.01, 1.5, 2.0, 5.0, 30.0)
    for scores, neighbour, epsilon, where in _neighbours(budget):
        sides = (_exponential(scores, epsilon), _exponential(neighbour, epsilon))
        for order, divergence in zip(orders, renyi_divergence(*sides, orders), strict=True):
            yield {"order": order, "epsilon": epsilon}, divergence, where


@PS.utility("PS-D4-mean", "Appendix D.4")
def mean_loss(*, epsilon: Exponential = 1.0, candidates: Candidates = 10):
    """The exponential mechanism on m candidates loses at most (2/epsilon) log m in expectation."""
    return 2.0 / epsilon * math.log(candidates)


@mean_loss.bounds()
def mean_losses(budget):
    # Nearest with many candidates that are together a few times likelier than the best.
    many = [(_ahead(m, 2.0 * (math.log(m) - 2.0)), 1.0) for m in (10_000, 100_000)]
    for scores, epsilon in (*many, *_scores(budget)):
        lost = np.sum(_exponential(scores, epsilon) * (scores.max() - scores))
        yield {"epsilon": epsilon, "candidates": scores.size}, lost, f"scores {_shown(scores)}"


@PS.utility("PS-D4-tail", "Appendix D.4")
def tail_loss(
    *,
    epsilon: Exponential = 1.0,
    candidates: Candidates = 10,
    beta: Annotated[float, probability("chance of failure")] = 0.05,
):
    """The exponential mechanism on m candidates loses (2/epsilon) log(m/beta) or more with
    probability at most beta.

    The loss.
    """
    return 2.0 / epsilon * math.log(candidates / beta)


def _reached(scores, epsilon, beta):
    """beta, and the chance to lose what the claim says."""
    chances, lost = _exponential(scores, epsilon), scores.max() - scores
    return lambda loss: (beta, np.sum(chances[lost >= loss]))


def _just_bad(candidates, beta):
    """The same where all candidates but one lose exactly that."""
    rest = np.arange(candidates) > 0
    return lambda loss: (beta, _exponential(-loss * rest, 1.0)[1:].sum())


@tail_loss.bounds()
def tails(budget):
    for scores, epsilon in _scores(budget):
        for beta in (0.5, 0.1, 0.001):
            point = {"epsilon": epsilon, "candidates": scores.size, "beta": beta}
            yield point, _reached(scores, epsilon, beta), f"scores {_shown(scores)}"
    for point in grid(candidates=(2, 10, 1000), beta=(0.5, 0.1, 0.001))(budget):
        yield point | {"epsilon": 1.0}, _just_bad(**point), "all but one just bad"


@PS.utility("PS-D4-considered", "Appendix D.4")
def considered(*, repetitions: Law = "logarithmic:mean=100", candidates: Candidates = 10):
    """Private tuning over m candidates tries the best one with probability 1 - f(1 - 1/m)."""
    return repetitions.pgf_gap(1.0 / candidates)


_LAWS = ("tnb:eta=0,gamma=0.01", "tnb:eta=1,gamma=0.1", "tnb:eta=-0.5,gamma=0.02")


@considered.equals(grid(candidates=(2, 10, 1000), repetitions=_LAWS), tolerance=1e-10)
def tried(candidates, repetitions):
    # never tried in K runs: sum_k P[K = k] (1 - 1/m)^k
    law = laws.parse(repetitions)
    k = np.arange(1, int(60.0 / law.parameters["gamma"]))
    return np.sum(law.pmf(k) * -np.expm1(k * math.log1p(-1.0 / candidates)))


@PS.utility("PS-D4-near-best", "Appendix D.4")
def near_best(
    *,
    repetitions: Law = "logarithmic:gamma=1e-10",
    candidates: Candidates = 10,
    epsilon: Annotated[float, positive("of the base: Laplace noise, 1/epsilon")] = 1.0,
    t: Annotated[float, positive("half the loss allowed")] = 23.0,
):
    """With Laplace noise of scale 1/epsilon on the scores, private tuning loses at most 2 t with
    probability at least f(1 - e^(-epsilon t)) - f(1 - 1/m)."""
    untried = float(repetitions.pgf_tail(1.0 / candidates))
    return float(repetitions.pgf_tail(math.exp(-epsilon * t))) - untried


def _chosen_law(scores: np.ndarray, law: laws.Repetitions) -> np.ndarray:
    """Chance that each candidate is chosen; scores in units of the Laplace noise."""
    # beyond the ends the best of K lies with probability below 1e-18
    high = scores.max() + 45.0 + math.log(max(law.mean, 1.0))
    edges = np.concatenate([[scores.min() - 45.0, high], scores])
    nodes, weights = panels(edges, 1.0)
    gap = nodes[:, None] - scores
    half = 0.5 * np.exp(-np.abs(gap))
    better = np.where(gap > 0.0, half, 1.0 - half).mean(axis=1)
    slope = law.pgf_derivative_tail(better)
    return (weights * slope) @ half / scores.size


_SEARCHES = [
    "logarithmic:gamma=1e-10",
    "logarithmic:gamma=1e-4",
    "geometric:gamma=1e-3",
    "poisson:mean=30",
]


@near_best.bounds_below()
def chosen(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        m = int(generator.integers(2, 8))
        scores = generator.normal(0.0, 10.0 ** generator.uniform(-1.0, 1.5), m)
        if generator.uniform() < 0.5:
            # one candidate ahead of all others, the hard case for a rare best one
            scores = _ahead(m, generator.uniform(0.0, 40.0))
        text = str(generator.choice(_SEARCHES))
        chances = _chosen_law(scores, laws.parse(text))
        for t in (0.5, 2.0, 8.0, 23.0):
            good = scores >= scores.max() - 2.0 * t
            point = {"repetitions": text, "candidates": m, "epsilon": 1.0, "t": t}
            yield point, chances[good].sum(), f"scores {scores.tolist()}"


@PS.utility("PS-D4-tuned", "Appendix D.4")
def tuned(*, candidates: Candidates = 10):
    """With K logarithmic, gamma = m^-10, and Laplace noise of scale 1/epsilon, private tuning over
    m candidates loses at most (20/epsilon) log m with probability at least 9/10 - 1/(10 log2 m)."""
    return 0.9 - 1.0 / (10.0 * math.log2(candidates))


@tuned.bounds_below(listed("candidates", 2, 3, 10, 50))
def one_ahead(candidates):
    law = laws.logarithmic(float(candidates) ** -10.0)
    lead = 20.0 * math.log(candidates)
    for ahead in (lead * (1.0 + 1e-9), 0.5 * lead, 2.0 * lead):
        # every other candidate is worse by that much
        scores = _ahead(candidates, ahead)
        good = scores >= scores.max() - lead
        yield _chosen_law(scores, law)[good].sum(), f"one {ahead!r} ahead"
    # and the union bound of the text, at its t
    t = math.log(float(candidates) ** 10.0 - 1.0)
    bound = float(law.pgf_tail(math.exp(-t)) - law.pgf_tail(1.0 / candidates))
    yield bound, f"union bound at {t=!r}"


@PS.privacy("PS-D4-tuned-privacy", "Appendix D.4", Relation.GENERAL)
def tuned_pure(*, epsilon: Annotated[float, positive("of the base")] = 1.0):
    """With K logarithmic, gamma = m^-10, and Laplace noise of scale 1/epsilon on scores that move
    by at most 1, private tuning over m candidates, which releases the candidate and its noisy
    score, is 2 epsilon-DP."""
    return pure_negative_binomial_epsilon(epsilon, 0.0)


def _best_of_bins(sides, epsilon: float, law: laws.Repetitions) -> list[np.ndarray]:
    """Laws of (candidate, bin of its noisy score) of the best of K, on both sides.

    Noise of scale 1/epsilon; the bins resolve both sets of scores, and within a bin the
    lower candidate counts as better.
    """
    scores = np.concatenate(sides)
    ends = np.array([scores.min() - 5.0 / epsilon, scores.max() + 3.0 / epsilon])
    steps = np.arange(ends[0], ends[1], 0.25 / epsilon)
    inner = np.unique(np.concatenate([scores, steps, ends]))
    # rounding makes two edges of one
    inner = inner[np.diff(inner, prepend=-np.inf) > 1e-6 / epsilon]
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    found = []
    for side in sides:
        # [bin, candidate], best bin first; each mass from the tail that it lies in
        z = epsilon * (edges[:, None] - side)
        above, below = survival("laplace", z), survival("laplace", -z)
        mass = np.where(z[:-1] >= 0.0, above[:-1] - above[1:], below[1:] - below[:-1])
        found.append(tuned_law(mass[::-1].ravel() / side.size, law))
    return found


@tuned_pure.bounds()
def best_of_bins(budget):
    generator = np.random.default_rng(budget.seed + 3)
    for epsilon in (0.3, 1.0, 2.0):
        for m in (2, 3, 10):
            law = laws.logarithmic(float(m) ** -10.0)
            # The first leads and gains, so that better runs are likelier; the second,
            # just behind, loses: both factors of the bound at once.
            ahead = _ahead(m, 12.0 / epsilon)
            worst = ahead + np.where(np.arange(m) == 0, 1.0, -1.0)
            scores = generator.normal(0.0, 2.0 / epsilon, m)
            moved = scores + generator.choice([-1.0, 1.0], m)
            for sides in ((ahead, worst), (scores, moved)):
                seen = exact_epsilon(*_best_of_bins(sides, epsilon, law))
                yield {"epsilon": epsilon}, seen, f"scores {_shown(*sides)}"
