"""The domains of the parameters of private tuning and of its bases."""

from typing import Annotated

from jaxsel.language.domains import choice, named, positive

METHODS = ("rank", "count", "literal")

Epsilon = Annotated[float, positive("of one run")]
Noise = Annotated[str, choice(("laplace", "gaussian"), "on a score, in standard form")]
Scale = Annotated[float, positive("of the noise, in units of the scores")]
Sign = Annotated[int, named({"1": 1, "-1": -1}, "1 if a high value is better, -1 if a low one is")]
