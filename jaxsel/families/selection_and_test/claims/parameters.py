"""Parameters that claims on Selection and Test share."""

from typing import Annotated

from jaxsel.domains import number, positive, probability, whole

Epsilon = Annotated[float, positive("of every mechanism that is called")]
Gamma = Annotated[float, positive("exponent of the law of p")]
Calls = Annotated[int, whole("c, how many Selections", at_least=1)]
Rounds = Annotated[int, whole("tau, potential runs of a candidate", at_least=1)]
BaseDelta = Annotated[float, number("of the candidate", at_least=0.0, below=1.0)]
Tops = Annotated[int, whole("c, answers top until the end", at_least=1)]
Delta = Annotated[float, probability("of the whole")]
Ones = Annotated[int, whole("k, how many ones end the game", at_least=1)]
Order = Annotated[float, number("a, of the Renyi divergence", above=1.0)]
