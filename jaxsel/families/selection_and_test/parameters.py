"""What the parameters of Selection and Test may be, for entries, factories, laws and claims.

The limits are such that the claims' formulas do not overflow at them.
"""

from typing import Annotated

from jaxsel.language.domains import choice, number, probability, whole

_MOST = 1e15
METHODS = ("literal", "shortcut")
GAME_METHODS = ("literal", "jump")

GameEvent = Annotated[
    str,
    choice(("place", "bits"), "place: the coin at which it ends; bits: every coin, of at most 12"),
]
Epsilon = Annotated[float, number("of every mechanism that is called", above=0.0, at_most=100.0)]
Closeness = Annotated[float, number("closeness of the coins", above=0.0, at_most=100.0)]
# e^epsilon is a number up to here.
AnyEpsilon = Annotated[float, number("of every mechanism", above=0.0, at_most=700.0)]
Gamma = Annotated[
    float, number("exponent of the law of p, P[p <= x] = x^gamma", above=0.0, at_most=1e6)
]
Calls = Annotated[int, whole("c, how many Selections", at_least=1, at_most=_MOST)]
CallsOrZero = Annotated[
    int, whole("c1; for CL-interleaved-sharp those that released a run", at_least=0, at_most=_MOST)
]
Rounds = Annotated[int, whole("tau, potential runs of a candidate", at_least=1, at_most=_MOST)]
Count = Annotated[int, whole("tau, how many Tests", at_least=1, at_most=_MOST)]
Bottoms = Annotated[int, whole("n, answers bottom", at_least=0, at_most=_MOST)]
BaseDelta = Annotated[float, number("of the candidate", at_least=0.0, below=1.0)]
Tops = Annotated[int, whole("c, answers top until the end", at_least=1, at_most=_MOST)]
TopsOrZero = Annotated[int, whole("c2, how many Tests answered top", at_least=0, at_most=_MOST)]
Limit = Annotated[int | None, whole("answers top until the end", at_least=1)]
Delta = Annotated[float, probability("of the whole")]
DeltaOrZero = Annotated[float, number("of the whole", at_least=0.0, below=1.0)]
Ones = Annotated[int, whole("k, how many ones end the game", at_least=1, at_most=_MOST)]
Order = Annotated[float, number("a, of the Renyi divergence", above=1.0)]
