"""The named families of laws of K, and their laws that meet given wishes."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import optimize

from jaxsel.accounting.numerics.digits import to_digits
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions, from_mean
from jaxsel.tuning.planning.wishes import MOST_MEAN, Wishes

_SHAPES = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # eta


def _negative_binomial(eta: float) -> Callable[[float], Repetitions]:
    return lambda mean: from_mean("truncated_negative_binomial", mean, eta=eta)


_NAMES = {0.0: "logarithmic", 1.0: "geometric"}
FAMILIES: Mapping[str, Callable[[float], Repetitions]] = {
    _NAMES.get(eta, f"tnb:eta={eta:g}"): _negative_binomial(eta) for eta in _SHAPES
} | {"poisson": lambda mean: from_mean("poisson", mean)}
"""Name -> E[K] -> the law; a plan chooses from these, besides the optimal law."""


class Fitted(NamedTuple):
    """The law of one family that meets the wishes."""

    family: str
    law: Repetitions


def _least(condition: Callable[[float], bool], low: float, high: float) -> float:
    """The least mean, to 1e-9, with a condition that stays true; inf without one."""
    if not condition(high):
        return np.inf
    if condition(low):
        return low
    while high / low > 1.0 + 1e-9:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def fitted(family: str, wishes: Wishes) -> Fitted | None:
    """The cheapest law of a family that is good enough; without such a wish the best affordable.

    Cost and quality both increase with E[K] in every family, so the least mean that is good
    enough also has the least privacy cost.

    Returns:
      None if no law of the family is both good enough and affordable.
    """
    return _fitted(family, FAMILIES[family], wishes)


def fitted_negative_binomial(eta: float, wishes: Wishes) -> Fitted | None:
    """``fitted`` for truncated negative binomial laws of any shape eta."""
    return _fitted(f"tnb:eta={eta:g}", _negative_binomial(eta), wishes)


def _fitted(family: str, make: Callable[[float], Repetitions], wishes: Wishes) -> Fitted | None:
    def law(mean: float) -> Repetitions | None:
        try:
            return make(mean)
        except InputError:
            return None  # the family has no law with this mean

    def too_dear(mean: float) -> bool:
        found = law(mean)
        return found is None or not wishes.afforded(found)

    def good_enough(mean: float) -> bool:
        found = law(mean)
        return found is not None and wishes.good_enough(found)

    low = 1.0
    if wishes.runs is None and wishes.runs_95 is None:
        high = MOST_MEAN
        if not wishes.asks_for_quality:
            raise InputError(
                "nothing says how far the search may go; give runs, runs_95, rank, or "
                "good with a chance"
            )
    else:
        high = min(_least(too_dear, low, MOST_MEAN), MOST_MEAN)
    while law(high) is None and high > low:
        high = low + (high - low) / 2.0
    if wishes.asks_for_quality or wishes.none is not None:
        mean = _least(good_enough, low, high)
        if np.isinf(mean):
            return None
        # Without a wish for quality more runs are better, as long as they are affordable.
        high = mean if wishes.asks_for_quality else high
    # Few digits if they suffice; the end that bisection found may be on the other side. The
    # least mean that is good enough is rounded up; the largest affordable one comes from a
    # number of the user, and is kept to nine digits.
    if wishes.asks_for_quality or wishes.none is not None:
        short = [to_digits(high, digits, up=True, slack=1e-6) for digits in (4, 6, 9)]
    else:
        short = [to_digits(high, 9, up=False, slack=1e-6)]
    for mean in (*short, high):
        for near in (mean, mean * (1.0 - 1e-8)):
            found = law(near)
            if found and wishes.afforded(found) and wishes.good_enough(found):
                return Fitted(family, found)
    return None


def most_runs(
    family: str, wishes: Wishes, affordable: Callable[[Repetitions], bool]
) -> Fitted | None:
    """The affordable law of a family with the largest E[K], to a relative 1e-3.

    Args:
      family: one of FAMILIES.
      wishes: for the law, besides its cost.
      affordable: law -> whether it is within the budget; cost increases with runs.
    """
    make = FAMILIES[family]

    def good(mean: float) -> bool:
        try:
            law = make(mean)
        except InputError:
            return False
        return wishes.afforded(law) and affordable(law)

    low, high = 1.0, 2.0
    if not good(low):
        return None
    while high < MOST_MEAN and good(high):
        low, high = high, 2.0 * high
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if good(middle) else (low, middle)
    law = make(low)
    return Fitted(family, law) if wishes.good_enough(law) else None


def most_runs_at(
    family: str, wishes: Wishes, cost: Callable[[Repetitions], float], most: float
) -> Fitted | None:
    """The same where a cost takes long: it is asked for a few laws alone.

    Args:
      family: one of FAMILIES.
      wishes: for the law, beside its price.
      cost: law -> what it costs; what is dearer has more runs.
      most: that it may cost.
    """
    largest = most_runs(family, wishes, lambda law: True)
    if largest is None:
        return None
    make, last = FAMILIES[family], math.log(largest.law.mean)

    @functools.cache
    def excess(log_mean: float) -> float:
        return math.log(max(cost(make(math.exp(log_mean))), 1e-12) / most)

    low, high = 0.0, min(1.0, last)
    if excess(low) > 0.0:
        return None
    while excess(high) <= 0.0:
        if high == last:
            return largest
        low, high = high, min(2.0 * high, last)
    near = float(optimize.root_scalar(excess, bracket=(low, high), xtol=5e-4).root)
    while excess(near) > 0.0:  # the root may lie on either side of the crossing
        near = max(near - 5e-4, low)
    law = make(math.exp(near))
    return Fitted(family, law) if wishes.good_enough(law) else None
