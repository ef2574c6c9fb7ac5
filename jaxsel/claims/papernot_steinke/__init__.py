"""Papernot & Steinke 2022, "Hyperparameter Tuning with Renyi Differential Privacy".

Every numbered statement and worked example as a claim; E-PS-1 to E-PS-5.
"""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.papernot_steinke import (
    approximate,
    conditional,
    divergences,
    fixed_runs,
    generic,
    released_figure,
    repetition_laws,
    selection,
    three_outcomes,
    tight_conditional,
    tuning,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *repetition_laws.CLAIMS,
    *tuning.CLAIMS,
    *generic.CLAIMS,
    *divergences.CLAIMS,
    *conditional.CLAIMS,
    *tight_conditional.CLAIMS,
    *fixed_runs.CLAIMS,
    *three_outcomes.CLAIMS,
    *selection.CLAIMS,
    *approximate.CLAIMS,
    *released_figure.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *generic.ERRATA,
    *conditional.ERRATA,
    *tight_conditional.ERRATA,
    *released_figure.ERRATA,
)
