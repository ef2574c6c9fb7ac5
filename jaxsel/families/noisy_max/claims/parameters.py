"""Parameters of the claims about noisy max with Gaussian and Laplace noise."""

from typing import Annotated

from jaxsel.language.domains import choice, number, probability, whole

Scale = Annotated[
    float,
    number(
        "standard deviation, or Laplace scale, over the sensitivity", at_least=1e-2, at_most=1e4
    ),
]
Noise = Annotated[str, choice(("gaussian", "laplace"), "law of the noise")]
Candidates = Annotated[int, whole("m, of every maximum", at_least=1, at_most=10**12)]
Several = Annotated[int, whole("m, of every maximum", at_least=2, at_most=10**12)]
Winners = Annotated[int, whole("k, how many winners are released", at_least=1)]
Level = Annotated[float, number("where the profile is taken", above=-200.0, below=200.0)]
LevelFromZero = Annotated[float, number("where the profile is taken", at_least=0.0, below=200.0)]
Delta = Annotated[float, probability("at which epsilon is taken")]
Order = Annotated[float, number("of the Renyi divergence", above=1.0)]
