"""What a search keeps of a network comes back bit for bit, whatever its types."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.training.checkpoints import RECORD, Saved, resumed, stored_seed
from jaxsel.training.dp_sgd import State
from jaxsel.training.plan import plan_search


@pytest.fixture(scope="module")
def plan():
    return plan_search(
        rates=[0.1],
        noise_multipliers=[2.0],
        clip_norms=[1.0],
        batch_sizes=[16.0],
        epochs=1.0,
        delta=1e-3,
        examples=60,
        repetitions=laws.poisson(3.0),
    )


def one_run(number: int) -> State:
    """A state with every type that training may hold, its bits those of a number."""
    generator = np.random.default_rng(number)
    params = {
        "Dense_0": {
            "kernel": jnp.asarray(generator.normal(size=(2, 3)), jnp.bfloat16),
            "bias": jnp.asarray(generator.normal(size=3), jnp.float16),
        },
        "scale": {"deep": {"er": jnp.asarray(generator.normal(size=0), jnp.float32)}},
        "quantised": jnp.asarray(generator.integers(-100, 100, 4), jnp.int8),
        "phase": jnp.asarray(generator.normal(size=2) * 1j, jnp.complex64),
    }
    moments = optax.adam(0.1).init({"kernel": params["Dense_0"]["kernel"]})
    optimiser = {
        "moments": moments,
        "key": jax.random.key(number),
        "words": jax.random.PRNGKey(number),
        "none": None,
        "keys": jax.random.split(jax.random.key(number, impl="rbg"), 2),
        "broken": jnp.asarray([np.nan, -0.0, np.inf, 1e-45], jnp.float32),
    }
    return State(params, optimiser, jnp.int32(number), jnp.asarray(number % 2 == 0))


def bits(tree: Any) -> list[tuple[Any, bytes]]:
    found = []
    for leaf in jax.tree.leaves(tree):
        kind = str(leaf.dtype), leaf.shape
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        found.append((kind, np.asarray(leaf).tobytes()))
    return found


def read(folder, plan, example, seed=1) -> Saved:
    with resumed(folder, plan, seed, "model", example) as (saved, _):
        return saved


@pytest.mark.parametrize("rows", [1, 3])
def test_every_type_comes_back_bit_for_bit(tmp_path, plan, rows):
    example = one_run(0)
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(one_run, range(rows)))
    scores = (0.1, float("nan"), -1e300)
    folder = tmp_path / "search"
    with resumed(folder, plan, 1, "model", example) as (saved, save):
        assert saved == Saved(None, (), None)
        save(Saved(state, scores, one_run(7).params))
    found = read(folder, plan, example)
    assert jax.tree.structure(found.state) == jax.tree.structure(state)
    assert bits(found.state) == bits(state)
    assert bits(found.best) == bits(one_run(7).params)
    assert bits(found.best) != bits(one_run(8).params)
    np.testing.assert_array_equal(found.scores, scores)
    # What the key draws is what it would have drawn.
    assert found.state is not None
    drawn = [jax.random.bits(each.optimiser["key"][0]) for each in (found.state, state)]
    assert drawn[0] == drawn[1]
    with resumed(folder, plan, 1, "model", example) as (_, save):
        save(Saved(None, scores, None))
    found = read(folder, plan, example)
    assert (found.state, found.best) == (None, None)


def test_another_network_under_the_same_name_is_refused(tmp_path, plan):
    folder = tmp_path / "search"
    with resumed(folder, plan, 1, "model", one_run(0)) as (_, save):
        save(Saved(None, (1.0,), one_run(1).params))
    before = (folder / RECORD).read_bytes()
    for place, other in {
        "wide": {"kernel": jnp.zeros((2, 4), jnp.bfloat16)},
        "other type": {"kernel": jnp.zeros((2, 3), jnp.float32)},
        "more": {"kernel": jnp.zeros((2, 3), jnp.bfloat16), "more": jnp.zeros(1)},
    }.items():
        params = one_run(0).params
        params["Dense_0"] |= other
        with pytest.raises(InputError, match="no best") as caught:
            read(folder, plan, one_run(0)._replace(params=params))
        assert "\n" not in str(caught.value), place
    assert (folder / RECORD).read_bytes() == before


@pytest.mark.parametrize("left", ["search.json", "checkpoints"])
def test_a_folder_of_an_earlier_version_is_refused_and_says_what_to_do(tmp_path, plan, left):
    folder = tmp_path / "search"
    (folder / left).mkdir(parents=True)
    folder.chmod(0o700)
    for call in (lambda: read(folder, plan, one_run(0)), lambda: stored_seed(folder)):
        with pytest.raises(InputError, match="finish it there, or name another folder"):
            call()
    assert [each.name for each in folder.iterdir()] == [left]


def test_one_process_at_a_time_goes_on_with_a_search(tmp_path, plan):
    folder, example = tmp_path / "search", one_run(0)
    with resumed(folder, plan, 1, "model", example):
        with pytest.raises(InputError, match="another process is writing"):
            read(folder, plan, example)
    read(folder, plan, example)
