"""The verdict of an audit, and what its trials can refute at all."""

import math
from collections.abc import Sequence

from jaxsel.auditing.event_limits import log_ratio_lower
from jaxsel.auditing.functions.events import Aim
from jaxsel.auditing.functions.outcomes import Table

REFUTED, NOT_REFUTED, CONSTANT, FAILED = "refuted", "not refuted", "constant", "failed"
UNDECIDED = "cannot be judged"
EVENT = 0.1
"""A power is stated for an event of this probability on the likelier side."""
_MOST = 2**53  # trials of which a number is said


def failed(bound: Sequence[Table]) -> bool:
    """Whether every call of the function failed, in all trials of these tables."""
    # The first trial of each table tells mostly, and the words of numbers are many.
    return all(map(_failed, (one.rows(slice(1)) for one in bound))) and all(map(_failed, bound))


def _failed(given: Table) -> bool:
    # Text that the function returns is quoted; what a call did is not.
    return all(str(word).startswith(("raised ", "no answer", "the call")) for word in given.words)


def verdict(
    lower: float, claim: Aim, constant: bool, bound: Sequence[Table], refutable: bool
) -> str:
    if lower > claim.epsilon:
        return REFUTED
    if failed(bound):
        return FAILED
    if not refutable:
        return UNDECIDED
    if constant and len({str(word) for one in bound for word in one.words}) == 1:
        return CONSTANT
    return NOT_REFUTED


def refutable(claim: Aim, trials: int, others: int, error: float) -> bool:
    """Whether an event in all trials of one side and in none of the other's refutes the claim.

    Args:
      claim: the epsilon and delta to refute.
      trials: number of trials of the side on which the event occurs.
      others: number of trials of the other side.
      error: the allowed probability of refuting a claim that is true.
    """
    points = round(others * claim.delta * math.exp(-claim.epsilon))
    limit = float(log_ratio_lower(trials, points, error))
    return limit > claim.epsilon + math.log(trials / others)


def needed(claim: Aim, error: float) -> float:
    """The smallest number of trials per side that can refute the claim; inf above 2^53.

    It is for the event of ``refutable``, which refutes soonest; arguments as there.
    """
    low, high = 0, 1
    while not refutable(claim, high, high, error):
        low, high = high, 2 * high
        if high >= _MOST:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refutable(claim, middle, middle, error) else (middle, high)
    return float(high)


def detectable(trials: int, claim: Aim, error: float) -> float:
    """The smallest true epsilon at which the audit is expected to refute the claim.

    It is computed for an event of probability ``EVENT`` + delta on the likelier side, with counts
    equal to their expectations. It is at least the epsilon of the claim, and inf if even an event
    that never occurs on the other side does not refute the claim.

    Args:
      trials: number of trials per side.
      claim: the epsilon and delta to refute.
      error: the allowed probability of refuting a claim that is true.
    """
    beyond = EVENT * trials
    x = round(beyond + claim.delta * trials)
    points = round(trials * claim.delta * math.exp(-claim.epsilon))

    def refuted(y: int) -> bool:
        return bool(log_ratio_lower(x, y + points, error) > claim.epsilon)

    if not refuted(0):
        return math.inf
    low, high = 0, x + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return max(math.log(beyond / max(low, 0.5)), claim.epsilon)
