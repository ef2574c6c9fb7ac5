"""A budget for releases that are chosen on the way: a Renyi filter of one fixed order.

A composition theorem needs the list of guarantees beforehand. Where the second search is picked
in the light of what the first released, so is its guarantee, and only a filter covers the whole:
at an order that is fixed before the first release, the sum of the Renyi bounds may not exceed a
number that is fixed as well (Feldman & Zrnic 2021). The order is one and the same for good: the
least over orders of what has been spent is no guarantee. docs/composition.md has the proof, with
releases that may fail.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.numerics.optimise import LOG_ORDER_RANGE
from jaxsel.accounting.single_run.conversions import log_delta_at_order, optimal_epsilon_at_order
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, positive
from jaxsel.language.signature import validated
from jaxsel.tuning.composing_searches import Release, composed_renyi
from jaxsel.tuning.parameters import OrderOrInfinity, TunedDelta, TunedEpsilon

FilterRenyi = Annotated[
    float, number("most that bounds may sum to", at_least=0.0, at_most=math.inf)
]
FilterFailure = Annotated[float, number("most chance of a failure", at_least=0.0, at_most=1.0)]

# At infinity a Renyi bound is pure epsilon: the only order that fits a budget with delta = 0.
_ORDERS = np.append(1.0 + np.exp(np.linspace(*LOG_ORDER_RANGE, 401)), math.inf)
_USED = 1.0 - 1e-12  # of a budget, since sums are rounded
_FOR_FAILURES = 0.5  # share of delta that is kept for failures, if the first release may fail


class Spent(NamedTuple):
    """What releases take of a filter.

    Attributes:
      renyi: the sum of their Renyi bounds at the order of the filter.
      failure: the chance that one of them has no guarantee.
    """

    renyi: float
    failure: float


class RenyiFilter(NamedTuple):
    """A budget for releases of which each may be chosen by what earlier ones released.

    Attributes:
      epsilon, delta: the guarantee of all of them together.
      order: of the Renyi divergence, in (1, inf].
      renyi: the most that their Renyi bounds at that order may sum to.
      failure: the most that the chance of a failure may be, a part of delta.
    """

    epsilon: float
    delta: float
    order: float
    renyi: float
    failure: float

    def guaranteed(self) -> float:
        """The delta that its order and its two budgets prove at epsilon."""
        return filtered_delta(self.epsilon, self.order, self.renyi, self.failure)

    @validated
    def epsilon_at(self, delta: TunedDelta) -> float:
        """The epsilon of everything that it covers at another delta; inf below ``failure``."""
        # Exactly the budget, whose inversion would round.
        if delta == self.delta:
            return self.epsilon
        # `filtered_delta` solved for the delta of the good parts.
        left = (delta - self.failure) / (1.0 - self.failure)
        # Without delta left for it, an order below infinity proves no epsilon; at infinity the
        # bound is epsilon itself.
        if left <= 0.0:
            return self.renyi if math.isinf(self.order) and left == 0.0 else math.inf
        return max(float(optimal_epsilon_at_order(self.order, self.renyi, left)), 0.0)

    def spent(self, releases: Sequence[Release]) -> Spent:
        """What some releases take of it."""
        return _spent_at(self.order, releases)

    def covers(self, parts: Sequence[Spent]) -> bool:
        """Whether everything that was released stays within it."""
        renyi = math.fsum(part.renyi for part in parts)
        # Each by itself: the proof holds for budgets that are fixed beforehand, and a path may not
        # trade one for the other.
        return renyi <= self.renyi * _USED and together(parts).failure <= self.failure


def together(parts: Sequence[Spent]) -> Spent:
    """What several releases take of a filter."""
    # Chances of no failure multiply; by logarithms chances of 1e-12 are not lost beside 1.
    kept = math.fsum(
        math.log1p(-part.failure) if part.failure < 1.0 else -math.inf for part in parts
    )
    return Spent(math.fsum(part.renyi for part in parts), -math.expm1(kept))


def _spent_at(order: float, releases: Sequence[Release]) -> Spent:
    """The sum of the Renyi bounds of releases at one order, and the chance that one fails."""
    total, lost, _ = composed_renyi(releases)
    found = float(total(np.asarray(order)))
    # What cannot be summed, as it has no bound at that order, fits no budget.
    return Spent(math.inf if math.isnan(found) else max(found, 0.0), max(lost, 0.0))


@validated
def filtered_delta(
    epsilon: TunedEpsilon, order: OrderOrInfinity, renyi: FilterRenyi, failure: FilterFailure = 0.0
) -> float:
    """The delta of releases that a filter lets through, whatever chose them.

    Args:
      epsilon: of all of them together.
      order, renyi, failure: of the filter.

    Returns:
      failure + (1 - failure) delta', with the delta' of a Renyi bound at that one order
      (Feldman & Zrnic 2021; docs/composition.md, Section 8).
    """
    # The formula exceeds 1 for a Renyi bound far above epsilon; a probability does not.
    good = math.exp(min(float(log_delta_at_order(order, renyi, epsilon)), 0.0))
    return failure + (1.0 - failure) * good


def _budgets(orders: np.ndarray, epsilon: float, delta: float, failure: float) -> np.ndarray:
    """The most Renyi divergence at each order with that epsilon at delta."""
    left = (delta - failure) / (1.0 - failure)
    if left <= 0.0:
        return np.where(np.isinf(orders), epsilon, -math.inf)
    # The conversion at one order is renyi + c(order, delta): c is what it gives for renyi = 0.
    return epsilon - optimal_epsilon_at_order(orders, np.zeros_like(orders), left)


@validated
def renyi_filter(
    epsilon: Annotated[float, positive("of all releases")],
    delta: TunedDelta,
    first: Sequence[Sequence[Release]],
) -> RenyiFilter:
    """A filter that guarantees (epsilon, delta), at the order at which most Gaussian noise fits.

    If the first release does not fit there, it is the order at which that fits most often. If it
    may fail, half of delta, or as much as it needs, is kept for failures; else nothing is, and what
    may fail is never covered.

    Args:
      epsilon, delta: of all releases together.
      first: the first release, for each role that a record may have in it.

    Raises:
      InputError: if the first release does not fit, at any order.
    """
    parts = [composed_renyi(role) for role in first]
    lost = max(part.lost for part in parts)
    # Divided by it, so that rounding does not refuse the first release by its own failures.
    failure = max(_FOR_FAILURES * delta, lost / _USED) if lost > 0.0 else 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # One filter stands for a record whatever its role, so that the dearest role counts at each
        # order.
        needed = np.max([np.asarray(part.curve(_ORDERS), dtype=float) for part in parts], axis=0)
        # Failures that are likelier than delta leave no budget at any order.
        budgets = _budgets(_ORDERS, epsilon, delta, failure) if failure <= delta else -_ORDERS
        # The Renyi divergence of Gaussian noise is proportional to the order.
        fits = np.where(budgets > 0.0, budgets / _ORDERS, -math.inf)
        best = int(np.argmax(fits))
        # Refused for NaN, too.
        if not needed[best] <= budgets[best] * _USED:
            fits = np.where(budgets > 0.0, budgets / needed, -math.inf)
            best = int(np.argmax(np.where(np.isnan(fits), -math.inf, fits)))
    found = RenyiFilter(epsilon, delta, float(_ORDERS[best]), float(budgets[best]), failure)
    if not (found.renyi > 0.0 and all(found.covers([found.spent(role)]) for role in first)):
        raise InputError(
            f"no Renyi order proves that the first search is ({epsilon:g}, {delta:g})-"
            "differentially private, and searches that are chosen on the way need one"
        )
    return found
