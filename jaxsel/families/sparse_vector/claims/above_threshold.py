"""Dwork & Roth 2014, Theorem 3.23: the privacy of AboveThreshold.

Its privacy for monotone neighbours is from Lyu, Su & Li 2017, Section 4.3. That both are attained
is shown by this project.
"""

from jaxsel.families.sparse_vector.bounds import above_threshold_noise
from jaxsel.families.sparse_vector.claims import cases
from jaxsel.language.base import Relation
from jaxsel.language.papers import DR, LSL


def drawn(generator, relation):
    epsilon = cases.some_epsilon(generator)
    return {"epsilon": epsilon}, above_threshold_noise(epsilon, relation), ""


@cases.on_long_pairs(drawn, "(0^1000, 1) against (1^1000, 0)")
@cases.on_pairs(drawn)
@DR.privacy("SVT-AboveThreshold", "Theorem 3.23", Relation.GENERAL, formula=cases.stated)
def general():
    """AboveThreshold with Lap(2/epsilon) on the threshold and Lap(4/epsilon) on each query is
    epsilon-DP."""


@cases.on_pairs(cases.drawn_on_monotone(drawn))
@LSL.privacy(
    "SVT-AboveThreshold-monotone",
    "Section 4.3, with c = 1",
    Relation.MONOTONE,
    formula=cases.on_monotone,
)
def monotone():
    """For monotone neighbours, AboveThreshold with Lap(2/epsilon) on the threshold and
    Lap(s/epsilon) on each query is (1/2 + 1/s) epsilon-DP: 3/4 epsilon with s = 4, epsilon with s =
    2."""
