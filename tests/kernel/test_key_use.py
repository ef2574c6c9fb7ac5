"""An audit refuses randomness that does not come from the key; see ``kernel.key_use``."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.audit import audit, audit_delta
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise, stream
from jaxsel.kernel.engine import simulate
from jaxsel.kernel.key_use import KeyUse, key_use
from jaxsel.kernel.tables import from_law
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, Relation

PAIR = Pair("one more", 3.0, 4.0, Relation.GENERAL, {}, "a count and one more")
EVENTS = 12
generator = np.random.default_rng(5)


def _event(outcome):
    return jnp.clip(outcome, 0, EVENTS - 1).astype(jnp.int32)


def own(sample, law=None, prepare=None) -> Mechanism:
    """A count with noise, as somebody writes it who has read the guide."""
    return Mechanism(
        name="noisy_count",
        prepare=prepare or (lambda data, params: (np.float64(data), ())),
        sample=sample,
        event=_event,
        labels=lambda data, params: tuple(str(i) for i in range(EVENTS)),
        law=law,
        resolution=2.0**-53,
    )


def from_key(key, data, params):
    """1-DP: Laplace noise of scale 1 on a count."""
    return jnp.round(data + noise.variate("laplace", key, 0, "float64"))


def from_numpy(key, data, params):
    return jnp.round(data + generator.laplace())


def from_both(key, data, params):
    return from_key(key, data, params) + generator.normal()


def array_from_numpy(key, data, params):
    return from_key(key, data, params) + jnp.asarray(generator.normal(size=50)).sum()


def in_a_loop(key, data, params):
    added = generator.normal()
    return jax.lax.fori_loop(0, 3, lambda i, x: x + added, from_key(key, data, params))


def in_a_branch(key, data, params):
    """One of two branches adds other noise: what a branch holds is a part of the trace."""
    mine, added = from_key(key, data, params), generator.normal()
    return jax.lax.cond(mine > data, lambda x: x + added, lambda x: x, mine)


@jax.jit
def compiled_numpy(key, data, params):
    return jnp.round(data + generator.laplace())


def without_lane(key, data, params):
    return from_key(key._replace(lane=jnp.uint32(0)), data, params)


def in_prepare(data, params):
    return np.float64(data + generator.laplace()), ()


def drawn_but_not_used(key, data, params):
    noise.variate("laplace", key, 0, "float64")
    return jnp.round(data + generator.laplace())


def constant(key, data, params):
    return data


def point_mass(data, params) -> FiniteLaw:
    return FiniteLaw(np.eye(EVENTS)[int(data)], tuple(map(str, range(EVENTS))))


@pytest.mark.parametrize(
    ("mechanism", "sentence"),
    [
        (own(from_numpy), "outside its key"),
        (own(from_both), "outside its key"),
        (own(array_from_numpy), "outside its key"),
        (own(in_a_loop), "outside its key"),
        (own(in_a_branch), "outside its key"),
        (own(from_key, prepare=in_prepare), "outside its key"),
        (own(drawn_but_not_used), "outside its key"),
        (own(compiled_numpy), "does not depend on its key"),
        (own(without_lane), "does not depend on its key"),
        (own(constant), "does not depend on its key"),
        # a law of a count with noise, and a sampler without
        (
            own(constant, law=lambda *_: FiniteLaw(np.full(12, 1 / 12), ("",) * 12)),
            "does not depend on its key",
        ),
    ],
)
def test_randomness_from_elsewhere_is_not_audited(mechanism, sentence):
    for bound in (
        lambda: audit(mechanism, PAIR, trials=1000),
        lambda: jaxsel.audit(mechanism, PAIR, trials=1000),
        lambda: audit_delta(mechanism, PAIR, trials=1000, epsilon=1.0),
    ):
        with pytest.raises(InputError, match=sentence) as caught:
            bound()
        assert "noisy_count" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_count_with_noise_from_its_key_keeps_its_promise():
    found = audit(own(from_key), PAIR, trials=20_000, confidence=1 - 1e-6)
    assert 0.3 < found.bound.lower <= 1.0


def test_what_is_meant_to_be_constant_is_simulated_and_with_its_law_audited():
    assert simulate(own(constant), 3.0, trials=100).values[0, 3] == 100
    found = audit(own(constant, law=point_mass), PAIR, trials=2000)
    assert found.exact == np.inf
    assert found.bound.lower > 5.0


def test_tables_and_shortcuts_use_their_key():
    built = jaxsel.mechanism("noisy_max", scores=[1, 0])
    bare = Pair("b", built.data, built.data, Relation.GENERAL, built.params, "same")
    for mechanism in (built.mechanism, from_law(built.mechanism)):
        assert audit(mechanism, bare, trials=100).bound.lower == 0.0


def test_key_use_of_plain_functions():
    assert key_use(lambda key: stream.words(key, 0)[0]) == KeyUse(True, True)
    assert key_use(lambda key: key.lane * jnp.uint32(2)) == KeyUse(True, True)
    assert key_use(lambda key: key.first) == KeyUse(False, True)
    assert key_use(lambda key: generator.normal()) == KeyUse(False, False)


def _literal(key, n):
    return key.lane * jnp.uint32(n + 2)


def _captured(key, n):
    return key.lane + jnp.asarray([n, 1], jnp.uint32)


def _outcome_alone(key, n):
    return key.lane, n


def _shape(key, n):
    return jnp.broadcast_to(key.lane, (n + 2,))


def _operation(key, n):
    return key.lane + key.lane if n % 2 else key.lane * key.lane


def _inside(key, n):
    return jax.lax.fori_loop(0, 3, lambda i, x: x + jnp.uint32(n + 2), key.lane)


def _in_one_of_two(key, n):
    wide = key.lane > 3
    return jax.lax.cond(wide, lambda x: x + jnp.uint32(n + 2), lambda x: x, key.lane)


@pytest.mark.parametrize(
    "function", [_literal, _captured, _outcome_alone, _shape, _operation, _inside, _in_one_of_two]
)
def test_whatever_differs_between_two_traces_is_seen(function):
    """The same trace twice is repeatable; one other number in it is not."""
    made = []

    def another(key):
        made.append(None)
        return function(key, len(made))

    assert key_use(lambda key: function(key, 5)) == KeyUse(True, True)
    assert key_use(another) == KeyUse(True, False)
    assert len(made) == 2


def test_a_key_may_be_one_of_many_things_that_are_used():
    assert key_use(lambda key, x: x + key.lane, jnp.uint32(1)).used
    assert key_use(lambda key, x: (x, key.lane, key.first), 1.0).used
    assert not key_use(lambda key, x: (x, key.second, key.first), 1.0).used


def test_what_a_checkpoint_holds_is_a_part_of_the_trace():
    """Its trace stands there bare, without constants of its own."""
    made = []

    def another(key):
        made.append(None)
        return jax.checkpoint(lambda x: x * jnp.uint32(len(made) + 1))(key.lane)

    assert key_use(another) == KeyUse(True, False)
