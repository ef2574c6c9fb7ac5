"""Errata of Zhu & Wang 2022: E-ZW-1 to E-ZW-4, as printed and as corrected."""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.zhu_wang_errata import constants, labelling, stability

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *stability.CLAIMS,
    *constants.CLAIMS,
    *labelling.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *stability.ERRATA,
    *constants.ERRATA,
    *labelling.ERRATA,
)
