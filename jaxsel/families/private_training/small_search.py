"""A small search that is run many times, for the checks of claims about searches.

Its settings avoid special values, at which a fault might not show: C and the learning rates are
not 1, batches are half of the data, there are two steps, and K is random.
"""

import functools
import math

import numpy as np

from jaxsel import repetitions
from jaxsel.data.images import ImageSet
from jaxsel.families.private_training.many_searches import Searches, many_searches
from jaxsel.families.private_training.one_parameter_network import OneParameterNetwork, people
from jaxsel.training.search_plan import SearchPlan, plan_search

MEAN_RUNS, DELTA = 3.0, 1e-2
RIGHT = 3  # validation images that every network classifies correctly, where scores are known
KINDS = ("canary", "nobody", "right", "wrong")


def plan(delta: float = DELTA) -> SearchPlan:
    """The plan of the small search, with 24 training and 6 validation images."""
    return _plan(delta)  # cached whether or not delta is given


@functools.cache
def _plan(delta: float) -> SearchPlan:
    return plan_search(
        examples=30,
        rates=(0.5, 0.8),
        noise_multipliers=(0.7,),
        clip_norms=(0.5,),
        batch_sizes=(12.0,),
        epochs=1.0,
        repetitions=repetitions.geometric(1.0 / MEAN_RUNS),
        delta=delta,
    )


def images(kind: str) -> ImageSet:
    """Private images of a kind, which come in two neighbouring pairs.

    "canary" and "nobody" differ in one training example, and favour networks that were
    trained on it; "right" and "wrong" differ in one validation example, which every network
    classifies correctly or wrongly.
    """
    if kind in ("right", "wrong"):
        right = RIGHT - (kind == "wrong")
        return people(plan(), canary=False, right=right)
    setting = plan().candidates[0]
    steps, noise = setting.steps, setting.noise_multiplier
    # Thresholds lie around the typical parameter of a network that was trained on the canary with
    # the smaller learning rate, so that such networks score higher.
    places = np.linspace(0.5, 1.0, plan().validation_size) * steps
    unit = setting.learning_rate * setting.clip_norm / setting.batch_size
    above = places + 0.5 * noise * math.sqrt(steps)
    return people(plan(), canary=kind == "canary", thresholds=tuple((above * unit).tolist()))


@functools.lru_cache(maxsize=8)
def searches(kind: str, number: int, seed: int) -> Searches:
    """The results of many small searches on images of a kind.

    Args:
      kind: of the images, one of ``KINDS``; each kind has seeds of its own.
      number: how many searches.
      seed: from which the seeds of all searches are made.
    """
    first = (seed + 1) * 2**40 + KINDS.index(kind) * 2**38
    seeds = [(first + i) % 2**64 for i in range(number)]
    return many_searches(plan(), images(kind), OneParameterNetwork(), seeds)


def sums(found: Searches) -> np.ndarray:
    """The sum of each run's noisy sums along the canary's gradient, over C: Float64["runs"]."""
    settings = np.array([c.learning_rate * c.clip_norm / c.batch_size for c in plan().candidates])
    return found.params["trace"][:, 0] / settings[found.candidate]
