"""Exact divergences of the coin game of Cohen et al. 2022, Algorithms 2 and 4.

Coins of bias p on one side and q on the other are shown until k of them came up 1. The
game favours 0: q <= p <= e^epsilon q and 1 - q <= e^epsilon (1 - p) (the promise of
Algorithm 2; that of Algorithm 4 is too weak, CL-E5). A game until k ones is k games
until a one, in a row.
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
    """The Renyi divergence of a game until the first 1, whose coins all have one pair of biases.

    It is log(p^a q^(1-a)/(1 - (1-p)^a (1-q)^(1-a)))/(a - 1); at order
    inf the largest loss: log(p/q) if 1 - p <= 1 - q, else inf (a long run of 0).

    Args:
      p, q: chances to come up 1 on the two sides, of one shape.
      order: a > 1, or inf.
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
    """The Renyi divergence of an adaptive game, "not ended" being an outcome.

    Args:
      p, q: Float["ones coins"]: row j is shown after j ones; the game ends after as
        many ones as there are rows, or when the coins run out.
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
    """A grid of biases, and the least and the largest bias that is epsilon-close to each."""
    small = np.geomspace(1e-7, 0.5, 150)
    kinks = special.expit(np.array([-epsilon, epsilon]))
    bias = np.concatenate([small, 1.0 - small, kinks])
    ends = [pairs.extreme_neighbours(float(value), epsilon) for value in bias]
    low, high = np.array(ends).T
    return bias, low, high


def _orders(order: npt.ArrayLike) -> np.ndarray:
    order = np.asarray(order, dtype=np.float64)
    if not np.all(order > 1.0):
        raise InputError(f"order is {order}; it must exceed 1")
    return order


@validated
def favoured_rate(order: npt.ArrayLike, epsilon: AnyEpsilon) -> np.ndarray:
    r"""The exact supremum of the Renyi divergence of the coin game, per 1 that comes up.

    .. math:: \frac{a\epsilon - \log(1 + e^\epsilon - e^{(1-a)\epsilon})}{a - 1}

    Close coins are randomised response, post-processed, and E_Q[L^a e^(-r 1{one})] of
    one coin is jointly convex in the two chances of that post-processing: it is at most
    1 if it is so for the coins (0, 0), (1, 1) and for randomised response itself. A
    game of randomised response attains it, at every order and k. It sharpens Lemma 2
    (3 a epsilon^2) and tends to Lemma 1 (epsilon).

    Args:
      order: a > 1, finite or inf, any shape.
      epsilon: closeness of the coins.
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

    while e^(a epsilon) < 1 + e^epsilon, else inf. Answers at a known p are two-sided
    epsilon-close coins; by the convexity of ``favoured_rate`` the worst are randomised
    response again, now with the 1 on the side where it is rarer, which attains it.

    Args:
      order: a > 1, any shape.
      epsilon: of each Test.
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
    """The biases of the coins as Float["ones coins"]: row j is shown after j ones, a list all
    along.

    Raises:
      InputError: unless ``biases`` are probabilities, a list or a row for each one.
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
    """The law of the coin at which a game ends, shown these coins in turn.

    Args:
      biases: Float["coins"], chances to come up 1; or Float["ones coins"], those that are
        shown after each number of ones.
      ones: k, how many ones end it.

    Returns:
      Float[np.ndarray, "coins+1"]: chance to end at each coin; last, that it does not.
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
    """The law of the transcript of a game: its coins as a binary number, the first leading.

    Coins after the end count as 0, so that a number belongs to one sequence.

    Args:
      biases, ones: as of ``game_law``; few coins.

    Returns:
      Float[np.ndarray, "2^coins"], 0 where more than ``ones`` coins came up 1.
    """
    rows = coin_rows(biases, ones)
    coins = rows.shape[1]
    bits = np.arange(2**coins)[:, None] >> np.arange(coins - 1, -1, -1) & 1
    before = np.cumsum(bits, axis=1) - bits
    chance = rows[np.minimum(before, ones - 1), np.arange(coins)]
    each = np.where(bits == 1, chance, 1.0 - chance)
    ended = before >= ones
    return np.where(ended, 1.0 - bits, each).prod(axis=1)
