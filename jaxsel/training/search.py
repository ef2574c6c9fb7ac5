"""A private hyperparameter search: draw K, train K models, release the best one.

Only the winner is released: the number of runs, the other candidates and all scores stay in
the folder of the search, from which a killed search resumes.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.data.images import ImageSet
from jaxsel.host.errors import InputError, check_integer
from jaxsel.training import dp_sgd, runs
from jaxsel.training.checkpoints import Saved, resumed
from jaxsel.training.draws import check_seed, draw_secrets
from jaxsel.training.extras import nn
from jaxsel.training.plan import Candidate, SearchPlan

_SAVE_SECONDS = 20.0
_CHUNK_SECONDS = 1.0


class Run(NamedTuple):
    """One run of the search; secret, except for the winner's.

    Attributes:
      candidate: its setting.
      score: noisy number of validation images that were labelled correctly.
    """

    candidate: Candidate
    score: float


class Winner(NamedTuple):
    """The release of a search, and its secret ``runs``.

    Attributes:
      candidate: the best run's setting; None if nothing was run.
      score: its noisy number of correct validation images.
      params: its network.
      runs: every run, for ``--reveal`` only: publishing them voids the guarantee.
    """

    candidate: Candidate | None
    score: float
    params: Any
    runs: tuple[Run, ...]


class Parts(NamedTuple):
    """The two parts of the private images.

    Attributes:
      training, validation: (images, labels) each.
    """

    training: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]


def split(images: ImageSet, plan: SearchPlan) -> Parts:
    """Splits images into a training and a validation part, by a shuffle independent of the data.

    Raises:
      InputError: if the plan is for another number of images.
    """
    total = plan.training_size + plan.validation_size
    if len(images.labels) != total:
        raise InputError(f"{images.name} has {len(images.labels)} images; the plan is for {total}")
    order = np.random.default_rng(1).permutation(total)
    parts = np.split(order, [plan.training_size])
    return Parts(*((images.images[rows], images.labels[rows]) for rows in parts))


def _steps_in_time(
    state: dp_sgd.State,
    wanted: int,
    advance: Callable[[dp_sgd.State, int], dp_sgd.State],
    done: Callable[[int, dp_sgd.State], None],
) -> dp_sgd.State:
    """Advances in pieces of about a second, to report progress and to save in between."""
    piece = 1
    while int(state.step[0]) < wanted:
        before = time.monotonic()
        take = min(piece, wanted - int(state.step[0]))
        state = jax.block_until_ready(advance(state, take))
        done(take, state)
        elapsed = max(time.monotonic() - before, 1e-6)
        piece = max(1, min(2 * piece, int(take * _CHUNK_SECONDS / elapsed)))
    return state


def _group_size(settings: Sequence[Candidate], start: int, most: int) -> int:
    """The number of runs from ``start`` on, at most ``most``, that differ in learning rate only."""
    first = settings[start]._replace(learning_rate=0.0)
    size = 1
    for candidate in settings[start + 1 : start + most]:
        if candidate._replace(learning_rate=0.0) != first:
            break
        size += 1
    return size


def search(
    plan: SearchPlan,
    images: ImageSet,
    model: nn.Module,
    *,
    seed: int,
    clipping: str = "microbatch",
    together: int = 1,
    folder: str | Path | None = None,
    progress: Callable[[int], None] = lambda steps: None,
) -> Winner:
    """Runs the search.

    Args:
      plan: the plan, from ``plan_search``.
      images: the private images are its training images; its test images are not used.
      model: the network, for example ``network("strided", images.classes)``.
      seed: of all randomness, in [0, 2**64); keep it secret, see ``fresh_seed``.
      clipping: the method of clipping; see ``Recipe``.
      together: the number of runs trained at once in one program, if they differ in the
        learning rate only. Faster on a GPU; on CPU one by one is faster.
      folder: where to save; a search that was killed resumes from it.
      progress: called with the number of training steps done.

    Raises:
      InputError: if the seed is out of range, or the folder holds another search or can
        be read by others.
      RuntimeError: if a batch exceeded the capacity (probability below 1e-18 per step).
    """
    together = check_integer("together", together, 1)
    seed = check_seed(seed)
    parts = split(images, plan)
    data, held_out = (tuple(map(jnp.asarray, part)) for part in parts)
    (chosen,) = draw_secrets(plan, [seed])
    if chosen.count == 0:
        return Winner(None, float("nan"), None, ())

    def fresh(group: Sequence[int]) -> dp_sgd.State:
        return runs.begin(model, data[0][0], _addresses(seed, group))

    example = jax.tree.map(lambda leaf: leaf[0], fresh([0]))
    settings = [plan.candidates[choice] for choice in chosen.choices]
    with resumed(folder, plan, seed, repr(model), example) as (saved, save):
        state, scores, best = saved.state, list(saved.scores), saved.best
        number, last_save = len(scores), time.monotonic()

        while number < chosen.count:
            # A group that was begun together is resumed together.
            size = _group_size(settings, number, together) if state is None else state.step.shape[0]
            group = range(number, number + size)
            if state is None:
                state = fresh(group)
            own = _addresses(seed, group)
            how = runs.recipe(plan, settings[number], clipping)
            rates = jnp.asarray([settings[i].learning_rate for i in group], jnp.float32)

            def advance(state, steps, own=own, how=how, rates=rates):
                return runs.advance(model, how, data, state, own, rates, jnp.int32(steps))

            def done(
                steps: int,
                state: dp_sgd.State,
                best: Any = best,
                size: int = size,
                scores: list[float] = scores,
            ) -> None:
                nonlocal last_save
                progress(steps * size)
                if time.monotonic() - last_save > _SAVE_SECONDS:
                    save(Saved(state, tuple(scores), best))
                    last_save = time.monotonic()

            state = _steps_in_time(state, settings[number].steps, advance, done)  # type: ignore
            if bool(jnp.any(state.overflow)):
                raise RuntimeError("a batch did not fit; the run is void")
            found = runs.noisy_scores(plan, model, state.params, held_out, own)
            scores = scores + found.tolist()
            leader = runs.best_of(scores)
            if leader >= number:
                row = leader - number
                best = jax.tree.map(lambda leaf, row=row: leaf[row], state.params)
            number, state = number + size, None
            save(Saved(None, tuple(scores), best))
    every = [Run(*both) for both in zip(settings, scores, strict=True)]
    top = every[runs.best_of(scores)]
    return Winner(top.candidate, top.score, best, tuple(every))


def _addresses(seed: int, group: Sequence[int]) -> runs.Address:
    return runs.addresses([seed] * len(group), group)


def correct_on_test(winner: Winner, images: ImageSet, model: nn.Module) -> int:
    """The number of test images that the winner labels correctly; 0 if there is no winner."""
    if winner.params is None:
        return 0
    held_out = (jnp.asarray(images.test_images), jnp.asarray(images.test_labels))
    return int(dp_sgd.accuracy(model, winner.params, held_out))
