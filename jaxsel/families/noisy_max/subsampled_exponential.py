"""The subsampled exponential mechanism (Lantz, Boyd & Page 2015)."""

import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxsel.families.noisy_max.subsampled_exponential_laws import Draws, read_input, subsampled_law
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself


@factory
def subsampled_exponential(*, draws: Draws) -> Mechanism:
    """Draws candidates uniformly with replacement; the exponential mechanism chooses among them.

    Args:
      draws: how many candidates are drawn.

    Data: scores, Float["m"], in units of the sensitivity.
    Params: "epsilon", which sets the Gumbel scale to 2/epsilon.
    Outcome and event: Int[Array, ""], a candidate in [0, m).

    Formal guarantees (claims): LBP-privacy.
    """

    def prepare(data, params):
        scores, epsilon = read_input(data, params)
        return (scores - scores.max()) * (epsilon / 2.0), ()

    def sample(key: stream.Key, data, params) -> Int[Array, ""]:
        levels, draw = jnp.asarray(data), jnp.arange(draws, dtype=jnp.uint32)
        place = noise.uniform(noise.number(stream.fold(key, 0x5A), draw))  # in (0, 1]
        drawn = jnp.ceil(place * levels.size).astype(jnp.int32) - 1
        gumbel = noise.each_variate("gumbel", stream.fold(key, 0x5B), draw, "float64")
        return drawn[jnp.argmax(levels[drawn] + gumbel)]

    def labels(data, params) -> tuple[str, ...]:
        return tuple(str(i) for i in range(len(read_input(data, params)[0])))

    def law(data, params) -> FiniteLaw:
        scores, epsilon = read_input(data, params)
        return FiniteLaw(subsampled_law(scores, draws, epsilon), labels(data, params))

    return Mechanism(prepare, sample, outcome_itself, labels, law, 2.0**-53)
