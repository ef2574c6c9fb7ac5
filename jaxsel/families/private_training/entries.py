"""The catalogue entry of DP-SGD, with a person who is in the data or not."""

from typing import Annotated

from jaxsel.families.private_training import parameters
from jaxsel.host.errors import check_interval
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, number, whole
from jaxsel.language.entry import mechanism
from jaxsel.language.trial import Trial


@mechanism(
    "JX-DP-SGD",
    generic="examples=9 batch_size=6.0 clip_norm=3.0 noise_multiplier=1.3 steps=4 clipping=plain",
)
def dp_sgd(
    *,
    canary: Annotated[str, choice(("in", "out"), "whether the person is there")] = "in",
    examples: Annotated[int, whole("n, the person included", at_least=1, at_most=1000)] = 4,
    batch_size: Annotated[float, number("expected, at most n", above=0.0, at_most=1000)] = 1.5,
    clip_norm: Annotated[float, number("C, in l2", at_least=1e-3, at_most=1e3)] = 0.5,
    noise_multiplier: parameters.Noise = 1.0,
    steps: Annotated[int, whole("T", at_least=1, at_most=64)] = 2,
    clipping: parameters.Clipping = "microbatch",
    method: Annotated[str, methods(*parameters.TRAINING_METHODS)] = "sums",
):
    """Release the log-likelihood ratio of all noisy sums of DP-SGD with Poisson batches, on one
    person among blank examples; it is (epsilon, delta)-DP by JX-DP-SGD, with no pure epsilon."""

    def made():
        from jaxsel.families.private_training.dp_sgd import dp_sgd

        return dp_sgd(examples, batch_size, clip_norm, noise_multiplier, steps, clipping, method)

    check_interval("batch_size", batch_size, 0.0, examples, high_open=False)
    why = "a person whose clipped gradient is C in a direction of its own, or nobody"
    return Trial(made, canary, {}, [("canary", "in", "out", Relation.BASE, why)])
