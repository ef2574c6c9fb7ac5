"""Exact divergences of the coin game of Cohen et al. 2022, Algorithms 2 and 4.

Coins of bias p on one side and q on the other, the chances to come up 1, are shown until k of them
came up 1. The paper promises that q <= p <= e^epsilon q and 1 - q <= e^epsilon (1 - p) (Algorithm
2; the promise of Algorithm 4 is too weak, CL-E5), and calls the game 0-favored. A game until k ones
is k games until a first one, played one after the other.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run import pairs
from jaxsel.families.selection_and_test.parameters import AnyEpsilon, Ones
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated


def coin_renyi(p: npt.ArrayLike, q: npt.ArrayLike, order: float) -> np.ndarray:
    """The Renyi divergence of a game until the first 1 whose coins all have the same biases.

    It is log(p^a q^(1-a)/(1 - (1-p)^a (1-q)^(1-a)))/(a - 1). At order inf it is the largest privacy
    loss, log(p/q) if p >= q, and else inf, as a long run of 0 loses without limit.

    Args:
      p, q: chances to come up 1 on the two sides, of equal shapes.
      order: a > 1, or inf.

    Returns:
      An array of the shape of p.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if math.isinf(order):
        with np.errstate(divide="ignore"):
            return np.where(p >= q, np.log(p) - np.log(q), np.inf)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        again = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
        total = order * np.log(p) + (1.0 - order) * np.log(q) - np.log(-np.expm1(again))
    return np.where(again < 0.0, total / (order - 1.0), np.inf)


def game_renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The Renyi divergence of all that is shown in a game whose coins depend on the ones so far.

    Args:
      p, q: Float["ones coins"], the biases on the two sides: row j is shown after j ones. The
        game ends after as many ones as there are rows, or when the coins run out.
      order: a > 1.
    """
    up = order * np.log(p) + (1.0 - order) * np.log(q)
    down = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    ones, coins = p.shape
    moment = np.zeros(ones + 1)  # logarithm, by recursion from the last coin
    for coin in range(coins - 1, -1, -1):
        moment[:ones] = np.logaddexp(up[:, coin] + moment[1:], down[:, coin] + moment[:ones])
    return float(moment[0]) / (order - 1.0)


@validated
def close_coins(epsilon: AnyEpsilon) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid of biases, and the least and the largest bias that is epsilon-close to each.

    Biases p and q are epsilon-close if p and q, and also 1 - p and 1 - q, differ by a factor of at
    most e^epsilon. All three arrays are Float["biases"].
    """
    small = np.geomspace(1e-7, 0.5, 150)
    kinks = special.expit(np.array([-epsilon, epsilon]))
    bias = np.concatenate([small, 1.0 - small, kinks])
    ends = [pairs.extreme_neighbours(float(value), epsilon) for value in bias]
    low, high = np.array(ends).T
    return bias, low, high


def _orders(order: npt.ArrayLike) -> np.ndarray:
    """The orders as an array; raises InputError unless all exceed 1."""
    order = np.asarray(order, dtype=np.float64)
    if not np.all(order > 1.0):
        raise InputError(f"order is {order}; it must exceed 1")
    return order


@validated
def favoured_rate(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    r"""The exact supremum of the Renyi divergence of the coin game, per 1 that comes up.

    .. math:: \frac{a\epsilon - \log(1 + e^\epsilon - e^{(1-a)\epsilon})}{a - 1}

    It sharpens Lemma 2 (3 a epsilon^2), and tends to the epsilon of Lemma 1 as the order grows. The
    proof: r/(a - 1) bounds the divergence per 1 if E_Q[L^a e^(-r 1{one})] <= 1 for each coin, where
    L is its likelihood ratio. Epsilon-close coins are post-processed randomised response, and this
    mean is jointly convex in the two chances of the post-processing. So it is at most 1 if it is so
    for coins that always show 0, for coins that always show 1, and for randomised response itself,
    which gives the formula. A game of randomised response attains it for every order and k.

    Args:
      order: a > 1, finite or inf, any shape.
      epsilon: closeness of the coins.

    Returns:
      An array of the shape of order.
    """
    order = _orders(order)
    # log(e^(a epsilon)/(1 + e^epsilon - e^((1-a) epsilon))), in negative exponents
    gap = (order - 1.0) * epsilon
    with np.errstate(invalid="ignore"):
        rate = gap - np.log1p(math.exp(-epsilon) * -np.expm1(-gap))
        return np.where(np.isinf(order), epsilon, rate / (order - 1.0))[()]


@validated
def known_chance_rate(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    r"""The exact supremum of the Renyi divergence of epsilon-DP Tests at a known p, per top.

    .. math:: \frac{(1-a)\epsilon - \log(1 + e^\epsilon - e^{a\epsilon})}{a - 1}

    if e^(a epsilon) < 1 + e^epsilon, else inf. At a known p the answers of Tests are epsilon-close
    coins, where 1 is top and may be likelier on either side. By the convexity that
    ``favoured_rate`` uses, the worst ones are randomised response again, now with the 1 rarer on
    the first side; they attain the supremum.

    Args:
      order: a > 1, any shape.
      epsilon: of each Test.

    Returns:
      An array of the shape of order.
    """
    order = _orders(order)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # log(e^((a-1) epsilon) (1 + e^epsilon - e^(a epsilon))), without cancellation
        gap = (order - 1.0) * epsilon
        taken = math.exp(epsilon) * np.expm1(gap)
        rate = -gap - np.log1p(-np.minimum(taken, 1.0))
        return np.where(taken < 1.0, rate / (order - 1.0), np.inf)[()]


@validated
def coin_rows(biases: npt.ArrayLike, ones: Ones = 1) -> np.ndarray:
    """The biases of the coins as Float["ones coins"], where row j is shown after j ones.

    A single list of biases becomes every row.

    Raises:
      InputError: unless ``biases`` are probabilities, in one list or in ``ones`` rows.
    """
    found = np.asarray(biases, dtype=np.float64)
    if found.ndim not in (1, 2) or not np.all((found >= 0.0) & (found <= 1.0)):
        raise InputError("biases must be one list of probabilities, or a list a one")
    if found.ndim == 1:
        return np.broadcast_to(found, (ones, found.size))
    if found.shape[0] != ones:
        raise InputError(f"biases have {found.shape[0]} rows; ones is {ones}")
    return found


def game_law(biases: npt.ArrayLike, ones: int = 1) -> np.ndarray:
    """The law of the coin at which a game ends.

    Args:
      biases: Float["coins"], the chances to come up 1 of the coins, in the order in which they are
        shown; or Float["ones coins"], in whose row j are the chances after j ones.
      ones: k, how many ones end the game.

    Returns:
      Float[np.ndarray, "coins+1"]: the chance to end at each coin; last, that the game does not
      end.
    """
    rows = coin_rows(biases, ones)
    seen = np.zeros(len(rows))
    seen[0] = 1.0  # probability of each number of ones so far, if the game goes on
    law = []
    for bias in rows.T:
        hit = seen * bias
        law.append(hit[-1])
        seen = seen - hit + np.append(0.0, hit[:-1])
    return np.array([*law, seen.sum()])


@validated
def game_bits_law(biases: npt.ArrayLike, ones: Ones = 1) -> np.ndarray:
    """The law of all coins of a game, as a binary number whose leading digit is the first coin.

    Coins after the end count as 0, so that each number belongs to one sequence.

    Args:
      biases, ones: as of ``game_law``; there must be few coins.

    Returns:
      Float[np.ndarray, "2^coins"], 0 for numbers with more than ``ones`` digits 1.
    """
    rows = coin_rows(biases, ones)
    coins = rows.shape[1]
    bits = np.arange(2**coins)[:, None] >> np.arange(coins - 1, -1, -1) & 1
    before = np.cumsum(bits, axis=1) - bits
    chance = rows[np.minimum(before, ones - 1), np.arange(coins)]
    each = np.where(bits == 1, chance, 1.0 - chance)
    ended = before >= ones
    return np.where(ended, 1.0 - bits, each).prod(axis=1)
