"""What the parameters of selection by scores may be: entries, factories, laws and claims."""

from typing import Annotated

from jaxsel.language.domains import choice, moderate, number, probability, whole

METHODS = ("jump", "rank", "count", "literal")

Method = Annotated[str, choice(METHODS)]
# Products and quotients of these are floats.
Candidates = Annotated[int, whole("K", at_least=1, at_most=1e15)]
Epsilon = Annotated[float, moderate("of the whole selection")]
Delta = Annotated[float, number("of the whole selection", at_least=1e-290, below=1.0)]
Beta = Annotated[
    float,
    number(
        "allowed failure probability; sets the stopping probability", at_least=1e-290, below=1.0
    ),
]
Sensitivity = Annotated[float, moderate("how much a score may change")]
# For A_dist, whose thresholds log(1/(2 delta)) and log(1/(2 beta)) are not below 0.
SmallDelta = Annotated[float, number("of the whole selection", at_least=1e-150, at_most=0.5)]
SmallBeta = Annotated[float, number("allowed failure probability", at_least=1e-150, at_most=0.5)]
High = Annotated[float, moderate("largest value in a list; the least is 0")]
Smoothness = Annotated[float, moderate("eta")]
ScoreEpsilon = Annotated[float, moderate("of one noisy score, for the validation set")]
Gamma = Annotated[float, probability("of stopping after a run")]
RunEpsilon = Annotated[float, moderate("epsilon_1 of one run")]
Sizes = Annotated[int, whole("K, how many sizes", at_least=1, at_most=1e15)]
Iterations = Annotated[int, whole("of Lloyd's algorithm", at_least=1, at_most=100)]
