"""Sparse vectors: exact laws, proven bounds, exact privacy of pairs, six variants."""

from jaxsel.accounting.sparse_vector.bounds import (
    above_threshold_accuracy,
    above_threshold_noise,
    exponential_accuracy,
    good_share,
    lyu_su_li_noise,
    sparse_accuracy,
    sparse_noise,
    sparse_vector_epsilon,
)
from jaxsel.accounting.sparse_vector.patterns import (
    NOT_ANSWERED,
    SparseNoise,
    check_noise,
    count_patterns,
    pattern_law,
    pattern_log_probability,
    patterns,
)
from jaxsel.accounting.sparse_vector.profiles import (
    Outcomes,
    outcomes,
    pair_delta,
    pair_epsilon,
    worst_pair,
)
from jaxsel.accounting.sparse_vector.stopping import right_probability, stopping_law
from jaxsel.accounting.sparse_vector.variants import VARIANTS, Variant

__all__ = [
    "NOT_ANSWERED",
    "VARIANTS",
    "Outcomes",
    "SparseNoise",
    "Variant",
    "above_threshold_accuracy",
    "above_threshold_noise",
    "check_noise",
    "count_patterns",
    "exponential_accuracy",
    "good_share",
    "lyu_su_li_noise",
    "outcomes",
    "pair_delta",
    "pair_epsilon",
    "pattern_law",
    "pattern_log_probability",
    "patterns",
    "right_probability",
    "sparse_accuracy",
    "sparse_noise",
    "sparse_vector_epsilon",
    "stopping_law",
    "worst_pair",
]
