"""All claims and errata, by id."""

from jaxsel.base import Claim, Erratum
from jaxsel.catalogue.mechanisms import MECHANISMS
from jaxsel.catalogue.options import nearest
from jaxsel.claims import (
    broken,
    cohen,
    cohen_errata,
    koskela,
    koskela_errata,
    liu_talwar,
    liu_talwar_errata,
    noisy_max,
    papernot_steinke,
    zhu_wang,
    zhu_wang_errata,
)
from jaxsel.claims.audits import audit_claims, simulation_claims
from jaxsel.errors import InputError

__all__ = ["CLAIMS", "ERRATA", "find_claim"]

CLAIMS: tuple[Claim, ...] = (
    *liu_talwar.CLAIMS,
    *liu_talwar_errata.CLAIMS,
    *papernot_steinke.CLAIMS,
    *cohen.CLAIMS,
    *cohen_errata.CLAIMS,
    *koskela.CLAIMS,
    *koskela_errata.CLAIMS,
    *zhu_wang.CLAIMS,
    *zhu_wang_errata.CLAIMS,
    *noisy_max.CLAIMS,
    *broken.CLAIMS,
    *audit_claims(MECHANISMS),
    *simulation_claims(MECHANISMS),
)
ERRATA: tuple[Erratum, ...] = (
    *liu_talwar.ERRATA,
    *liu_talwar_errata.ERRATA,
    *papernot_steinke.ERRATA,
    *cohen.ERRATA,
    *cohen_errata.ERRATA,
    *koskela.ERRATA,
    *koskela_errata.ERRATA,
    *zhu_wang.ERRATA,
    *zhu_wang_errata.ERRATA,
)


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
