"""Claims of Liu & Talwar 2019: private amplification (Theorem C.1, Lemma C.2), Section 5.4."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.amplification import laws
from jaxsel.families.amplification.parameters import Gamma
from jaxsel.families.sparse_vector.halting_law import binomial_counts
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Judged, listed
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.papers import LT
from jaxsel.tuning.bounds.random_stopping import percentile_failure_bound, stopping_law

BaseEpsilon = Annotated[float, positive("epsilon_1 of each score")]
Candidates = Annotated[int, whole("N", at_least=1)]
MeanWeight = Annotated[
    float, number("p, the mean of exp(epsilon_2 (score - tau))", at_least=0.0, at_most=1.0)
]
Total = Annotated[float, positive("s, the sum of the means E X_i")]


class _Instance(NamedTuple):
    """Two neighbouring inputs of private amplification, whose threshold tau is 1.

    Attributes:
      first, second: Float["candidates scores"], the law of each candidate's score on either side.
      scores: Float["scores"], the values that a score may have.
      epsilon: epsilon_1; on the two sides each candidate's laws are that close.
      score_epsilon: epsilon_2, of the exponential mechanism.
      gamma: inverse number of dummies.
      where: the instance in words, for the text of a case.
    """

    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray
    epsilon: float
    score_epsilon: float
    gamma: float
    where: str

    @property
    def weights(self) -> np.ndarray:
        return laws.capped_weights(self.scores, 1.0, self.score_epsilon)

    def law(self, side: np.ndarray) -> np.ndarray:
        if np.all(side == side[0]):
            return laws.amplified_law(side[0], self.weights, len(side), self.gamma)
        return laws.amplified_law_of_different(side, self.weights, self.gamma)

    @property
    def mean_weight(self) -> float:
        return float((self.first @ self.weights).mean())


def _instances(budget: Budget) -> Iterator[_Instance]:
    """Random instances: in turn up to 30 candidates with one law, and up to 6 with their own."""
    for case, generator in enumerate(budget.draws(120)):
        size, alike = int(generator.integers(2, 4)), case % 2 == 0
        count = int(generator.integers(1, 31 if alike else 7))
        epsilon = generator.uniform(0.01, 2.0)
        drawn = [
            pairs.random_pure_pair(generator, size, epsilon) for _ in range(1 if alike else count)
        ]
        sides = [
            np.array([pair[side] for pair in drawn]).repeat(count if alike else 1, axis=0)
            for side in (0, 1)
        ]
        # One score above the cap and the others anywhere.
        scores = np.append(1.5, generator.uniform(-3.0, 1.0, size - 1))
        score_epsilon = 10.0 ** generator.uniform(-1.0, 1.5)
        if case % 10 == 0:
            score_epsilon = math.inf
        gamma = generator.uniform(0.001, 0.249)
        where = f"N={count}, {score_epsilon=!r}, {gamma=!r}, instance {case}"
        yield _Instance(sides[0], sides[1], scores, epsilon, score_epsilon, gamma, where)


# --- Theorem C.1: privacy and utility -------------------------------------------------


@LT.privacy("LT-ThmC.1", "Theorem C.1, privacy", Relation.BASE)
def privacy(*, epsilon: BaseEpsilon = 1.0, gamma: Gamma = 0.1) -> float:
    """If every score is epsilon_1-DP, the exponential mechanism among the capped scores and 1 +
    1/gamma dummies is (2 epsilon_1 + 8 gamma)-DP, whatever its own parameter epsilon_2 is."""
    return 2.0 * epsilon + 8.0 * gamma


@LT.privacy("LT-ThmC.1-privacy-sharp", "Theorem C.1, a bound of this project", Relation.BASE)
def sharp(*, base_epsilon: BaseEpsilon = 0.5) -> float:
    """If every score is epsilon_1-DP, private amplification is 2 epsilon_1-DP for every gamma.

    One epsilon_1 is the chosen candidate's own. The other bounds the change of
    E[1/(c + sum of X_i)], where X_i are the weights of the other candidates, and c >= 1 is that of
    the dummies and of the chosen one. This expectation is the integral of (1-t)^(c-1) prod (1 -
    h_i(t)) over t in [0, 1], where h_i(t) = 1 - E[(1-t)^(X_i)] is convex in t and 0 at 0, since X_i
    is in [0, 1]. On a neighbour h_i(t) is at least e^-epsilon_1 h_i(t) >= h_i(e^-epsilon_1 t). With
    e^-epsilon_1 t as the new variable, the neighbour's integral is at most e^epsilon_1 times this.
    """
    return 2.0 * base_epsilon


@privacy.bounds()
def losses(budget):
    for epsilon, gamma, loss, where in _losses(budget):
        yield {"epsilon": epsilon, "gamma": gamma}, loss, where


@sharp.bounds()
def losses_whatever_gamma(budget):
    for epsilon, _, loss, where in _losses(budget):
        yield {"base_epsilon": epsilon}, loss, where


def _losses(budget: Budget) -> Iterator[tuple[float, float, float, str]]:
    """Cases of Theorem C.1: epsilon_1, gamma, the selection's exact pure epsilon, and a text."""
    # So many candidates that the dummies do not count: the rivals of a rare score
    # become fewer as it becomes likelier.
    for gamma, epsilon in ((0.2, 0.5), (1e-3, 1.0)):
        pair = pairs.three_outcome(epsilon, 0.5 / (1.0 + math.exp(epsilon)), 1e-9)
        first, second = (
            _rare_among_many(gamma, 10**6, float(law[0]), float(law[1])) for law in pair
        )
        where = "N=10^6, a rare score at tau, others at tau or far below"
        yield epsilon, gamma, abs(math.log(first / second)), where
    for instance in _instances(budget):
        first, second = (instance.law(side) for side in (instance.first, instance.second))
        # Scores below the cap have weight 0 where epsilon_2 is infinite.
        kept = (first > 0.0) | (second > 0.0)
        loss = exact_epsilon(first[kept], second[kept])
        yield instance.epsilon, instance.gamma, loss, instance.where
    generator = np.random.default_rng(budget.seed)
    for gamma, count, chance, weight in _two_values(budget):
        epsilon = generator.uniform(0.01, 2.0)
        first = laws.two_value_amplified_law(gamma, count, chance, weight)
        for other in pairs.extreme_neighbours(chance, epsilon):
            second = laws.two_value_amplified_law(gamma, count, other, weight)
            seen = (first > 0.0) | (second > 0.0)
            where = f"N={count}, P[score >= tau] {chance!r} and {other!r}"
            yield epsilon, gamma, exact_epsilon(first[seen], second[seen]), where


def _rare_among_many(gamma: float, count: int, high: float, rare: float) -> float:
    """The probability that a rare score is chosen: N rare E[1/(2 + 1/gamma + others)].

    Args:
      gamma: inverse number of dummies.
      count: N, the number of candidates.
      high: the probability that a score is another one at or above tau, of weight 1.
      rare: the probability that a score is the rare one, also of weight 1. All other scores
        lie so far below tau that their weight is 0.
    """
    others = binomial_counts(count - 1, high + rare)
    weighed = others.weights / (2.0 + 1.0 / gamma + others.values)
    return count * rare * float(weighed.sum())


@LT.utility("LT-ThmC.1-utility", "Theorem C.1, utility")
def utility(*, delta: Annotated[float, number("chance", above=0.0, at_most=1.0)] = 0.1) -> float:
    """The chosen score is at least tau - log(1/(delta p))/epsilon_2 with probability at least 1 -
    delta, p being the mean of exp(epsilon_2 (score - tau))."""
    return delta


@utility.bounds()
def low_scores(budget):
    # So many candidates that a dummy is rarely chosen, few of which reach tau; the others
    # lie just below what the theorem promises.
    gamma, count, chance = 0.2, 10**4, 0.01
    for delta in (0.1, 0.3):
        weight = delta * chance / (1.0 - delta * (1.0 - chance)) * (1.0 - 1e-9)
        seen = float(laws.two_value_amplified_law(gamma, count, chance, weight)[2])
        yield {"delta": delta}, seen, f"N={count}, {gamma=}, P[score >= tau] {chance!r}"
    for instance in _instances(budget):
        if math.isinf(instance.score_epsilon):
            continue
        law = instance.law(instance.first)[:-1]
        # Just above where a score drops out, and between.
        for delta in (0.001, 0.01, 0.1, 0.3, 1.0):
            lost = math.log(delta * instance.mean_weight) / instance.score_epsilon
            yield {"delta": delta}, float(law[instance.scores < 1.0 + lost].sum()), instance.where


@LT.utility("LT-ThmC.1-dummy-least", "Theorem C.1, by Lemma C.2")
def dummy_least(
    *, gamma: Gamma = 0.1, candidates: Candidates = 10, mean_weight: MeanWeight = 0.3
) -> float:
    """The mechanism outputs a dummy with probability at least (1 + 1/gamma)/(1 + 1/gamma + N p)."""
    dummy = 1.0 + 1.0 / gamma
    return dummy / (dummy + candidates * mean_weight)


@dummy_least.bounds_below()
def dummies(budget):
    for instance in _instances(budget):
        mean, count = min(instance.mean_weight, 1.0), len(instance.first)
        point = {"gamma": instance.gamma, "candidates": count, "mean_weight": mean}
        yield point, float(instance.law(instance.first)[-1]), instance.where


# --- Theorem C.1 as printed, and corrected (LT-E16): scores of two values -------------


@LT.identity("LT-ThmC.1-dummy-printed", "Theorem C.1")
def dummy_printed(
    *, gamma: Gamma = 0.1, candidates: Candidates = 10, mean_weight: MeanWeight = 0.3
) -> float:
    """The mechanism outputs a dummy with probability (gamma + 1)/(N p gamma + 1)."""
    return (gamma + 1.0) / (candidates * mean_weight * gamma + 1.0)


dummy = LT.utility(
    "LT-ThmC.1-dummy",
    "Theorem C.1, corrected",
    statement="The mechanism outputs a dummy with probability at most (gamma + 1)/(N p gamma + 1).",
)(dummy_printed.evaluate)


def _two_values(budget: Budget) -> Iterator[tuple[float, int, float, float]]:
    """Candidates with two possible scores: gamma, N, P[score >= tau], weight of the lower score."""
    yield 0.1, 10, 0.3, 0.0
    for generator in budget.draws(200):
        gamma, chance, weight = generator.uniform(0.001, [0.249, 0.999, 0.999]).tolist()
        yield gamma, int(generator.integers(1, 200)), chance, weight


@dummy_printed.equals(listed("gamma candidates mean_weight", (0.1, 10, 0.3)))
def weight_or_none(gamma, candidates, mean_weight):
    law = laws.two_value_amplified_law(gamma, candidates, mean_weight, 0.0)
    return float(law[0]), "every weight is 1 or 0"


@dummy.bounds()
def two_weights(budget):
    for gamma, count, chance, weight in _two_values(budget):
        exact = float(laws.two_value_amplified_law(gamma, count, chance, weight)[0])
        mean = chance + (1.0 - chance) * weight
        point = {"gamma": gamma, "candidates": count, "mean_weight": mean}
        yield point, exact, f"weight 1 with chance {chance!r}, else {weight!r}"


# --- Lemma C.2 ------------------------------------------------------------------------


@LT.utility("LT-LemC.2", "Lemma C.2")
def inverse(*, total: Total = 2.0) -> float:
    """For independent X_i in [0, 1] and s = sum E X_i: 1/(1+s) <= E[1/(1 + sum X_i)] <= (1 -
    e^-s)/s <= 1/s.

    Returns the last of these bounds, 1/s.
    """
    return 1.0 / total


@LT.utility("LT-LemC.2-step", "proof of Lemma C.2, corrected")
def step(*, total: Total = 2.0) -> float:
    """E[1/(1 + sum X_i)] <= (1 - e^-s)/s, s = sum E X_i, for independent X_i in [0, 1]."""
    return -math.expm1(-total) / total


@LT.utility("LT-LemC.2-step-printed", "proof of Lemma C.2, last line")
def step_printed(*, total: Annotated[float, number("s", above=0.0, at_most=700.0)] = 2.0) -> float:
    """E[1/(1 + sum X_i)] <= (1 - e^s)/s, s = sum E X_i, for independent X_i in [0, 1].

    Returns (1 - e^s)/s, as the last line of the proof prints it; it is negative.
    """
    return -math.expm1(total) / total


def _mean_inverse(values: np.ndarray, chances: np.ndarray) -> float:
    """E[1/(1 + sum X_i)], where X_i is ``values[i, j]`` with probability ``chances[i, j]``."""
    sums, weights = (np.array(list(itertools.product(*rows))) for rows in (values, chances))
    return float(weights.prod(axis=1) @ (1.0 / (1.0 + sums.sum(axis=1))))


@inverse.bounds()
def links(budget):
    """Checks 1/(1+s) <= E[1/(1 + sum X)] <= (1 - e^-s)/s <= 1/s, one inequality after another."""
    for generator in budget.draws(100):
        size = int(generator.integers(1, 7))
        values = generator.uniform(size=(size, 3))  # of each X_i
        chances = generator.dirichlet(np.ones(3), size)
        exact = _mean_inverse(values, chances)
        total = float((values * chances).sum())
        where = f"X_i {values.tolist()} with chances {chances.tolist()}"
        yield Judged(exact, 1.0 / (1.0 + total), f"Jensen, {where}")
        yield Judged(step(total=total), exact, where)
        yield {"total": total}, step(total=total), where


def _mean_inverse_or_none(chances: np.ndarray, values: np.ndarray) -> float:
    """E[1/(1 + sum X_i)], where X_i is ``values[i]`` with probability ``chances[i]``, else 0."""
    return _mean_inverse(
        np.column_stack([np.zeros(values.size), values]), np.column_stack([1.0 - chances, chances])
    )


@step_printed.bounds(listed("total", 2.0))
def four_coins(total):
    return _mean_inverse_or_none(np.full(4, total / 4.0), np.ones(4)), "4 coins"


@step.bounds()
def values_or_none(budget):
    instances = [(np.full(4, 0.5), np.ones(4))]
    for generator in budget.draws(100):
        size = int(generator.integers(1, 9))
        instances.append((generator.uniform(size=size), generator.uniform(size=size)))
    for chances, values in instances:
        exact = _mean_inverse_or_none(chances, values)
        where = f"X_i = {values.tolist()} with chance {chances.tolist()}, else 0"
        yield {"total": float(chances @ values)}, exact, where


# --- Section 5.4 ----------------------------------------------------------------------


@LT.utility("LT-5.4", "Section 5.4, with Theorem 3.3 and Markov's inequality")
def random_stopping(
    *,
    gamma: Annotated[
        float,
        number("stopping probability; 1/gamma runs on average, 3 epsilon", above=0.0, at_most=1.0),
    ] = 0.01,
    factor: Annotated[
        float, number("c; by Markov's inequality a run has p >= 1 - 1/c", above=1.0)
    ] = 2.0,
) -> float:
    """Algorithm 2 over an epsilon-DP algorithm of mean loss L has loss above c L with probability
    at most gamma/p, p = 1 - 1/c."""
    return percentile_failure_bound(1.0 - 1.0 / factor, gamma)


@random_stopping.bounds()
def high_losses(budget):
    """The exact probability of a loss above c L: one that nears the bound, then random losses."""
    # Markov's inequality at a c near 1, which most runs exceed; they seldom stop.
    low = 1.05 * (1.0 + 1e-9)
    law = stopping_law(np.array([1.0 - 1.0 / low, 1.0 / low]), 1e-3)
    yield {"gamma": 1e-3, "factor": 1.05}, float(law[1]), f"loss {low!r} or 0"
    for case, generator in enumerate(budget.draws()):
        gamma, factor = 10.0 ** generator.uniform(-4.0, 0.0), generator.uniform(1.05, 20.0)
        if case % 3 == 0:
            # Markov's inequality is attained: loss c with chance 1/c, else 0. Slightly
            # more than c counts as failure.
            loss = np.array([0.0, factor * (1.0 + 1e-9)])
            law = np.array([1.0 - 1.0 / loss[1], 1.0 / loss[1]])
        else:
            loss = np.sort(generator.pareto(1.5, 6))
            law = generator.dirichlet(np.ones(6))
        found = stopping_law(law, gamma)
        seen = float(found[loss > factor * float(law @ loss)].sum())
        where = f"losses {loss.tolist()} with {law.tolist()}"
        yield {"gamma": gamma, "factor": factor}, seen, where


LT_E16 = LT.misprint(
    "LT-E16",
    "Theorem C.1",
    "statement",
    printed="A dummy is output with probability (gamma + 1)/(N p gamma + 1).",
    correct="That is an upper bound. 1/gamma is a number of dummies, hence whole, "
    "or a real weight; terms 1/gamma are missing in the last displays of the "
    "proof.",
    refuted=[dummy_printed],
    corrected=[dummy],
)
LT_E15 = LT.misprint(
    "LT-E15",
    "proof of Lemma C.2",
    "misprint",
    printed="... = (1 - exp(sum E X_i))/(sum E X_i); E[t_i^X].",
    correct="(1 - exp(-sum E X_i))/(sum E X_i), the printed one being negative; E[t^(X_i)].",
    refuted=[step_printed],
    corrected=[step],
)
