"""Functions of a key of jax.random: few programs, and the outcomes that the plain call has."""

import math
import types

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
        jaxsel.audit_function(outside, **on)

    def hidden(key, data):  # in a trace within the trace
        noise = np.random.default_rng().normal(size=3).astype(np.float32)
        return jax.jit(lambda total: total + noise)(jnp.sum(jnp.asarray(data, float)))

    with pytest.raises(CouldNotError, match="one draw is shared"):
        jaxsel.audit_function(hidden, **on)


def test_a_function_that_cannot_be_traced_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="cannot be vmapped and jitted: TracerBoolConversion"):
        Programs("f", lambda key, data: 1 if jax.random.bernoulli(key) else 0).rows(
            [1], {}, (1,), 2
        )
    with pytest.raises(InputError, match="cannot be vmapped and jitted: ValueError"):
        Programs("f", pick).rows([[1], [1, 2]], {}, (1,), 2)


def test_the_verdict_says_how_calls_were_made():
    pair, on = ([0.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0]), {"relation": "general", "trials": 2000}
    found = jaxsel.audit_function(pick, *pair, claim="epsilon", **on)
    assert found.calls == "compiled, in this process"
    assert "compiled, in this process" in str(found)


def test_an_exception_without_text_is_named_all_the_same():
    def refuses(key, data):
        raise ValueError

    with pytest.raises(InputError, match="cannot be vmapped and jitted: ValueError"):
        Programs("refuses", refuses).rows([1.0], {}, (1,), 2)


class _Size(int):
    """A whole number that a function may take for something else."""


def test_values_are_known_by_what_they_are():
    kept: dict = {}
    for one, other in (
        (10**6, int("1000000")),
        (0.1 + 0.2, float("0.30000000000000004")),
        ("a word", "".join(["a ", "word"])),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0])),
    ):
        assert one is not other
        assert programs._named(one, kept) == programs._named(other, kept)
    assert kept == {}
    numbers = [1, True, 1.0, "1", None, np.array([1.0]), np.array(1.0), np.array([1])]
    numbers += [np.array([1.0], np.float32), np.array([[1.0]]), np.array([2.0])]
    numbers += [np.array([1], np.uint64), _Size(1)]
    assert len({programs._named(one, kept) for one in numbers}) == len(numbers)
    # Of all else nothing is known but which one it is.
    first, second = [1.0], [1.0]
    assert programs._named(first, kept) != programs._named(second, kept)
    assert kept == {id(first): first, id(second): second}


def test_a_setting_of_the_same_value_needs_no_new_program(compiled):
    def sized(key, data, size=2, word="x"):
        return jax.random.laplace(key, (size,)) + len(word)

    made = Programs("sized", sized)
    for word in ("a word", "".join(["a ", "word"])):
        made.rows([1.0], {"size": 2, "word": word}, (1,), 64)
    few = len(compiled)
    made.rows([1.0], {"size": 2, "word": "another word"}, (1,), 64)
    assert len(compiled) > few
    assert few <= 2


@pytest.mark.parametrize(
    ("leaf", "kept"),
    [
        (0.1, True),
        (1e300, False),  # infinite in float32
        (1e-300, False),  # and zero
        (math.nan, True),
        (np.array([math.inf, 0.0, -2.5]), True),
        (np.array([0.5, 1e-300]), False),
        (2**31 - 1, True),
        (2**31, False),
        (np.array([1, 2**40]), False),
        (True, True),
        ("a", False),
        (np.array(["a"]), False),
        (1j, False),
    ],
)
def test_what_stays_itself_where_jax_takes_it(leaf, kept):
    assert programs._is_kept(leaf) == kept


def _moved(rows, by=1.0, shape=(64,)):
    found = np.ones(shape)
    found[:rows] += by
    return found


@pytest.mark.parametrize(
    ("found", "same"),
    [
        ([_moved(0)], True),
        ([_moved(2)], True),  # a rounding decides few of 64 rows
        ([_moved(3)], False),
        ([_moved(64, 9e-4)], True),
        ([_moved(64, 2e-3)], False),
        ([_moved(0).astype(np.float32)], False),
        ([_moved(0)[:, None]], False),
        ([_moved(0), _moved(0)], False),
    ],
)
def test_outcomes_agree_but_for_roundings(found, same, monkeypatch):
    expected = [_moved(0)]
    one, other = (types.SimpleNamespace(structure="a leaf") for _ in range(2))
    monkeypatch.setattr(
        programs, "_outputs", lambda which, *given: found if which is one else expected
    )
    assert programs._agree(one, other, ()) == same
    if same:
        other.structure = "another"
        assert not programs._agree(one, other, ())


def test_roundings_are_counted_by_rows_over_all_that_is_returned(monkeypatch):
    one, other = (types.SimpleNamespace(structure="a pair") for _ in range(2))
    wide, last, labels = np.zeros((64, 3)), np.full(64, math.nan), np.arange(64)
    for rows, same in (([5, 6], True), ([5, 6, 7], False)):
        moved = wide.copy()
        moved[rows[:2], [0, 2]] = 1.0
        others = labels.copy()
        others[rows[1:]] += 1
        found, expected = [moved, last, others], [wide, last, labels]
        monkeypatch.setattr(
            programs,
            "_outputs",
            lambda which, *given, f=found, e=expected: f if which is one else e,
        )
        assert programs._agree(one, other, ()) == same


def test_traces_are_the_same_with_their_constants_alone():
    def trace(*numbers, inner=False):
        constant = np.array(numbers)
        add = lambda x: x + constant  # noqa: E731
        return jax.make_jaxpr(jax.jit(add) if inner else add)(1.0)

    for inner in (False, True):
        assert programs._equal(trace(0.5, np.nan, inner=inner), trace(0.5, np.nan, inner=inner))
        assert not programs._equal(trace(0.5, 2.0, inner=inner), trace(0.5, 3.0, inner=inner))
    assert not programs._equal(trace(0.5, 2.0), trace(0.5, 2.0, 3.0))
    others = jax.make_jaxpr(lambda x: x * np.array([0.5, 2.0]))(1.0)
    assert not programs._equal(trace(0.5, 2.0), others)

    def keyed(seed):
        key = jax.random.key(seed)
        return jax.make_jaxpr(lambda x: x + jax.random.uniform(key))(1.0)

    assert programs._equal(keyed(1), keyed(1))
    assert not programs._equal(keyed(1), keyed(2))
