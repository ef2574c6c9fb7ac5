"""Errata of Cohen et al. 2022: CL-E1 to CL-E19, as printed and as corrected."""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.cohen_errata import (
    answers,
    coins,
    deltas,
    medians,
    reduction,
    release,
    sparse_vector,
    stable,
    top_k,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *medians.CLAIMS,
    *deltas.CLAIMS,
    *answers.CLAIMS,
    *reduction.CLAIMS,
    *coins.CLAIMS,
    *release.CLAIMS,
    *top_k.CLAIMS,
    *stable.CLAIMS,
    *sparse_vector.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *medians.ERRATA,
    *deltas.ERRATA,
    *answers.ERRATA,
    *reduction.ERRATA,
    *coins.ERRATA,
    *release.ERRATA,
    *top_k.ERRATA,
    *stable.ERRATA,
    *sparse_vector.ERRATA,
)
