"""Alias tables: their law is exact, in rational arithmetic."""

import types
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.kernel import stream, tables
from jaxsel.kernel.tables import _multiply, alias_sample, alias_table, from_law
from tests.conftest import ALPHA

SIZES = [1, 2, 3, 7, 100, 257]
WORDS = np.concatenate(
    [
        np.random.default_rng(20260101).integers(0, 2**32, 20_000, dtype=np.uint32),
        np.array([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1], dtype=np.uint32),
    ]
)


def laws(size: int) -> list[np.ndarray]:
    random = np.random.default_rng(size)
    found = [random.dirichlet(np.full(size, 0.3)), np.exp(-random.uniform(0, 25, size))]
    return [law / law.sum() for law in found]


@pytest.mark.parametrize("count", [1, 3, 100, 65535, 65536, 65537, 2**24 + 1, 2**31])
@pytest.mark.parametrize("x64", [False, True])
def test_long_multiplication(count, x64):
    with jax.enable_x64(x64):
        high, low = jax.jit(_multiply, static_argnums=1)(WORDS, count)
    product = [int(word) * count for word in WORDS]
    assert [int(v) for v in high] == [p >> 32 for p in product]
    assert [int(v) for v in low] == [p & 0xFFFFFFFF for p in product]


@pytest.mark.parametrize("size", SIZES)
def test_the_law_of_the_table(size):
    """Cells have the mass that words give them; thresholds split it as the law says."""
    edges = [-(-cell * 2**32 // size) for cell in range(size + 1)]
    for law in laws(size):
        table = alias_table(law)
        found = [Fraction(0)] * size
        for cell in range(size):
            mass = Fraction(edges[cell + 1] - edges[cell], 2**32)
            keep = Fraction(int(table.threshold[cell]), 2**64)
            found[cell] += mass * keep
            found[int(table.other[cell])] += mass * (1 - keep)
        exact = np.array([float(p) for p in found])
        np.testing.assert_allclose(exact, law, rtol=0, atol=4 * 2.0**-53)


@pytest.mark.parametrize("size", SIZES)
def test_samples_follow_the_table(size):
    """Word by word: the cell of the first, then the threshold on the rest."""
    table = alias_table(laws(size)[0])
    second = WORDS[::-1]
    found = jax.jit(alias_sample)(table, WORDS, second)
    product = [int(word) * size for word in WORDS]
    for p, s, outcome in zip(product, second, np.asarray(found), strict=True):
        cell, fraction = p >> 32, (int(s) << 32) | (p & 0xFFFFFFFF)
        own = fraction < int(table.threshold[cell])
        assert outcome == (cell if own else table.other[cell])


def test_ties_of_the_second_word_are_decided_by_the_first():
    table = alias_table(np.array([0.3, 0.7]))
    cell = int(np.argmin(table.threshold))
    high, low = int(table.high[cell]), int(table.low[cell])
    assert 0 < low < 2**32 - 2
    words = np.array([cell * 2**31 + (low >> 1) - 1, cell * 2**31 + (low >> 1) + 1])
    found = alias_sample(table, jnp.asarray(words, jnp.uint32), jnp.uint32(high))
    assert found.tolist() == [cell, 1 - cell]


def test_draws_have_the_law_and_a_slightly_wrong_law_is_rejected(seed):
    law = laws(7)[0]
    table = alias_table(law)
    key = stream.make_key(seed)
    first, second = stream.words(key._replace(lane=jnp.arange(200_000, dtype="uint32")), 0)
    counts = np.bincount(alias_sample(table, first, second), minlength=7)
    expected = 200_000 * law
    keep = expected >= 5
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > ALPHA
    wrong = expected * np.where(law == law.max(), 0.95, 1.0)
    statistic = ((counts - wrong)[keep] ** 2 / wrong[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) < ALPHA


def test_bad_input():
    with pytest.raises(InputError, match="sum to 1"):
        alias_table([0.5, 0.6])
    with pytest.raises(InputError, match="no exact law"):
        from_law(noisy_max()._replace(law=None))
    assert tables.RESOLUTION == 2.0**-63


def test_a_law_of_too_many_outcomes_is_refused_before_its_table_is_made(monkeypatch):
    class Vast(types.SimpleNamespace):
        def sum(self):
            raise AssertionError("it was to be refused")

    vast = Vast(size=2**31 + 1)
    monkeypatch.setattr(tables, "check_probability_vector", lambda *_: vast)
    with pytest.raises(InputError, match=r"a law of 2147483649 outcomes is too large; at most"):
        alias_table([1.0])


def test_a_mechanism_is_sampled_from_its_law():
    """The name, the outcome of each trial from its first hash, and what is passed on."""
    plain = noisy_max()
    found = from_law(plain)
    assert found is from_law(plain)
    assert found.name == f"from_law({plain.name})"
    assert (found.law, found.labels, found.resolution) == (plain.law, plain.labels, 2.0**-63)
    scores, params = np.array([1.0, 0.5, 0.0]), {"epsilon": 1.5}
    table, rest = found.prepare(scores, params)
    assert rest == ()
    law = plain.law(scores, params).probabilities
    np.testing.assert_array_equal(table.threshold, alias_table(law).threshold)
    for trial in range(40):
        key = stream.make_key(2, trial)
        words = stream.threefry_2x32(key.first, key.second, key.lane, 0)
        cell, rest_of_first = divmod(int(words[0]) * 3, 2**32)
        fraction = (int(words[1]) << 32) | rest_of_first
        own = fraction < int(table.threshold[cell])
        outcome = found.sample(key, table, ())
        assert int(found.event(outcome)) == (cell if own else table.other[cell])


def test_what_a_cell_never_gives_away_is_its_own():
    """Probabilities that are the masses of their cells, and outcomes that never happen."""
    table = alias_table(np.full(4, 0.25))
    assert all(int(each) >> 2 == (2**64 - 1) >> 2 for each in table.threshold)
    assert table.other.tolist() == [0, 1, 2, 3]
    table = alias_table(np.array([0.0, 1.0, 0.0, 0.0, 0.0]))
    found = jax.jit(alias_sample)(table, WORDS, WORDS[::-1])
    assert set(np.asarray(found).tolist()) == {1}
