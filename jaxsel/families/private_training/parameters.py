"""The domains of the parameters of DP-SGD and of objective perturbation."""

from typing import Annotated

from jaxsel.language.domains import choice, number, positive, whole

Clipping = Annotated[str, choice(("microbatch", "plain"), "how sums are clipped")]
Noise = Annotated[float, number("sigma, noise over C", at_least=0.2, at_most=50.0)]
AnyNoise = Annotated[float, positive("sigma, noise over C or over the gradient's sensitivity")]
Rate = Annotated[float, number("chance that a batch holds an example", above=0.0, at_most=1.0)]
Steps = Annotated[int, whole("T", at_least=1)]

LinearNoise = Annotated[
    float,
    number("of the linear term, over the gradient's sensitivity", at_least=0.1, at_most=100.0),
]
Loss = Annotated[str, choice(("logistic", "huber"), "log(1 + e^-yu), or clipped squares")]
