"""Generalisations of the exponential mechanism, and the classical ones beside them."""

from jaxsel.mechanisms.generalised.candidates import noised_candidates
from jaxsel.mechanisms.generalised.classical import (
    generalised_exponential_mechanism,
    margin_mechanism,
)
from jaxsel.mechanisms.generalised.selections import (
    selection_exponential,
    selection_generalised_exponential,
    selection_margin,
    selection_smooth_sensitivity,
    validation_selection,
)
from jaxsel.mechanisms.generalised.stopping import candidate_stopping

__all__ = [
    "candidate_stopping",
    "generalised_exponential_mechanism",
    "margin_mechanism",
    "noised_candidates",
    "selection_exponential",
    "selection_generalised_exponential",
    "selection_margin",
    "selection_smooth_sensitivity",
    "validation_selection",
]
