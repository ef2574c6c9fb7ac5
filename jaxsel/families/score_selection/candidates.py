"""A base whose run draws one of several candidates and adds noise to its score.

Candidates have their own scores, noise and weights, as in Liu & Talwar 2019, Section 5. The base
serves random stopping (``private_tuning`` with K geometric, Algorithm 2), or selection against a
known threshold (``threshold_selection``, Algorithm 1).
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from jaxsel.families.private_tuning.bases import Base, Draw
from jaxsel.families.score_selection.candidate_laws import NoisyCandidates, index_law
from jaxsel.host.errors import InputError, check_params
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import factory

_BISECTIONS = 64
_NOISE_DRAW, _INDEX_DRAW = 1, 0


def prepare_candidates(candidates: Any) -> dict[str, np.ndarray]:
    """The candidates as arrays that one run draws from.

    Raises:
      InputError: unless given ``NoisyCandidates``.
    """
    if not isinstance(candidates, NoisyCandidates):
        raise InputError("the candidates must be NoisyCandidates; make them with noisy_candidates")
    at_most = np.cumsum(candidates.weights)
    return {
        "scores": candidates.scores,
        "noise_scales": candidates.noise_scales,
        "weights": candidates.weights,
        "at_most": at_most / at_most[-1],
        "noise_bound": np.asarray(candidates.noise_bound),
    }


def score_at_rank(rank: Array, score, scale, noise_bound) -> Array:
    """The noisy score of a candidate that fresh noise exceeds with a given chance.

    Args:
      rank: that chance; from 1 on there is no score, which is -inf.
      score, scale: of the candidate, and of its Laplace noise.
      noise_bound: where the noise is truncated, in units of its scale.
    """
    upper = rank < 0.5
    t = jnp.maximum(jnp.where(upper, rank, 1.0 - rank), jnp.finfo(rank.dtype).tiny)
    z = noise.truncated_laplace(noise.Ends(upper, t), noise_bound)
    return jnp.where(rank < 1.0, score + scale * z, -jnp.inf)


def _uniform(key: stream.Key, draw: int) -> Array:
    return noise.uniform(noise.number(key, draw, noise.widest_precision()))


def _chosen(table: Array, u: Array) -> Array:
    """The first index whose cumulative weight reaches u times the total weight."""
    index = look_up.position(table, u * table[-1])
    return jnp.minimum(index, table.shape[-1] - 1)


def _above(y: Array, data) -> Array:
    """The chance that a run scores above y."""
    bound = data["noise_bound"]
    z = (y - jnp.asarray(data["scores"])) / data["noise_scales"]
    size = jnp.minimum(jnp.abs(z), bound)
    cut = jnp.where(jnp.isinf(bound), 1.0, -jnp.expm1(size - bound))
    beyond = 0.5 * jnp.exp(-size) * cut / -jnp.expm1(-bound)
    return jnp.sum(data["weights"] * jnp.where(z > 0.0, beyond, 1.0 - beyond))


@factory
def noised_candidates() -> Base:
    """A base whose run draws a candidate i with chance w_i and adds noise Lap(b_i) to its score.

    Data: ``NoisyCandidates``; its noise may be truncated.
    Params: none.
    Label: the candidate's index.
    """

    def prepare(data, params):
        check_params(params)
        return prepare_candidates(data), ()

    def draw(key, data, params):
        del params
        index = _chosen(jnp.asarray(data["at_most"]), _uniform(key, _INDEX_DRAW))
        number = noise.number(key, _NOISE_DRAW, noise.widest_precision())
        z = noise.truncated_laplace(number, data["noise_bound"])
        scales = jnp.asarray(data["noise_scales"])
        score = jnp.asarray(data["scores"])[index] + scales[index] * z
        return Draw(score, score, index)

    def at_rank(key, rank, data, params):
        del params
        scores, scales = jnp.asarray(data["scores"]), jnp.asarray(data["noise_scales"])
        rank = jnp.asarray(rank)
        alone = score_at_rank(rank, scores, scales, data["noise_bound"])

        def halve(_, bracket):
            low, high = bracket
            middle = 0.5 * (low + high)
            above = _above(middle, data) > rank
            return jnp.where(above, middle, low), jnp.where(above, high, middle)

        # The score lies between this quantile of the worst and of the best candidate.
        start = (alone.min(), alone.max())
        low, high = lax.fori_loop(0, _BISECTIONS, halve, start)
        score = 0.5 * (low + high)
        z = jnp.abs(score - scores) / scales
        # At the end of the support rounding may exclude all candidates: take the nearest.
        inside = z <= jnp.maximum(data["noise_bound"], z.min())
        density = jnp.where(inside, jnp.exp(z.min() - z), 0.0)
        density = density * data["weights"] / scales
        index = _chosen(jnp.cumsum(density), _uniform(key, _INDEX_DRAW))
        return Draw(score, score, index)

    def labels(data, params):
        del params
        return tuple(str(i) for i in range(data.scores.size))

    def law_above(data, params, threshold):
        del params
        z = (threshold - data.scores) / data.noise_scales
        size = np.minimum(np.abs(z), data.noise_bound)
        cut = 1.0 if np.isinf(data.noise_bound) else -np.expm1(size - data.noise_bound)
        beyond = 0.5 * np.exp(-size) * cut / -np.expm1(-data.noise_bound)
        return data.weights * np.where(z > 0.0, beyond, 1.0 - beyond)

    def best_law(data, params, repetitions):
        del params
        return index_law(data, repetitions)

    return Base(
        name="noised_candidates",
        prepare=prepare,
        draw=draw,
        at_rank=at_rank,
        labels=labels,
        law_above=law_above,
        best_law=best_law,
    )
