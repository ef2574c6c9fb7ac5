# ruff: noqa: F403, F405
"""The records of mechanisms, pairs and claims, under the name that user code imports."""

from jaxsel.language.base import *

__all__ = [
    "Budget",
    "Claim",
    "Erratum",
    "FiniteLaw",
    "Mechanism",
    "Pair",
    "Relation",
    "Remark",
    "Verdict",
    "factory",
    "outcome_itself",
]
