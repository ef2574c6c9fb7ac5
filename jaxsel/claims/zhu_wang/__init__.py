"""Claims of Zhu & Wang 2022 and of the mechanisms they compare with."""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.zhu_wang import (
    baselines,
    definitions,
    experiments,
    fixed,
    labelling,
    noisy_gaps,
    release,
    selection,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *definitions.CLAIMS,
    *selection.CLAIMS,
    *noisy_gaps.CLAIMS,
    *release.CLAIMS,
    *fixed.CLAIMS,
    *labelling.CLAIMS,
    *baselines.CLAIMS,
    *experiments.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *baselines.ERRATA,
    *experiments.ERRATA,
)
