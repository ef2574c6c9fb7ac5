"""Report noisy max: release the index of the largest noisy score.

One loop over the candidates serves all noises.
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxsel.families.noisy_max import parameters
from jaxsel.families.noisy_max.laws import noisy_max_law, noisy_max_scale
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise as noises
from jaxsel.kernel import rows, stream
from jaxsel.language.base import FiniteLaw, Mechanism, Relation, factory, outcome_itself
from jaxsel.language.domains import choice


@factory
def noisy_max(
    noise: parameters.AnyNoise = "gumbel",
    *,
    relation: parameters.Changes = "general",
    method: Annotated[str, choice(parameters.METHODS)] = "literal",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    r"""Report the index of the largest noisy score, argmax_i (s_i + b Z_i).

    With Gumbel noise this is the exponential mechanism (McSherry & Talwar 2007), P(i) proportional
    to exp(s_i / b). With exponential noise it is permute-and-flip (McKenna & Sheldon 2020; Ding et
    al. 2021).

    Args:
      noise: law of Z: "gumbel", "laplace", "exponential" or "gaussian".
      relation: how scores may change, "general" or "monotone"; b follows from it and "epsilon".
      method: "literal" adds the noise to the scores; "race" (Gumbel only) has the same
        law with one logarithm less: the least E_i exp(-s_i / b) wins, E exponential.
      precision: of the draws, see ``jaxsel.kernel.noise``.

    Data: scores, Float["m"], in units of the sensitivity.
    Params: ``{"epsilon": e}``, or ``{"noise_scale": b}`` (the only form for "gaussian").
    Outcome and event: Int[Array, ""], an index in [0, m). Of equal noisy scores, which have
    probability zero in exact arithmetic, the lowest index wins.

    Formal guarantees (claims ``NM-*``): with Gumbel, Laplace or exponential noise, b = 2/epsilon
    is epsilon-DP, and so is b = 1/epsilon if the changes are monotone.

    Raises:
      InputError: for scores that are empty or not finite; for method "race" with another noise
        than Gumbel's.

    Example:
        >>> import jaxsel
        >>> exponential_mechanism = jaxsel.noisy_max("gumbel")
        >>> law = exponential_mechanism.law([2.0, 1.0, 0.0], {"epsilon": 2.0})
        >>> print(law.probabilities.round(3))
        [0.665 0.245 0.09 ]
    """
    if method == "race" and noise != "gumbel":
        raise InputError('method "race" has the law of Gumbel noise only')
    per_hash = noises.draws_per_hash(precision)
    dtype = np.float64 if precision == "float64" else np.float32

    def checked(data, params) -> tuple[np.ndarray, float]:
        scores = check_finite("scores", data)
        if scores.ndim != 1:
            raise InputError("scores must be one list of numbers")
        rows.check_candidates(scores.size)
        if noise == "gaussian" and "noise_scale" not in params:
            raise InputError("Gaussian noisy max is not pure DP; give noise_scale, not epsilon")
        return scores, noisy_max_scale(params, Relation(relation))

    def prepare(data, params):
        scores, scale = checked(data, params)
        # In units of the noise, relative to the best score: accurate in float32, and exp is
        # finite.
        levels = (scores - scores.max()) / scale
        padding = -len(levels) % per_hash
        levels = np.concatenate([levels, np.full(padding, -np.inf)])
        with np.errstate(over="ignore"):  # an infinite waiting time never wins
            if method == "race":
                levels = np.exp(-levels)
            return levels.astype(dtype).reshape(-1, per_hash), ()

    def sample(key: stream.Key, data, params) -> Int[Array, ""]:
        del params
        data = jnp.asarray(data)
        if method == "race":
            return _argmin_race(key, data, noises.variates("exponential", precision))
        return _argmax_noisy(key, data, noises.variates(noise, precision))

    def law(data, params) -> FiniteLaw:
        scores, scale = checked(data, params)
        # Differences before the division, which could overflow for large scores.
        with np.errstate(over="ignore"):
            levels = (scores - scores.max()) / scale
        return FiniteLaw(noisy_max_law(levels, noise), labels(data, params))

    def labels(data, params) -> tuple[str, ...]:
        return tuple(str(i) for i in range(np.size(data)))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )


def _argmax_noisy(key, levels, variates) -> Array:
    """The index of the largest level + variate.

    Args:
      key: of the trial.
      levels: Float["hashes per_hash"], the scores over b, in rows of as many candidates as one
        hash gives variates.
      variates: ``(key, number of the hash) -> its variates``.
    """

    def candidates(hash_number):
        row = levels[hash_number]
        return [row[c] + z for c, z in enumerate(variates(key, hash_number))]

    return rows.argmax(candidates, levels.shape, levels.dtype)


def _argmin_race(key, weights, variates) -> Array:
    """The index of the least weight * exponential variate.

    Arguments as of ``_argmax_noisy``, with exp(-level) as weights.
    """

    def candidates(hash_number):
        row = weights[hash_number]
        return [-(row[c] * e) for c, e in enumerate(variates(key, hash_number))]

    return rows.argmax(candidates, weights.shape, weights.dtype)
