"""What the parameters of selection by scores may be: entries, factories, laws and claims."""

from typing import Annotated

from jaxsel.language.domains import choice, number, positive, probability, whole

METHODS = ("jump", "rank", "count", "literal")

Method = Annotated[str, choice(METHODS)]
Candidates = Annotated[int, whole("K", at_least=1)]
Epsilon = Annotated[float, positive("of the whole selection")]
Delta = Annotated[float, probability("of the whole selection")]
Beta = Annotated[float, probability("allowed failure probability; sets the stopping probability")]
Sensitivity = Annotated[float, positive("how much a score may change")]
# For A_dist, whose thresholds log(1/(2 delta)) and log(1/(2 beta)) are not below 0.
SmallDelta = Annotated[float, number("of the whole selection", above=0.0, at_most=0.5)]
SmallBeta = Annotated[float, number("allowed failure probability", above=0.0, at_most=0.5)]
High = Annotated[float, positive("largest value in a list; the least is 0")]
Smoothness = Annotated[float, positive("eta")]
ScoreEpsilon = Annotated[float, positive("of one noisy score, for the validation set")]
Gamma = Annotated[float, probability("of stopping after a run")]
RunEpsilon = Annotated[float, positive("epsilon_1 of one run")]
Sizes = Annotated[int, whole("K, how many sizes", at_least=1)]
Iterations = Annotated[int, whole("of Lloyd's algorithm", at_least=1, at_most=100)]
