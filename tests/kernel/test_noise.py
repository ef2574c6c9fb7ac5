"""The noise laws: right in the middle by counting, right in the tails by inversion."""

import jax
import jax.numpy as jnp
import mpmath
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


def test_the_wide_normal_is_right_to_its_last_places(seed):
    """Down to 2**-88, where a mechanism divides a tail of 2**-65 among 2**23 draws."""
    generator = np.random.default_rng(seed)
    tails = np.concatenate(
        [
            2.0 ** -generator.uniform(1, 88, 500),
            generator.uniform(0, 0.5, 300),
            0.5 - 2.0 ** -generator.uniform(2, 52, 300),
            [0.25, (1 - 0.5**0.5) / 2, 2.0**-65, 2.0**-88, np.nextafter(0.5, 0)],
        ]
    )
    with jax.enable_x64(True), mpmath.workdps(50):
        upper, lower = (
            np.asarray(
                jax.jit(noise.normal)(noise.Ends(jnp.full(tails.shape, side), jnp.asarray(tails)))
            )
            for side in (True, False)
        )
        np.testing.assert_array_equal(upper, -lower)
        assert float(noise.normal(noise.Ends(jnp.asarray(True), jnp.asarray(0.5)))) == 0.0
        found = [mpmath.mpf(float(x)) for x in upper]
        errors = [
            float((mpmath.ncdf(-x) - mpmath.mpf(float(t))) / mpmath.npdf(x) / x)
            for x, t in zip(found, tails, strict=True)
        ]
    assert np.max(np.abs(errors)) < 1e-15  # as documented


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


WORDS = (0, 1, 511, 512, 513, 2**22 << 9, 0x12345678, 2**31 - 1, 2**31, 0x9ABCDEF0, 2**32 - 1)


@pytest.mark.parametrize("word", WORDS)
def test_one_word_is_a_whole_number_and_a_half_of_steps(word):
    """Bits 9 to 30 are the distance in steps of 2**-23, the last bit is the side."""
    found = noise._ends_from_one_word(jnp.uint32(word))
    assert bool(found.upper) == (word >= 2**31)
    assert float(found.t) == ((word >> 9) % 2**22 + 0.5) * 2.0**-23
    assert found.t.dtype == jnp.float32
    whole = noise._uniform_from_one_word(jnp.uint32(word))
    assert float(whole) == ((word >> 9) + 0.5) * 2.0**-23
    assert whole.dtype == jnp.float32


@pytest.mark.parametrize("high", WORDS)
@pytest.mark.parametrize("low", WORDS)
def test_two_words_are_a_whole_number_and_a_half_of_steps(high, low):
    """63 bits in steps of 2**-64, rounded once to the type's precision."""
    with jax.enable_x64(True):
        for dtype, bits, exact in (
            (jnp.float64, 53, (high % 2**31 << 32) + low + 0.5),
            (jnp.float32, 24, (high % 2**31 << 32) + (low >> 1 << 1) + 1),
        ):
            found = noise._ends_from_two_words(jnp.uint32(high), jnp.uint32(low), dtype)
            assert bool(found.upper) == (high >= 2**31)
            assert float(found.t) == pytest.approx(exact * 2.0**-64, rel=2.0 ** (2 - bits), abs=0)
            assert found.t.dtype == dtype


def test_precisions_promise_what_the_least_words_give():
    assert [noise.resolution(each) for each in noise.PRECISIONS] == [2.0**-24, 2.0**-65, 2.0**-65]
    assert [noise.draws_per_hash(each) for each in noise.PRECISIONS] == [2, 1, 1]
    assert noise.widest_precision() == "tail"
    zero = jnp.uint32(0)
    assert float(noise._ends(zero, zero, "fast")[1].t) == 2.0**-24
    with jax.enable_x64(True):
        assert noise.widest_precision() == "float64"
        assert float(noise._ends(zero, zero, "float64")[0].t) == 2.0**-65
    for ask in (noise.resolution, noise.draws_per_hash):
        with pytest.raises(InputError, match="precision is 'half'"):
            ask("half")
    with pytest.raises(InputError, match="precision is 'half'"):
        noise.ends(stream.make_key(1), 0, "half")


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_the_middle_is_as_right_as_the_tails(law, upper, dtype):
    """Quantiles on both sides of where the form of a law changes."""
    with jax.enable_x64(True):
        t = jnp.asarray(
            [0.05, 0.2, 0.28, 0.2899, 0.2901, 0.3, 0.35, 0.4, 0.45, 0.49, 0.4999], dtype
        )
        number = noise.Ends(jnp.full(t.shape, upper), t)
        value = np.asarray(noise.LAWS[law](number), np.float64)
        tail = np.asarray(t, np.float64)
        flipped = law == "gumbel"
        exact = LAWS[law].isf(tail) if upper != flipped else LAWS[law].ppf(tail)
        limit = 1e-6 if dtype == jnp.float32 else 1e-13
        np.testing.assert_allclose(value, exact, rtol=limit, atol=limit * 0.1)
        uniform = noise.uniform(number)
        assert uniform.dtype == dtype
        np.testing.assert_allclose(uniform, 1 - tail if upper else tail, rtol=limit)
        np.testing.assert_array_equal(
            noise.uniform(number.flipped),
            noise.uniform(noise.Ends(jnp.full(t.shape, not upper), t)),
        )


@pytest.mark.parametrize("bound", [1e-3, 0.5, 4.0, 700.0])
@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_of_a_truncated_laplace(bound, upper):
    with jax.enable_x64(True):
        for t in (1e-12, 0.1, 0.3, 0.5):
            number = noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))
            found = float(noise.truncated_laplace(number, bound))
            # The share of |x| <= bound beyond the magnitude is 2 t.
            with mpmath.workdps(60):
                inside = 1 - mpmath.exp(-bound)
                exact = float(-mpmath.log(1 - (1 - 2 * mpmath.mpf(t)) * inside))
            assert found == pytest.approx(exact if upper else -exact, rel=1e-9, abs=1e-13)


def test_draws_are_those_of_their_numbers_and_words():
    key = stream.make_key(4, 1)
    with jax.enable_x64(True):
        for draw in (0, 3):
            words = stream.words(key, draw)
            one, other = (noise._ends_from_one_word(word) for word in words)
            first, second = noise.ends(key, draw, "fast")
            assert (first.t, second.t) == (one.t, other.t)
            assert noise.number(key, draw, "fast").t == one.t
            wide = noise.number(key, draw)
            assert wide.t == noise._ends_from_two_words(*words, jnp.float64).t
            tail = noise._ends_from_two_words(*words, jnp.float32)
            assert noise.variate("laplace", key, draw) == noise.laplace(tail)
            both = noise.variates("laplace", "fast")(key, draw)
            assert both == (noise.laplace(one), noise.laplace(other))
            for law, exact in (("gumbel", stats.gumbel_r), ("exponential", stats.expon)):
                for found, word in zip(noise.variates(law, "fast")(key, draw), words, strict=True):
                    u = float(noise._uniform_from_one_word(word))
                    value = exact.ppf(u) if law == "gumbel" else exact.isf(u)
                    assert float(found) == pytest.approx(value, rel=1e-5, abs=1e-6)
