"""Runs many whole searches of a small network at once, for audits of ``jaxsel tune``.

It uses the same parts as ``jaxsel tune`` (``jaxsel.search.draws``, ``runs``, ``split``, the score),
but keeps nothing in a folder and trains the runs of all searches together. Each search has the
same result as ``jaxsel tune`` with the same seed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.data.images import ImageSet
from jaxsel.training import runs
from jaxsel.training.extras import nn
from jaxsel.training.search_plan import SearchPlan, split

_BLOCK = 4096  # runs at a time


class Searches(NamedTuple):
    """The results of many searches.

    Attributes:
      counts: Int["searches"], K, how many runs each search made.
      search: Int["runs"], to which search each run belongs; runs stand search by search.
      number: Int["runs"], the number of each run in its search, from 0.
      candidate: Int["runs"], index of the run's setting in the plan's candidates.
      score: Float64["runs"], noisy scores.
      params: pytree of NumPy arrays, the trained parameters, one row per run.
      winner: Int["searches"], row of the released run; -1 if the search made none.
    """

    counts: np.ndarray
    search: np.ndarray
    number: np.ndarray
    candidate: np.ndarray
    score: np.ndarray
    params: Any
    winner: np.ndarray


def many_searches(
    plan: SearchPlan,
    images: ImageSet,
    model: nn.Module,
    seeds: Sequence[int],
    *,
    clipping: str = "microbatch",
) -> Searches:
    """The results of whole searches, one for each seed.

    Args:
      plan: the plan of all searches.
      images: a set whose training images are the private ones, to be split by the plan.
      model: the network that the runs train.
      seeds: the seed of each search.
      clipping: the method of clipping; see ``dp_sgd.Recipe``.

    Raises:
      RuntimeError: if a batch exceeded the capacity (probability below 1e-18 per step).
    """
    from jaxsel.search.draws import (
        Draw,
        draw_count,
        draw_secrets,
        simulated_noise,
        source,
        training_seed,
    )
    from jaxsel.search.tune import score_of

    parts = split(images, plan)
    data, held_out = (tuple(map(jnp.asarray, part)) for part in parts)
    drawn = []
    for seed in seeds:
        generator = source(seed)
        drawn.append(draw_secrets(draw_count(plan.repetitions, generator), generator))
    counts = np.array([len(each.runs) for each in drawn])
    search = np.repeat(np.arange(len(seeds)), counts)
    number = np.concatenate([np.arange(count) for count in counts]).astype(int)
    secrets = [secret for each in drawn for secret in each.runs]
    ties = [tie for each in drawn for tie in each.ties]
    places = range(len(plan.candidates))
    candidate = np.array([Draw(secret).choice(places) for secret in secrets], dtype=int)
    every = np.array([training_seed(secret) for secret in secrets], dtype=np.uint64)

    right = np.zeros(search.size, dtype=int)
    shapes = jax.eval_shape(
        lambda own: runs.begin(model, data[0][0], own), runs.addresses([0])
    ).params
    params = jax.tree.map(lambda leaf: np.zeros((search.size, *leaf.shape[1:]), leaf.dtype), shapes)
    kinds: dict[tuple, list[int]] = {}
    for place, setting in enumerate(plan.candidates):
        how = runs.recipe(plan, setting, clipping)
        kinds.setdefault((how, setting.steps), []).append(place)
    learning = np.array([c.learning_rate for c in plan.candidates], dtype=np.float32)
    for (how, steps), places in kinds.items():
        chosen = np.flatnonzero(np.isin(candidate, places))
        for first in range(0, chosen.size, _BLOCK):
            block = chosen[first : first + _BLOCK]
            # The block is padded with the last run, so that one program serves all blocks.
            rows = np.pad(block, (0, _BLOCK - block.size), mode="edge")
            own = runs.addresses(every[rows])
            state = runs.begin(model, data[0][0], own)
            rates = jnp.asarray(learning[candidate[rows]])
            state = runs.advance(model, how, data, state, own, rates, jnp.int32(steps))
            if bool(jnp.any(state.overflow)):
                raise RuntimeError("a batch did not fit; the searches are void")
            found = runs.right_labels(model, state.params, held_out)
            right[block] = np.asarray(found)[: block.size]

            def keep(all_rows, leaf, block=block):
                all_rows[block] = np.asarray(leaf)[: block.size]

            jax.tree.map(keep, params, state.params)
    noisy = score_of(plan).noisy
    score = np.array(
        [
            noisy(int(each), simulated_noise(secret, 0))
            for each, secret in zip(right, secrets, strict=True)
        ]
    )
    ends = np.cumsum(counts)
    winner = np.array(
        [
            max(range(end - count, end), key=lambda row: (score[row], ties[row]), default=-1)
            for end, count in zip(ends.tolist(), counts.tolist(), strict=True)
        ]
    )
    return Searches(counts, search, number, candidate, score, params, winner)
