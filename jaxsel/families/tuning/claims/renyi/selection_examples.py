"""Papernot & Steinke 2022, Appendix D.4: selection by scores of sensitivity 1."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.base_laws import survival
from jaxsel.families.tuning.bounds.negative_binomial import pure_negative_binomial_epsilon
from jaxsel.families.tuning.claims.parameters import Law, Order
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most, equal
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import PS

Exponential = Annotated[
    float, number("candidate j has weight exp(epsilon u_j/2)", above=0.0, at_most=1e6)
]
Candidates = Annotated[int, whole("m, how many candidates", at_least=2)]


# --- The exponential mechanism --------------------------------------------------------


def _exponential(scores: np.ndarray, epsilon: float) -> np.ndarray:
    return special.softmax(epsilon / 2.0 * scores)


def _scores(budget: Budget) -> Iterator[tuple[np.ndarray, float]]:
    """Score vectors and an epsilon; the best score ahead, tied, and random ones."""
    for epsilon in (0.1, 1.0, 5.0):
        for m in (2, 10, 1000):
            ahead = np.zeros(m)
            for lead in (0.0, 0.5, 1.0, 2.0, 4.0):
                ahead[0] = lead * math.log(m) / epsilon
                yield ahead.copy(), epsilon
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        epsilon = float(10.0 ** generator.uniform(-1.0, 1.0))
        spread = float(10.0 ** generator.uniform(-1.0, 1.5)) / epsilon
        yield generator.normal(0.0, spread, generator.integers(2, 12)), epsilon


def _neighbours(budget: Budget) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Score vectors that differ by at most 1 everywhere, and an epsilon."""
    generator = np.random.default_rng(budget.seed + 1)
    for scores, epsilon in _scores(budget):
        opposed = np.full(scores.size, -1.0)
        opposed[0] = 1.0
        yield scores, scores + opposed, epsilon
        if scores.size <= 12:
            signs = generator.choice([-1.0, 1.0], scores.size)
            yield scores, scores + signs, epsilon
            moved = scores + generator.uniform(-1.0, 1.0, scores.size)
            yield scores, moved, epsilon


def _shown(*vectors: np.ndarray) -> str:
    texts = []
    for vector in vectors:
        numbers = str(vector[:12].tolist())
        more = vector.size - 12
        texts.append(f"{numbers} and {more} more like the last" if more > 0 else numbers)
    return " against ".join(texts)


def _pure(*, epsilon: Exponential = 1.0) -> float:
    """Pure epsilon of the exponential mechanism: its parameter."""
    return epsilon


def _pure_cases(budget: Budget) -> Iterator[Case]:
    for scores, neighbour, epsilon in _neighbours(budget):
        loss = special.log_softmax(epsilon / 2.0 * scores)
        loss = loss - special.log_softmax(epsilon / 2.0 * neighbour)
        seen = float(np.max(np.abs(loss)))
        where = f"epsilon={epsilon!r}, scores {_shown(scores, neighbour)}"
        yield _pure(epsilon=epsilon), seen, where


def _concentrated(*, order: Order = 2.0, epsilon: Exponential = 1.0) -> float:
    """Renyi divergence bound order epsilon^2/8 of the exponential mechanism."""
    return order * epsilon**2 / 8.0


def _concentrated_cases(budget: Budget) -> Iterator[Case]:
    orders = np.array([1.01, 1.5, 2.0, 5.0, 30.0])
    for scores, neighbour, epsilon in _neighbours(budget):
        seen = renyi_divergence(
            _exponential(scores, epsilon), _exponential(neighbour, epsilon), orders
        )
        claimed = orders * epsilon**2 / 8.0
        worst = int(np.argmin(claimed - seen))
        where = f"order {orders[worst]:g}, epsilon={epsilon!r}, scores {_shown(scores, neighbour)}"
        yield float(claimed[worst]), float(seen[worst]), where


def _mean_loss(*, epsilon: Exponential = 1.0, candidates: Candidates = 10) -> float:
    """Expected loss (2/epsilon) log m of the exponential mechanism, at most."""
    return 2.0 / epsilon * math.log(candidates)


def _mean_loss_cases(budget: Budget) -> Iterator[Case]:
    for scores, epsilon in _scores(budget):
        lost = float(np.sum(_exponential(scores, epsilon) * (scores.max() - scores)))
        claimed = _mean_loss(epsilon=epsilon, candidates=scores.size)
        yield claimed, lost, f"epsilon={epsilon!r}, scores {_shown(scores)}"


def _tail_loss(
    *,
    epsilon: Exponential = 1.0,
    candidates: Candidates = 10,
    beta: Annotated[float, probability("chance of failure")] = 0.05,
) -> float:
    """Loss (2/epsilon) log(m/beta) that is reached with probability at most beta."""
    return 2.0 / epsilon * math.log(candidates / beta)


def _tail_loss_cases(budget: Budget) -> Iterator[Case]:
    for scores, epsilon in _scores(budget):
        for beta in (0.5, 0.1, 0.001):
            loss = _tail_loss(epsilon=epsilon, candidates=scores.size, beta=beta)
            bad = scores <= scores.max() - loss
            reached = float(np.sum(_exponential(scores, epsilon)[bad]))
            where = f"beta={beta:g}, epsilon={epsilon!r}, scores {_shown(scores)}"
            yield beta, reached, where
    for m in (2, 10, 1000):
        # all but one candidate just bad enough
        for beta in (0.5, 0.1, 0.001):
            scores = np.full(m, -_tail_loss(candidates=m, beta=beta))
            scores[0] = 0.0
            reached = float(_exponential(scores, 1.0)[1:].sum())
            yield beta, reached, f"beta={beta:g}, {m} candidates, all but one just bad"


# --- Private tuning -------------------------------------------------------------------


def _considered(*, repetitions: Law = "logarithmic:mean=100", candidates: Candidates = 10) -> float:
    """Probability 1 - f(1 - 1/m) that one of the K runs tries the best candidate."""
    return float(repetitions.pgf_gap(1.0 / candidates))


def _considered_cases(budget: Budget) -> Iterator[Case]:
    for m in (2, 10, 1000):
        for eta, gamma in ((0.0, 0.01), (1.0, 0.1), (-0.5, 0.02)):
            # never tried in K runs: sum_k P[K = k] (1 - 1/m)^k
            k = np.arange(1, int(60.0 / gamma))
            law = laws.truncated_negative_binomial(eta, gamma)
            pmf = law.pmf(k)
            tried = float(np.sum(pmf * -np.expm1(k * math.log1p(-1.0 / m))))
            text = f"tnb:eta={eta},gamma={gamma}"
            claimed = _considered(repetitions=law, candidates=m)
            yield claimed, tried, f"{m} candidates, K ~ {text}"


def _near_best(
    *,
    repetitions: Law = "logarithmic:gamma=1e-10",
    candidates: Candidates = 10,
    epsilon: Annotated[float, positive("of the base: Laplace noise, 1/epsilon")] = 1.0,
    t: Annotated[float, positive("half the loss allowed")] = 23.0,
) -> float:
    """Probability f(1 - e^(-epsilon t)) - f(1 - 1/m), at least, of losing at most 2 t."""
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


def _near_best_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        m = int(generator.integers(2, 8))
        scores = generator.normal(0.0, float(10.0 ** generator.uniform(-1.0, 1.5)), m)
        if generator.uniform() < 0.5:
            # one candidate ahead of all others, the hard case for a rare best one
            scores = np.zeros(m)
            scores[0] = float(generator.uniform(0.0, 40.0))
        text = str(
            generator.choice(
                [
                    "logarithmic:gamma=1e-10",
                    "logarithmic:gamma=1e-4",
                    "geometric:gamma=1e-3",
                    "poisson:mean=30",
                ]
            )
        )
        law = laws.parse(text)
        chosen = _chosen_law(scores, law)
        for t in (0.5, 2.0, 8.0, 23.0):
            good = scores >= scores.max() - 2.0 * t
            claimed = float(law.pgf_tail(math.exp(-t)) - law.pgf_tail(1.0 / m))
            where = f"t={t:g}, epsilon=1, scores {scores.tolist()}, K ~ {text}"
            yield claimed, float(chosen[good].sum()), where


def _tuned(*, candidates: Candidates = 10) -> float:
    """Probability 9/10 - 1/(10 log2 m), at least, of losing at most (20/epsilon) log m.

    K is logarithmic with gamma = m^-10.
    """
    return 0.9 - 1.0 / (10.0 * math.log2(candidates))


def _tuned_cases(budget: Budget) -> Iterator[Case]:
    for m in (2, 3, 10, 50):
        law = laws.logarithmic(float(m) ** -10.0)
        lead = 20.0 * math.log(m)
        for ahead in (lead * (1.0 + 1e-9), 0.5 * lead, 2.0 * lead):
            # every other candidate is worse by that much
            scores = np.zeros(m)
            scores[0] = ahead
            good = scores >= scores.max() - lead
            seen = float(_chosen_law(scores, law)[good].sum())
            yield _tuned(candidates=m), seen, f"{m} candidates, one {ahead!r} ahead"
        # and the union bound of the text, at its t
        t = math.log(float(m) ** 10.0 - 1.0)
        bound = float(law.pgf_tail(math.exp(-t)) - law.pgf_tail(1.0 / m))
        yield _tuned(candidates=m), bound, f"{m} candidates, union bound at t={t!r}"


def _tuned_pure(*, epsilon: Annotated[float, positive("of the base")] = 1.0) -> float:
    """Pure epsilon 2 epsilon of the tuned algorithm, K logarithmic."""
    return pure_negative_binomial_epsilon(epsilon, 0.0)


def _best_of_bins(
    sides: tuple[np.ndarray, np.ndarray], epsilon: float, law: laws.Repetitions
) -> tuple[np.ndarray, np.ndarray]:
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
        above = survival("laplace", z)
        below = survival("laplace", -z)
        mass = np.where(z[:-1] >= 0.0, above[:-1] - above[1:], below[1:] - below[:-1])
        found.append(tuned_law(mass[::-1].ravel() / side.size, law))
    return found[0], found[1]


def _tuned_pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 3)
    for epsilon in (0.3, 1.0, 2.0):
        for m in (2, 3, 10):
            law = laws.logarithmic(float(m) ** -10.0)
            # The first leads and gains, so that better runs are likelier; the second,
            # just behind, loses: both factors of the bound at once.
            ahead = np.zeros(m)
            ahead[0] = 12.0 / epsilon
            worst = ahead + np.where(np.arange(m) == 0, 1.0, -1.0)
            scores = generator.normal(0.0, 2.0 / epsilon, m)
            moved = scores + generator.choice([-1.0, 1.0], m)
            for sides in ((ahead, worst), (scores, moved)):
                seen = exact_epsilon(*_best_of_bins(sides, epsilon, law))
                where = f"{epsilon=:g}, scores {_shown(*sides)}, gamma = m^-10"
                yield _tuned_pure(epsilon=epsilon), seen, where


# --- Records --------------------------------------------------------------------------


STATEMENTS = (
    PS.privacy(
        "PS-D4-pure",
        "Appendix D.4",
        "The exponential mechanism, P[j] proportional to exp(epsilon u_j/2), with "
        "scores of sensitivity 1 is (epsilon, 0)-DP.",
        Relation.GENERAL,
        _pure,
        at_most(_pure_cases),
    ),
    PS.privacy(
        "PS-D4-zCDP",
        "Appendix D.4",
        "The exponential mechanism is epsilon^2/8-zCDP.",
        Relation.GENERAL,
        _concentrated,
        at_most(_concentrated_cases),
    ),
    PS.utility(
        "PS-D4-mean",
        "Appendix D.4",
        "The exponential mechanism on m candidates loses at most (2/epsilon) log m in expectation.",
        _mean_loss,
        at_most(_mean_loss_cases),
    ),
    PS.utility(
        "PS-D4-tail",
        "Appendix D.4",
        "The exponential mechanism on m candidates loses (2/epsilon) log(m/beta) or "
        "more with probability at most beta.",
        _tail_loss,
        at_most(_tail_loss_cases),
    ),
    PS.utility(
        "PS-D4-considered",
        "Appendix D.4",
        "Private tuning over m candidates tries the best one with probability 1 - f(1 - 1/m).",
        _considered,
        equal(_considered_cases, 1e-10),
    ),
    PS.utility(
        "PS-D4-near-best",
        "Appendix D.4",
        "With Laplace noise of scale 1/epsilon on the scores, private tuning loses at "
        "most 2 t with probability at least f(1 - e^(-epsilon t)) - f(1 - 1/m).",
        _near_best,
        at_least(_near_best_cases),
    ),
    PS.utility(
        "PS-D4-tuned",
        "Appendix D.4",
        "With K logarithmic, gamma = m^-10, and Laplace noise of scale 1/epsilon, private "
        "tuning over m candidates loses at most (20/epsilon) log m with probability at "
        "least 9/10 - 1/(10 log2 m).",
        _tuned,
        at_least(_tuned_cases),
    ),
    PS.privacy(
        "PS-D4-tuned-privacy",
        "Appendix D.4",
        "With K logarithmic, gamma = m^-10, and Laplace noise of scale 1/epsilon on "
        "scores that move by at most 1, private tuning over m candidates, which releases "
        "the candidate and its noisy score, is 2 epsilon-DP.",
        Relation.GENERAL,
        _tuned_pure,
        at_most(_tuned_pure_cases),
    ),
)
