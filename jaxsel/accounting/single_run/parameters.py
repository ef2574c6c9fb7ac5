"""What the parameters of guarantees, conversions and pairs of laws may be."""

from typing import Annotated

from jaxsel.language.domains import moderate, number, positive, probability, whole

LEAST_DELTA = 1e-290
"""The least delta of ``epsilon_at``: below it a profile may have underflowed to 0."""
MOST_STEPS = 2**20
"""Of DP-SGD: more take minutes, and a finer interval of losses."""
MOST_NOISE = 1e12
"""Of a Gaussian: from 1e16 on two that far apart are one law in float64, which would prove what is
false."""
MOST_TRAINING_NOISE = 1e6
"""Of DP-SGD: from 1e7 on a loss is 0 to float64's rounding, and a run would be said to be
(0, 1e-14)-differentially private."""

Epsilon = Annotated[float, positive("of (epsilon, delta)")]
EpsilonFromZero = Annotated[float, number("of (epsilon, delta)", at_least=0.0)]
Delta = Annotated[float, probability("of (epsilon, delta)")]
DeltaFromZero = Annotated[float, number("of (epsilon, delta)", at_least=0.0, below=1.0)]
Rho = Annotated[float, number("of zero-concentrated privacy", at_least=0.0)]
Count = Annotated[int, whole("how many releases", at_least=1)]
# Of DP-SGD, which is also described by other settings.
Steps = Annotated[int | None, whole("of training", at_least=1)]
SamplingProbability = Annotated[
    float | None, number("of a record, each step", above=0.0, at_most=1.0)
]

AnyNoise = Annotated[float, positive("standard deviation over sensitivity")]
GaussianNoise = Annotated[
    float, number("standard deviation over sensitivity", at_least=1e-100, at_most=MOST_NOISE)
]
Mu = Annotated[float, number("sensitivity over standard deviation", at_least=1e-12, at_most=1e100)]
# Squares and their inverses are normal float64 numbers.
Scale = Annotated[float, moderate("over sensitivity")]
# dp-accounting's formulas overflow below.
TrainingNoise = Annotated[
    float,
    number("standard deviation over clipping norm", at_least=1e-3, at_most=MOST_TRAINING_NOISE),
]
