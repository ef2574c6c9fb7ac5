"""Errata of Liu & Talwar 2019, as printed and as corrected.

LT-E1 to LT-E22, except LT-E13, LT-E14 and LT-E19.
"""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.liu_talwar_errata import (
    amplification,
    answers,
    closeness,
    concentration,
    constants,
    halting,
    margin,
    pipeline,
    shares,
    thresholds,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *answers.CLAIMS,
    *halting.CLAIMS,
    *shares.CLAIMS,
    *concentration.CLAIMS,
    *thresholds.CLAIMS,
    *pipeline.CLAIMS,
    *closeness.CLAIMS,
    *amplification.CLAIMS,
    *margin.CLAIMS,
    *constants.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *answers.ERRATA,
    *halting.ERRATA,
    *shares.ERRATA,
    *concentration.ERRATA,
    *thresholds.ERRATA,
    *pipeline.ERRATA,
    *closeness.ERRATA,
    *amplification.ERRATA,
    *margin.ERRATA,
    *constants.ERRATA,
)
