"""Parameters that claims on Selection and Test share; at their ends nothing overflows."""

from typing import Annotated

from jaxsel.language.domains import number, probability, whole

MOST_EPSILON, MOST_GAMMA, MOST_COUNT = 100.0, 1e6, 1e15

Epsilon = Annotated[
    float, number("of every mechanism that is called", above=0.0, at_most=MOST_EPSILON)
]
Closeness = Annotated[float, number("closeness of the coins", above=0.0, at_most=MOST_EPSILON)]
Gamma = Annotated[float, number("exponent of the law of p", above=0.0, at_most=MOST_GAMMA)]
Calls = Annotated[int, whole("c, how many Selections", at_least=1, at_most=MOST_COUNT)]
Rounds = Annotated[int, whole("tau, potential runs of a candidate", at_least=1, at_most=MOST_COUNT)]
BaseDelta = Annotated[float, number("of the candidate", at_least=0.0, below=1.0)]
Tops = Annotated[int, whole("c, answers top until the end", at_least=1, at_most=MOST_COUNT)]
Delta = Annotated[float, probability("of the whole")]
Ones = Annotated[int, whole("k, how many ones end the game", at_least=1, at_most=MOST_COUNT)]
Order = Annotated[float, number("a, of the Renyi divergence", above=1.0)]
