"""Parameters of the claims about query release."""

from typing import Annotated

from jaxsel.language.domains import number, positive, whole

Queries = Annotated[int, whole("k", at_least=1)]
Epsilon = Annotated[float, number("of the whole", above=0.0, at_most=1.0)]
AnyEpsilon = Annotated[float, positive("of the whole")]
Delta = Annotated[float, number("of the whole", above=0.0, at_most=0.5)]
