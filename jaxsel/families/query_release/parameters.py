"""What the parameters of query release may be, for its entry, mechanism, settings and claims."""

from typing import Annotated

from jaxsel.language.domains import choice, number, positive, probability, whole

METHODS = ("largest", "literal")
# Its smallest share, a 24th, is the least for which Gaussian noise can be calibrated.
LEAST_EPSILON = 2.5e-8

Queries = Annotated[int, whole("k", at_least=1)]
Epsilon = Annotated[float, number("of the whole", at_least=LEAST_EPSILON, at_most=1.0)]
AnyEpsilon = Annotated[float, positive("of the whole")]
# Gaussian noise is calibrated to delta^2/210, which is not below 1e-100.
Delta = Annotated[float, number("of the whole", at_least=1e-45, at_most=0.5)]
AnyDelta = Annotated[float, probability("of the whole")]
Runs = Annotated[int, whole("T, how many vectors are drawn at most", at_least=1)]
Inner = Annotated[
    str, choice(("gaussian", "repaired"), "what draws the answers; repaired: literal only")
]
Event = Annotated[
    str,
    choice(
        ("correction", "answers"),
        "correction: whether the true answers were released; answers: whether "
        "the mean answer is below 1/2, too (literal only)",
    ),
]
