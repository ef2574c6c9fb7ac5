"""The power of a check: what it says of a claim that is a little stronger than it is."""

from jaxsel.catalogue import find_claim
from jaxsel.language.base import Budget


def judged_with(claim_id: str, factor: float, budget: Budget) -> str:
    """The outcome of a claim's check if its number were that many times as large."""
    claim = find_claim(claim_id)
    number = claim.evaluate
    object.__setattr__(claim, "evaluate", lambda **point: factor * number(**point))
    try:
        return claim.check(budget).outcome
    finally:
        object.__setattr__(claim, "evaluate", number)
