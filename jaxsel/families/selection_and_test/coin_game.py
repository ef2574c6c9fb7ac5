"""The 0-favored coin flipping game of Cohen et al. 2022, Algorithms 2 and 4."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel import noise
from jaxsel.base import FiniteLaw, Mechanism, factory
from jaxsel.errors import (
    InputError,
    check_choice,
    check_finite,
    check_integer,
    check_params,
)
from jaxsel.families.selection_and_test.coin_game_laws import game_law

METHODS = ("literal", "jump")
_CERTAIN = 75.0  # minus the log of a chance far below every resolution


def _biases(data) -> np.ndarray:
    biases = check_finite("biases", data)
    if biases.ndim != 1 or np.any((biases < 0.0) | (biases > 1.0)):
        raise InputError("biases must be one list of probabilities, one a coin")
    return biases


def _ones(params, coins: int) -> int:
    check_params(params, optional=("ones",))
    # With fewer coins than that the game never ends, whatever the number.
    return min(check_integer("ones", params.get("ones", 1), 1), coins + 1)


@factory
def coin_game(*, method: str = "jump") -> Mechanism:
    """Show coins until k of them came up 1; release when that was.

    Args:
      method: "literal" tosses coin after coin; "jump" draws the place of each 1 by
        inverting the chance that none came up before.

    Data: Float["coins"], their chances to come up 1, on this side.
    Params: "ones": k (default 1).
    Outcome: Int, the coin at which the game ended; their number if it did not. For k =
      1 that is all that the game shows.

    Formal guarantees (claims): CL-Lem1 and CL-Lem2, of the favoured side only: the
    reverse divergence has no bound (CL-Lem1-reverse).

    Raises:
      InputError: for biases that are no probabilities, or k < 1.
    """
    check_choice("method", method, METHODS)

    def prepare(data, params):
        biases = _biases(data)
        with np.errstate(divide="ignore"):
            steps = np.minimum(-np.log1p(-biases), _CERTAIN)
        # Minus the log chance of no 1 before each coin.
        return (
            {"bias": biases, "hazard": np.append(0.0, np.cumsum(steps))},
            {"ones": np.int32(_ones(params, biases.size))},
        )

    def literal(key, data, params):
        size = data["bias"].shape[-1]

        def toss(place, state):
            seen, end = state
            uniform = noise.uniform(noise.number(key, place))
            one = uniform <= jnp.asarray(data["bias"])[place]
            seen = seen + one.astype(jnp.int32)
            ended = (seen == params["ones"]) & (end == size)
            return seen, jnp.where(ended, place, end).astype(jnp.int32)

        start = (jnp.int32(0), jnp.int32(size))
        return lax.fori_loop(0, size, toss, start)[1]

    def jump(key, data, params):
        hazard = jnp.asarray(data["hazard"])
        size = hazard.shape[-1] - 1

        def one(number, place):
            # The next 1 is the first coin that carries the hazard past a unit clock.
            clock = noise.exponential(noise.number(key, number))
            reached = hazard[jnp.minimum(place + 1, size)] + clock
            found = jnp.searchsorted(hazard, reached, side="left") - 1
            return jnp.where(place >= size, size, found).astype(jnp.int32)

        return lax.fori_loop(0, params["ones"], one, jnp.int32(-1))

    def labels(data, params):
        del params
        return (*(str(i) for i in range(_biases(data).size)), "goes on")

    def law(data, params) -> FiniteLaw:
        biases = _biases(data)
        probabilities = game_law(biases, _ones(params, biases.size))
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=literal if method == "literal" else jump,
        event=lambda place: place,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )
