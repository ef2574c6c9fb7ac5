"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, "Generalized Private Selection and Testing".

Statements that are false as printed, and their corrections, are mostly in
``jaxsel.claims.cohen_errata``. The sparse vectors that the paper builds on are here, too.
"""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.cohen import (
    better_than_median,
    choosing,
    coin_game,
    confident_top_k,
    interleaved,
    multiplicative_weights,
    one_selection,
    query_release,
    repetitive_sparse_vector,
    sample_complexity,
    selections,
    sparse_vector,
    sparse_vector_variants,
    stable_selection,
    tests,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *one_selection.CLAIMS,
    *selections.CLAIMS,
    *tests.CLAIMS,
    *interleaved.CLAIMS,
    *coin_game.CLAIMS,
    *better_than_median.CLAIMS,
    *query_release.CLAIMS,
    *confident_top_k.CLAIMS,
    *choosing.CLAIMS,
    *stable_selection.CLAIMS,
    *repetitive_sparse_vector.CLAIMS,
    *sparse_vector.CLAIMS,
    *sparse_vector_variants.CLAIMS,
    *multiplicative_weights.CLAIMS,
    *sample_complexity.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *stable_selection.ERRATA,
    *sample_complexity.ERRATA,
)
