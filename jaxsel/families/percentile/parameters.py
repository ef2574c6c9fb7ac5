"""The domains of the parameters of percentile sparse vectors and of better-than-median runs."""

import dataclasses
from typing import Annotated, Any

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, choice, number, positive, probability, whole

JUMPING = ("jump", "literal")
COUNTING = ("binomial", "literal")
RANKING = ("rank", "literal")
READINGS = ("corrected", "sharp")


@dataclasses.dataclass(frozen=True)
class OrWord(Domain):
    """The domain of the values of another domain and of a few words.

    Attributes:
      domain: the other domain.
      words: the words.
    """

    domain: Domain = dataclasses.field(kw_only=True)
    words: tuple[str, ...] = dataclasses.field(kw_only=True)

    def describe(self) -> str:
        """See ``Domain``."""
        return f"{', '.join(self.words)}, or {self.domain.describe()}"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``."""
        if isinstance(value, str) and value in self.words:
            return value
        try:
            return self.domain.read(name, value)
        except InputError:
            self.refuse(name, value)


JumpMethod = Annotated[str, choice(JUMPING)]
CountMethod = Annotated[str, choice(COUNTING)]
Reading = Annotated[str, choice(READINGS, "of Theorem 4.7")]

Target = Annotated[float, probability("p*, the wanted chance to reach the threshold")]
# Shares of these are not 0, and their inverses are floats.
Beta = Annotated[float, number("failure probability", at_least=1e-300, below=1.0)]
SmallBeta = Annotated[float, number("failure probability", at_least=1e-300, at_most=0.9)]
HalfBeta = Annotated[float, number("failure probability", at_least=1e-300, at_most=0.5)]
Delta = Annotated[float, number("delta of the answers", at_least=1e-300, below=1.0)]
Slack = Annotated[float, number("epsilon_0", at_least=1e-300, below=1.0)]
FullSlack = Annotated[float, number("epsilon_0", at_least=1e-300, at_most=1.0)]
# Up to here e^epsilon_1 is far from overflow.
BaseEpsilon = Annotated[float, number("epsilon_1 of one run of a base", above=0.0, at_most=100.0)]
FinalEpsilon = Annotated[float, positive("epsilon_3 of the answers")]
Queries = Annotated[int, whole("T, how many queries there are", at_least=2)]
Thresholds = Annotated[int, whole("R, how many thresholds there are", at_least=2)]
# The most thresholds that are simulated.
FewThresholds = Annotated[int, whole("R, how many thresholds", at_least=2, at_most=1000)]
Candidates = Annotated[int, whole("K, how many candidates; p* = 1/(2 K)", at_least=1)]
Samples = Annotated[int, whole("N", at_least=1, at_most=1e200)]
Shift = Annotated[float, positive("Delta, added to all counts")]
Offset = Annotated[float, number("Lambda, lowers the bar")]
Scale = Annotated[float, positive("of Laplace noise")]
Stop = Annotated[float, number("gamma", above=0.0, at_most=1.0)]
Draws = Annotated[int, whole("T, the largest number of draws", at_least=1)]

Epsilon = Annotated[float, positive("of the base")]
BaseDelta = Annotated[float, number("of the base", at_least=0.0, below=1.0)]
# Far below the largest one p is 1 to float64.
Alpha = Annotated[
    float, number("exponent of the law of p, P[p <= x] = x^alpha", above=0.0, at_most=1e9)
]
Rounds = Annotated[int, whole("T, the most runs there may be", at_least=1)]

Count = Annotated[int, whole("how many runs, N", at_least=1)]
# The most runs that are simulated.
FewRuns = Annotated[int, whole("how many runs, N", at_least=1, at_most=1e6)]
Rank = Annotated[
    int | str,
    OrWord(
        "which run is released; 1 is the best", domain=whole(at_least=1), words=("median", "random")
    ),
]
Lead = Annotated[float, probability("e, the two models having probability (1 +- e)/2")]
