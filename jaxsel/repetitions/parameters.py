"""What the parameters of laws of K may be, for the laws and for all that is said of them."""

from typing import Annotated

from jaxsel.language.domains import number, positive, whole

SMALLEST_GAMMA = 1e-300  # 1/gamma must be a finite float64
# Its limit for large shapes is the Poisson law, and is reached before.
_LARGEST_ETA = 1e9

Eta = Annotated[
    float, number("shape; 1 is geometric, 0 logarithmic", above=-1.0, at_most=_LARGEST_ETA)
]
Gamma = Annotated[float, number("the smaller, the more runs", at_least=SMALLEST_GAMMA, below=1.0)]
Mean = Annotated[float, positive("E[K], in base runs")]
Runs = Annotated[int, whole("number of runs", at_least=1)]
Rounds = Annotated[int, whole("number of runs that may happen", at_least=1)]
Chance = Annotated[float, number("that each of them happens", above=0.0, at_most=1.0)]
