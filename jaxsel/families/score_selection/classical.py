"""The classical mechanisms that Liu & Talwar 2019, Theorem 5.2, generalises.

The exponential mechanism itself is ``noisy_max`` with Gumbel noise.
"""

import jax.numpy as jnp
import numpy as np

from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.score_selection.classical_laws import (
    generalised_exponential_law,
    generalised_exponential_scores,
    margin_law,
)
from jaxsel.families.score_selection.parameters import Epsilon, Sensitivity, SmallDelta
from jaxsel.host.errors import check_params
from jaxsel.kernel import noise
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.signature import read_params


def _indices(data, params) -> tuple[str, ...]:
    del params
    return tuple(str(i) for i in range(np.size(data)))


@factory
def generalised_exponential_mechanism(*, method: str = "race") -> Mechanism:
    """The generalised exponential mechanism (Raskhodnikova & Smith 2016).

    It is the exponential mechanism on the normalised scores of ``generalised_exponential_scores``.
    These have sensitivity 1, though the sensitivities of the given scores may differ.

    Args:
      method: "literal" (Gumbel noise) or "race", as for ``noisy_max``.

    Data: scores, Float["candidates"].
    Params: "sensitivities" (s_i, one a candidate or one for all), "epsilon", "beta".
    Outcome: Int[Array, ""], the candidate.

    Formal guarantees (claims): RS-GEM-privacy, RS-GEM-utility.
    """
    inner = noisy_max("gumbel", method=method)
    names = ("sensitivities", "epsilon", "beta")

    def prepare(data, params):
        check_params(params, names)
        normalised = generalised_exponential_scores(data, **params)
        return inner.prepare(normalised, {"epsilon": params["epsilon"]})

    def law(data, params) -> FiniteLaw:
        check_params(params, names)
        chosen = generalised_exponential_law(data, **params)
        return FiniteLaw(chosen, _indices(data, params))

    return Mechanism(
        prepare=prepare,
        sample=inner.sample,
        event=outcome_itself,
        labels=_indices,
        law=law,
        resolution=inner.resolution,
    )


@factory
def margin_mechanism() -> Mechanism:
    """A_dist: releases the best candidate if its noisy lead is large enough, else nothing.

    Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013. The rule is that of ``margin_law``.

    Data: scores, Float["candidates"], at least two.
    Params: "epsilon", "delta", "sensitivity" (s, default 1).
    Outcome: Int[Array, ""], the candidate; the number of candidates for nothing.

    Formal guarantees (claims): BNS-Adist-privacy, BNS-Adist-utility.
    """

    required, optional = {"epsilon": Epsilon, "delta": SmallDelta}, {"sensitivity": Sensitivity}

    def read(params) -> dict[str, float]:
        return {"sensitivity": 1.0, **read_params(params, required, optional)}

    def prepare(data, params):
        params = read(params)
        margin_law(data, **params)  # refuses bad scores
        scores = np.asarray(data, dtype=np.float64)
        second, first = np.partition(scores, -2)[-2:]
        lead = (first - second) / (2.0 * params["sensitivity"]) - 1.0
        # The lead in units of the noise, as a tail probability of the noise, which can be
        # compared with a uniform number without a logarithm.
        need = -np.log(2.0 * params["delta"]) - params["epsilon"] * lead
        tail = 0.5 * np.exp(-abs(need))
        return {
            "best": np.int32(np.argmax(scores)),
            "none": np.int32(scores.size),
            "upper_below": np.float64(tail if need >= 0.0 else 1.0),
            "lower_above": np.float64(1.0 if need >= 0.0 else tail),
        }, ()

    def sample(key, data, params):
        del params
        upper, t = noise.number(key, 0, noise.widest_precision())
        enough = jnp.where(upper, t < data["upper_below"], t > data["lower_above"])
        return jnp.where(enough, data["best"], data["none"])

    def labels(data, params):
        return (*_indices(data, params), "none")

    def law(data, params) -> FiniteLaw:
        return FiniteLaw(margin_law(data, **read(params)), labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )
