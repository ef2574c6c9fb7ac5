"""The power of a check: its verdict on a claim that is a little stronger than the true one."""

from unittest import mock

from jaxsel.catalogue import find_claim
from jaxsel.language import checking
from jaxsel.language.base import Budget


def judged_with(claim_id: str, factor: float, budget: Budget) -> str:
    """The verdict of a claim's check if the claim were that factor larger in every case."""
    cases_at = checking.cases_at

    def stronger(*given):
        return ((factor * claimed, seen, text) for claimed, seen, text, *_ in cases_at(*given))

    with mock.patch.object(checking, "cases_at", stronger):
        return find_claim(claim_id).check(budget).outcome
