"""Errata of Koskela, Redberg & Wang 2024: E-KRW-1 to E-KRW-8, printed and corrected."""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.koskela_errata import (
    corollaries,
    growth,
    lemmas,
    no_run,
    poisson,
    proofs,
    tightness,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *corollaries.CLAIMS,
    *lemmas.CLAIMS,
    *poisson.CLAIMS,
    *no_run.CLAIMS,
    *proofs.CLAIMS,
    *growth.CLAIMS,
    *tightness.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *corollaries.ERRATA,
    *lemmas.ERRATA,
    *poisson.ERRATA,
    *no_run.ERRATA,
    *proofs.ERRATA,
    *tightness.ERRATA,
)
