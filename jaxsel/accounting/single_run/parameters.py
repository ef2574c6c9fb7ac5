"""What the parameters of guarantees, conversions and pairs of laws may be."""

from typing import Annotated

from jaxsel.language.domains import number, positive, probability, whole

LEAST_DELTA = 1e-290
"""The least delta of ``epsilon_at``: below it a profile may have underflowed to 0."""

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
# From 1e16 on two Gaussians that far apart are one law in float64, and would prove what is false.
GaussianNoise = Annotated[
    float, number("standard deviation over sensitivity", at_least=1e-100, at_most=1e12)
]
Mu = Annotated[float, number("sensitivity over standard deviation", at_least=1e-12, at_most=1e100)]
# Squares and their inverses are normal float64 numbers.
Scale = Annotated[float, number("over sensitivity", at_least=1e-100, at_most=1e100)]
# dp-accounting's formulas overflow below; above, from 1e7 on, a loss is 0 to float64's rounding,
# and a run would be said to be (0, 1e-14)-differentially private.
TrainingNoise = Annotated[
    float, number("standard deviation over clipping norm", at_least=1e-3, at_most=1e6)
]
