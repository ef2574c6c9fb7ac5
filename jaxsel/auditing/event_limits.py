"""Lower limits of the privacy loss on one event, each at the whole error probability.

If the numbers of trials on the data and on the neighbour are Poisson, so are the counts X
and Y of an event, and independent; given X + Y, X is binomial with probability
p / (p + q) (for equal rates). One Clopper-Pearson limit for it bounds log(p / q) at the
whole error probability, without a nuisance parameter, where two limits for p and for q
share the error and each pay their own slack: up to three times the trials.

A fixed number of trials is thinned to a Poisson number: the rate is chosen such that the
Poisson number exceeds the fixed one with small probability, which is part of the error.

The limits hold for a generator that is independent of the counts. One that is made from them
is not: the test is then a function of the counts, and some counts are always refuted.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper

# The part of the error probability that is left to Poisson numbers above the trials.
_THINNING = 0.01


def thinned(
    counts: np.ndarray, error: float, generator: np.random.Generator
) -> tuple[np.ndarray, float]:
    """The tallies of a Poisson number of the trials, drawn without replacement.

    Args:
      counts: Int["events"], tallies of a fixed number of trials.
      error: probability, at most, that the Poisson number is above the trials; all of them
        are used then.
      generator: for the number and for the choice of the trials.

    Returns:
      The tallies that remain, and the rate (the mean of the Poisson number).
    """
    ends = np.cumsum(counts.astype(np.int64))
    trials = int(ends[-1])
    # P[Poisson(rate) > trials] is the incomplete gamma function at trials + 1.
    rate = float(scipy.special.gammaincinv(trials + 1.0, error))
    removed = max(trials - int(generator.poisson(rate)), 0)
    places = generator.choice(trials, removed, replace=False, shuffle=False)
    events = np.searchsorted(ends, places, side="right")
    return counts - np.bincount(events, minlength=counts.size), rate


def log_ratio_lower(x: ArrayLike, y: ArrayLike, error: float) -> np.ndarray:
    """A lower limit for log(E[X] / E[Y]) of two independent Poisson counts; -inf if x is 0.

    Args:
      x, y: the counts; elementwise.
      error: the largest probability that a limit exceeds the truth.
    """
    total = np.add(x, y)
    share = clopper_pearson_lower(x, total, error=error)
    rest = clopper_pearson_upper(y, total, error=error)
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log(rest)


def event_epsilon(
    used: np.ndarray, delta: float, error: float, generator: np.random.Generator
) -> float:
    """A lower limit for the least epsilon >= 0 with p <= e^epsilon q + delta, on one event.

    p and q are the probabilities of the event on the two sides.

    Args:
      used: Int["side outside_or_inside"], tallies of fixed numbers of trials, first of the
        side on which the event is to be the likelier.
      delta: in [0, 1).
      error: the largest probability that the limit exceeds the truth.
      generator: for the thinning, and for the points that stand for delta; independent of the
        tallies.

    Returns:
      The limit, which is at most what was observed: above that it would be the noise of the
      thinning. What is taken from a limit leaves it one, whatever the generator is.
    """
    counts, rates, rest = poisson_counts(used, error, generator)
    limit = conditional_epsilon(counts, rates, delta, rest, generator)
    (n, m), (x, y) = used.sum(axis=1).tolist(), used[:, 1].tolist()
    beyond = x / n - delta
    if beyond <= 0.0:
        return 0.0
    return max(0.0, min(limit, math.log(beyond) - math.log(y / m) if y else math.inf))


def event_epsilon_upper(used: np.ndarray, delta: float, error: float) -> float:
    """An upper confidence limit for max(0, log((p - delta)/q)), the epsilon that one event shows.

    p and q are its probabilities on the two sides; arguments as of ``event_epsilon``.
    """
    (n, m), (x, y) = used.sum(axis=1), used[:, 1]

    def loss(q: np.ndarray, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(q) - np.log(np.maximum(p - delta, 0.0))

    # Where delta alone allows the event, it shows nothing.
    return max(0.0, -two_limits((y, x), (m, n), loss, error, 0.5))


def poisson_counts(
    used: np.ndarray, error: float, generator: np.random.Generator
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Thinned counts of an event on both sides, their rates, and the error that is left."""
    lost = _THINNING * error
    (first, rate), (second, other) = (thinned(side, lost / 2.0, generator) for side in used)
    return (first[1], second[1]), (rate, other), error - lost


def conditional_epsilon(
    counts: tuple[float, float],
    rates: tuple[float, float],
    delta: float,
    error: float,
    generator: np.random.Generator,
) -> float:
    """A lower limit for the least epsilon >= 0 with p <= e^epsilon q + delta, of Poisson counts.

    p and q are the probabilities of the event on the two sides, X and Y its counts.

    For delta > 0 the hypothesis reads p <= e^epsilon (q + delta e^-epsilon): a Poisson
    number Z of rate delta e^-epsilon is added to Y, and the test is that of delta = 0. The
    points of one Poisson process serve all epsilons, so that Z falls as epsilon grows; the
    limit is the first epsilon that is not rejected.

    Args:
      counts: of the event, X where it is to be the likelier and Y on the other side.
      rates: the means of the Poisson numbers of trials of the two.
      delta: in [0, 1).
      error: the largest probability that the limit exceeds the truth.
      generator: for the points.
    """
    x, y = counts
    shift = math.log(rates[0] / rates[1])
    points = int(generator.poisson(rates[1] * delta))
    epsilon = 0.0
    while True:
        # Between epsilon and this limit fewer points are left, so that all is rejected.
        limit = float(log_ratio_lower(x, y + points, error)) - shift
        if not limit > epsilon:
            return epsilon
        if not points:
            return limit
        points = int(generator.binomial(points, math.exp(epsilon - limit)))
        epsilon = limit


def conditional_delta(
    counts: tuple[float, float],
    rates: tuple[float, float],
    epsilon: float,
    error: float,
    generator: np.random.Generator,
) -> float:
    """A lower confidence limit for max(0, p - e^epsilon q), of Poisson counts.

    p, q and the other arguments are as of ``conditional_epsilon``. The limit inverts its test: it
    finds the smallest number of points that must be added to Y for delta to be accepted, and
    returns the delta at which the Poisson process of the added points first has so many.
    """
    x, y = counts
    share = scipy.special.expit(epsilon + math.log(rates[0] / rates[1]))

    def surprising(points: float) -> bool:
        # P[Binomial(x + y + points, share) >= x]
        return x > 0 and scipy.special.betainc(x, y + points + 1.0, share) <= error

    if not surprising(0.0):
        return 0.0
    low, high = 0, 1
    while surprising(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if surprising(middle) else (low, middle)
    arrival = generator.standard_gamma(high)
    return min(1.0, float(arrival * math.exp(epsilon - math.log(rates[1]))))


def two_limits(
    counts: tuple[float, float],
    trials: tuple[float, float],
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray],
    error: float,
    share: float,
) -> float:
    """A lower confidence limit for loss(p, q): the loss at limits for p and for q.

    p and q are the probabilities of an event on the two sides.

    Args:
      counts, trials: the event's counts and the numbers of trials, first of the side on which it
        is to be the likelier.
      loss: ``(p, q) -> loss``, rising in p and falling in q.
      error: the largest probability that the limit exceeds the truth.
      share: the part of the error that is spent on p.
    """
    low = clopper_pearson_lower(counts[0], trials[0], error=share * error)
    high = clopper_pearson_upper(counts[1], trials[1], error=(1.0 - share) * error)
    return float(loss(low, high))
