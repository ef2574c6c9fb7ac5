"""Everything that has a public name: mechanisms, claims, errata, remarks, self-checks."""

from jaxsel.catalogue.collect import all_claims, find_claim, is_self_check, self_checks
from jaxsel.language.declared import errata, find_erratum, find_remark, published_claims, remarks
from jaxsel.language.subject import find_mechanism, mechanisms

__all__ = [
    "all_claims",
    "errata",
    "find_claim",
    "find_erratum",
    "find_mechanism",
    "find_remark",
    "is_self_check",
    "mechanisms",
    "published_claims",
    "remarks",
    "self_checks",
]
