"""What the parameters of the sparse vectors may be, for entries, factories, laws and claims."""

from typing import Annotated

from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, moderate, number, positive, whole
from jaxsel.language.relations import among

METHODS = ("literal", "jump")

Method = Annotated[str, choice(METHODS)]
Event = Annotated[str, choice(("pattern", "stop"), "what is tallied")]
Change = Annotated[Relation, among(Relation.GENERAL, Relation.MONOTONE, help="of the answers")]
Changes = Annotated[str, choice(("general", "monotone"), "neighbours that epsilon is for")]
# Quotients of these are floats.
Epsilon = Annotated[float, moderate("privacy parameter that sets the noise scales")]
Delta = Annotated[
    float, number("of (epsilon, delta)-DP, by advanced composition", at_least=0.0, below=1.0)
]
Share = Annotated[float, number("x, of epsilon for the threshold", at_least=1e-100, below=1.0)]
Cutoff = Annotated[
    int, whole('c, how many "above" are answered before it stops', at_least=1, at_most=1e15)
]
Threshold = Annotated[float, number("what answers are compared with")]
ThresholdScale = Annotated[float, positive("of the threshold's Laplace noise")]
QueryScale = Annotated[float, number("of the queries' Laplace noise; 0: none", at_least=0.0)]
Tolerance = Annotated[float, number("alpha, by how much answers may be wrong", at_least=0.0)]
Rising = Annotated[int, whole('m, how many queries are answered "below"', at_least=0, at_most=1e15)]
