"""Base algorithms: what is run again and again, and whose best run is released.

A base is a scored candidate: one run gives a score and a label, and runs are totally
ordered by score (ties by an independent order that does not depend on the data). Each base
knows how to make one run (``draw``), what its run of a given tail rank is (``at_rank``,
the key to best-of-K without K runs), and the exact law of labels of the best of K.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel import noise, stream
from jaxsel.errors import (
    InputError,
    check_finite,
    check_positive,
    check_probability_vector,
)
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.repetitions import Repetitions


class Draw(NamedTuple):
    """One run of a base.

    Attributes:
      order: Float[Array, ""], larger is better; what runs are compared by.
      score: Float[Array, ""], the score of the run; larger is better.
      label: Int[Array, ""], what the run returned.
    """

    order: Float[Array, ""]
    score: Float[Array, ""]
    label: Int[Array, ""]


class Base(NamedTuple):
    """A base algorithm as a record of pure functions.

    Attributes:
      name: identifies the base and its static settings.
      prepare: ``(data, params) -> (data, params)`` on the host, as for mechanisms.
      draw: ``(key, data, params) -> Draw``: one run.
      at_rank: ``(key, rank, data, params) -> Draw``: the run whose tail rank (chance
        that a fresh run is better) is ``rank``; uniform ranks give the law of ``draw``.
      labels: ``(data, params) -> tuple[str, ...]``, from the unprepared input.
      law_above: ``(data, params, threshold) -> Float["labels"]``: P(label and score >=
        threshold) of one run; host, float64.
      best_law: ``(data, params, repetitions) -> Float["labels + 1"]``: exact law of the
        label of the best of K, no run last; host, float64.
    """

    name: str
    prepare: Callable[[Any, Any], tuple[Any, Any]]
    draw: Callable[[stream.Key, Any, Any], Draw]
    at_rank: Callable[[stream.Key, Array, Any, Any], Draw]
    labels: Callable[[Any, Any], tuple[str, ...]]
    law_above: Callable[[Any, Any, float], np.ndarray]
    best_law: Callable[[Any, Any, Repetitions], np.ndarray]


class OrderedLaw(NamedTuple):
    """A finite law ordered best first.

    Attributes:
      probabilities: Float64["n"], best outcome first.
      scores: Float64["n"], non-increasing.
      labels: Int["n"], a permutation of range(n).
    """

    probabilities: np.ndarray
    scores: np.ndarray
    labels: np.ndarray


def _ordered(probabilities, scores=None) -> OrderedLaw:
    """Sorts by score (ties: lowest label first); default: already best first."""
    law = check_probability_vector("probabilities", probabilities)
    if scores is None:
        scores = np.arange(law.size, 0, -1) - 1.0
    scores = check_finite("scores", scores)
    if scores.shape != law.shape:
        raise InputError(
            f"there are {law.size} probabilities and {scores.size} scores; "
            "they must be equally many"
        )
    labels = np.argsort(-scores, kind="stable")
    return OrderedLaw(law[labels], scores[labels], labels.astype(np.int32))


def _uniform_rank(key: stream.Key) -> Array:
    return noise.uniform(noise.number(key, 0, noise.widest_precision()))


def _finite_base(
    name: str, ordered: Callable[[Any, Any], OrderedLaw], label_names=None
) -> Base:
    """A base with finitely many outcomes, from its ordered law."""

    def prepare(data, params):
        law = ordered(data, params)
        # Cumulative from the best: exact to the last place for the best outcomes.
        table = {
            "at_least": np.cumsum(law.probabilities),
            "score": law.scores,
            "label": law.labels,
        }
        return table, ()

    def at_rank(key, rank, data, params):
        del key, params
        last = data["score"].shape[-1] - 1
        position = jnp.searchsorted(jnp.asarray(data["at_least"]), rank, side="right")
        position = jnp.minimum(position, last)
        return Draw(
            order=-position.astype(rank.dtype),
            score=jnp.asarray(data["score"])[position],
            label=jnp.asarray(data["label"])[position],
        )

    def draw(key, data, params):
        return at_rank(key, _uniform_rank(key), data, params)

    def labels(data, params):
        if label_names is not None:
            return tuple(label_names)
        return tuple(str(i) for i in range(ordered(data, params).labels.size))

    def law_above(data, params, threshold):
        law = ordered(data, params)
        result = np.empty_like(law.probabilities)
        result[law.labels] = np.where(law.scores >= threshold, law.probabilities, 0.0)
        return result

    def best_law(data, params, repetitions):
        law = ordered(data, params)
        best = tuned_law(law.probabilities, repetitions)
        result = np.empty_like(best)
        result[law.labels] = best[:-1]
        result[-1] = best[-1]
        return result

    return Base(name, prepare, draw, at_rank, labels, law_above, best_law)


@functools.cache
def finite() -> Base:
    """Any finite law.

    Data: ``Float["n"]`` probabilities, best outcome first; or a mapping with
      "probabilities" and "scores" in any order (label i is entry i).
    Params: none used.
    """

    def ordered(data, params):
        del params
        if isinstance(data, Mapping):
            return _ordered(data["probabilities"], data["scores"])
        return _ordered(data)

    return _finite_base("finite", ordered)


@functools.cache
def randomised_response() -> Base:
    """Randomised response on one bit, epsilon-DP; the order prefers the answer 1.

    Data: the bit, 0 or 1.
    Params: ``{"epsilon": e}`` > 0: the answer equals the bit with probability
      e^epsilon / (1 + e^epsilon).
    Labels: 0 and 1, the answer, which is also the score.
    """

    def ordered(data, params):
        if data not in (0, 1):
            raise InputError(f"the bit is {data}; it must be 0 or 1")
        epsilon = check_positive("epsilon", params["epsilon"])
        lie = np.exp(-np.logaddexp(0.0, epsilon))
        truth = np.exp(-np.logaddexp(0.0, -epsilon))
        answers = [truth, lie] if data == 0 else [lie, truth]
        return _ordered(answers, [0.0, 1.0])

    return _finite_base("randomised_response", ordered, ("0", "1"))


@functools.cache
def score_table() -> Base:
    """A uniformly random entry of a table of real scores.

    Data: scores, Float["n"]; label i is entry i; equal scores: the lower label wins.
    Params: none used.
    """

    def ordered(data, params):
        del params
        scores = check_finite("scores", data)
        if scores.ndim != 1:
            raise InputError("scores must be one list of numbers")
        return _ordered(np.full(scores.size, 1.0 / scores.size), scores)

    return _finite_base("score_table", ordered)
