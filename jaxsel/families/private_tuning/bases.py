"""Base algorithms, which are run K times and whose best run is released.

One run gives a score and a label. Runs are totally ordered by score, and runs of equal scores by an
order that does not depend on the data. A base can make one run (``draw``). It can also make the
run of a given tail rank, the probability that a fresh run is better (``at_rank``); the rank of the
best of K runs has a simple law, so that this run is drawn without making K. A base also has the
exact law of the label of the best of K.

Example:
    >>> import jaxsel
    >>> from jaxsel import bases, repetitions
    >>> tuning = jaxsel.private_tuning(bases.finite())
    >>> params = {"repetitions": repetitions.geometric(gamma=0.5)}
    >>> print(tuning.law([0.5, 0.5], params).probabilities.round(3))  # the better outcome first
    [0.667 0.333 0.   ]
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel.families.private_tuning.parameters import Epsilon
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import factory
from jaxsel.language.signature import read_params
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.base_laws import OrderedLaw, ordered_law, randomised_response_law

__all__ = ["Base", "Draw", "finite", "randomised_response", "score_table"]


class Draw(NamedTuple):
    """One run of a base.

    Attributes:
      order: Float[Array, ""], by which runs are compared, larger is better; it tells runs of equal
        scores apart.
      score: Float[Array, ""], the score of the run; larger is better.
      label: Int[Array, ""], the label of the run.
    """

    order: Float[Array, ""]
    score: Float[Array, ""]
    label: Int[Array, ""]


class Base(NamedTuple):
    """A base algorithm as a record of pure functions.

    Attributes:
      prepare: ``(data, params) -> (data, params)`` on the host, as for mechanisms.
      draw: ``(key, data, params) -> Draw``: one run.
      at_rank: ``(key, rank, data, params) -> Draw``: a run whose tail rank (the probability
        that a fresh run is better) is ``rank``; uniform ranks give the law of ``draw``.
      labels: ``(data, params) -> tuple[str, ...]``, the names of the labels, from the unprepared
        input.
      law_above: ``(data, params, threshold) -> Float["labels"]``: for each label, the probability
        that one run has it and a score >= threshold; on the host, in float64.
      best_law: ``(data, params, repetitions) -> Float["labels + 1"]``: the exact law of the
        label of the best of K, with no run last; on the host, in float64.
      name: the factory that made it, with its settings; written by ``factory``.
    """

    prepare: Callable[[Any, Any], tuple[Any, Any]]
    draw: Callable[[stream.Key, Any, Any], Draw]
    at_rank: Callable[[stream.Key, Array, Any, Any], Draw]
    labels: Callable[[Any, Any], tuple[str, ...]]
    law_above: Callable[[Any, Any, float], np.ndarray]
    best_law: Callable[[Any, Any, Repetitions], np.ndarray]
    name: str = ""


def _uniform_rank(key: stream.Key) -> Array:
    """The tail rank of a fresh run, which is uniform."""
    return noise.uniform(noise.number(key, 0, noise.widest_precision()))


def _finite_base(
    ordered: Callable[[Any, Any], OrderedLaw],
    label_names: tuple[str, ...] | None = None,
    required: Mapping[str, Any] | None = None,
) -> Base:
    """A base with finitely many outcomes.

    Args:
      ordered: (data, params) -> its law, best outcome first.
      label_names: the names of the labels; by default their numbers.
      required: its parameters, by name with their domains.
    """

    def checked(data, params) -> OrderedLaw:
        return ordered(data, read_params(params, required))

    def prepare(data, params):
        law = checked(data, params)
        # Cumulative from the best outcome, for full accuracy at the best outcomes.
        table = {"at_least": np.cumsum(law.probabilities), "score": law.scores, "label": law.labels}
        return table, ()

    def at_rank(key, rank, data, params):
        del key, params
        last = data["score"].shape[-1] - 1
        position = look_up.position(data["at_least"], rank, "right")
        position = jnp.minimum(position, last)
        return Draw(
            order=-position.astype(rank.dtype),
            score=look_up.pick(data["score"], position),
            label=look_up.pick(data["label"], position),
        )

    def draw(key, data, params):
        return at_rank(key, _uniform_rank(key), data, params)

    def labels(data, params):
        if label_names is not None:
            return label_names
        return tuple(str(i) for i in range(checked(data, params).labels.size))

    def law_above(data, params, threshold):
        law = checked(data, params)
        result = np.empty_like(law.probabilities)
        result[law.labels] = np.where(law.scores >= threshold, law.probabilities, 0.0)
        return result

    def best_law(data, params, repetitions):
        law = checked(data, params)
        best = tuned_law(law.probabilities, repetitions)
        result = np.empty_like(best)
        result[law.labels] = best[:-1]
        result[-1] = best[-1]
        return result

    return Base(prepare, draw, at_rank, labels, law_above, best_law)


@factory
def finite() -> Base:
    """A base whose output has any given law on finitely many outcomes.

    Data: Float["n"], probabilities, best outcome first; or a mapping with "probabilities" and
      "scores", both Float["n"], in any order. Label i is entry i.
    Params: none.
    """

    def ordered(data, params):
        del params
        if isinstance(data, Mapping):
            return ordered_law(data["probabilities"], data["scores"])
        return ordered_law(data)

    return _finite_base(ordered)


@factory
def randomised_response() -> Base:
    """Randomised response on one bit, which is epsilon-DP; the answer 1 is the better one.

    Data: the true bit, 0 or 1.
    Params: ``{"epsilon": e}``; the answer equals the bit with probability
      e^epsilon / (1 + e^epsilon).
    Label: the answer, 0 or 1, which is also the score.
    """

    def ordered(data, params):
        return ordered_law(randomised_response_law(data, params["epsilon"]), [0.0, 1.0])

    return _finite_base(ordered, ("0", "1"), {"epsilon": Epsilon})


@factory
def score_table() -> Base:
    """A base that returns a uniformly random entry of a table of real scores.

    Data: scores, Float["n"]. Label i is entry i; of equal scores the lower label is better.
    Params: none.
    """

    def ordered(data, params):
        del params
        scores = check_finite("scores", data)
        if scores.ndim != 1:
            raise InputError("scores must be one list of numbers")
        return ordered_law(np.full(scores.size, 1.0 / scores.size), scores)

    return _finite_base(ordered)
