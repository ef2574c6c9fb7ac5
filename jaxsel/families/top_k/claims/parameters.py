"""Parameters that claims on private top-k sets share."""

from typing import Annotated

from jaxsel.domains import number, positive, probability, whole

Order = Annotated[float, number("order of the Renyi divergence", above=1.0)]
Epsilon = Annotated[float, positive("privacy parameter")]
Rho = Annotated[float, positive("zCDP parameter of the whole")]
Delta = Annotated[float, probability("of the whole, less the failures of tests")]
FailureOfTest = Annotated[float, probability("failure probability of the test")]
Beta = Annotated[float, probability("chance of failure")]
Deviation = Annotated[float, positive("standard deviation of the noise")]
Candidates = Annotated[int, whole("m, how many compete", at_least=2)]
Picks = Annotated[int, whole("how many are picked", at_least=1)]
