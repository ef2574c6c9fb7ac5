"""Private tuning: run a base algorithm K times, K random, and release the best run.

It is the repeated algorithm of Papernot & Steinke 2022. With K geometric it is Liu & Talwar 2019,
Algorithm 2, and with K capped that algorithm with a hard stop. With K fixed it is the naive
baseline, which costs up to K epsilon.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.private_tuning.bases import Base, Draw
from jaxsel.families.private_tuning.parameters import METHODS
from jaxsel.host.errors import InputError, check_choice
from jaxsel.kernel import noise, stream
from jaxsel.kernel import repetition_sampling as sampling
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice
from jaxsel.repetitions import FAMILIES, Repetitions

_FAMILIES = (*FAMILIES, "conditioned", "capped")
_COUNT_TAG, _RANK_TAG, _OUTPUT_TAG = 0xC0, 0xC1, 0xC2


class Selection(NamedTuple):
    """What a selection among runs releases, and how many runs it made.

    Attributes:
      label: Int[Array, ""], the released label; the number of labels if nothing is released.
      score: Float[Array, ""], the released score; NaN if nothing is released.
      count: Int[Array, ""], the number of runs; -1 if the method does not draw it. It is not
        released, and publishing it breaks the guarantee.

    Example:
        >>> import jaxsel
        >>> from jaxsel import bases, repetitions, stream
        >>> tuning = jaxsel.private_tuning(bases.score_table(), method="literal")
        >>> params = {"repetitions": repetitions.geometric(gamma=0.2)}
        >>> data, params = tuning.prepare([0.1, 0.7, 0.4], params)
        >>> released = tuning.sample(stream.make_key(seed=1), data, params)  # one trial
        >>> round(float(released.score), 1) in (0.1, 0.7, 0.4)
        True
    """

    label: Int[Array, ""]
    score: Float[Array, ""]
    count: Int[Array, ""]


def selected(selection: Selection) -> Array:
    """The event of a selection: the released label."""
    return selection.label


def release(found: Draw, none: Array, num_labels, count) -> Selection:
    """The selection that releases the best run, or nothing if there was no run.

    Args:
      found: the best run.
      none: Bool[""], whether there was no run.
      num_labels: how many labels there are, which is also the label of nothing.
      count: number of runs, or -1 if it is not known.
    """
    label = jnp.where(none, num_labels, found.label).astype(jnp.int32)
    return Selection(label, jnp.where(none, jnp.nan, found.score), count)


def _split_params(params: Any) -> tuple[Repetitions, dict]:
    """Splits the parameters of a mechanism into the law of K and those of the base.

    Raises:
      InputError: if there is no law of K.
    """
    if "repetitions" not in params or not isinstance(params["repetitions"], Repetitions):
        raise InputError('params["repetitions"] must be a law of K from jaxsel.repetitions')
    rest = {key: value for key, value in params.items() if key != "repetitions"}
    return params["repetitions"], rest


@factory
def private_tuning(
    base: Base,
    family: Annotated[str, choice(_FAMILIES)] = "truncated_negative_binomial",
    *,
    method: Annotated[str, choice(METHODS)] = "rank",
) -> Mechanism:
    """Draws K, runs the base K times, and releases the best run; nothing if K = 0.

    Args:
      base: the algorithm to repeat.
      family: family of the law of K, which is compiled in; the numbers of the law are parameters.
      method: "literal" makes the K runs, as the paper writes it; "count" draws K and
        then the rank of the best of K runs; "rank" draws that rank alone, by inverting
        the generating function (fastest, but the number of runs stays unknown).

    Data: the base's.
    Params: the base's, and ``"repetitions"``, the law of K, from ``jaxsel.repetitions``.
    Outcome: ``Selection``. Event: the released label; "none" comes last.

    Formal guarantees (claims): PS-Thm2, PS-Cor3, PS-Cor4, PS-Thm6, PS-Lem7; with K
    geometric LT-Thm3.2. A fixed K has none better than composition (PS-Prop17).

    Raises:
      InputError: if the family is not that of the law of K in the parameters, or has no closed-form
        rank although method is "rank".

    Example:
        >>> import jaxsel
        >>> from jaxsel import bases, repetitions
        >>> tuning = jaxsel.private_tuning(bases.score_table())
        >>> params = {"repetitions": repetitions.geometric(gamma=0.5)}
        >>> print(tuning.law([0.1, 0.7], params))  # which entry is released
        Exact output law.
          outcome  probability
          0        0.333333
          1        0.666667
          none     0
    """
    if method == "rank":
        check_choice("family for method rank", family, sampling.RANK_FAMILIES)

    def prepare(data, params):
        law, rest = _split_params(params)
        if law.family != family:
            raise InputError(f"the law of K is {law.family}; this mechanism was made for {family}")
        prepared, base_params = base.prepare(data, rest)
        if method == "rank":
            numbers = sampling.prepare_rank(law)
        else:
            numbers = sampling.prepare_count(law)
        num_labels = np.int32(len(base.labels(data, rest)))
        return prepared, {"base": base_params, "repetitions": numbers, "num_labels": num_labels}

    def sample(key, data, params):
        if method == "literal":
            return _literal(base, key, data, params)
        if method == "rank":
            count = jnp.int64(-1)
            rank = sampling.sample_rank(family, stream.fold(key, _RANK_TAG), params["repetitions"])
        else:
            count = sampling.sample_count(stream.fold(key, _COUNT_TAG), params["repetitions"])
            number = noise.number(stream.fold(key, _RANK_TAG), 0)
            rank = sampling.rank_given_count(count, number)
        found = base.at_rank(stream.fold(key, _OUTPUT_TAG), rank.value, data, params["base"])
        return release(found, rank.none, params["num_labels"], count)

    def labels(data, params):
        return (*base.labels(data, _split_params(params)[1]), "none")

    def law(data, params) -> FiniteLaw:
        repetitions, rest = _split_params(params)
        probabilities = base.best_law(data, rest, repetitions)
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=selected, labels=labels, law=law, resolution=2.0**-53
    )


def _literal(base: Base, key, data, params) -> Selection:
    """One trial as the paper writes it: K is drawn, K runs are made, and the best is released.

    Of equal runs the first one is kept.
    """
    count = sampling.sample_count(stream.fold(key, _COUNT_TAG), params["repetitions"])

    def run(k, best: Draw) -> Draw:
        fresh = base.draw(stream.at_round(key, k), data, params["base"])
        better = fresh.order > best.order
        return Draw(*(jnp.where(better, a, b) for a, b in zip(fresh, best, strict=True)))

    shape = base.draw(key, data, params["base"])
    worst = Draw(
        jnp.full_like(shape.order, -jnp.inf),
        jnp.zeros_like(shape.score),
        jnp.zeros_like(shape.label),
    )
    best = lax.fori_loop(0, count, run, worst)
    return release(best, count == 0, params["num_labels"], count)
