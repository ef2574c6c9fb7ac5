"""What the parameters of bounds on tuning may be, for the bounds and for claims about them.

Those of the law of K are in ``jaxsel.repetitions.parameters``.
"""

import math
from typing import Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.parameters import MOST_NOISE, MOST_STEPS, MOST_TRAINING_NOISE
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, numbers, parsed, positive, probability, whole

# The base, or one run of it.
Epsilon = Annotated[float, number("epsilon of one run", at_least=0.0)]
PositiveEpsilon = Annotated[float, positive("epsilon of one run")]
# e^(3 epsilon) is a float.
ModerateEpsilon = Annotated[float, number("pure epsilon of one run", above=0.0, at_most=200.0)]
Delta = Annotated[float, number("chance that one run fails", at_least=0.0, below=1.0)]
Rho = Annotated[float, positive("zCDP parameter of one run")]
Response = Annotated[float, positive("epsilon of randomised response")]
# A smaller one is 0 to the tables of privacy losses.
SamplingProbability = Annotated[
    float, number("of each record in each step of DP-SGD", at_least=1e-12, at_most=1.0)
]
NoiseMultiplier = Annotated[
    float,
    number(
        "standard deviation of the noise over the sensitivity", at_least=1e-100, at_most=MOST_NOISE
    ),
]
# Of DP-SGD: below, the grids of its integrals are too fine.
TrainingNoise = Annotated[
    float,
    number(
        "standard deviation of the noise over clipping", at_least=0.05, at_most=MOST_TRAINING_NOISE
    ),
]
Steps = Annotated[int, whole("of DP-SGD", at_least=1, at_most=MOST_STEPS)]

# What is proved of the search, or of all that is released.
TunedEpsilon = Annotated[float, number("where delta is taken", at_least=0.0)]
TunedDelta = Annotated[float, number("where epsilon is taken", at_least=0.0, below=1.0)]
ProperDelta = Annotated[float, probability("where epsilon is taken")]

Order = Annotated[float, number("of the Renyi divergence", above=1.0)]
OrderOrInfinity = Annotated[float, number("of the Renyi divergence", above=1.0, at_most=math.inf)]

# Any two laws of one run, in place of the one that a claim takes by default.
FirstLaw = Annotated[
    np.ndarray | None, numbers("law of one run, best outcome first", at_least=0.0, at_most=1.0)
]
SecondLaw = Annotated[np.ndarray | None, numbers("its neighbour's", at_least=0.0, at_most=1.0)]
AnyBase = Annotated[
    Any, parsed(parse_base, "a base such as gaussian:noise_multiplier=4", "any other one run")
]

# The number of runs, K.
Mean = Annotated[float, number("E[K]", above=1.0)]
# E[K] is a float for every gamma.
ModerateEta = Annotated[
    float, number("shape; 1 is geometric, 0 logarithmic", above=-1.0, at_most=1e6)
]
Law = Annotated[Any, parsed(laws.parse, 'a law of K such as "poisson:mean=10"', "law of K")]
ProperChance = Annotated[float, probability("that each of the runs happens")]
# Of random stopping, with which one run is made, too.
# The number of draws is a float.
Stop = Annotated[float, number("stopping probability", at_least=1e-300, at_most=1.0)]
StopDelta = Annotated[float, number("d_2: T = ceil(log(1/d_2)/gamma)", at_least=1e-300, below=1.0)]
Share = Annotated[float, number("p, the best share", above=0.0, at_most=1.0)]
Slack = Annotated[float, number("epsilon_0", at_least=1e-300, below=0.5)]
MostDraws = Annotated[int, whole("T, the most draws", at_least=1)]

# Conditional sampling.
InverseQ = Annotated[float, number("1/q", at_least=0.0, at_most=1.0)]
InverseR = Annotated[float, number("1/r; at most 1 together with 1/q", at_least=0.0, at_most=1.0)]
Exponent = Annotated[float, number("r", at_least=1.0, at_most=math.inf)]
TightRho = Annotated[
    float, number("of both, rho order; 0.1 in the figure", at_least=1e-100, at_most=1.0)
]
TightShare = Annotated[
    float, number("a of the pair, not stated in the paper", above=0.0, at_most=0.25)
]


def check_some_run(repetitions: laws.Repetitions) -> None:
    """Raises InputError for a law of K under which nothing is ever run."""
    if not repetitions.mean > 0.0:
        raise InputError("K is always 0: nothing is ever run, and there is no best run")


def check_finite_mean(repetitions: laws.Repetitions) -> None:
    """As ``check_some_run``, and for a law whose mean is infinite."""
    check_some_run(repetitions)
    if math.isinf(repetitions.mean):
        raise InputError("E[K] is infinite; the bound needs a finite mean")


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
