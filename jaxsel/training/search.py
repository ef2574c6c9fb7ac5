"""A private hyperparameter search: draw K, train K models, release the best one.

Only the winner leaves: how many runs were made, the other candidates and all scores stay
in the folder of the search, from which a killed search goes on (orbax-checkpoint).
"""

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxsel import noise, stream
from jaxsel.data.images import ImageSet
from jaxsel.errors import InputError, check_integer
from jaxsel.training import dp_sgd
from jaxsel.training.checkpoints import Checkpoints
from jaxsel.training.network import network
from jaxsel.training.plan import Candidate, SearchPlan

__all__ = ["Run", "Secrets", "Winner", "draw_secrets", "fresh_seed", "search", "split"]

_COUNT_TAG, _CHOICE_TAG, _RUN_TAG, _SCORE_TAG = 0xC0, 0xC1, 0xC2, 0xC3
_SAVE_SECONDS = 20.0
_CHUNK_SECONDS = 1.0


class Run(NamedTuple):
    """One run of the search; not to be released, but for the winner's.

    Attributes:
      candidate: its setting.
      score: noisy number of validation images that were labelled correctly.
    """

    candidate: Candidate
    score: float


class Winner(NamedTuple):
    """What a search releases, and what it must not (``runs``).

    Attributes:
      candidate: the best run's setting; None if nothing was run.
      score: its noisy number of correct validation images.
      params: its network.
      runs: every run, for ``--reveal`` only: to publish it voids the guarantee.
    """

    candidate: Candidate | None
    score: float
    params: Any
    runs: tuple[Run, ...]


class Secrets(NamedTuple):
    """The choices of a search that depend on the seed alone.

    Attributes:
      count: K.
      choices: number of the candidate of each run.
    """

    count: int
    choices: tuple[int, ...]


class Parts(NamedTuple):
    """The two parts of the private images.

    Attributes:
      training, validation: (images, labels) each.
    """

    training: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]


def fresh_seed() -> int:
    """A seed from the operating system. A seed that others know gives no privacy."""
    return secrets.randbits(64)


def split(images: ImageSet, plan: SearchPlan) -> Parts:
    """The training and the validation part, by a shuffle that looks at no data.

    Raises:
      InputError: if the plan is for another number of images.
    """
    total = plan.training_size + plan.validation_size
    if len(images.labels) != total:
        raise InputError(
            f"{images.name} has {len(images.labels)} images; the plan is for {total}"
        )
    order = np.random.default_rng(1).permutation(total)
    parts = np.split(order, [plan.training_size])
    return Parts(*((images.images[rows], images.labels[rows]) for rows in parts))


def _uniforms(key: stream.Key, count: int) -> np.ndarray:
    """Float64["count"] in (0, 1], exact to 2**-65 near 0."""
    number = noise.ends(key, jnp.arange(count, dtype=jnp.uint32), "tail")[0]
    t = np.asarray(number.t, np.float64)
    return np.where(np.asarray(number.upper), 1.0 - t, t)


def draw_secrets(plan: SearchPlan, seed: int) -> Secrets:
    """K by the inverse of its distribution function, and a uniform candidate a run."""
    key = stream.make_key(check_integer("seed", seed, 0))
    u = float(_uniforms(stream.fold(key, _COUNT_TAG), 1)[0])
    law = plan.repetitions
    # The smallest k with P[K > k] < u; doubling, then bisection.
    low, high = -1, 1
    while float(law.survival(high)) >= u:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if float(law.survival(middle)) >= u:
            low = middle
        else:
            high = middle
    size = len(plan.candidates)
    picks = _uniforms(stream.fold(key, _CHOICE_TAG), high)
    choices = np.minimum((picks * size).astype(int), size - 1)
    return Secrets(high, tuple(choices.tolist()))


def _noisy_score(key: stream.Key, correct: int, deviation: float) -> float:
    normal = noise.normal(noise.ends(key, jnp.uint32(0), "tail")[0])
    return correct + deviation * float(normal)


def _steps_in_time(
    state: dp_sgd.State,
    wanted: int,
    advance: Callable[[dp_sgd.State, int], dp_sgd.State],
    done: Callable[[int, dp_sgd.State], None],
) -> dp_sgd.State:
    """Advances in pieces of about a second, so that progress shows and saves happen."""
    piece = 1
    while int(state.step) < wanted:
        before = time.monotonic()
        take = min(piece, wanted - int(state.step))
        state = jax.block_until_ready(advance(state, take))
        done(take, state)
        elapsed = max(time.monotonic() - before, 1e-6)
        piece = max(1, min(2 * piece, int(take * _CHUNK_SECONDS / elapsed)))
    return state


def search(
    plan: SearchPlan,
    images: ImageSet,
    *,
    seed: int,
    strides: str = "strided",
    clipping: str = "microbatch",
    folder: str | Path | None = None,
    progress: Callable[[int], None] = lambda steps: None,
) -> Winner:
    """Runs the search.

    Args:
      plan: what to do, from ``plan_search``.
      images: the private images are its training images; its test images are not used.
      seed: of everything random; keep it secret, see ``fresh_seed``.
      strides, clipping: of the network and of the clipped sums.
      folder: where to save; a search that was killed goes on from there.
      progress: called with numbers of training steps done.

    Raises:
      InputError: if the folder holds another search.
      RuntimeError: if a batch did not fit (chance below 1e-18 a step).
    """
    parts = split(images, plan)
    data = tuple(jnp.asarray(array) for array in parts.training)
    held_out = tuple(jnp.asarray(array) for array in parts.validation)
    model = network(strides, images.classes)
    chosen = draw_secrets(plan, seed)
    if chosen.count == 0:
        return Winner(None, float("nan"), None, ())

    def fresh(number: int) -> dp_sgd.State:
        # Any learning rate: plain SGD keeps no state that depends on it.
        start = seed ^ (0x9E3779B97F4A7C15 * (number + 1) & (2**64 - 1))
        return dp_sgd.initialise(model, data[0][0], optax.sgd(0.0), start)

    store = Checkpoints(folder, plan, seed, strides, fresh(0))
    saved = store.load()
    number, state = saved.number, saved.state
    runs = [
        Run(plan.candidates[choice], score)
        for choice, score in zip(chosen.choices, saved.scores, strict=False)
    ]
    best = saved.best
    last_save = time.monotonic()

    for number in range(saved.number, chosen.count):
        candidate = plan.candidates[chosen.choices[number]]
        if state is None:
            state = fresh(number)
        recipe = dp_sgd.recipe(
            plan.training_size,
            candidate.batch_size,
            clip_norm=candidate.clip_norm,
            noise_multiplier=candidate.noise_multiplier,
            clipping=clipping,
        )
        key = stream.fold(stream.make_key(seed, number), _RUN_TAG)

        def advance(state, steps, recipe=recipe, key=key, rate=candidate.learning_rate):
            return dp_sgd.train(
                model, recipe, optax.sgd, state, data, key, jnp.float32(rate),
                jnp.int32(steps),
            )  # fmt: skip

        def done(steps, state, number=number, best=best):
            nonlocal last_save
            progress(steps)
            if time.monotonic() - last_save > _SAVE_SECONDS:
                store.save(number, state, [run.score for run in runs], best)
                last_save = time.monotonic()

        state = _steps_in_time(state, candidate.steps, advance, done)
        if bool(state.overflow):
            raise RuntimeError("a batch did not fit; the run is void")
        correct = int(dp_sgd.accuracy(model, state.params, held_out))
        own = stream.fold(stream.make_key(seed, number), _SCORE_TAG)
        runs.append(Run(candidate, _noisy_score(own, correct, plan.score_noise)))
        if best is None or runs[-1].score > max(run.score for run in runs[:-1]):
            best = state.params
        state = None
        store.save(number + 1, None, [run.score for run in runs], best)
    top = max(range(chosen.count), key=lambda i: runs[i].score)
    return Winner(runs[top].candidate, runs[top].score, best, tuple(runs))


def correct_on_test(winner: Winner, images: ImageSet, strides: str = "strided") -> int:
    """How many test images the winner labels correctly; 0 if there is no winner."""
    if winner.params is None:
        return 0
    held_out = (jnp.asarray(images.test_images), jnp.asarray(images.test_labels))
    return int(
        dp_sgd.accuracy(network(strides, images.classes), winner.params, held_out)
    )
