"""Sparse vectors over the chances of base algorithms (Liu & Talwar 2019, Section 4)."""

from jaxsel.mechanisms.percentile.above_threshold import (
    Halt,
    percentile_above_threshold,
)
from jaxsel.mechanisms.percentile.binomial import SplitCount, binomial
from jaxsel.mechanisms.percentile.extended import extended_above_threshold
from jaxsel.mechanisms.percentile.find_threshold import find_percentile_threshold
from jaxsel.mechanisms.percentile.pipeline import (
    Released,
    percentile_pipeline,
    pipeline_params,
)

__all__ = [
    "Halt",
    "Released",
    "SplitCount",
    "binomial",
    "extended_above_threshold",
    "find_percentile_threshold",
    "percentile_above_threshold",
    "percentile_pipeline",
    "pipeline_params",
]
