"""Everything that has a public name: mechanisms, claims, errata, repetition laws."""

from jaxsel.catalogue.claims import CLAIMS, ERRATA, find_claim
from jaxsel.catalogue.mechanisms import (
    MECHANISMS,
    MechanismEntry,
    Option,
    find_mechanism,
)

__all__ = [
    "CLAIMS",
    "ERRATA",
    "MECHANISMS",
    "MechanismEntry",
    "Option",
    "find_claim",
    "find_mechanism",
]
