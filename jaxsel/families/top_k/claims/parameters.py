"""Parameters that claims on private top-k sets share."""

from typing import Annotated

from jaxsel.families.top_k.limits import LEAST_PROBABILITY
from jaxsel.language.domains import Number, number, whole


def size(help: str) -> Number:
    """Positive numbers whose squares and quotients are numbers, too."""
    return number(help, at_least=1e-15, at_most=1e15)


def chance(help: str) -> Number:
    """Probabilities that do not vanish in products."""
    return number(help, above=LEAST_PROBABILITY, below=1.0)


Order = Annotated[float, number("order of the Renyi divergence", above=1.0)]
Epsilon = Annotated[float, size("privacy parameter")]
Rho = Annotated[float, size("zCDP parameter of the whole")]
Delta = Annotated[float, chance("of the whole, less the failures of tests")]
FailureOfTest = Annotated[float, chance("failure probability of the test")]
Beta = Annotated[float, chance("chance of failure")]
Deviation = Annotated[float, size("standard deviation of the noise")]
Candidates = Annotated[int, whole("m, how many compete", at_least=2)]
Picks = Annotated[int, whole("how many are picked", at_least=1)]
