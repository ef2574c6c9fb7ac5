"""A private hyperparameter search: draw K, train K models, release the best one.

Only the winner leaves: how many runs were made, the other candidates and all scores stay
in the folder of the search, from which a killed search goes on (orbax-checkpoint).
"""

import functools
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
from jaxsel.repetitions import quantile
from jaxsel.training import dp_sgd
from jaxsel.training.checkpoints import Checkpoints
from jaxsel.training.network import network
from jaxsel.training.plan import Candidate, SearchPlan

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


@functools.partial(jax.jit, static_argnames="count")
def _numbers(key: stream.Key, count: int) -> noise.Ends:
    return noise.number(key, jnp.arange(count, dtype=jnp.uint32), "tail")


def _uniforms(key: stream.Key, count: int) -> np.ndarray:
    """Float64["count"] in (0, 1], exact to 2**-65 near 0."""
    upper, t = (np.asarray(part) for part in _numbers(key, count))
    t = t.astype(np.float64)
    return np.where(upper, 1.0 - t, t)


def draw_secrets(plan: SearchPlan, seed: int) -> Secrets:
    """K by the inverse of its distribution function, and a uniform candidate a run."""
    key = stream.make_key(check_integer("seed", seed, 0))
    u = float(_uniforms(stream.fold(key, _COUNT_TAG), 1)[0])
    count = quantile(plan.repetitions, u)
    size = len(plan.candidates)
    picks = _uniforms(stream.fold(key, _CHOICE_TAG), count)
    choices = np.minimum((picks * size).astype(int), size - 1)
    return Secrets(count, tuple(choices.tolist()))


def _noisy_score(key: stream.Key, correct: int, deviation: float) -> float:
    normal = noise.normal(noise.number(key, jnp.uint32(0), "tail"))
    return correct + deviation * float(normal)


def _steps_in_time(
    state: dp_sgd.State,
    wanted: int,
    advance: Callable[[dp_sgd.State, int], dp_sgd.State],
    done: Callable[[int, dp_sgd.State], None],
) -> dp_sgd.State:
    """Advances in pieces of about a second, so that progress shows and saves happen."""
    piece = 1
    while int(state.step[0]) < wanted:
        before = time.monotonic()
        take = min(piece, wanted - int(state.step[0]))
        state = jax.block_until_ready(advance(state, take))
        done(take, state)
        elapsed = max(time.monotonic() - before, 1e-6)
        piece = max(1, min(2 * piece, int(take * _CHUNK_SECONDS / elapsed)))
    return state


def _recipe(plan: SearchPlan, candidate: Candidate, clipping: str) -> dp_sgd.Recipe:
    return dp_sgd.recipe(
        plan.training_size,
        candidate.batch_size,
        clip_norm=candidate.clip_norm,
        noise_multiplier=candidate.noise_multiplier,
        clipping=clipping,
    )


def _group_size(settings: list[Candidate], start: int, most: int) -> int:
    """How many runs from ``start`` on differ in the learning rate only, at most."""
    first = settings[start]._replace(learning_rate=0.0)
    size = 1
    for candidate in settings[start + 1 : start + most]:
        if candidate._replace(learning_rate=0.0) != first:
            break
        size += 1
    return size


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _rows(state: dp_sgd.State) -> int:
    return state.step.shape[0]


def _advance(model, recipe, data, keys, rates):
    """A function ``(state, steps) -> state`` of runs side by side, one a row."""

    def one(state, key, rate, steps):
        return dp_sgd.train(model, recipe, optax.sgd, state, data, key, rate, steps)

    if len(keys) == 1:
        # No vmap, which costs a CPU a tenth.
        def alone(state, steps):
            first = jax.tree.map(lambda leaf: leaf[0], state)
            last = one(first, keys[0], jnp.float32(rates[0]), jnp.int32(steps))
            return jax.tree.map(lambda leaf: leaf[None], last)

        return alone
    side_by_side = jax.vmap(one, in_axes=(0, 0, 0, None))
    key, rate = _stacked(keys), jnp.asarray(rates, jnp.float32)
    return lambda state, steps: side_by_side(state, key, rate, jnp.int32(steps))


def search(
    plan: SearchPlan,
    images: ImageSet,
    *,
    seed: int,
    strides: str = "strided",
    clipping: str = "microbatch",
    together: int = 1,
    folder: str | Path | None = None,
    progress: Callable[[int], None] = lambda steps: None,
) -> Winner:
    """Runs the search.

    Args:
      plan: what to do, from ``plan_search``.
      images: the private images are its training images; its test images are not used.
      seed: of everything random; keep it secret, see ``fresh_seed``.
      strides, clipping: of the network and of the clipped sums.
      together: runs trained side by side, in one program, where they differ in the
        learning rate only. Fills a GPU; on CPU one by one is faster.
      folder: where to save; a search that was killed goes on from there.
      progress: called with numbers of training steps done.

    Raises:
      InputError: if the folder holds another search.
      RuntimeError: if a batch did not fit (chance below 1e-18 a step).
    """
    together = check_integer("together", together, 1)
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
    settings = [plan.candidates[choice] for choice in chosen.choices]
    scores, best, state = list(saved.scores), saved.best, saved.state
    number, last_save = saved.number, time.monotonic()

    while number < chosen.count:
        # What was begun side by side goes on so.
        size = (
            _group_size(settings, number, together) if state is None else _rows(state)
        )
        group = range(number, number + size)
        if state is None:
            state = _stacked([fresh(i) for i in group])
        keys = [stream.fold(stream.make_key(seed, i), _RUN_TAG) for i in group]
        advance = _advance(
            model, _recipe(plan, settings[number], clipping), data, keys,
            [settings[i].learning_rate for i in group],
        )  # fmt: skip

        def done(steps, state, number=number, best=best, size=size):
            nonlocal last_save
            progress(steps * size)
            if time.monotonic() - last_save > _SAVE_SECONDS:
                store.save(number, state, scores, best)
                last_save = time.monotonic()

        state = _steps_in_time(state, settings[number].steps, advance, done)
        if bool(jnp.any(state.overflow)):
            raise RuntimeError("a batch did not fit; the run is void")
        for row, i in enumerate(group):
            params = jax.tree.map(lambda leaf, row=row: leaf[row], state.params)
            correct = int(dp_sgd.accuracy(model, params, held_out))
            own = stream.fold(stream.make_key(seed, i), _SCORE_TAG)
            score = _noisy_score(own, correct, plan.score_noise)
            if best is None or score > max(scores):
                best = params
            scores.append(score)
        number, state = number + size, None
        store.save(number, None, scores, best)
    runs = [Run(*both) for both in zip(settings, scores, strict=True)]
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
