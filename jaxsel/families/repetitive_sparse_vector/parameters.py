"""What the parameters of the repetitive sparse vector may be: entry, factory, laws and claims."""

import math
from typing import Annotated

from jaxsel.language.domains import choice, moderate, number, positive, probability, whole

METHODS = ("literal", "jump")

Method = Annotated[str, choice(METHODS)]
Event = Annotated[
    str,
    choice(("pattern", "tops"), "tallied: all answers of at most 10 queries, or how many are top"),
]
Gamma = Annotated[
    float, number("exponent of the law of p; inf: p = 1", above=0.0, at_most=math.inf)
]
Repetitions = Annotated[int, whole("tau, Tests in a batch", at_least=1)]
QueryEpsilon = Annotated[float, positive("epsilon', of one Test")]
Failures = Annotated[int, whole("k', failed batches until it halts", at_least=1)]
Margin = Annotated[
    float, number("d: top may be answered from t - d on", above=0.0, at_most=math.inf)
]
Wanted = Annotated[int, whole("k, answers top to be found", at_least=1)]
# float64 tells whole numbers apart up to here.
AnyQueries = Annotated[int, whole("m, how many queries", at_least=1, at_most=1e15)]
Queries = Annotated[int, whole("m, how many queries", at_least=10, at_most=1e15)]
LargestOrNone = Annotated[int | None, whole("a number of answers top", at_least=0)]
Beta = Annotated[float, probability("chance of failure")]
# Quotients of it, the margins, are floats.
Epsilon = Annotated[float, moderate("that the settings are made for")]
Delta = Annotated[float, probability("of the whole")]
DeltaOrZero = Annotated[float, number("of the whole", at_least=0.0, below=1.0)]
