"""Ranks drawn by inverting the generating function, digit by digit."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, repetition_sampling, stream

UNIFORMS = (1e-18, 1e-9, 1e-3, 0.2, 0.4999)  # distances from either end


def _exact(eta: float, gamma: float, upper: bool, t: float) -> float:
    """The u with f(1 - u) = V, V = 1 - t (upper) or t (Papernot & Steinke 2022)."""
    with mpmath.workdps(60):
        value = 1 - mpmath.mpf(t) if upper else mpmath.mpf(t)
        eta, gamma = mpmath.mpf(eta), mpmath.mpf(gamma)
        if eta == 0:
            w = gamma**value
        else:
            w = (1 + value * (gamma**-eta - 1)) ** (-1 / eta)
        return float((w - gamma) / (1 - gamma))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize(
    "gamma", [1.0 - 2.0**-53, 1.0 - 1e-14, 1.0 - 1e-9, 0.999, 0.5, 1e-3, 1e-12]
)
@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 1.0, 2.5])
def test_the_rank_inverts_the_generating_function(monkeypatch, eta, gamma, upper):
    law = laws.truncated_negative_binomial(eta, gamma)
    with jax.enable_x64(True):
        numbers = repetition_sampling.prepare_rank(law)
        key = stream.Key(jnp.uint32(1), jnp.uint32(2), jnp.uint32(3))
        for t in UNIFORMS:
            drawn = noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))
            monkeypatch.setattr(repetition_sampling, "_number", lambda *_, d=drawn: d)
            rank = repetition_sampling.sample_rank(law.family, key, numbers)
            exact = _exact(eta, gamma, upper, t)
            # Ranks near 0, the best, keep their digits; near 1 the absolute error counts.
            assert float(rank.value) == pytest.approx(exact, rel=1e-12, abs=0.0)
            assert not np.any(rank.none)


def _of_draws(*each):
    """In place of the numbers of a key: for each draw whether it is near 1, and how near."""

    def number(_key, draw):
        upper, t = each[draw]
        return noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))

    return number


KEY = stream.Key(jnp.uint32(1), jnp.uint32(2), jnp.uint32(3))


def _rank(law):
    """The rank that is drawn, and whether there is no run."""
    with jax.enable_x64(True):
        numbers = repetition_sampling.prepare_rank(law)
        rank = repetition_sampling.sample_rank(law.family, KEY, numbers)
        return float(rank.value), bool(rank.none)


ENDS = [(upper, t) for upper in (True, False) for t in UNIFORMS]


@pytest.mark.parametrize(("upper", "t"), ENDS)
@pytest.mark.parametrize(
    "law",
    [laws.poisson(3.0), laws.binomial(7, 0.3), laws.point_mass(1), laws.point_mass(9)],
    ids=lambda law: law.family,
)
def test_other_families_invert_it_too_and_know_when_there_is_no_run(monkeypatch, law, upper, t):
    monkeypatch.setattr(repetition_sampling, "_number", _of_draws((upper, t)))
    found, none = _rank(law)
    with mpmath.workdps(60):
        value = 1 - mpmath.mpf(t) if upper else mpmath.mpf(t)
        if law.family == "poisson":  # f(x) = exp(mean (x - 1))
            exact = -mpmath.log(value) / 3
        else:  # f(x) = (1 - p + p x)^count
            p = mpmath.mpf(law.parameters.get("probability", 1.0))
            exact = (1 - value ** (1 / mpmath.mpf(law.parameters["count"]))) / p
    assert none == (exact > 1)
    assert found == pytest.approx(min(float(exact), 1.0), rel=1e-12, abs=0.0)


@pytest.mark.parametrize(("upper", "t"), ENDS)
@pytest.mark.parametrize("share", [(True, 1e-9), (False, 0.2), (False, 1e-3)])
def test_the_probability_of_a_beta_binomial_has_a_draw_of_its_own(monkeypatch, upper, t, share):
    count, gamma = 6, 0.5
    monkeypatch.setattr(repetition_sampling, "_number", _of_draws((upper, t), share))
    law = laws.beta_binomial(count, gamma)
    found, none = _rank(law)
    with mpmath.workdps(60):
        value = 1 - mpmath.mpf(t) if upper else mpmath.mpf(t)
        probability = (1 - mpmath.mpf(share[1]) if share[0] else mpmath.mpf(share[1])) ** (
            1 / mpmath.mpf(gamma)
        )
        exact = (1 - value ** (mpmath.mpf(1) / count)) / probability
    assert none == (exact > 1)
    assert found == pytest.approx(min(float(exact), 1.0), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_the_rank_of_a_given_number_of_runs(count):
    with jax.enable_x64(True):
        for upper, t in ENDS:
            number = noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))
            rank = repetition_sampling.rank_given_count(jnp.asarray(count), number)
            with mpmath.workdps(60):
                value = 1 - mpmath.mpf(t) if upper else mpmath.mpf(t)
                exact = 1 - value ** (mpmath.mpf(1) / max(count, 1))
            assert float(rank.value) == pytest.approx(float(exact), rel=1e-12, abs=0.0)
            assert bool(rank.none) == (count == 0)


@pytest.mark.parametrize(
    "law",
    [laws.geometric(0.3), laws.binomial(5, 0.4), laws.point_mass(4)],
    ids=lambda law: law.family,
)
def test_a_count_is_the_quantile_of_its_number(monkeypatch, law):
    with jax.enable_x64(True):
        table = repetition_sampling.prepare_count(law)
        for k in range(law.minimum, 5):
            # A little inside either end of the numbers that give k.
            low, high = float(law.cdf(k - 1)), float(law.cdf(k))
            if high - low < 1e-9:
                continue
            for v in (low + 1e-12, high - 1e-12):
                number = (True, 1.0 - v) if v > 0.5 else (False, v)
                monkeypatch.setattr(repetition_sampling, "_number", _of_draws(number))
                assert int(repetition_sampling.sample_count(KEY, table)) == k, v
        assert table["first"].dtype == np.int64


def test_a_number_beyond_the_table_is_its_last_count(monkeypatch):
    """Distribution functions of floats may end below 1."""
    with jax.enable_x64(True):
        table = {"first": np.int64(3), "cdf": np.array([0.25, 0.5, 1.0 - 1e-9])}
        for number, count in (
            ((False, 1e-30), 3),
            ((False, 0.25), 3),
            ((False, 0.26), 4),
            ((False, 0.5), 4),
            ((True, 0.4), 5),
            ((True, 1e-12), 5),
        ):
            monkeypatch.setattr(repetition_sampling, "_number", _of_draws(number))
            found = repetition_sampling.sample_count(KEY, table)
            assert int(found) == count
            assert found.dtype == np.int64


def test_the_draws_of_ranks_and_counts_are_those_of_their_key():
    """Numbers of the widest precision, from the first hash of the key."""
    key = stream.make_key(5, 9)
    with jax.enable_x64(True):
        law = laws.point_mass(1)  # its rank is the number itself
        rank = repetition_sampling.sample_rank(
            law.family, key, repetition_sampling.prepare_rank(law)
        )
        first, second = (int(word) for word in stream.words(key, 0))
        near = ((first % 2**31) * 2**32 + second + 0.5) * 2.0**-64
        value = 1.0 - near if first >> 31 else near
        assert float(rank.value) == pytest.approx(1.0 - value, rel=1e-9)
        assert rank.value.dtype == np.float64


def test_laws_without_a_closed_form_have_no_rank():
    conditioned = laws.geometric(0.3)._replace(family="conditioned")
    with pytest.raises(InputError, match='conditioned has no closed-form rank; use method "count"'):
        repetition_sampling.prepare_rank(conditioned)
    with pytest.raises(InputError, match="repetitions is 'conditioned'"):
        repetition_sampling.sample_rank("conditioned", KEY, {})


def test_what_a_rank_needs_is_prepared():
    numbers = repetition_sampling.prepare_rank(laws.truncated_negative_binomial(0.5, 0.25))
    assert {name: float(each) for name, each in numbers.items()} == {
        "eta": 0.5,
        "gamma": 0.25,
        "log_inverse_gamma": pytest.approx(2 * np.log(2)),
        "one_minus_gamma": 0.75,
    }
    assert all(each.dtype == np.float64 for each in numbers.values())
    assert set(repetition_sampling.prepare_rank(laws.poisson(2.0))) == {"mean"}
