"""A run that is better than the base's median, by one call of Selection (Cohen et al. 2022).

It is Theorem 4: Selection of Algorithm 1 with gamma = alpha, k = 1 mechanism and tau = T runs.
"""

from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.percentile import parameters
from jaxsel.families.percentile.median_laws import median_rounds
from jaxsel.families.private_tuning.bases import Base
from jaxsel.families.private_tuning.private_tuning import Selection, release, selected
from jaxsel.families.selection_and_test.state import best_rank, initialise, select
from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

_OWN = {"alpha": parameters.Alpha, "beta": parameters.Beta, "rounds": parameters.Rounds}
_LITERAL_LIMIT = 10_000_000
_STATE_TAG, _CALL_TAG, _OUTPUT_TAG = 0xE0, 0xE1, 0xE2


def _parameters(params) -> tuple[float, int, dict]:
    """alpha, T and the parameters of the base, from those of the mechanism.

    Raises:
      InputError: for both of beta and rounds, or neither.
    """
    own = {name: params[name] for name in _OWN if name in params}
    rest = {name: value for name, value in params.items() if name not in _OWN}
    read: dict[str, Any] = {"alpha": 1.0} | read_params(own, optional=_OWN)
    if ("beta" in read) == ("rounds" in read):
        raise InputError("give either beta (failure probability) or rounds (T)")
    rounds = read.get("rounds") or median_rounds(read["beta"], read["alpha"])
    return read["alpha"], rounds, rest


@factory
def better_than_median(
    base: Base, *, method: Annotated[str, choice(parameters.RANKING)] = "rank"
) -> Mechanism:
    """Releases the best of a random number of runs of a base, which is likely above its median.

    The number of runs is Bin(T, p), where p = U^(1/alpha) for a uniform U (Cohen et al. 2022,
    Theorem 4).

    Args:
      base: the algorithm whose median is to be beaten.
      method: "literal" makes every run as Algorithm 1 does; "rank" draws the rank of
        the best run, given p, in O(1).

    Data: the base's.
    Params: the base's, and "alpha" (default 1), and "beta" (T is then that of Theorem 4) or
      "rounds" (T itself).
    Outcome: ``private_tuning.Selection`` (its count is -1 if method is "rank").
    Event: the released label; "none" comes last.

    Formal guarantees (claims): CL-Thm4-privacy, (2 + alpha) epsilon; CL-Thm4-failure.

    Raises:
      InputError: for both of beta and rounds, or neither; for more runs than "literal" makes.
    """

    def prepare(data, params):
        alpha, rounds, rest = _parameters(params)
        prepared, base_params = base.prepare(data, rest)
        if method == "literal" and rounds > _LITERAL_LIMIT:
            raise InputError(f'T is {rounds}, too many runs to make; use method "rank"')
        return prepared, {
            "base": base_params,
            "alpha": np.float64(alpha),
            "rounds": np.float64(rounds),
            "num_labels": np.int32(len(base.labels(data, rest))),
        }

    def sample(key, data, params) -> Selection:
        state = initialise(stream.fold(key, _STATE_TAG), params["alpha"])
        call = stream.fold(key, _CALL_TAG)
        if method == "literal":
            found = select(
                call,
                state,
                jnp.asarray(params["rounds"]).astype(jnp.int32),
                1,
                lambda key, i: base.draw(key, data, params["base"]),
            )
            return release(found.best, found.none, params["num_labels"], found.count)
        rank = best_rank(call, state, params["rounds"])
        run = base.at_rank(stream.fold(key, _OUTPUT_TAG), rank.value, data, params["base"])
        return release(run, rank.none, params["num_labels"], jnp.int32(-1))

    def labels(data, params):
        return (*base.labels(data, _parameters(params)[2]), "none")

    def law(data, params) -> FiniteLaw:
        alpha, rounds, rest = _parameters(params)
        probabilities = base.best_law(data, rest, laws.beta_binomial(rounds, alpha))
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=selected, labels=labels, law=law, resolution=2.0**-53
    )
