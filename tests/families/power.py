"""The power of a check: what it says of a claim that is a little stronger than it is."""

from unittest import mock

from jaxsel.catalogue import find_claim
from jaxsel.language import checking
from jaxsel.language.base import Budget


def judged_with(claim_id: str, factor: float, budget: Budget) -> str:
    """The outcome of a claim's check if, in every case, it claimed that many times as much."""
    cases_at = checking.cases_at

    def stronger(*given):
        return ((factor * claimed, seen, text) for claimed, seen, text in cases_at(*given))

    with mock.patch.object(checking, "cases_at", stronger):
        return find_claim(claim_id).check(budget).outcome
