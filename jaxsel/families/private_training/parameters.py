"""The domains of the parameters of DP-SGD and of objective perturbation."""

from typing import Annotated

from jaxsel.language.domains import choice, number, whole

Clipping = Annotated[str, choice(("microbatch", "plain"), "how sums are clipped")]
Noise = Annotated[float, number("sigma, noise over C", at_least=0.2, at_most=50.0)]
# Squares and their inverses keep their digits.
AnyNoise = Annotated[
    float,
    number("sigma, noise over C or over the gradient's sensitivity", at_least=1e-3, at_most=1e6),
]
Rate = Annotated[float, number("chance that a batch holds an example", above=0.0, at_most=1.0)]
# The table of their law grows with them.
Steps = Annotated[int, whole("T", at_least=1, at_most=64)]

LinearNoise = Annotated[
    float,
    number("of the linear term, over the gradient's sensitivity", at_least=0.1, at_most=100.0),
]
Loss = Annotated[str, choice(("logistic", "huber"), "log(1 + e^-yu), or clipped squares")]
OBJECTIVE_METHODS = ("gradient", "literal")
ObjectiveMethod = Annotated[str, choice(OBJECTIVE_METHODS, "how trials are drawn")]
TRAINING_METHODS = ("sums", "literal")
TrainingMethod = Annotated[str, choice(TRAINING_METHODS, "how trials are drawn")]
