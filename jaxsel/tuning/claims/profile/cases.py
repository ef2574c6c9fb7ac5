"""Parameters, bases and laws of K of the claims on profiles of tuned algorithms.

The Gaussian base is N(0, 1) on one side and N(shift, 1) on the other, shift being
1/noise_scale. Its outputs z are ranked by a block order. The order is part of the base
algorithm (any score may be tuned for), and this one puts outcomes that the second side
likes best before those that the first side likes best, which is what a tuned algorithm
is worst at.
"""

import math
from typing import Annotated, Any

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run import pairs, score_pairs
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon, gaussian_log_delta
from jaxsel.accounting.single_run.dominating import pair_from_laws, pair_tradeoff, reversed_pair
from jaxsel.accounting.single_run.score_orders import NATURAL, BlockOrder
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.domains import number, probability
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_profile import tuned_delta
from jaxsel.tuning.bounds.profile_ratios import Profile
from jaxsel.tuning.claims.base_pairs import BasePair
from jaxsel.tuning.parameters import both

Epsilon = Annotated[float, number("of the tuned algorithm, any real", above=-50.0, below=200.0)]
Delta = Annotated[float, probability("of the tuned algorithm")]
BaseEpsilon = Annotated[
    float, number("parameter of the base, randomised response", above=0.0, below=50.0)
]
NoiseScale = Annotated[
    float,
    number(
        "standard deviation of the base's noise over its sensitivity", at_least=1e-6, at_most=1e6
    ),
]

# Deltas are compared: the tolerance must be far below those that matter.
TOLERANCE = 1e-12
_LEAST_TAIL = 1e-20  # of K, where sums over K end


def law_profile(first: np.ndarray, second: np.ndarray) -> Profile:
    """Exact two-sided profile of two laws, quick on arrays of epsilons."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(first) - np.log(second)

    def side(mass: np.ndarray, loss: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
        excess = np.minimum(epsilon[..., None] - loss, 0.0)
        return -np.expm1(excess) @ mass

    sides = [
        (mass[mass > 0], sign * loss[mass > 0]) for mass, sign in ((first, 1.0), (second, -1.0))
    ]

    def profile(epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        return np.maximum(*(side(m, each, epsilon) for m, each in sides))[()]

    return profile


def law_tradeoff(first: np.ndarray, second: np.ndarray) -> Profile:
    """Exact trade-off of two laws, the larger of both directions."""
    pair = pair_from_laws(first, second)
    curves = pair_tradeoff(pair), pair_tradeoff(reversed_pair(pair))
    return lambda x: np.maximum(curves[0](x), curves[1](x))[()]


def coin_pair(base_epsilon: float) -> BasePair:
    """The claims' default base, randomised response."""
    first, second = pairs.randomised_response(base_epsilon)
    return BasePair(first, second, f"pairs.randomised_response({base_epsilon:g})")


def given_laws(first: np.ndarray | None, second: np.ndarray | None) -> BasePair | None:
    """The two laws that a claim is given; None where it is given none.

    Raises:
      InputError: if only one is given, one is no probability vector, or lengths differ.
    """
    sides = both(first, second)
    if sides is None:
        return None
    first, second = map(check_probability_vector, ("first", "second"), sides)
    if first.size != second.size:
        raise InputError(f"first has {first.size} outcomes, second {second.size}; give as many")
    return BasePair(first, second, "the given laws")


def base_of(base_epsilon: float, first: np.ndarray | None, second: np.ndarray | None) -> BasePair:
    """The two laws of a claim's base: randomised response where none are given."""
    return given_laws(first, second) or coin_pair(base_epsilon)


def at_laws(pair: BasePair, **others: Any) -> dict[str, Any]:
    """A point of a claim that takes the two laws of its base."""
    return {"base_epsilon": 1.0, "first": pair.first, "second": pair.second, **others}


def coin_laws(base_epsilon: float) -> np.ndarray:
    """Its two laws, a row each, best outcome first; base_epsilon may be 0."""
    common = 1.0 / (1.0 + math.exp(-base_epsilon))
    return np.array([[1.0 - common, common], [common, 1.0 - common]])


def run_counts(law: Repetitions) -> np.ndarray:
    """All k >= 1 up to where P[K > k] is negligible."""
    last = 16
    while float(law.survival(last)) > _LEAST_TAIL:
        last *= 2
    return np.arange(1, last + 1)


def describe_pair(pair: pairs.LawPair) -> str:
    """The two laws, best outcome first, as text."""
    return f"{pair.first.tolist()} against {pair.second.tolist()}"


def swapped(pair: BasePair) -> BasePair:
    """The two laws the other way round."""
    return BasePair(pair.second, pair.first, f"reversed {pair.where}")


def random_law(generator: np.random.Generator, family: str) -> Repetitions:
    """A random law of K: "negative_binomial", "poisson" or "binomial"."""
    match family:
        case "poisson":
            return laws.poisson(10.0 ** generator.uniform(-1.0, 1.5))
        case "binomial":
            count = int(generator.integers(1, 30))
            return laws.binomial(count, generator.uniform(0.02, 0.98))
        case _:
            eta = float(generator.choice([-0.5, 0.0, 1.0, 5.0]))
            gamma = 10.0 ** generator.uniform(-4.0, -0.05)
            return laws.truncated_negative_binomial(eta, gamma)


def sharp_instances() -> dict[str, tuple[BasePair, Repetitions]]:
    """By family of K, a pair on which the bound is nearly attained.

    The best block is much likelier on the second side, then comes a rare one with the
    largest loss of the first; the tuned loss is the sum of that and of nearly the shift.
    """
    found = {}
    for family, top, middle, law in (
        ("negative_binomial", 0.01, 1e-5, laws.geometric(1e-3)),
        ("poisson", 0.05, 1e-4, laws.poisson(10.0)),
        ("binomial", 0.05, 1e-4, laws.binomial(100, 0.1)),
    ):
        first, second = pairs.three_outcome(1.0, top, middle)
        where = f"pairs.three_outcome(1, {top:g}, {middle:g})"
        found[family] = (BasePair(first, second, where), law)
    return found


def worst_block_order(mean: float, good: float, bad: float) -> BlockOrder:
    """The blocks whose masses on the first side are good/mean and bad/mean."""
    return BlockOrder(-float(special.ndtri(good / mean)), float(special.ndtri(bad / mean)))


def block_order_delta(
    epsilon: float, shift: float, repetitions: Repetitions, order: BlockOrder = NATURAL
) -> float:
    """Exact delta(epsilon >= 0) between the tuned laws of N(0, 1) and N(shift, 1).

    A negative shift makes the first side the one that the order likes.
    """
    pair = score_pairs.gaussian_pair(1.0 / abs(shift))
    if shift < 0:  # the mirror sides, moved by shift
        pair = score_pairs.reversed_pair(pair)
        order = BlockOrder(order.good - shift, order.bad - shift)
    return float(tuned_delta(pair, repetitions, epsilon, order))


def delta_at(delta: float, shift: float, repetitions: Repetitions, order: BlockOrder):
    """That, at the epsilon that a claim states, against what it may be."""
    return lambda epsilon: (delta, block_order_delta(epsilon, shift, repetitions, order))


def stopping_ratio(noise_scale: float, eta: float, gamma: float) -> float:
    """Least bound on log f'(q)/f'(q') of Theorem 5.2, over epsilon_1.

    (eta + 1) min log(e^epsilon_1 + ((1 - gamma)/gamma) delta(epsilon_1)).
    """
    odds = (1.0 - gamma) / gamma

    def objective(level: np.ndarray) -> np.ndarray:
        extra = math.log(odds) + gaussian_log_delta(level, noise_scale)
        return np.logaddexp(level, extra)

    # At high - 2 the sum is at most e^(high - 2) + 1/2: less than e^level beyond high.
    high = gaussian_epsilon(0.5 / max(odds, 1.0), noise_scale) + 2.0
    return (eta + 1.0) * float(minimise(objective, 0.0, high)[1])


def ratio_of_tradeoff(noise_scale: float, repetitions: Repetitions) -> tuple[float, float]:
    """Least uniform bound on log f'(q)/f'(q') for a Gaussian base, and the score that meets it.

    f' increases, and an event of mass x = 1 - q on one side has at most T(x) on the
    other: sup over x of log f'(1 - x) - log f'(1 - T(x)), by the events z > score.
    """

    def objective(score: np.ndarray) -> np.ndarray:
        x, other = special.ndtr(-score), special.ndtr(1.0 / noise_scale - score)
        return repetitions.log_pgf_derivative_tail(other) - repetitions.log_pgf_derivative_tail(x)

    score, least = minimise(objective, -10.0, 12.0)
    return -float(least), float(score)


def tuned_gaussian_epsilon(
    delta: float, noise_scale: float, repetitions: Repetitions, ratio: float
) -> float:
    """epsilon with E[K] delta_base(epsilon - ratio) = delta, for a uniform ratio."""
    return ratio + gaussian_epsilon(delta / repetitions.mean, noise_scale)
