"""The 0-favored coin flipping game of Cohen et al. 2022, Algorithms 2 and 4."""

from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from jaxsel.families.selection_and_test.coin_game_laws import coin_rows, game_bits_law, game_law
from jaxsel.families.selection_and_test.parameters import GAME_METHODS, GameEvent, Ones
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import look_up, noise
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

MOST_BITS = 12  # the largest number of coins with all bits as event
_CERTAIN = 75.0  # minus the log of a negligible probability


class Game(NamedTuple):
    """The transcript of a game.

    Attributes:
      end: Int[""], the coin, from 0, at which it ended; the number of coins if it did not end.
      bits: Int[""], the coins as the digits of a binary number, the first one leading, where coins
        after the end count as 0; it is 0 unless the event is "bits".
    """

    end: Int[Array, ""]
    bits: Int[Array, ""]


@factory
def coin_game(
    *, method: Annotated[str, choice(GAME_METHODS)] = "jump", event: GameEvent = "place"
) -> Mechanism:
    """Shows coins until k of them came up 1 (Cohen et al. 2022, Algorithms 2 and 4).

    Args:
      method: "literal" tosses coin after coin; "jump" draws the position of each 1 by
        inverting the probability that none came up before.
      event: "place", the coin at which the game ends, which for k = 1 is all that it
        shows; or "bits", every coin (at most 12 of them).

    Data: Float["coins"], the chance of each coin to come up 1; or, if coins depend on those
      before, Float["ones coins"], in whose row j are the chances after j ones.
    Params: "ones": k (default 1, or the number of rows).
    Outcome: Game.

    Formal guarantees (claims): CL-Lem1 and CL-Lem2, which bound the divergence from the side where
    1 is likelier to the other; the reverse divergence has no bound (CL-Lem1-reverse).

    Raises:
      InputError: for biases that are no probabilities, or too many bits.
    """

    def read(data, params) -> tuple[np.ndarray, int]:
        """The biases, with one row if they do not depend on the ones so far; and k."""
        biases = check_finite("biases", data)
        default = len(biases) if biases.ndim == 2 else 1
        ones = read_params(params, optional={"ones": Ones}).get("ones", default)
        rows = coin_rows(biases, ones if biases.ndim == 2 else 1)
        if event == "bits" and rows.shape[1] > MOST_BITS:
            raise InputError(
                f"there are {rows.shape[1]} coins; bits are told apart of at most {MOST_BITS}"
            )
        # If k exceeds the number of coins, the game never ends.
        return rows, min(ones, rows.shape[1] + 1)

    def prepare(data, params):
        rows, ones = read(data, params)
        with np.errstate(divide="ignore"):
            steps = np.minimum(-np.log1p(-rows), _CERTAIN)
        # Minus the log probability that this coin and all before it come up 0.
        before = np.cumsum(steps, axis=1)
        hazard = np.concatenate([np.zeros((len(rows), 1)), before], axis=1)
        return {"bias": rows, "hazard": hazard}, {"ones": np.int32(ones)}

    def shown(bits, place, size: int):
        """The bits with a 1 at that coin."""
        if event != "bits":
            return bits
        inside = jnp.minimum(place, size - 1)
        more = jnp.left_shift(jnp.int32(1), size - 1 - inside)
        return bits + jnp.where(place < size, more, 0)

    def literal(key, data, params) -> Game:
        rows, size = data["bias"].shape

        def toss(place, state):
            seen, end, bits = state
            uniform = noise.uniform(noise.number(key, place))
            row = jnp.minimum(seen, rows - 1)
            going = end == size
            one = going & (uniform <= jnp.asarray(data["bias"])[row, place])
            seen = seen + one.astype(jnp.int32)
            ended = one & (seen == params["ones"])
            bits = jnp.where(one, shown(bits, place, size), bits)
            return seen, jnp.where(ended, place, end).astype(jnp.int32), bits

        start = (jnp.int32(0), jnp.int32(size), jnp.int32(0))
        return Game(*lax.fori_loop(0, size, toss, start)[1:])

    def jump(key, data, params) -> Game:
        hazards = jnp.asarray(data["hazard"])
        rows, size = hazards.shape[0], hazards.shape[1] - 1

        def one(number, game):
            # The next 1 is the first coin at which the hazard summed since the last 1 exceeds a
            # standard exponential number.
            hazard = hazards[jnp.minimum(number, rows - 1)]
            clock = noise.exponential(noise.number(key, number))
            reached = hazard[jnp.minimum(game.end + 1, size)] + clock
            found = look_up.position(hazard, reached) - 1
            place = jnp.where(game.end >= size, size, found).astype(jnp.int32)
            return Game(place, shown(game.bits, place, size))

        start = Game(jnp.int32(-1), jnp.int32(0))
        return lax.fori_loop(0, params["ones"], one, start)

    def labels(data, params):
        size = read(data, params)[0].shape[1]
        if event == "bits":
            return tuple(f"{number:0{size}b}" for number in range(2**size))
        return (*(str(i) for i in range(size)), "goes on")

    def law(data, params) -> FiniteLaw:
        rows, ones = read(data, params)
        biases = rows if len(rows) > 1 else rows[0]
        make = game_bits_law if event == "bits" else game_law
        return FiniteLaw(make(biases, ones), labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=literal if method == "literal" else jump,
        event=_bits if event == "bits" else _end,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _end(game: Game) -> Array:
    return game.end


def _bits(game: Game) -> Array:
    return game.bits
