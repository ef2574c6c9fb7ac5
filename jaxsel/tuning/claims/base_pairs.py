"""Pairs of base laws on which claims about tuning are put to the test.

Constructed pairs first (``jaxsel.accounting.single_run.pairs``), then random ones drawn
from the budget's seed. All laws list the same outcomes, best outcome first, and every
pair has a finite pure epsilon.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.language.base import Budget
from jaxsel.language.checking import Judged, written
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law


class BasePair(NamedTuple):
    """Two base laws, best outcome first.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"].
      where: how to make the pair again.
    """

    first: np.ndarray
    second: np.ndarray
    where: str


EQUAL_LAWS = BasePair(np.array([0.5, 0.5]), np.array([0.5, 0.5]), "both laws [0.5, 0.5]")


class ApproximatePair(NamedTuple):
    """An (epsilon, delta)-DP pair: with probability 1 - delta a draw of a pure core.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"].
      core: the pair given that no draw fails, over the same outcomes.
      epsilon: exact pure epsilon of the core.
      delta: probability that one draw fails.
      where: how to make the pair again.
    """

    first: np.ndarray
    second: np.ndarray
    core: BasePair
    epsilon: float
    delta: float
    where: str


def shown(law: np.ndarray) -> str:
    """Its probabilities, every digit."""
    return "[" + ", ".join(f"{x:.17g}" for x in law) + "]"


def _random(first: np.ndarray, second: np.ndarray) -> BasePair:
    where = f"base laws {shown(first)} and {shown(second)}, best outcome first"
    return BasePair(first, second, where)


def _constructed_pairs() -> Iterator[BasePair]:
    """Pairs that stress one bound each."""
    for epsilon in (1.0, 0.1):
        where = f"pairs.randomised_response({epsilon:g})"
        yield BasePair(*pairs.randomised_response(epsilon), where)
    for settings in ((1.0, 0.2, 1e-9), (0.3, 0.064, 1e-3), (2.0, 0.1, 1e-9)):
        where = f"pairs.three_outcome{settings}"
        yield BasePair(*pairs.three_outcome(*settings), where)
    for p, epsilon in ((0.3, 1.0), (0.3, 0.2)):
        for q in pairs.extreme_neighbours(p, epsilon):
            yield BasePair(*pairs.bernoulli(p, q), f"pairs.bernoulli({p:g}, {q!r})")
    yield BasePair(*pairs.bernoulli(1e-4, 3e-4), "pairs.bernoulli(1e-4, 3e-4)")
    yield BasePair(*pairs.fixed_runs_constant(0.3, 7), "pairs.fixed_runs_constant(0.3, 7)")
    yield BasePair(*pairs.tight_conditional(0.8, 1.06), "pairs.tight_conditional(0.8, 1.06)")
    yield BasePair(*pairs.tight_generic(), "pairs.tight_generic()")


def _random_pure(generator: np.random.Generator) -> BasePair:
    epsilon = float(np.exp(generator.uniform(np.log(0.05), np.log(3.0))))
    size, concentration = int(generator.integers(2, 7)), generator.uniform(0.2, 1.5)
    first, second = pairs.random_pure_pair(generator, size, epsilon, concentration)
    return _random(first, second)


def pure_pairs(budget: Budget) -> Iterator[BasePair]:
    """Constructed pairs, and ``budget.cases`` random pairs of small epsilon."""
    yield from _constructed_pairs()
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        yield _random_pure(generator)


def base_pairs(budget: Budget) -> Iterator[BasePair]:
    """As ``pure_pairs``, but every other random pair is of two independent laws."""
    yield from _constructed_pairs()
    generator = np.random.default_rng(budget.seed)
    for case in range(budget.cases):
        if case % 2:
            size = int(generator.integers(2, 7))
            yield _random(*pairs.random_pair(generator, size, 1.0))
        else:
            yield _random_pure(generator)


def approximate_pairs(budget: Budget) -> Iterator[ApproximatePair]:
    """Pairs that are epsilon-close but for a probability delta.

    Every pair that is (epsilon, delta)-close both ways has this form (Kairouz, Oh &
    Viswanath 2015). First the constructed one of ``jaxsel.accounting.single_run.pairs``.
    """
    settings = [
        (1.0, 0.2, 1e-9, 1e-6),
        (1.0, 0.2, 1e-3, 0.01),
        (0.3, 0.064, 1e-3, 0.1),
        (0.5, 0.1, 1e-6, 1e-9),
    ]
    for epsilon, top, middle, delta in settings:
        laws = pairs.approximate_three_outcome(epsilon, top, middle, delta)
        three = pairs.three_outcome(epsilon, top, middle)
        first, second = (np.concatenate([[0.0, 0.0], law]) for law in three)
        core = BasePair(first, second, "core")
        where = f"pairs.approximate_three_outcome({epsilon}, {top}, {middle}, {delta})"
        yield ApproximatePair(*laws, core, epsilon, delta, where)
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        pure = _random_pure(generator)
        delta = 10.0 ** generator.uniform(-8.0, -0.5)
        failing = generator.dirichlet(np.full(pure.first.size + 2, 0.2), 2)
        # the first and the last outcome come from failures only
        core = BasePair(np.pad(pure.first, 1), np.pad(pure.second, 1), "core")
        first = (1.0 - delta) * core.first + delta * failing[0]
        second = (1.0 - delta) * core.second + delta * failing[1]
        where = (
            f"delta={delta!r}, core laws {shown(pure.first)} and {shown(pure.second)}, "
            f"failures {shown(failing[0])} and {shown(failing[1])} with one more "
            "outcome at each end"
        )
        epsilon = exact_epsilon(pure.first, pure.second)
        sides = first / first.sum(), second / second.sum()
        yield ApproximatePair(*sides, core, epsilon, delta, where)


def tuned_pair(pair, repetitions: Repetitions) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of the best of K draws on both sides, "no run" last."""
    return tuned_law(pair.first, repetitions), tuned_law(pair.second, repetitions)


def random_law_text(
    generator: np.random.Generator,
    family: int,
    means: tuple[float, float],
    eta: float,
    gammas: tuple[float, float],
) -> str:
    """A random law of K: Poisson, binomial, fixed, or (any other number) negative binomial.

    ``means`` and ``gammas`` are ranges of powers of ten; ``eta`` is the largest.
    """
    if family == 0:
        return f"poisson:mean={10.0 ** generator.uniform(*means)!r}"
    if family > 2:
        shape, gamma = generator.uniform(-0.9, eta), 10.0 ** generator.uniform(*gammas)
        return f"tnb:eta={shape!r},gamma={gamma!r}"
    count = int(generator.integers(1, 9))
    if family == 2:
        return f"point_mass:count={count}"
    return f"binomial:count={count},probability={generator.uniform(0.02, 1.0)!r}"


def two_sided_renyi(first: np.ndarray, second: np.ndarray, order: npt.ArrayLike) -> np.ndarray:
    """The larger of the two Renyi divergences, at each order."""
    return np.maximum(
        renyi_divergence(first, second, order), renyi_divergence(second, first, order)
    )


def least_rho(first: np.ndarray, second: np.ndarray) -> float:
    """An upper bound on the least rho for which a pair is rho-zCDP, within 2 %."""
    orders = 1.0 + np.exp(np.linspace(-6.0, 7.0, 600))
    values = two_sided_renyi(first, second, orders)
    # between two orders: the divergence at the larger over the smaller
    steps = np.append(values, exact_epsilon(first, second))
    return float(np.max(steps / np.append(1.0, orders)))


def at_worst(
    claimed: np.ndarray, seen: np.ndarray, places: np.ndarray, where: str, named: str = "order"
) -> Judged:
    """A bound at the order, or other place, of least slack, where it would break."""
    worst = int(np.argmin(claimed - seen))
    return Judged(claimed[worst], seen[worst], f"{named} {written(float(places[worst]))}, {where}")


def gaussian_tuned_renyi(
    order: float, noise_multiplier: float, repetitions: Repetitions, sign: int = 1
) -> float:
    """Renyi divergence of the best of K draws from N(0, s^2) and from N(1, s^2), order > 1.

    The density of the best is q(y) f'(1 - u(y)), with u(y) the mass of better outcomes
    and f the generating function of K; integrated by the trapezoidal rule, which
    converges exponentially here. The larger value is better at sign 1, the smaller one at
    -1 (which is also the divergence from the second to the first tuned law at sign 1).
    """
    shift = 1.0 / noise_multiplier
    # q^order q'^(1 - order) is a Gaussian around this point
    centre = (1.0 - order) * shift
    z = np.linspace(min(centre, 0.0) - 25.0, max(centre, 0.0) + 25.0, 6001)
    log_first = -0.5 * z**2 + repetitions.log_pgf_derivative_tail(special.ndtr(-sign * z))
    moved = z - shift
    log_second = -0.5 * moved**2 + repetitions.log_pgf_derivative_tail(special.ndtr(-sign * moved))
    exponent = order * log_first + (1.0 - order) * log_second
    step = z[1] - z[0]
    moment = special.logsumexp(exponent) + np.log(step) - 0.5 * np.log(2.0 * np.pi)
    if repetitions.probability_zero > 0.0:
        moment = np.logaddexp(moment, np.log(repetitions.probability_zero))
    return float(moment) / (order - 1.0)
