"""DP-SGD as a mechanism: T steps of training, and what they reveal about one example.

The steps are those of ``jaxsel.training.dp_sgd``. The example is a canary, whose clipped gradient
is C in a direction of its own, among blank examples, which have no gradient. That is the worst case
for a step.
"""

import itertools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsel.families.private_training import parameters
from jaxsel.families.private_training.laws import ratio_cells, ratio_edges
from jaxsel.host.errors import check_choice, check_params
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory

_SIDES = ("in", "out")


@factory
def dp_sgd(
    examples: int = 4,
    batch_size: float = 1.5,
    clip_norm: float = 0.5,
    noise_multiplier: parameters.AnyNoise = 1.0,
    steps: parameters.Steps = 2,
    clipping: parameters.Clipping = "microbatch",
    method: parameters.TrainingMethod = "sums",
) -> Mechanism:
    """DP-SGD on a canary among blank examples.

    It is Algorithm 1 of Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar & Zhang 2016, with Poisson
    batches.

    Args:
      examples: n, including the canary.
      batch_size: the expected batch size, at most n.
      clip_norm: C, in l2.
      noise_multiplier: sigma, standard deviation of the noise over C.
      steps: T.
      clipping: how gradients are clipped; see ``jaxsel.training.dp_sgd.Recipe``.
      method: "literal" trains a network; "sums" draws, with the same random numbers, each step's
        noisy sum along the canary's gradient: as no other example has one, it is all of a step.

    Data: "in" or "out", whether the canary is among the examples.
    Params: none.
    Outcome: Float32[""], the log-likelihood ratio of the canary being in against out, of all noisy
      sums along its gradient.
    Event: the bin of the outcome, between quantiles of its exact law (``laws.ratio_edges``).

    Raises:
      InputError: for a size or norm that ``jaxsel.training.dp_sgd.recipe`` refuses.
    """
    from jaxsel.training import canaries
    from jaxsel.training.dp_sgd import initialise, recipe, sum_along_one, train

    plan = recipe(
        examples,
        batch_size,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        clipping=clipping,
    )
    numbers = (plan.noise_multiplier, plan.batch_size / plan.examples, steps)
    edges = ratio_edges(*numbers)
    model = canaries.WithCanaries(canaries.ConstantClassifier(), 1)
    optimiser = canaries.Recorder(plan)

    def prepare(data, params):
        check_params(params, ())
        check_choice("data", data, _SIDES)
        if method == "sums":
            return np.bool_(data == "in"), {}
        nobody = canaries.blanks(plan.examples - 1)
        return canaries.add_canaries(nobody, np.array([data == "in"]), 2), {}

    def sample(key: stream.Key, data, params) -> Array:
        del params
        if method == "sums":

            def step(number, ratio):
                return ratio + canaries.step_ratio(sum_along_one(plan, data, key, number), plan)

            return lax.fori_loop(0, steps, step, jnp.float32(0.0))
        images, labels = (jnp.asarray(leaf) for leaf in data)
        start = initialise(model, images[0], optimiser(1.0), 0)
        end = train(
            model, plan, optimiser, start, (images, labels), key, jnp.float32(1.0), jnp.int32(steps)
        )
        return canaries.likelihood_ratio(end)[0]

    def event(outcome: Array) -> Array:
        places = jnp.asarray(edges, outcome.dtype)
        return jnp.sum(outcome > places, dtype=jnp.int32)

    def labels(data, params) -> tuple[str, ...]:
        del data, params
        inner = [f"{low:.3g} < ratio <= {high:.3g}" for low, high in itertools.pairwise(edges)]
        return (f"ratio <= {edges[0]:.3g}", *inner, f"ratio > {edges[-1]:.3g}")

    def law(data, params) -> FiniteLaw:
        check_choice("data", data, _SIDES)
        return FiniteLaw(ratio_cells(*numbers, data == "in"), labels(data, params))

    return Mechanism(prepare, sample, event, labels, law, noise.resolution("tail"))
