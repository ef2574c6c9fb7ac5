"""Claims on DP-SGD: the law of its noisy sums, and the (epsilon, delta) that is proved of them."""

import functools
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.families.private_training.claims.cells import law_cases
from jaxsel.families.private_training.laws import ratio_law, sum_cdf
from jaxsel.families.private_training.parameters import Noise
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import CONFIDENCE, listed
from jaxsel.language.domains import choice, number, whole
from jaxsel.language.papers import JX

Rate = Annotated[float, number("chance that a batch holds an example", at_least=1e-3, at_most=1.0)]
Steps = Annotated[int, whole("T", at_least=1, at_most=1000)]
_EXAMPLE = choice(("there", "absent"), "one, in the data")
_DELTA = number("of (epsilon, delta)", at_least=1e-12, below=1.0)


@JX.privacy("JX-DP-SGD", "DP-SGD as it runs", Relation.BASE)
def epsilon(
    *,
    noise_multiplier: Noise = 1.0,
    sampling_probability: Rate = 1.0 / 3.0,
    steps: Steps = 3,
    delta: Annotated[float, _DELTA] = 1e-2,
) -> float:
    """T steps of DP-SGD with Poisson batches are (epsilon, delta)-DP for one example more or less,
    with the epsilon of the accounted privacy loss distribution.

    Returns the epsilon at delta that ``jaxsel tune`` accounts for in one run.
    """
    from jaxsel.accounting.single_run.events import dp_sgd

    base = dp_sgd(
        noise_multiplier=noise_multiplier, sampling_probability=sampling_probability, steps=steps
    )
    return base.epsilon(delta)


class _Training(NamedTuple):
    """The settings of the trainings that are simulated, by their names in ``dp_sgd.recipe``."""

    examples: int
    batch: float
    clip: float
    noise: float
    steps: int
    learning: float


# Away from special values: C and the learning rate are not 1, the sampling rate is not 1/2.
_TRAINED = _Training(9, 6.0, 3.0, 1.3, 3, 0.3)
# From batches of all examples to batches of few, and from few steps to many.
_SETTINGS = listed(
    "noise_multiplier sampling_probability steps delta",
    (_TRAINED.noise, _TRAINED.batch / _TRAINED.examples, _TRAINED.steps, 1e-2),
    (1.0, 1.0 / 3.0, 3, 1e-3),
    (2.0, 1.0, 4, 1e-5),
    (1.1, 0.05, 30, 1e-5),
    (4.0, 0.2, 40, 1e-5),
)


@epsilon.bounds()
def epsilon_cases(budget):
    from jaxsel.training.audits import many_run_bound

    points = list(_SETTINGS(budget))
    for point in points:
        *settings, delta = point.values()
        law = ratio_law(*settings)
        yield point, epsilon_at_delta(law.present, law.absent, delta), "exact law"
    sides = _sums(budget, True), _sums(budget, False)
    found = many_run_bound(
        *sides, delta=points[0]["delta"], confidence=CONFIDENCE, entropy=budget.seed
    )
    yield points[0], found.lower, "audited"


@JX.identity("JX-DP-SGD-sum", "DP-SGD as it runs")
def below(
    *,
    x: Annotated[float, number("in units of C")] = 1.0,
    noise_multiplier: Noise = 0.7,
    sampling_probability: Rate = 0.5,
    steps: Steps = 2,
    example: Annotated[str, _EXAMPLE] = "there",
) -> float:
    """T steps of training move the parameters, along the gradient of an example in the data, by
    (learning rate/expected batch size) C times a normal number of variance T sigma^2 around a
    Binomial(T, batch size/n) one; if the example is not in the data, around 0.

    Returns P[sum of the noisy sums <= x C] along the gradient of the example.
    """
    present = example == "there"
    return float(sum_cdf(np.asarray(x), noise_multiplier, sampling_probability, steps, present))


def _sums(budget: Budget, present: bool) -> np.ndarray:
    """The sum of the noisy sums of each training, over C and along the example's gradient.

    ``present`` is whether the example is in the data. Returns Float64["trainings"].
    """
    return _trained(present, max(4, min(budget.trials // 20, 50_000)), budget.seed)


@functools.lru_cache(maxsize=4)
def _trained(present: bool, trials: int, seed: int) -> np.ndarray:
    """As ``_sums``, for a given number of trainings with the settings ``_TRAINED``."""
    import jax.numpy as jnp

    from jaxsel.families.private_training.one_parameter_network import (
        CANARY,
        NOBODY,
        OneParameterNetwork,
    )
    from jaxsel.training import dp_sgd, runs

    examples, batch, clip, noise, steps, learning = _TRAINED
    # Searches clip in microbatches; plain clipping is the oracle that they are compared with.
    how = dp_sgd.recipe(examples, batch, clip_norm=clip, noise_multiplier=noise, clipping="plain")
    # Seed and side lie in the high bits of an address, so that no two trainings share randomness.
    first = np.uint64((((seed << 1) + present) << 40) % 2**64)
    own = runs.addresses(first + np.arange(trials, dtype=np.uint64))
    pictures = np.zeros((examples, 1, 1, 2), dtype=np.float32)
    pictures[..., 0] = NOBODY
    labels = np.ones(examples, dtype=np.int32)
    labels[-1] = CANARY if present else 1
    data = jnp.asarray(pictures), jnp.asarray(labels)
    rates = jnp.full(trials, learning, jnp.float32)
    state = runs.begin(OneParameterNetwork(), data[0][0], own)
    state = runs.advance(OneParameterNetwork(), how, data, state, own, rates, jnp.int32(steps))
    moved = np.asarray(state.params["trace"], dtype=np.float64)[:, 0]
    return moved * batch / (learning * clip)


@below.bounds(tolerance=0.0)
def sum_cases(budget):
    rate, confidence = _TRAINED.batch / _TRAINED.examples, 1.0 - (1.0 - CONFIDENCE) / 2.0
    for present in (True, False):

        def cdf(x, present=present):
            return sum_cdf(x, _TRAINED.noise, rate, _TRAINED.steps, present)

        point = {
            "noise_multiplier": _TRAINED.noise,
            "sampling_probability": rate,
            "steps": _TRAINED.steps,
            "example": "there" if present else "absent",
        }
        yield from law_cases(_sums(budget, present), cdf, confidence, "x", f"{_TRAINED}", **point)
