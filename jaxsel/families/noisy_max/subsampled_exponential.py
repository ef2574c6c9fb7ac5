"""The subsampled exponential mechanism (Lantz, Boyd & Page 2015): a random few compete."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxsel import look_up, noise, rows, stream
from jaxsel.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.families.noisy_max.subsampled_exponential_entries import (
    read_input,
    subsampled_law,
)


@factory
def subsampled_exponential(*, draws: int) -> Mechanism:
    """Draw ``draws`` candidates uniformly, with replacement; choose one privately.

    Data: scores, Float["m"], in units of the sensitivity (1). Params: "epsilon", which
    sets the Gumbel scale to 2/epsilon. Outcome: Int[Array, ""], a candidate in [0, m).

    Formal guarantees (claims): LBP-privacy.
    """

    def prepare(data, params):
        scores, epsilon = read_input(data, draws, params)
        return (scores - scores.max()) * (epsilon / 2.0), ()

    def sample(key: stream.Key, data, params) -> Int[Array, ""]:
        levels, place_key = jnp.asarray(data), stream.fold(key, 0x5A)
        noise_key = stream.fold(key, 0x5B)

        def one(draw):
            place = noise.uniform(noise.number(place_key, draw))  # in (0, 1]
            return jnp.ceil(place * levels.size).astype(jnp.int32) - 1

        def noisy(draw):
            gumbel = noise.gumbel(noise.number(noise_key, draw))
            return [look_up.pick(levels, drawn[draw]) + gumbel]

        drawn = rows.by_row(one, jnp.arange(draws, dtype=jnp.uint32))
        return look_up.pick(drawn, rows.argmax(noisy, (draws, 1), levels.dtype))

    def labels(data, params) -> tuple[str, ...]:
        return tuple(str(i) for i in range(len(read_input(data, draws, params)[0])))

    def law(data, params) -> FiniteLaw:
        scores, epsilon = read_input(data, draws, params)
        return FiniteLaw(subsampled_law(scores, draws, epsilon), labels(data, params))

    return Mechanism(prepare, sample, outcome_itself, labels, law, 2.0**-53)
