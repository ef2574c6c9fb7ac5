"""Everything that has a public name: mechanisms, claims, errata, repetition laws."""

from jaxsel.catalogue.claims import CLAIMS, ERRATA, find_claim
from jaxsel.catalogue.entry import MechanismEntry
from jaxsel.catalogue.mechanisms import MECHANISMS, find_mechanism
from jaxsel.catalogue.options import Option

__all__ = [
    "CLAIMS",
    "ERRATA",
    "MECHANISMS",
    "MechanismEntry",
    "Option",
    "find_claim",
    "find_mechanism",
]
