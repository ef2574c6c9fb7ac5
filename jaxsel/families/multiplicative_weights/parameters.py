"""The domains of the parameters of private multiplicative weights."""

from typing import Annotated

from jaxsel.language.domains import choice, moderate, number, positive, probability, whole

ANALYSTS = ("pool", "random", "worst")

Analyst = Annotated[
    str,
    choice(
        ANALYSTS,
        "pool: how many rows lie in the first cells, in turn; random: drawn from these; "
        "worst: where h is too low",
    ),
]
Event = Annotated[
    str, choice(("path", "updates"), "path: where and in which direction; updates: how many")
]

Cells = Annotated[int, whole("|X|, cells of the universe", at_least=2)]
# Squares and quotients of these are floats.
Rows = Annotated[float, moderate("n")]
# float64 tells whole numbers apart up to here.
Queries = Annotated[int, whole("m, the largest number of queries", at_least=1, at_most=1e15)]
# As many as are simulated.
FewQueries = Annotated[int, whole("m, the largest number of queries", at_least=1, at_most=1e6)]
Epsilon = Annotated[float, moderate("of the whole interaction")]
Delta = Annotated[float, number("of the whole interaction", at_least=0.0, below=1.0)]
Beta = Annotated[float, probability("chance of failure")]
Alpha = Annotated[float, moderate("error that all answers keep")]

Rate = Annotated[float, positive("eta, learning rate of an update")]
Error = Annotated[float, number("g, the error of the query", at_least=0.0, at_most=1.0)]
# Below the least one the number of updates, about 1/g^2, is beyond all floats.
Gap = Annotated[
    float, number("g, least error of a query that updates", at_least=1e-100, at_most=1.0)
]
Threshold = Annotated[float, positive("error that an update is for")]
Scale = Annotated[float, positive("of Laplace noise, in units of an answer")]
Updates = Annotated[int, whole("k, most updates", at_least=1)]

Gamma = Annotated[float, positive("exponent of the law of p")]
Distance = Annotated[float, positive("between the thresholds of the two hypotheses")]
Repetitions = Annotated[int, whole("tau, Tests a batch", at_least=1)]
Failures = Annotated[int, whole("k', failed batches at which it halts", at_least=1)]
Answers = Annotated[int, whole("k, noisy answers at most", at_least=1)]
