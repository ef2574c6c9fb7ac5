"""Everything that has a public name: mechanisms, claims, errata, self-checks."""

from jaxsel.catalogue.collect import (
    all_claims,
    errata,
    find_claim,
    find_mechanism,
    mechanisms,
    published_claims,
    self_checks,
)

__all__ = [
    "all_claims",
    "errata",
    "find_claim",
    "find_mechanism",
    "mechanisms",
    "published_claims",
    "self_checks",
]
