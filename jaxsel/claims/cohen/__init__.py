"""Claims of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022 that are right as printed."""

from jaxsel.base import Claim
from jaxsel.claims.cohen import one_selection

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (*one_selection.CLAIMS,)
