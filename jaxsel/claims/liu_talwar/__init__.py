"""Liu & Talwar 2019, "Private Selection from Private Candidates", in its order.

Statements that are false as printed, and their corrections, are mostly in
``jaxsel.claims.liu_talwar_errata``.
"""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.liu_talwar import (
    amplification,
    best_of_all,
    exponential_mechanism,
    generalised_exponential,
    hard_stop,
    hard_stop_sharp,
    margin,
    negative_examples,
    packing,
    percentile,
    percentile_concentration,
    percentile_estimates,
    percentile_online,
    percentile_pipeline,
    percentile_pipeline_privacy,
    smooth_sensitivity,
    stopping,
    threshold,
    validation,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *threshold.CLAIMS,
    *stopping.CLAIMS,
    *hard_stop.CLAIMS,
    *hard_stop_sharp.CLAIMS,
    *best_of_all.CLAIMS,
    *negative_examples.CLAIMS,
    *percentile.CLAIMS,
    *percentile_estimates.CLAIMS,
    *percentile_concentration.CLAIMS,
    *percentile_pipeline.CLAIMS,
    *percentile_pipeline_privacy.CLAIMS,
    *percentile_online.CLAIMS,
    *validation.CLAIMS,
    *exponential_mechanism.CLAIMS,
    *generalised_exponential.CLAIMS,
    *margin.CLAIMS,
    *smooth_sensitivity.CLAIMS,
    *amplification.CLAIMS,
    *packing.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *stopping.ERRATA,
    *hard_stop.ERRATA,
    *best_of_all.ERRATA,
    *percentile_pipeline.ERRATA,
)
