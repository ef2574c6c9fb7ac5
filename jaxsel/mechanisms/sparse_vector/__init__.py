"""Sparse vectors: AboveThreshold, Sparse, and the six variants of Lyu, Su & Li 2017."""

from jaxsel.mechanisms.sparse_vector.above_threshold import Halt, above_threshold
from jaxsel.mechanisms.sparse_vector.sparse import Answers, sparse, sparse_vector
from jaxsel.mechanisms.sparse_vector.variants import (
    chen,
    dwork_roth,
    lee_clifton,
    lyu_su_li,
    roth,
    stoddard,
)

__all__ = [
    "Answers",
    "Halt",
    "above_threshold",
    "chen",
    "dwork_roth",
    "lee_clifton",
    "lyu_su_li",
    "roth",
    "sparse",
    "sparse_vector",
    "stoddard",
]
