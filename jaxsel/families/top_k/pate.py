"""Labels by noisy votes of teachers (PATE, Papernot et al. 2018), many labels at once.

If a query has one label, PATE releases the class with the most noisy votes: that is
``noisy_max("gaussian")`` on the votes (GNMax). If it has m labels, each is released if its noisy
votes exceed a threshold. Votes may be scaled down first, so that no teacher has more than tau in
all (PATE-tau, ``votes.scaled_votes``).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int
from scipy import special

from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.laws import set_labels
from jaxsel.families.top_k.parameters import MAX_COUNT
from jaxsel.families.top_k.release import event_of
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise as noises
from jaxsel.kernel import stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_MAX_LABELS = 12  # labels for which events are sets


class Labelled(NamedTuple):
    """The release of one trial.

    Attributes:
      size: Int[Array, ""], number of labels released.
      hits: Int[Array, ""], number of them that are true; not released.
      correct: Int[Array, ""], labels rightly released or left out; not released.
      event: Int[Array, ""]: ``correct``, or the set as a bit mask.
    """

    size: Int[Array, ""]
    hits: Int[Array, ""]
    correct: Int[Array, ""]
    event: Int[Array, ""]


@factory
def noisy_labels(
    *, events: parameters.Events = "hits", precision: parameters.Precision = "tail"
) -> Mechanism:
    """Releases every label whose noisy votes exceed the threshold.

    Args:
      events: "hits" tallies the number of labels that are right, "sets" the released set
        (at most 12 labels).
      precision: of the draws: "tail" or "float64".

    Data: ``{"votes": Float["labels"], "truth": Bool["labels"]}``, votes >= 0.
    Params: "noise_scale" (standard deviation, in votes), "threshold" (in votes; half of
      the teachers, say).
    Outcome: Labelled.

    Formal guarantees (claims): BASE-PATE, BASE-PATE-tau.

    Raises:
      InputError: for data of another shape, or negative votes.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    needed = {"noise_scale": parameters.NoiseScale, "threshold": parameters.VotesThreshold}

    def checked(data, params) -> tuple[np.ndarray, np.ndarray]:
        read = read_params(params, needed)
        if not isinstance(data, dict) or set(data) != {"votes", "truth"}:
            raise InputError('data must be {"votes": ..., "truth": ...}')
        votes = check_finite("votes", data["votes"])
        truth = np.asarray(data["truth"])
        if votes.ndim != 1 or truth.shape != votes.shape or truth.dtype != bool:
            raise InputError("votes and truth must be lists with one entry a label")
        if np.any((votes < 0.0) | (votes > MAX_COUNT)):
            raise InputError(f"votes must be numbers in [0, {MAX_COUNT:g}]")
        if events == "sets" and votes.size > _MAX_LABELS:
            raise InputError(
                f'events "sets" are for at most {_MAX_LABELS} labels, not {votes.size}'
            )
        return (votes - read["threshold"]) / read["noise_scale"], truth

    def prepare(data, params):
        levels, truth = checked(data, params)
        codes = 1 << np.arange(truth.size) if events == "sets" else 0 * truth
        return {"levels": levels.astype(dtype), "truth": truth, "codes": codes.astype(np.int32)}, ()

    def sample(key: stream.Key, data, params) -> Labelled:
        del params
        levels, truth = jnp.asarray(data["levels"]), jnp.asarray(data["truth"])
        draws = jnp.arange(levels.shape[0], dtype=jnp.uint32)
        found = levels + noises.each_variate("gaussian", key, draws, precision) > 0
        correct = _count(found == truth)
        code = _count(jnp.where(found, jnp.asarray(data["codes"]), 0))
        event = code if events == "sets" else correct
        return Labelled(_count(found), _count(found & truth), correct, event)

    def labels(data, params) -> tuple[str, ...]:
        size = checked(data, params)[1].size
        if events == "hits":
            return tuple(f"{right} of {size} right" for right in range(size + 1))
        return set_labels(size)

    def law(data, params) -> FiniteLaw:
        levels, truth = checked(data, params)
        above = special.ndtr(levels)
        names = labels(data, params)
        # Labels are independent, so the law is a product.
        found = np.ones(1)
        if events == "sets":
            for chance, other in zip(above, special.ndtr(-levels), strict=True):
                found = np.concatenate([found * other, found * chance])
            return FiniteLaw(found, names)
        for chance in np.where(truth, above, special.ndtr(-levels)):
            found = np.append(found * (1.0 - chance), 0.0) + np.append(0.0, found * chance)
        return FiniteLaw(found, names)

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )


def _count(values: Array) -> Array:
    return jnp.sum(values, dtype=jnp.int32)
