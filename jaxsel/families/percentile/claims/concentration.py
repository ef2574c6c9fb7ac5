"""Claims of Liu & Talwar 2019: counts concentrate (Lemmas 4.3, A.4, A.5), coupling (Lemma 4.5)."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
import scipy
from scipy import optimize

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import listed, uniform
from jaxsel.language.domains import number, probability
from jaxsel.language.papers import LT

Ratio = Annotated[float, number("allowed in the logarithm", above=0.0, below=1.0)]
Delta = Annotated[float, probability("of a larger deviation")]


class CountLaw(NamedTuple):
    """The law of a count, a sum of independent coins; values of negligible probability are missing.

    Attributes:
      values: Float["values"], increasing.
      weights: Float["values"], the probabilities.
      mean: the exact mean of the count.
      where: the law in words, for the text of a case.
    """

    values: np.ndarray
    weights: np.ndarray
    mean: float
    where: str

    def at_least(self, low: np.ndarray | float) -> np.ndarray:
        """P[count >= low]."""
        above = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)
        return above[np.searchsorted(self.values, np.ceil(low), side="left")]

    def at_most(self, high: float) -> float:
        """P[count <= high]."""
        return float(self.weights[self.values <= high].sum())

    def largest(self, chance: float) -> float:
        """The largest k with P[count >= k] > chance."""
        above = np.cumsum(self.weights[::-1])[::-1]
        return float(self.values[np.flatnonzero(above > chance)[-1]])

    def least(self, chance: float) -> float:
        """The least k with P[count <= k] > chance."""
        below = np.cumsum(self.weights)
        return float(self.values[np.flatnonzero(below > chance)[0]])


def binomial_law(count: int, chance: float) -> CountLaw:
    """The law of a sum of ``count`` coins that all have the probability ``chance``."""
    values = np.arange(count + 1.0)
    weights = scipy.stats.binom.pmf(values, count, chance)
    return CountLaw(values, weights, count * chance, f"Bin({count}, {chance!r})")


def mixed_law(chances: np.ndarray) -> CountLaw:
    """The law of a sum of coins with the probabilities ``chances``, Float["coins"]."""
    weights = np.ones(1)
    for chance in chances:
        weights = np.convolve(weights, [1.0 - chance, chance])
    where = f"coins {np.round(chances, 6).tolist()}"
    mean = float(np.sum(chances))
    return CountLaw(np.arange(weights.size, dtype=np.float64), weights, mean, where)


def poisson_law(mean: float) -> CountLaw:
    """The Poisson law, to which sums of many rare coins tend."""
    reach = 14.0 * math.sqrt(mean) + 80.0
    values = np.arange(max(0.0, math.floor(mean - reach)), math.ceil(mean + reach))
    weights = np.exp(scipy.stats.poisson.logpmf(values, mean))
    return CountLaw(values, weights, mean, f"Poisson({mean!r})")


def _scaled(law: str, generator: np.random.Generator, mean: float) -> CountLaw:
    """A law of a kind, "poisson", "binomial" or "mixed", whose mean is ``mean`` or nearly so."""
    if law == "poisson":
        return poisson_law(mean)
    if law == "binomial":
        count = int(math.ceil(mean) + generator.integers(0, 300))
        return binomial_law(count, mean / count)
    chances = generator.dirichlet(np.ones(40)) * mean
    return mixed_law(np.minimum(chances, 1.0))


def _laws(budget: Budget, cases: int) -> Iterator[tuple[CountLaw, np.random.Generator]]:
    """Random laws of all kinds, each with the generator that drew it."""
    for generator in budget.draws(cases):
        mean = float(10.0 ** generator.uniform(-3.0, 2.5))
        kind = generator.choice(["binomial", "poisson", "mixed"])
        if kind == "mixed":
            mean = min(mean, 30.0)
        yield _scaled(str(kind), generator, mean), generator


@LT.privacy("LT-Lem4.5", "Lemma 4.5", Relation.BASE)
def coupled(*, delta: Delta = 0.01) -> float:
    """If X and Y are epsilon-close given an event G of their joint law with P[G] >= 1 - delta, they
    are (epsilon, delta)-close."""
    return delta


@coupled.bounds()
def couplings(budget):
    for generator in budget.draws(300):
        size = int(generator.integers(2, 7))
        # Likely values on the diagonal, and a good event that depends on both.
        joint = generator.dirichlet(np.full(size * size, 0.3)).reshape(size, size)
        joint = 0.5 * joint + 0.5 * np.diag(generator.dirichlet(np.ones(size)))
        good = generator.uniform(0.0, 1.0, joint.shape) ** generator.uniform(0.01, 3.0)
        good[generator.uniform(size=joint.shape) < 0.2] = 0.0
        np.fill_diagonal(good, 1.0)
        kept = joint * good
        chance = float(kept.sum())
        given = exact_epsilon(kept.sum(1) / chance, kept.sum(0) / chance)
        first, second = joint.sum(1), joint.sum(0)
        seen = profile_delta(first / first.sum(), second / second.sum(), given)
        where = f"joint law {joint.tolist()}, P[G | x, y] {good.tolist()}"
        yield {"delta": 1.0 - chance}, float(seen), where


def _numbers(generator: np.random.Generator) -> tuple[float, float]:
    """Random epsilon and delta."""
    epsilon = float(generator.uniform(0.01, 0.999))
    return epsilon, float(10.0 ** generator.uniform(-8.0, -0.02))


# The lemmas bound by how much a count may leave its mean. The offset that is really needed follows
# from its quantile.


@LT.utility(
    "LT-LemA.4",
    "Lemma A.4",
    loose="Chernoff's bound needs log(1/delta)/t with e^t - 1 = t e^epsilon, whatever the coins "
    "are, which is below a quarter of the lemma's offset for every epsilon",
)
def above(*, epsilon: Ratio = 0.5, delta: Delta = 0.01) -> float:
    """A sum X of independent coins is at least e^epsilon EX + ((e^epsilon + 1)/epsilon)
    log(1/delta) with probability at most delta, epsilon in (0, 1). Compared is the offset with the
    least that is enough."""
    return -(math.exp(epsilon) + 1.0) / epsilon * math.log(delta)


@LT.utility(
    "LT-LemA.5",
    "Lemma A.5",
    loose="Chernoff's bound needs log(1/delta)/t with 1 - e^(-t) = t e^(-epsilon), whatever the "
    "coins are, which is below half of the lemma's offset for every epsilon",
)
def below(*, epsilon: Ratio = 0.5, delta: Delta = 0.01) -> float:
    """A sum Y of independent coins is at most e^(-epsilon) EY - log(1/delta)/epsilon with
    probability at most delta, epsilon in (0, 1). Compared is the offset with the least that is
    enough."""
    return -math.log(delta) / epsilon


@above.bounds(upper=True)
@below.bounds(upper=False)
def rare_counts(budget, upper):
    """The offset that is needed by Poisson counts, which are the worst, and by random ones.

    The Poisson counts have means near which the needed offset is largest. ``upper`` is whether
    the count may exceed its mean (Lemma A.4) or fall below it (Lemma A.5).
    """
    factors = itertools.product((0.05, 0.3, 0.9), (1e-2, 1e-6), (0.3, 1.0, 3.0))
    tried = [
        (poisson_law(-factor * math.log(delta) / epsilon**2 / 2.0), epsilon, delta)
        for epsilon, delta, factor in factors
    ]
    tried += [(law, *_numbers(generator)) for law, generator in _laws(budget, 200)]
    for law, epsilon, delta in tried:
        above_mean = law.largest(delta) - math.exp(epsilon) * law.mean
        below_mean = math.exp(-epsilon) * law.mean - law.least(delta)
        needed = above_mean if upper else below_mean
        yield {"epsilon": epsilon, "delta": delta}, needed, law.where


def _constant(slack: float, base_epsilon: float) -> float:
    """C of Lemma 4.3; slack is epsilon_0 and base_epsilon epsilon_1."""
    total = slack + base_epsilon
    return 2.0 * (math.exp(total) + 1.0 + math.exp(slack / 2.0))


@LT.utility("LT-Lem4.3-constant", "Lemma 4.3")
def largest_constant() -> float:
    """C = 2 (e^(epsilon_0 + epsilon_1) + 1 + e^(epsilon_0/2)) is at most 20.08 < 21 for epsilon_0
    and epsilon_1 in (0, 1).

    Returns 2 (e^2 + 1 + e^(1/2)) = 20.08, the limit of C at epsilon_0 = epsilon_1 = 1.
    """
    return _constant(1.0, 1.0)


largest_constant.bounds(
    listed("slack base_epsilon", (0.999, 0.999)),
    uniform(100, slack=(0.0, 1.0), base_epsilon=(0.0, 1.0)),
)(_constant)


# Why no counts come near the offset of Lemma 4.3, nor near the Delta that is made from it.
CHERNOFF = (
    "Chernoff's bound needs log(1/delta_0)/t with e^(epsilon_1) (e^t - 1) = 1 - e^(-t "
    "e^(epsilon_0 + epsilon_1)) in place of (C/epsilon_0) log(2/delta_0), which is below a fifth "
    "of it"
)


@LT.utility("LT-Lem4.3", "Lemma 4.3 (Lemma A.3)", loose=CHERNOFF)
def apart(*, base_epsilon: Ratio = 0.5, slack: Ratio = 0.5, delta: Delta = 0.01) -> float:
    """For independent sums of coins with EX <= e^(epsilon_1) EY, X >= e^(epsilon_1 + epsilon_0) Y +
    (C/epsilon_0) log(2/delta_0) with probability at most delta_0, C = 2 (e^(epsilon_0 + epsilon_1)
    + 1 + e^(epsilon_0/2)). Compared is the offset with the least that is enough."""
    return _constant(slack, base_epsilon) / slack * math.log(2.0 / delta)


def needed_offset(first: CountLaw, second: CountLaw, growth: float, delta: float) -> float:
    """The least d with P[X >= growth Y + d] <= delta, for independent counts X and Y.

    Args:
      first, second: the laws of X and Y.
      growth: factor on Y.
      delta: the allowed probability.
    """

    def chance(offset: float) -> float:
        return float(second.weights @ first.at_least(growth * second.values + offset))

    low, high = -growth * float(second.values[-1]) - 1.0, float(first.values[-1]) + 1.0
    while high - low > 1e-6 * (1.0 + abs(high)):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if chance(middle) > delta else (low, middle)
    return low


def worst_counts(
    base_epsilon: float, slack: float, delta: float
) -> Iterator[tuple[CountLaw, CountLaw]]:
    """Laws of X and Y that need the largest offset of Lemma 4.3, approximately.

    Both are Poisson with EX = e^epsilon_1 EY, at several means around the one that Chernoff's
    bound points to.

    Args:
      base_epsilon: epsilon_1.
      slack: epsilon_0.
      delta: the allowed probability delta_0.
    """
    ratio, growth = math.exp(base_epsilon), math.exp(base_epsilon + slack)

    def exponent(t: float) -> float:
        return ratio * math.expm1(t) + math.expm1(-growth * t)

    # Chernoff's bound is e^(-t d), where t is the largest for which it holds at every mean.
    t = float(optimize.brentq(exponent, 1e-9, 10.0))  # type: ignore
    typical = -math.log(delta) / t / (ratio * math.exp(t) - growth * math.exp(-growth * t))
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        mean = abs(typical) * factor
        yield poisson_law(ratio * mean), poisson_law(mean)


@apart.bounds()
def two_counts(budget):
    pairs = [
        (first, second, slack, base, delta)
        for base, slack, delta in ((0.9, 0.9, 1e-6), (0.9, 0.1, 1e-3), (0.1, 0.3, 1e-9))
        for first, second in worst_counts(base, slack, delta)
    ]
    for second, generator in _laws(budget, 80):
        slack, delta = _numbers(generator)
        base = float(generator.uniform(0.01, 0.999))
        kind = str(generator.choice(["binomial", "poisson", "mixed"]))
        mean = math.exp(base) * second.mean
        first = _scaled(kind, generator, min(mean, 30.0) if kind == "mixed" else mean)
        pairs.append((first, second, slack, base, delta))
    for first, second, slack, base, delta in pairs:
        needed = needed_offset(first, second, math.exp(base + slack), delta)
        point = {"base_epsilon": base, "slack": slack, "delta": delta}
        yield point, needed, f"X: {first.where}, Y: {second.where}"
