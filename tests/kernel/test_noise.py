"""The noise laws: right in the middle by counting, right in the tails by inversion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from tests.conftest import ALPHA

LAWS = {
    "gumbel": stats.gumbel_r,
    "laplace": stats.laplace,
    "exponential": stats.expon,
    "gaussian": stats.norm,
}


def ends_of(side: bool, tail: float, precision: str) -> noise.Ends:
    """The sampler's own uniform whose distance from its end is nearest to ``tail``."""
    if precision == "fast":
        magnitude = max(0, round(tail * 2**23 - 0.5))
        word = jnp.uint32((int(side) << 31) | (magnitude << 9))
        return noise._ends_from_one_word(word)
    number = int(tail * 2.0**64)
    high = jnp.uint32((int(side) << 31) | (number >> 32))
    dtype = jnp.float64 if precision == "float64" else jnp.float32
    return noise._ends_from_two_words(high, jnp.uint32(number & 0xFFFFFFFF), dtype)


def draw(law: str, precision: str, count: int, seed: int) -> np.ndarray:
    key = stream.make_key(seed)
    lanes = jnp.arange(count, dtype=jnp.uint32)
    with jax.enable_x64(True):
        values = jax.vmap(
            lambda lane: noise.variate(law, stream.Key(key.first, key.second, lane), 0, precision)
        )(lanes)
        return np.asarray(values, dtype=np.float64)


@pytest.mark.parametrize("precision", noise.PRECISIONS)
@pytest.mark.parametrize("law", LAWS)
def test_law(law, precision, seed):
    values = draw(law, precision, 200_000, seed)
    assert stats.kstest(values, LAWS[law].cdf).pvalue > ALPHA


@pytest.mark.parametrize("law", LAWS)
def test_law_companion_rejects_five_percent_more_scale(law, seed):
    values = 1.05 * draw(law, "tail", 200_000, seed)
    assert stats.kstest(values, LAWS[law].cdf).pvalue < ALPHA


@pytest.mark.parametrize("precision", ["tail", "float64"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("side", [False, True])
def test_tails_to_1e_8(law, side, precision):
    """The quantile at each tail probability is right, so the tail law is."""
    with jax.enable_x64(True):
        for wanted in 10.0 ** -np.arange(1.0, 12.01, 0.25):
            number = ends_of(side, wanted, precision)
            tail = float(number.t)
            assert tail == pytest.approx(wanted, rel=1e-6 if wanted > 1e-9 else 1e-3)
            value = float(noise.LAWS[law](number))
            upper = side != (law == "gumbel")  # Gumbel falls as the uniform rises
            exact = LAWS[law].isf(tail) if upper else LAWS[law].ppf(tail)
            # What the value does to log-probability: below 1e-3 by a wide margin.
            density = LAWS[law].pdf(exact)
            log_error = abs(value - exact) * density / tail
            assert log_error < (3e-5 if precision == "tail" else 1e-9), (tail, value)


@pytest.mark.parametrize("law", LAWS)
def test_fast_precision_ends_where_it_says(law):
    """One word cannot go beyond 2**-24; two words can."""
    number = ends_of(True, 0.0, "fast")
    assert float(number.t) == noise.resolution("fast")
    assert float(ends_of(True, 0.0, "tail").t) == pytest.approx(2.0**-64, rel=0.51)


def test_truncated_laplace_stays_inside_and_has_the_conditional_law(seed):
    key = stream.make_key(seed)
    lanes = jnp.arange(200_000, dtype=jnp.uint32)
    bound = 1.5
    values = np.asarray(
        jax.vmap(
            lambda lane: noise.truncated_laplace(
                noise.ends(stream.Key(key.first, key.second, lane), 0, "tail")[0], bound
            )
        )(lanes)
    )
    assert np.all(np.abs(values) <= bound)
    low, high = stats.laplace.cdf([-bound, bound])

    def cdf(x):
        return (stats.laplace.cdf(x) - low) / (high - low)

    assert stats.kstest(values.astype(np.float64), cdf).pvalue > ALPHA
    wrong = stats.kstest(values.astype(np.float64) * 0.95, cdf).pvalue
    assert wrong < ALPHA


def test_the_two_variates_of_a_hash_are_uncorrelated(seed):
    key = stream.make_key(seed)
    lanes = jnp.arange(100_000, dtype=jnp.uint32)
    first, second = jax.vmap(
        lambda lane: noise.variates("gaussian", "fast")(stream.Key(key.first, key.second, lane), 0)
    )(lanes)
    # Of independent normals the sample correlation has an exact Student law.
    assert stats.pearsonr(np.asarray(first), np.asarray(second)).pvalue > ALPHA


def test_bad_input():
    with pytest.raises(InputError, match="noise is 'cauchy'"):
        noise.variates("cauchy", "tail")
    with pytest.raises(InputError, match="precision is 'half'"):
        noise.variates("laplace", "half")
    with pytest.raises(InputError, match="float64"):
        noise.variate("laplace", stream.make_key(0), 0, "float64")
