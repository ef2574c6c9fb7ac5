"""What the parameters of private ridge regression may be: entries, mechanisms, laws and claims."""

import math
from typing import Annotated

from scipy import special

from jaxsel.language.domains import moderate, number, probability, whole

LEAST_TAIL = math.sqrt(2.0)  # of posterior_epsilon: delta at most 0.157
LARGEST_RUN_DELTA = 0.1

# Squares and quotients of these are floats.
Records = Annotated[int, whole("public bound on the number of records", at_least=1, at_most=1e15)]
Regularisation = Annotated[float, moderate("lambda")]
Eigenvalue = Annotated[float, number("the least of X'X", at_least=0.0)]
Epsilon = Annotated[float, moderate("of the whole")]
Delta = Annotated[float, probability("of the whole")]
# One posterior sample is private at these; a run behind a test, and the best of many runs, can
# be calibrated to the others.
TailDelta = Annotated[
    float, number("of the whole", above=0.0, at_most=2.0 * special.ndtr(-LEAST_TAIL))
]
RunDelta = Annotated[float, number("of the whole", above=0.0, at_most=LARGEST_RUN_DELTA)]
RunEpsilon = Annotated[float, number("of a run", at_least=1e-6, below=1e4)]
TunedEpsilon = Annotated[float, number("of the best of many runs", at_least=1e-4, below=1e3)]
Failure = Annotated[
    float, number("largest probability that other data pass", at_least=0.0, at_most=1.0)
]
