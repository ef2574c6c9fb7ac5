"""Private amplification: Section 5.4, Theorem C.1 and Lemma C.2."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.amplification.laws import (
    amplified_law,
    amplified_law_of_different,
    capped_weights,
    dummy_chance_bounds,
    utility_level,
)
from jaxsel.families.tuning.bounds.random_stopping import (
    percentile_failure_bound,
    stopping_law,
)

_PAPER = "Liu & Talwar 2019"


class _Instance(NamedTuple):
    """Candidates on both sides; rows of the laws are candidates, all capped at 1."""

    first: np.ndarray
    second: np.ndarray
    scores: np.ndarray
    epsilon: float
    score_epsilon: float
    gamma: float
    where: str

    def law(self, side: np.ndarray) -> np.ndarray:
        weights = capped_weights(self.scores, 1.0, self.score_epsilon)
        if np.all(side == side[0]):
            return amplified_law(side[0], weights, len(side), self.gamma)
        return amplified_law_of_different(side, weights, self.gamma)

    @property
    def mean_weight(self) -> float:
        weights = capped_weights(self.scores, 1.0, self.score_epsilon)
        return float((self.first @ weights).mean())


def _instances(budget: Budget) -> Iterator[_Instance]:
    """Alike candidates, 30 at most, and up to 6 different ones."""
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 120)):
        size, alike = int(generator.integers(2, 4)), number % 2 == 0
        count = int(generator.integers(1, 31 if alike else 7))
        epsilon = float(generator.uniform(0.01, 2.0))
        drawn = [
            pairs.random_pure_pair(generator, size, epsilon)
            for _ in range(1 if alike else count)
        ]
        sides = [
            np.array([pair[side] for pair in drawn]).repeat(
                count if alike else 1, axis=0
            )
            for side in (0, 1)
        ]
        # One score above the cap and the others anywhere.
        scores = np.append(1.5, generator.uniform(-3.0, 1.0, size - 1))
        score_epsilon = float(10.0 ** generator.uniform(-1.0, 1.5))
        if number % 10 == 0:
            score_epsilon = math.inf
        gamma = float(generator.uniform(0.001, 0.249))
        where = (
            f"N={count}, scores {scores.tolist()}, epsilon_2={score_epsilon!r}, "
            f"gamma={gamma!r}, candidates {sides[0].tolist()} and {sides[1].tolist()}"
        )
        yield _Instance(
            sides[0], sides[1], scores, epsilon, score_epsilon, gamma, where
        )


# --- Theorem C.1 ----------------------------------------------------------------------


def _privacy(*, epsilon: float = 1.0, gamma: float = 0.1) -> float:
    """Pure epsilon 2 epsilon_1 + 8 gamma.

    Args:
      epsilon: epsilon_1 of each score, > 0.
      gamma: in (0, 1/4).
    """
    return 2.0 * check_positive("epsilon", epsilon) + 8.0 * check_interval(
        "gamma", gamma, 0.0, 0.25
    )


def _privacy_cases(budget: Budget) -> Iterator[Case]:
    for instance in _instances(budget):
        laws = [instance.law(side) for side in (instance.first, instance.second)]
        # Scores below the cap have weight 0 where epsilon_2 is infinite.
        kept = (laws[0] > 0.0) | (laws[1] > 0.0)
        claimed = _privacy(epsilon=instance.epsilon, gamma=instance.gamma)
        yield claimed, exact_epsilon(laws[0][kept], laws[1][kept]), instance.where


def _utility(*, delta: float = 0.1) -> float:
    """Chance delta, at most, of a score below tau - log(1/(delta p))/epsilon_2.

    Args:
      delta: in (0, 1].
    """
    return check_interval("delta", delta, 0.0, 1.0, high_open=False)


def _utility_cases(budget: Budget) -> Iterator[Case]:
    for instance in _instances(budget):
        if math.isinf(instance.score_epsilon):
            continue
        law = instance.law(instance.first)
        # Just above where a score drops out, and between.
        for delta in (0.001, 0.01, 0.1, 0.3, 1.0):
            level = utility_level(
                1.0, instance.score_epsilon, delta, instance.mean_weight
            )
            seen = float(law[:-1][instance.scores < level].sum())
            yield _utility(delta=delta), seen, f"delta={delta:g}, {instance.where}"


def _dummy_least(
    *, gamma: float = 0.1, candidates: int = 10, mean_weight: float = 0.3
) -> float:
    """Chance (1 + 1/gamma)/(1 + 1/gamma + N p), at least, of a dummy.

    Args:
      gamma: in (0, 1/4).
      candidates: N >= 1.
      mean_weight: p, the mean of exp(epsilon_2 (score - tau)), in [0, 1].
    """
    return dummy_chance_bounds(gamma, candidates, mean_weight)[0]


def _dummy_cases(budget: Budget) -> Iterator[Case]:
    for instance in _instances(budget):
        claimed = _dummy_least(
            gamma=instance.gamma,
            candidates=len(instance.first),
            mean_weight=min(instance.mean_weight, 1.0),
        )
        yield claimed, float(instance.law(instance.first)[-1]), instance.where


# --- Lemma C.2 ------------------------------------------------------------------------


def _inverse(*, total: float = 2.0) -> float:
    """Bound 1/s on E[1/(1 + sum of X_i)].

    Args:
      total: s, the sum of the means E X_i, > 0.
    """
    return 1.0 / check_positive("total", total)


def _inverse_cases(budget: Budget) -> Iterator[Case]:
    """The links of 1/(1+s) <= E[1/(1 + sum X)] <= (1 - e^-s)/s <= 1/s, one by one."""
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        size = int(generator.integers(1, 7))
        values = generator.uniform(size=(size, 3))  # of each X_i
        chances = generator.dirichlet(np.ones(3), size)
        sums, weights = (
            np.array(list(itertools.product(*rows))) for rows in (values, chances)
        )
        exact = float(weights.prod(axis=1) @ (1.0 / (1.0 + sums.sum(axis=1))))
        total = float((values * chances).sum())
        middle = -math.expm1(-total) / total
        where = f"X_i {values.tolist()} with chances {chances.tolist()}"
        yield exact, 1.0 / (1.0 + total), f"Jensen, {where}"
        yield middle, exact, where
        yield _inverse(total=total), middle, where


# --- Section 5.4 ----------------------------------------------------------------------


def _amplification(*, gamma: float = 0.01, factor: float = 2.0) -> float:
    """Chance gamma c/(c - 1), at most, that Algorithm 2 loses more than c times the mean.

    Args:
      gamma: stopping probability, in (0, 1]; 1/gamma runs on average, 3 epsilon.
      factor: c > 1; by Markov's inequality a run succeeds with p >= 1 - 1/c.
    """
    factor = check_interval("factor", factor, 1.0, math.inf)
    return percentile_failure_bound(1.0 - 1.0 / factor, gamma)


def _amplification_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for number in range(budget.cases):
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        factor = float(generator.uniform(1.05, 20.0))
        if number % 3 == 0:
            # Markov's inequality is attained: loss c with chance 1/c, else 0. Slightly
            # more than c counts as failure.
            loss = np.array([0.0, factor * (1.0 + 1e-9)])
            law = np.array([1.0 - 1.0 / loss[1], 1.0 / loss[1]])
        else:
            loss = np.sort(generator.pareto(1.5, 6))
            law = generator.dirichlet(np.ones(6))
        found = stopping_law(law, gamma)
        seen = float(found[loss > factor * float(law @ loss)].sum())
        where = (
            f"gamma={gamma!r}, c={factor!r}, losses {loss.tolist()} with {law.tolist()}"
        )
        yield _amplification(gamma=gamma, factor=factor), seen, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-ThmC.1",
        source=f"{_PAPER}, Theorem C.1, privacy",
        statement="If every score is epsilon_1-DP, the exponential mechanism among the "
        "capped scores and 1 + 1/gamma dummies is (2 epsilon_1 + 8 gamma)-DP, whatever "
        "its parameter.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_privacy,
        check=at_most(_privacy_cases),
    ),
    Claim(
        id="LT-ThmC.1-utility",
        source=f"{_PAPER}, Theorem C.1, utility",
        statement="The chosen score is at least tau - log(1/(delta p))/epsilon_2 with "
        "probability at least 1 - delta, p being the mean of exp(epsilon_2 (score - tau)).",
        kind="utility",
        relation=None,
        evaluate=_utility,
        check=at_most(_utility_cases),
    ),
    Claim(
        id="LT-ThmC.1-dummy-least",
        source=f"{_PAPER}, Theorem C.1, by Lemma C.2",
        statement="The mechanism outputs a dummy with probability at least (1 + 1/gamma)/"
        "(1 + 1/gamma + N p).",
        kind="utility",
        relation=None,
        evaluate=_dummy_least,
        check=at_least(_dummy_cases),
    ),
    Claim(
        id="LT-LemC.2",
        source=f"{_PAPER}, Lemma C.2",
        statement="For independent X_i in [0, 1] and s = sum E X_i: 1/(1+s) <= "
        "E[1/(1 + sum X_i)] <= (1 - e^-s)/s <= 1/s.",
        kind="utility",
        relation=None,
        evaluate=_inverse,
        check=at_most(_inverse_cases),
    ),
    Claim(
        id="LT-5.4",
        source=f"{_PAPER}, Section 5.4, with Theorem 3.3 and Markov's inequality",
        statement="Algorithm 2 over an epsilon-DP algorithm of mean loss L has loss above "
        "c L with probability at most gamma/p, p = 1 - 1/c.",
        kind="utility",
        relation=None,
        evaluate=_amplification,
        check=at_most(_amplification_cases),
    ),
)
