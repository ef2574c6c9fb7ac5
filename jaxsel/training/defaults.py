"""What ``jaxsel tune`` does unless told otherwise; text as the command line takes it."""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxsel.training.plan import SearchPlan

DATA, EXAMPLES = "digits", 1437
REPETITIONS = "poisson:mean=6"
LEARNING_RATES = "0.025:1:40"
NOISE_MULTIPLIERS = "4"
CLIP_NORMS = "1"
BATCH_SIZES = "256"
EPOCHS = 30.0
DELTA = 1e-5


@functools.cache
def default_plan(delta: float = DELTA) -> "SearchPlan":
    """The default search, at another delta if need be."""
    from jaxsel import repetitions
    from jaxsel.training.plan import plan_search, read_numbers, read_rates

    return plan_search(
        examples=EXAMPLES,
        rates=read_rates(LEARNING_RATES),
        noise_multipliers=read_numbers("noise-multipliers", NOISE_MULTIPLIERS),
        clip_norms=read_numbers("clip-norms", CLIP_NORMS),
        batch_sizes=read_numbers("batch-sizes", BATCH_SIZES),
        epochs=EPOCHS,
        repetitions=repetitions.parse(REPETITIONS),
        delta=delta,
    )
