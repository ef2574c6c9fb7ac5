"""All claims and errata, by id."""

from jaxsel.base import Claim, Erratum
from jaxsel.catalogue.options import nearest
from jaxsel.errors import InputError

__all__ = ["CLAIMS", "ERRATA", "find_claim"]

CLAIMS: tuple[Claim, ...] = ()
ERRATA: tuple[Erratum, ...] = ()


def find_claim(identity: str) -> Claim:
    """The claim of that id.

    Raises:
      InputError: if there is none.
    """
    for claim in CLAIMS:
        if claim.id == identity:
            return claim
    raise InputError(
        f"there is no claim {identity!r}; jaxsel list claims names them all"
        f"{nearest(identity, (claim.id for claim in CLAIMS))}"
    )
