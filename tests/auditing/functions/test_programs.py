"""Functions of a key of jax.random: few programs, and the outcomes that the plain call has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions import programs
from jaxsel.auditing.functions.programs import Programs
from jaxsel.host.errors import CouldNotError, InputError


def pick(key, data, epsilon=1.0):
    return jnp.argmax(jnp.asarray(data, float) + jax.random.exponential(key, (5,)) / epsilon)


def branches(key, data, epsilon=1.0):
    return jnp.sum(data) + (0.1 if epsilon > 1 else 1.0) * jax.random.laplace(key)


def sorts(key, data, epsilon=1.0):
    return sorted(data)[0] + jax.random.laplace(key) / epsilon


def asks_for_numpy(key, data):
    return (1.0 if isinstance(data, np.ndarray) else 10.0) * data.sum() + jax.random.laplace(key)


def several(key, data, size=2, word="x", flag=True):
    assert isinstance(size, int)
    return {"values": jax.random.laplace(key, (size,)), "kept": jnp.sum(data) > len(word) + flag}


@pytest.fixture(name="compiled")
def _compiled(monkeypatch):
    """The sizes of the programs that are made."""
    made: list[int] = []
    plain = programs._program
    monkeypatch.setattr(
        programs, "_program", lambda closed, size: made.append(size) or plain(closed, size)
    )
    return made


def _plainly(call, data, settings, entropy, rows):
    """The outcomes as a reader of the documents would make them: each row its key."""
    words = np.random.SeedSequence(entropy).generate_state(2)
    key = jax.random.fold_in(jax.random.key(int(words[0])), int(words[1]))
    given = np.asarray(data) if isinstance(data, list) else data
    return jax.vmap(lambda one: call(one, given, **settings))(jax.random.split(key, rows))


def test_one_function_has_four_programs_whatever_its_data_and_settings(compiled):
    made = Programs("pick", pick)
    for epsilon in (0.5, 2.0):
        for data in ([1.0] * 5, [0.0, 1.0, 0.0, 0.0, 0.0]):
            for rows in (64, 900, 1388, 16384, 16384 + 900):
                found = made.rows(data, {"epsilon": epsilon}, (3, rows), rows)
                assert found.shape == (rows,)
    # One of these holds the outcomes of a program of constants against those of arguments.
    assert sorted(compiled) == [64, 64, 1024, 16384]
    assert made.said == ""


@pytest.mark.parametrize("rows", [1, 64, 65, 1100])
def test_outcomes_are_those_of_the_plain_call_whatever_the_program(monkeypatch, rows):
    monkeypatch.setattr(programs, "_SOME", 128)
    monkeypatch.setattr(programs, "_MANY", 512)
    found = Programs("pick", pick).rows([1.0] * 5, {"epsilon": 0.5}, (1, 2), rows)
    assert np.array_equal(found, _plainly(pick, [1.0] * 5, {"epsilon": 0.5}, (1, 2), rows))


@pytest.mark.parametrize(
    ("call", "inputs", "constant"),
    [
        (branches, [([1.0], {"epsilon": 0.5}), ([1.0], {"epsilon": 2.0})], "settings are"),
        (sorts, [([2.0, 1.0], {"epsilon": 0.5}), ([3.0, 4.0], {"epsilon": 2.0})], "its data are"),
        (asks_for_numpy, [([1.0], {}), ([2.0], {})], "its data are"),
    ],
)
def test_what_cannot_be_traced_stays_a_constant_and_is_said(call, inputs, constant):
    made = Programs(call.__name__, call)
    for data, settings in inputs:
        found = made.rows(data, settings, (1,), 64)
        assert np.allclose(found, _plainly(call, data, settings, (1,), 64), rtol=1e-6)
    assert made.said.startswith(constant)


def test_types_of_data_and_settings_are_kept():
    made = Programs("several", several)
    found = made.rows([1, 2], {"size": 3, "word": "ab", "flag": False}, (1,), 70)
    assert len(found) == 70
    assert len(found[0]["values"]) == 3
    assert found[0]["kept"] is True


def test_a_number_is_as_weak_as_it_was_and_of_its_type():
    types = []

    def looks(key, data):
        types.append((jnp.result_type(data), jax.typeof(jnp.asarray(data)).weak_type))
        return jax.random.laplace(key) + jnp.sum(jnp.asarray(data, float))

    for data in (0.5, 3, np.float32(2.0), np.array([1, 2]), np.array([0.5]), np.array([True])):
        Programs("looks", looks).rows(data, {}, (1,), 2)
        assert len(types) > 2  # as a constant and as an argument
        assert len(set(types)) == 1
        types.clear()


def test_numbers_that_jax_does_not_hold_are_no_arguments(compiled):
    def shifted(key, data):
        return jax.random.laplace(key) + np.float32(np.asarray(data) - 2**40)

    made = Programs("shifted", shifted)
    for more in (1, 2):
        found = made.rows(np.int64(2**40 + more), {}, (1,), 64)
        plain = _plainly(shifted, np.int64(2**40 + more), {}, (1,), 64)
        assert np.array_equal(found, plain)
    # Nothing was tried: an argument would be another number.
    assert (len(compiled), made.said) == (2, "")


def test_randomness_that_is_not_the_keys_is_still_seen():
    def outside(key, data):
        return data.sum() + np.random.default_rng().laplace()

    on = {"relation": "add_or_remove_one", "claim": 1.0, "trials": 1000}
    with pytest.raises(CouldNotError, match="one draw is shared"):
        jaxsel.audit(outside, **on)

    def hidden(key, data):  # in a trace within the trace
        noise = np.random.default_rng().normal(size=3).astype(np.float32)
        return jax.jit(lambda total: total + noise)(jnp.sum(jnp.asarray(data, float)))

    with pytest.raises(CouldNotError, match="one draw is shared"):
        jaxsel.audit(hidden, **on)


def test_a_function_that_cannot_be_traced_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="cannot be vmapped and jitted: TracerBoolConversion"):
        Programs("f", lambda key, data: 1 if jax.random.bernoulli(key) else 0).rows(
            [1], {}, (1,), 2
        )
    with pytest.raises(InputError, match="cannot be vmapped and jitted: ValueError"):
        Programs("f", pick).rows([[1], [1, 2]], {}, (1,), 2)


def test_the_verdict_says_how_calls_were_made():
    on = {"relation": "general", "pair": ([0.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0]), "trials": 2000}
    found = jaxsel.audit(pick, claim="epsilon", **on)
    assert found.calls == "compiled, in this process"
    assert "compiled, in this process" in str(found)


def test_an_exception_without_text_is_named_all_the_same():
    def refuses(key, data):
        raise ValueError

    with pytest.raises(InputError, match="cannot be vmapped and jitted: ValueError"):
        Programs("refuses", refuses).rows([1.0], {}, (1,), 2)
