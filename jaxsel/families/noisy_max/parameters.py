"""The domains of the parameters of noisy max, for its entries, factories, laws and claims."""

from typing import Annotated

from jaxsel.language.base import PRECISIONS, Relation
from jaxsel.language.domains import choice, moderate, number, positive, probability, whole
from jaxsel.language.relations import among

NOISES = ("gumbel", "laplace", "exponential", "gaussian")
METHODS = ("literal", "race")

AnyNoise = Annotated[
    str, choice(NOISES, "gumbel is the exponential mechanism, exponential is permute-and-flip")
]
Noise = Annotated[str, choice(("gaussian", "laplace"), "law of the noise")]
AnyScale = Annotated[float, positive("noise scale, in units of the sensitivity")]
# Its quotients, the scores, are floats.
Epsilon = Annotated[float, moderate("privacy parameter; sets the noise scale")]
Change = Annotated[Relation, among(Relation.GENERAL, Relation.MONOTONE, help="of the scores")]
Changes = Annotated[str, choice(("general", "monotone"), "how scores may change")]
Precision = Annotated[str, choice(PRECISIONS, "of the draws")]

AnyCandidates = Annotated[int, whole("m, of every maximum", at_least=1)]
AnySeveral = Annotated[int, whole("m, of every maximum", at_least=2)]
AnyLevel = Annotated[float, number("where the profile is taken", at_least=0.0)]
DeltaFromZero = Annotated[float, number("at which epsilon is taken", at_least=0.0, below=1.0)]
Event = Annotated[str, choice(("sum", "all"), "sum: tally wins of a group; all: every sequence")]

# Claims are checked in float64, whose range is smaller than that of the theorems.
Scale = Annotated[
    float,
    number(
        "standard deviation, or Laplace scale, over the sensitivity", at_least=1e-2, at_most=1e4
    ),
]
Candidates = Annotated[int, whole("m, of every maximum", at_least=1, at_most=10**12)]
Several = Annotated[int, whole("m, of every maximum", at_least=2, at_most=10**12)]
# float64 tells whole numbers apart up to here.
Winners = Annotated[int, whole("k, how many winners are released", at_least=1, at_most=1e15)]
# Each of hundreds of pairs is composed exactly.
FewWinners = Annotated[int, whole("k, how many winners are released", at_least=1, at_most=1e4)]
Level = Annotated[float, number("where the profile is taken", above=-200.0, below=200.0)]
LevelFromZero = Annotated[float, number("where the profile is taken", at_least=0.0, below=200.0)]
Delta = Annotated[float, probability("at which epsilon is taken")]
Order = Annotated[float, number("of the Renyi divergence", above=1.0)]
