"""The domains of the parameters of the choosing mechanism and of stable selection."""

from typing import Annotated

from jaxsel.language.domains import number, whole

METHODS = ("grouped", "literal")
_LEAST = 1e-150  # the product beta delta must not underflow in float64

Epsilon = Annotated[float, number("of the whole release", at_least=1e-12, at_most=1.0)]
Delta = Annotated[float, number("of the whole release; sets the noise", above=_LEAST, below=1.0)]
Beta = Annotated[
    float, number("chance of failure; sets the noise and tau", above=_LEAST, below=1.0)
]
Bound = Annotated[int, whole("k, by which all scores together may move", at_least=1)]
Rank = Annotated[int, whole("k, how many scores count", at_least=1)]
Shares = Annotated[int, whole("noise of rate epsilon/shares; 3 is the paper's", at_least=1)]
