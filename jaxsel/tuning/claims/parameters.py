"""Parameters that several claims about tuning take."""

import math
from typing import Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, numbers, parsed, positive, probability, whole

# The base, or one run of it.
Epsilon = Annotated[float, number("pure epsilon of one run", at_least=0.0)]
PositiveEpsilon = Annotated[float, positive("pure epsilon of one run")]
# e^(3 epsilon) is a float.
ModerateEpsilon = Annotated[float, number("pure epsilon of one run", above=0.0, at_most=200.0)]
Delta = Annotated[float, number("chance that one run fails", at_least=0.0, below=1.0)]
Rho = Annotated[float, positive("zCDP parameter of one run")]
Response = Annotated[float, positive("epsilon of randomised response")]

Order = Annotated[float, number("of the Renyi divergence", above=1.0)]
OrderOrInfinity = Annotated[float, number("of the Renyi divergence", above=1.0, at_most=math.inf)]

# Any two laws of one run, in place of the one that a claim takes by default.
FirstLaw = Annotated[np.ndarray | None, numbers("law of one run, best outcome first", at_least=0.0)]
SecondLaw = Annotated[np.ndarray | None, numbers("its neighbour's", at_least=0.0)]
AnyBase = Annotated[
    Any, parsed(parse_base, "a base such as gaussian:noise_multiplier=4", "any other one run")
]

# The number of runs, K.
Count = Annotated[int, whole("how many runs", at_least=1)]
Eta = Annotated[float, number("shape of K: 1 geometric, 0 logarithmic", above=-1.0, at_most=1e6)]
Gamma = Annotated[float, probability("of the law of K")]
Mean = Annotated[float, number("E[K]", above=1.0)]
PoissonMean = Annotated[float, positive("E[K]")]
Law = Annotated[Any, parsed(laws.parse, 'a law of K such as "poisson:mean=10"', "law of K")]
# Of random stopping.
Stop = Annotated[float, number("stopping probability", above=0.0, at_most=1.0)]


def both(
    first: np.ndarray | None, second: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """The two laws; None where neither is given.

    Raises:
      InputError: if only one of them is given.
    """
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise InputError("the two laws of one run belong together; give both, or neither")
    return first, second
