"""The domains of private amplification's parameters, for its entry, sampler, laws and claims."""

import math
from typing import Annotated

from jaxsel.language.domains import number, whole

METHODS = ("counts", "literal")

Candidates = Annotated[int, whole("how many candidates, N", at_least=1, at_most=1e6)]
Threshold = Annotated[float, number("the largest score that counts")]
ScoreEpsilon = Annotated[
    float, number("parameter of the exponential mechanism", above=0.0, at_most=math.inf)
]
# The number of dummies is a float.
Gamma = Annotated[float, number("inverse number of dummies", at_least=1e-300, below=0.25)]
