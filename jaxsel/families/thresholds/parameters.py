"""What the parameters of selection against a threshold may be: entries, factories, laws, claims."""

from typing import Annotated

from jaxsel.language.domains import choice, number, probability, whole

METHODS = ("jump", "literal")

Method = Annotated[str, choice(METHODS)]
Threshold = Annotated[float, number("least acceptable score")]
Epsilon = Annotated[float, number("of the base", at_least=0.0)]
# e^(2 epsilon) is a number up to here.
SmallEpsilon = Annotated[float, number("of the base", at_least=0.0, at_most=300.0)]
Delta = Annotated[float, number("d, of the base", at_least=0.0, below=1.0)]
# The number of draws, about log(1/epsilon_0)/gamma, is a float.
Gamma = Annotated[float, number("stopping probability", at_least=1e-300, at_most=1.0)]
GammaOrZero = Annotated[float, number("stopping probability", at_least=0.0, at_most=1.0)]
Slack = Annotated[float, number("epsilon_0", at_least=0.0, at_most=1.0)]
PositiveSlack = Annotated[
    float, number("epsilon_0; sets the last draw T", at_least=1e-300, at_most=1.0)
]
Success = Annotated[float, number("p_1 = P[score >= threshold]", above=0.0, at_most=1.0)]
SuccessOrZero = Annotated[float, number("P[score >= threshold]", at_least=0.0, at_most=1.0)]
Accepted = Annotated[int, whole("how many outcomes reach the threshold", at_least=1)]
Draws = Annotated[int, whole("T, the largest number of draws", at_least=1)]
DrawsOrNone = Annotated[int | None, whole("T, the largest number of draws", at_least=1)]

Levels = Annotated[int, whole("R, how often the threshold is lowered", at_least=0)]
# As many as are simulated.
FewLevels = Annotated[
    int, whole("R, how often the threshold is lowered, from 1 to 0", at_least=0, at_most=10_000)
]
Lowering = Annotated[
    float, number("chance to lower the threshold after a failure", at_least=0.0, at_most=1.0)
]

# The distance, about log(K)/epsilon, is a float.
MechanismEpsilon = Annotated[float, number("of each mechanism", at_least=1e-300)]
# Also beyond whole numbers: the bound is about large ones.
Candidates = Annotated[float, number("K", at_least=2.0, at_most=1e150)]
Alpha = Annotated[float, probability("a dominant one is found with chance K^-alpha")]
