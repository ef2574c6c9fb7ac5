"""The training bench: everybody sums the same gradients; no timing is asserted."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import peers, training, training_peers
from benchmarks.timing import Settings
from jaxsel.training.clipping import microbatched_sum
from jaxsel.training.network import STRIDES, cross_entropy, network

QUICK = Settings(repeats=1, seconds=1e-4)
GOALS = {
    "clipped sum / jax_privacy, flax.linen.Conv": 2.5,
    "clipped sum / jax_privacy on jaxsel's network": 1.0,
    "clipped sum / Opacus": 1.3,
    "clipped sum, share of the matmul peak": 0.55,
}
LOSS = functools.partial(cross_entropy, network())


@pytest.fixture(name="lax")
def _lax():
    """Other libraries promote ranks and types, and warn."""
    with (
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def installed(name: str) -> None:
    try:
        peers.imported(name)
    except peers.Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(name="both", scope="module")
def _both():
    """Work, and its clipped sum in float64 from gradients of Flax's own network."""
    task = training.work(batch=8, side=8)
    with jax.numpy_rank_promotion("allow"):
        loss = training_peers.usual_loss(task.params, task.strides)
        gradient = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
        found = gradient(task.params, task.images[:, None], task.labels[:, None])
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(found)]
    norms = np.sqrt(sum(np.square(leaf.reshape(8, -1)).sum(axis=1) for leaf in leaves))
    # Half of the gradients are clipped.
    task = task._replace(clip_norm=float(np.median(norms)))
    factors = np.minimum(1.0, task.clip_norm / norms)
    sums = [np.tensordot(factors, leaf, 1) for leaf in leaves]
    return task, jax.tree.unflatten(jax.tree.structure(found), sums)


@pytest.fixture(name="task")
def _task(both):
    return both[0]


@pytest.fixture(name="expected")
def _expected(both):
    return both[1]


def test_jaxsels_sum_is_the_one_of_flax_convolutions(task, expected):
    method = functools.partial(microbatched_sum, LOSS, microbatch=4)
    data = jnp.asarray(task.images), jnp.asarray(task.labels)
    rows = jnp.arange(8, dtype=jnp.int32)
    found = jax.jit(method)(task.params, data, rows, jnp.int32(8), task.clip_norm)
    training.same_sums({"plain": expected, "jaxsel": found})


def test_jax_privacy_sums_the_same(task, expected, lax):
    installed("jax_privacy.clipping")
    made = training._jax_privacy(task)
    assert len(made) == 2
    sums = {name: each.run() for name, each in made.items()}
    training.same_sums({"plain": expected} | sums)


def test_opacus_sums_the_same(task, expected, lax):
    installed("opacus.grad_sample")
    made = {mode: training_peers.opacus_sum(mode, *task) for mode in training_peers.OPACUS_MODES}
    # In parts, the last of them smaller; twice, because sums are to start afresh.
    made["parts"] = training_peers.opacus_sum("ew", *task, physical_batch=3)
    for _ in range(2):
        training.same_sums({"plain": expected} | {n: run() for n, run in made.items()})


def test_other_sums_are_refused():
    plain = {"kernel": np.ones((20, 5)), "bias": np.ones(5)}
    near = {"kernel": np.ones((20, 5)), "bias": np.full(5, 1 + 1e-5)}
    far = {"kernel": np.ones((20, 5)), "bias": np.full(5, 1.01)}
    nothing = jax.tree.map(lambda leaf: np.nan * leaf, plain)
    training.same_sums({"plain": plain, "near": near})
    for other in (far, nothing):
        with pytest.raises(RuntimeError, match="other computes another sum"):
            training.same_sums({"plain": plain, "other": other})


def products(jaxpr) -> int:
    """Operations of the matrix products in a traced program whose results are used."""
    total, used = 0, {var for var in jaxpr.outvars if not hasattr(var, "val")}
    for equation in reversed(jaxpr.eqns):
        if used.isdisjoint(equation.outvars):
            continue
        used |= {var for var in equation.invars if not hasattr(var, "val")}
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            inner = int(np.prod([shape[axis] for axis in contracted]))
            total += 2 * inner * equation.outvars[0].aval.size
        for value in equation.params.values():
            inside = getattr(value, "jaxpr", value)
            total += products(inside) if hasattr(inside, "eqns") else 0
    return total


@pytest.mark.parametrize("strides", ["strided", "dense"])
@pytest.mark.parametrize("side", [8, 13, 28])
def test_operations_are_those_of_the_traced_gradient(strides, side, task):
    loss = functools.partial(cross_entropy, network(strides))
    example = jnp.zeros((side, side, 1)), jnp.int32(0)
    traced = jax.make_jaxpr(jax.grad(loss))(task.params, example)
    counted = training.example_operations(task.params, STRIDES[strides], side)
    assert counted == products(traced.jaxpr)


def test_goals_are_measured_or_missing(task, lax, monkeypatch):
    monkeypatch.setattr(training, "_MICROBATCHES", (8,))
    monkeypatch.setattr(training, "_PRODUCTS", ((32, 32, 32),))
    for name in ("jax_privacy_sum", "opacus_sum"):

        def absent(*arguments, name=name, **options):
            raise peers.Unavailable(f"{name} is not installed")

        monkeypatch.setattr(training_peers, name, absent)
    found = training.measure(QUICK, task)
    assert {result.goal for result in found} == {training.GOAL}
    assert {r.name: r.threshold for r in found if r.threshold is not None} == GOALS
    *others, share = (result for result in found if result.threshold is not None)
    for result in others:
        assert (result.measured, result.met) == (None, False)
        assert "not installed" in result.detail
    assert share.measured > 0
    assert share.met == (share.measured >= share.threshold)
    beside = [result for result in found if result.threshold is None]
    assert [r.name for r in beside] == ["clipped sum / plain", "clipped sum / ghost"]
    assert all(result.measured > 0 for result in beside)


def test_the_best_mode_of_opacus_counts(task, monkeypatch):
    """With made-up times, the rows say what they should."""
    seconds = {
        "microbatch 4": 1.0,
        "microbatch 8": 1.0,
        "microbatch 16": 1.0,
        "plain": 2.0,
        "ghost": 3.0,
        training._USUAL: 4.0,
        training._ON_OURS: 0.9,
        "Opacus hooks": 3.0,
        "Opacus functorch": 4.0,
        "Opacus ew": 1.4,
        "Opacus ghost": 5.0,
        training._CHUNKS: 1.25,
    }

    def made(names):
        return {name: training.Competitor(lambda: np.ones(3), f"note on {name}") for name in names}

    names = list(seconds)
    monkeypatch.setattr(training, "_own", lambda task: made(names[:5]))
    monkeypatch.setattr(training, "_jax_privacy", lambda task: made(names[5:7]))
    monkeypatch.setattr(training, "_opacus", lambda task: made(names[7:]))

    def time_all(samplers, settings):
        return {name: training.Timing(seconds.get(name, 0.5), 9.0, 8, None) for name in samplers}

    monkeypatch.setattr(training, "time_all", time_all)
    monkeypatch.setattr(training, "_PRODUCTS", ((32, 32, 32),))
    found = {r.name: r for r in training.measure(QUICK, task)}
    usual, ours, best, share, *_ = found.values()
    assert (usual.measured, usual.met) == (4.0, True)
    assert (ours.measured, ours.met) == (0.9, False)
    assert best.name == "clipped sum / Opacus ew, its best mode"
    assert (best.measured, best.met) == (1.4, True)
    assert "note on Opacus ew" in best.detail
    # Products of as many operations take half the time.
    assert share.measured == pytest.approx(0.5, rel=0.05)
    assert not share.met
    assert found[f"clipped sum / {training._CHUNKS}"].measured == 1.25
