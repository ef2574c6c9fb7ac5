"""Dwork & Roth 2014, Theorem 3.23: the privacy of AboveThreshold.

For monotone neighbours as Lyu, Su & Li 2017, Section 4.3; and that neither can be lowered.
"""

import numpy as np

from jaxsel.families.sparse_vector.bounds import above_threshold_noise
from jaxsel.families.sparse_vector.claims.cases import (
    Drawn,
    drawn_on_monotone,
    on_monotone,
    pair_cases,
    some_epsilon,
    stated,
    tight_cases,
)
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Relation
from jaxsel.language.checking import Point
from jaxsel.language.papers import DR, JX, LSL


def _drawn(relation: Relation) -> Drawn:
    def draw(generator: np.random.Generator) -> tuple[Point, SparseNoise, str]:
        epsilon = some_epsilon(generator)
        return {"epsilon": epsilon}, above_threshold_noise(epsilon, relation), ""

    return draw


general = DR.privacy(
    "SVT-AboveThreshold",
    "Theorem 3.23",
    Relation.GENERAL,
    statement=(
        "AboveThreshold with Lap(2/epsilon) on the threshold and Lap(4/epsilon) on each query is "
        "epsilon-DP."
    ),
)(stated)
general.bounds()(pair_cases(_drawn(Relation.GENERAL), Relation.GENERAL))
monotone = LSL.privacy(
    "SVT-AboveThreshold-monotone",
    "Section 4.3, with c = 1",
    Relation.MONOTONE,
    statement=(
        "For monotone neighbours, AboveThreshold with Lap(2/epsilon) on the threshold and "
        "Lap(s/epsilon) on each query is (1/2 + 1/s) epsilon-DP: 3/4 epsilon with s = 4, epsilon "
        "with s = 2."
    ),
)(on_monotone)
monotone.bounds()(pair_cases(drawn_on_monotone(_drawn), Relation.MONOTONE))
tight = JX.privacy(
    "SVT-AboveThreshold-tight",
    "for Dwork & Roth 2014, Theorem 3.23",
    Relation.GENERAL,
    statement="AboveThreshold loses its epsilon, to within 1/1000, on (0^1000, 1) against "
    "(1^1000, 0).",
)(stated)
tight.bounds_below()(tight_cases(_drawn(Relation.GENERAL), Relation.GENERAL))
