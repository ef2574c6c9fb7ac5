"""The plan of a private search of a network's settings: candidates, their steps, score noise.

The candidates are settings of DP-SGD; every run draws one of them uniformly, trains on the
training part, and is scored by the number of validation images it labels correctly, plus
discrete Gaussian noise. Liu & Talwar 2019, Section 5.1: a record is in the training part or in
the validation part, so a run has the guarantee of DP-SGD for the former and that of the noisy
count for the latter, and the epsilon of the search is the larger of the two tuned epsilons.
The noise on the count is chosen so that they are equal.

Candidates with other noise multipliers or batch sizes take as many steps as their profile
stays below two thresholds (Koskela, Redberg & Wang 2024, Section 6.2 and Corollary 6.2).
"""

import itertools
import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.data.images import ImageSet
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number, numbers, positive, whole
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.accountant import proven_epsilons
from jaxsel.tuning.base_forms import dominating
from jaxsel.tuning.bounds.heterogeneous import candidate_thresholds, largest_steps
from jaxsel.tuning.parameters import ProperDelta
from jaxsel.tuning.planning.base_family import BaseFamily, least_noise

_VALIDATION_SHARE = 0.2
_LEAST_SCORE_NOISE = 0.3
_MOST_RUNS = 1e4
_POSITIVE = positive()


class Candidate(NamedTuple):
    """One setting of DP-SGD.

    Attributes:
      learning_rate: of plain SGD.
      noise_multiplier: standard deviation of the noise over the clipping norm.
      clip_norm: C.
      batch_size: the expected batch size.
      steps: the number of steps.
    """

    learning_rate: float
    noise_multiplier: float
    clip_norm: float
    batch_size: float
    steps: int


class SearchPlan(NamedTuple):
    """A search that is ready to run.

    Attributes:
      candidates: the grid.
      repetitions: law of the number K of runs.
      training_size, validation_size: of the two parts. Public.
      score_noise: sigma of the discrete Gaussian noise on the count of correct labels.
      base: what one run guarantees to the training part, whichever its candidate.
      delta: of the search.
    """

    candidates: tuple[Candidate, ...]
    repetitions: Repetitions
    training_size: int
    validation_size: int
    score_noise: float
    base: curves.BaseGuarantee
    delta: float

    @property
    def single_base(self) -> str | None:
        """The base as text; None if candidates differ in privacy."""
        kinds = {(each.noise_multiplier, each.batch_size, each.steps) for each in self.candidates}
        return self.base.name if len(kinds) == 1 else None


@validated
def learning_rates(
    low: Annotated[float, positive("least rate")],
    high: Annotated[float, positive("largest rate")],
    count: Annotated[int, whole("rates", at_least=1, at_most=1e6)],
) -> tuple[float, ...]:
    """A logarithmic grid of ``count`` learning rates from ``low`` to ``high``, both included.

    Raises:
      InputError: if low is above high.
    """
    if low > high:
        raise InputError(f"the learning rates go from {low:g} down to {high:g}")
    return tuple(float(rate) for rate in np.geomspace(low, high, count))


def read_numbers(name: str, text: str) -> list[float]:
    """Parses numbers separated by commas."""
    return numbers().read(name, text).tolist()


def read_rates(text: str) -> tuple[float, ...]:
    """Parses learning rates, given as low:high:count or as numbers separated by commas."""
    name = "learning-rates"
    parts = text.split(":")
    if len(parts) == 1:
        return tuple(read_numbers(name, text))
    if len(parts) != 3:
        raise InputError(f"{name} is {text!r}; write low:high:count or numbers with commas")
    low, high = (number().read(name, part) for part in parts[:2])
    return learning_rates(low, high, whole().read(f"{name}, count", parts[2]))


def _steps(epochs: float, examples: int, batch_size: float) -> int:
    return math.ceil(epochs * examples / batch_size)


def _score_noise(repetitions: Repetitions, delta: float, target: float) -> float:
    """Least noise on a count whose tuned epsilon is at most ``target``."""

    def cost(base: curves.BaseGuarantee) -> float:
        return proven_epsilons(base, repetitions, delta)[0].epsilon

    least = curves.discrete_gaussian(_LEAST_SCORE_NOISE)
    if cost(least) <= target:
        return _LEAST_SCORE_NOISE
    known = {_LEAST_SCORE_NOISE: least}
    family = BaseFamily("discrete_gaussian:sensitivity=1", "sigma", True, known)
    try:
        return least_noise(family, cost, target)
    except InputError:
        raise InputError(
            f"no noise on the validation score keeps epsilon below {target:g} at "
            f"delta = {delta:g}; take a larger delta or fewer repetitions"
        ) from None


@validated
def plan_search(
    *,
    examples: Annotated[int, whole("private labelled images", at_least=5)],
    rates: Sequence[float],
    noise_multipliers: Sequence[float],
    clip_norms: Sequence[float],
    batch_sizes: Sequence[float],
    epochs: Annotated[float, positive("of the first candidate")],
    repetitions: Repetitions,
    delta: ProperDelta,
) -> SearchPlan:
    """Plans a search: its grid, the steps of each candidate, their guarantee, the score noise.

    Args:
      examples: number of private labelled images; a fifth is used for validation.
      rates, noise_multipliers, clip_norms, batch_sizes: the grid is their product.
      epochs: for the first noise multiplier and batch size; the others take as many steps
        as their privacy allows.
      repetitions: the law of K.
      delta: of the search.

    Raises:
      InputError: for an empty grid, numbers in it that are out of range, or E[K] > 10,000.
    """
    if not repetitions.mean <= _MOST_RUNS:
        raise InputError(
            f"K has mean {repetitions.mean:g}, and every run trains a network; give a law "
            f"of mean at most {_MOST_RUNS:g}"
        )
    validation = max(1, round(_VALIDATION_SHARE * examples))
    training = examples - validation
    size = number(above=0.0, at_most=training)
    axes = {
        "learning rates": [_POSITIVE.read("learning rate", x) for x in rates],
        "noise multipliers": [_POSITIVE.read("noise multiplier", x) for x in noise_multipliers],
        "clipping norms": [_POSITIVE.read("clipping norm", x) for x in clip_norms],
        "batch sizes": [size.read("batch size", x) for x in batch_sizes],
    }
    for name, values in axes.items():
        if not values:
            raise InputError(f"the grid is empty: there are no {name}")
    privacy = list(itertools.product(axes["noise multipliers"], axes["batch sizes"]))
    noise, batch_size = privacy[0]
    steps = {privacy[0]: _steps(epochs, training, batch_size)}

    def base_of(noise: float, batch_size: float) -> curves.BaseGuarantee:
        return dp_sgd(
            sampling_probability=batch_size / training,
            noise_multiplier=noise,
            steps=steps[noise, batch_size],
        )

    if len(privacy) > 1:
        single = base_of(*privacy[0]).epsilon(delta)
        thresholds = candidate_thresholds(single, delta, repetitions)
        for noise, batch_size in privacy:
            found = largest_steps(thresholds, batch_size / training, noise)
            if found == 0:
                raise InputError(
                    f"noise multiplier {noise:g} with batch size {batch_size:g} costs "
                    "more in one step than the first candidate in all; leave it out"
                )
            steps[noise, batch_size] = found
    base = dominating([base_of(*each) for each in privacy])
    target = proven_epsilons(base, repetitions, delta)[0].epsilon
    candidates = tuple(
        Candidate(rate, noise, clip, batch_size, steps[noise, batch_size])
        for (noise, batch_size), clip, rate in itertools.product(
            privacy, axes["clipping norms"], axes["learning rates"]
        )
    )
    return SearchPlan(
        candidates,
        repetitions,
        training,
        validation,
        _score_noise(repetitions, delta, target),
        base,
        delta,
    )


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
