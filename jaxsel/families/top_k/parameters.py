"""What the parameters of private top-k sets may be, for entries, factories, laws and claims."""

from typing import Annotated

from jaxsel.language.base import Relation
from jaxsel.language.domains import Number, choice, moderate, number, probability, whole
from jaxsel.language.relations import among

MAX_COUNT = 1e15  # float64 distinguishes votes up to here

_NOISES = ("gumbel", "gaussian", "laplace", "exponential")
BEYOND = ("keep", "drop", "fewer")
GAP_METHODS = ("grouped", "literal")
FIXED_METHODS = ("literal", "arrivals")
PICK_METHODS = ("one_shot", "peeling", "arrivals")


def scale(help: str) -> Number:
    """The domain of noise scales in votes, or of their inverses, where floats are accurate."""
    return number(help, at_least=1e-12, at_most=1e12)


def check_noise_scale(found: float) -> float:
    """Returns a computed noise scale; raises InputError if ``scale`` does not allow it."""
    return scale("").read("the noise scale", found)


def chance(help: str) -> Number:
    """The domain of probabilities whose products of two do not underflow."""
    return number(help, above=1e-150, below=1.0)


def size(help: str) -> Number:
    """The domain of positive numbers whose squares and quotients are finite and not 0."""
    return number(help, at_least=1e-15, at_most=1e15)


# --- How a mechanism runs -------------------------------------------------------------

Events = Annotated[str, choice(("hits", "sets"), "what is tallied; sets of at most 12 candidates")]
Precision = Annotated[str, choice(("tail", "float64"), "of the draws")]
Selection = Annotated[str, choice(_NOISES, "noise that selects the size")]
Test = Annotated[
    str, choice(("gaussian", "laplace"), "noise of the test: gaussian in Algorithm 4, laplace in 5")
]
Threshold = Annotated[str, choice(("printed", "quantile"), "of the test; the quantile is smaller")]
Beyond = Annotated[str, choice(BEYOND, "what a larger set that passes is for")]
Changes = Annotated[str, choice(("monotone", "general"), "how counts may change")]
Constants = Annotated[str, choice(("corrected", "printed"), "printed has too little noise")]
GapMethod = Annotated[str, choice(GAP_METHODS)]
FixedMethod = Annotated[str, choice(FIXED_METHODS)]
PickMethod = Annotated[str, choice(PICK_METHODS)]
Padding = Annotated[int | None, whole("for cells of a grid", at_least=1, at_most=1e9)]

# --- What a theorem allows ------------------------------------------------------------

_COMPETING = whole("how many counts compete (default k)", at_least=1)

K = Annotated[int, whole("size of the set", at_least=1, at_most=1e9)]
MaxSize = Annotated[int | None, whole("largest size that may be selected", at_least=1)]
DomainSize = Annotated[int, _COMPETING]
OptionalDomainSize = Annotated[int | None, _COMPETING]
Candidates = Annotated[int, whole("m, how many compete", at_least=2)]
# Products, squares and inverses of these are floats.
Picks = Annotated[int, whole("how many are picked", at_least=1, at_most=1e15)]
Times = Annotated[int, whole("how many releases", at_least=1, at_most=1e15)]
AnyEpsilon = Annotated[float, moderate("privacy parameter")]
AnyRho = Annotated[float, number("zCDP parameter", at_least=1e-200, at_most=1e200)]
AnyDelta = Annotated[float, number("of the whole", at_least=1e-280, below=1.0)]
AnyScale = Annotated[float, moderate("noise scale, in votes")]
DeltaT = Annotated[float, probability("failure probability of the test")]
Failure = Annotated[float, probability("chance that the test does not pass")]
Restriction = Annotated[float, probability("of the restriction to the largest counts")]
Slack = Annotated[float, probability("delta spent on composing")]
Weight = Annotated[float, number("lambda of the regulariser -lambda |j - k|", at_least=0.0)]
Order = Annotated[float, number("order of the Renyi divergence", above=1.0)]
Change = Annotated[
    Relation, among(Relation.MONOTONE, Relation.GENERAL, help="how counts may change")
]

# --- Where float arithmetic is accurate -----------------------------------------------

NoiseScale = Annotated[float, scale("standard deviation, or Laplace scale")]
VotesThreshold = Annotated[float, number("in votes", above=-MAX_COUNT, below=MAX_COUNT)]
Epsilon = Annotated[float, size("privacy parameter")]
Rho = Annotated[float, size("zCDP parameter of the whole")]
Delta = Annotated[float, chance("of the whole, less the failures of tests")]
FailureOfTest = Annotated[float, chance("failure probability of the test")]
Deviation = Annotated[float, size("standard deviation of the noise")]
Beta = Annotated[float, chance("chance of failure")]
EpsilonOfAll = Annotated[float, scale("of the whole release")]
DeltaOfAll = Annotated[float, chance("of the whole release")]
