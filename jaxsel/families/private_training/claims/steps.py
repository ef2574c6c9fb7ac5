"""DP-SGD: the law of its noisy sums, and the (epsilon, delta) that they are proved to have."""

from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.base import Budget, Relation
from jaxsel.checking import CONFIDENCE, at_most
from jaxsel.domains import number, whole
from jaxsel.families.private_training.claims.cells import law_cases
from jaxsel.families.private_training.laws import ratio_law, sum_cdf
from jaxsel.papers import JX

_NOISE = number("sigma, noise over C", at_least=0.2, at_most=50.0)
_RATE = number("chance that a batch holds an example", at_least=1e-3, at_most=1.0)
_STEPS = whole("T", at_least=1, at_most=1000)
_DELTA = number("of (epsilon, delta)", at_least=1e-12, below=1.0)


def _epsilon(
    *,
    noise_multiplier: Annotated[float, _NOISE] = 1.0,
    sampling_probability: Annotated[float, _RATE] = 1.0 / 3.0,
    steps: Annotated[int, _STEPS] = 3,
    delta: Annotated[float, _DELTA] = 1e-2,
) -> float:
    """Epsilon at delta, as ``jaxsel tune`` accounts for one run."""
    from jaxsel.accounting.single_run.events import dp_sgd
    from jaxsel.families.tuning.accountant import base_epsilon

    base = dp_sgd(
        noise_multiplier=noise_multiplier,
        sampling_probability=sampling_probability,
        steps=steps,
    )
    return base_epsilon(base, delta)


# sigma, rate, steps, delta: batches of all and of few, one step and many
_SETTINGS = (
    (1.0, 1.0 / 3.0, 3, 1e-2),
    (2.0, 1.0, 4, 1e-5),
    (0.7, 0.5, 2, 1e-3),
    (1.1, 0.05, 30, 1e-5),
    (4.0, 0.2, 100, 1e-5),
)


def _epsilon_cases(budget: Budget):
    from jaxsel.training.audits import mechanism_audit
    from jaxsel.training.dp_sgd import recipe

    for noise, rate, steps, delta in _SETTINGS:
        claimed = _epsilon(
            noise_multiplier=noise, sampling_probability=rate, steps=steps, delta=delta
        )
        law = ratio_law(noise, rate, steps)
        seen = epsilon_at_delta(law.present, law.absent, delta)
        yield claimed, seen, f"exact law, {noise=}, {rate=:.3g}, {steps=}, {delta=}"
    noise, rate, steps, delta = _SETTINGS[0]
    how = recipe(6, 6 * rate, clip_norm=0.5, noise_multiplier=noise, clipping="plain")
    found = mechanism_audit(
        how,
        steps=steps,
        runs=max(2, min(budget.trials, 100_000)),
        delta=delta,
        confidence=CONFIDENCE,
        seed=budget.seed,
    )
    claimed = _epsilon()
    yield claimed, found.lower, f"audited, {noise=}, {rate=:.3g}, {steps=}, {delta=}"


def _below(
    *,
    x: Annotated[float, number("in units of C")] = 1.0,
    noise_multiplier: Annotated[float, _NOISE] = 0.7,
    sampling_probability: Annotated[float, _RATE] = 0.5,
    steps: Annotated[int, _STEPS] = 2,
) -> float:
    """P[sum of the noisy sums <= x C] along the gradient of an example that is there."""
    return float(
        sum_cdf(np.asarray(x), noise_multiplier, sampling_probability, steps, True)
    )


# examples, batch size, C, sigma, steps, how sums are clipped
_TRAININGS = (
    (9, 3.0, 0.5, 0.8, 3, "microbatch"),
    (9, 6.0, 3.0, 1.3, 2, "plain"),
)


def _sum_cases(budget: Budget):
    import jax
    import jax.numpy as jnp

    from jaxsel.training import dp_sgd, runs
    from jaxsel.training.glass import CANARY, NOBODY, Glass

    trials = max(2, min(budget.trials, 50_000))
    rate = 0.3
    for examples, batch, clip, noise, steps, clipping in _TRAININGS:
        how = dp_sgd.recipe(
            examples, batch, clip_norm=clip, noise_multiplier=noise, clipping=clipping
        )
        own = runs.addresses([budget.seed % 2**64] * trials, range(trials))
        for present in (True, False):
            pictures = jnp.zeros((examples, 1, 1, 2), jnp.float32).at[..., 0].set(NOBODY)
            labels = np.ones(examples, dtype=np.int32)
            labels[-1] = CANARY if present else 1
            data = pictures, jnp.asarray(labels)
            start = runs.begin(Glass(), pictures[0], own)
            end = runs.advance(
                Glass(), how, data, start, own,
                jnp.full(trials, rate, jnp.float32), jnp.int32(steps),
            )  # fmt: skip
            moved = np.asarray(jax.device_get(end.params["trace"]), np.float64)[:, 0]

            def cdf(x, noise=noise, q=batch / examples, steps=steps, present=present):
                return sum_cdf(x, noise, q, steps, present)

            where = f"{clipping}, {examples=}, {batch=}, {clip=}, {noise=}, {steps=}"
            confidence = 1.0 - (1.0 - CONFIDENCE) / (2 * len(_TRAININGS))
            yield from law_cases(
                moved * batch / (rate * clip), cdf, confidence, f"{where}, {present=}"
            )


STATEMENTS = (
    JX.privacy(
        "JX-DP-SGD",
        "DP-SGD as it runs",
        "T steps of DP-SGD with Poisson batches are (epsilon, delta)-DP for one example "
        "more or less, with the epsilon of the accounted privacy loss distribution.",
        Relation.BASE,
        _epsilon,
        at_most(_epsilon_cases),
    ),
    JX.identity(
        "JX-DP-SGD-sum",
        "DP-SGD as it runs",
        "Along the gradient of an example in the data, what T steps of training move the "
        "parameters by is (learning rate/expected batch size) C times a normal number of "
        "variance T sigma^2 around a Binomial(T, batch size/n) one, around 0 if the "
        "example is not in the data.",
        _below,
        at_most(_sum_cases, 0.0),
    ),
)
