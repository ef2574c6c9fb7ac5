"""A run that is better than the base's median, by one Selection of Algorithm 1.

Cohen et al. 2022, Theorem 4: gamma = alpha, k = 1 and tau = T.
"""

import jax.numpy as jnp
import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.percentile.median_laws import ALPHA, median_rounds
from jaxsel.families.private_tuning.bases import Base
from jaxsel.families.private_tuning.private_tuning import Selection, release, selected
from jaxsel.families.selection_and_test.state import best_rank, initialise, select
from jaxsel.host.errors import InputError, check_choice, check_integer
from jaxsel.kernel import stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory

METHODS = ("literal", "rank")
_LITERAL_LIMIT = 10_000_000
_STATE_TAG, _CALL_TAG, _OUTPUT_TAG = 0xE0, 0xE1, 0xE2


def _parameters(params) -> tuple[float, int, dict]:
    """alpha, T and the base's own parameters."""
    own = ("alpha", "beta", "rounds")
    rest = {key: value for key, value in params.items() if key not in own}
    alpha = ALPHA.read("alpha", params.get("alpha", ALPHA.default))
    if ("beta" in params) == ("rounds" in params):
        raise InputError("give either beta (failure probability) or rounds (T)")
    if "beta" in params:
        return alpha, median_rounds(params["beta"], alpha), rest
    return alpha, check_integer("rounds", params["rounds"], 1), rest


@factory
def better_than_median(base: Base, *, method: str = "rank") -> Mechanism:
    """Release the best of Bin(T, p) runs of the base, p = U^(1/alpha) drawn once.

    Args:
      base: the algorithm whose median is to be beaten.
      method: "literal" makes every run as Algorithm 1 does; "rank" draws the rank of
        the best run, given p, in O(1).

    Data: the base's.
    Params: the base's, and "alpha" > 0 (default 1), and "beta" in (0, 1) (T is then
      that of Theorem 4) or "rounds" (T itself).
    Outcome: Selection (count -1 if method is "rank"); event: the released label, "none"
      last.

    Formal guarantees (claims): CL-Thm4-privacy, (2 + alpha) epsilon; CL-Thm4-failure.

    Raises:
      InputError: for parameters outside their range.
    """
    check_choice("method", method, METHODS)

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
