"""Goal 12: sums of clipped gradients, the main cost of DP-SGD, against other libraries.

The strided network of Papernot & Steinke 2022 is run on 256 images of 28 x 28 pixels, with
one thread. All libraries sum the same gradients, and their sums are compared before they are
timed.
"""

import contextlib
import functools
import importlib.metadata
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from benchmarks import training_peers as peers
from benchmarks.peers import Unavailable
from benchmarks.results import GoalResult, at_least, missing, note
from benchmarks.timing import Sampler, Settings, Timing, ratio, time_all
from jaxsel.training.clipping import microbatched_sum, plain_sum
from jaxsel.training.ghost import ghost_sum
from jaxsel.training.network import STRIDES, cross_entropy, network

GOAL = 12
BATCH, SIDE = 256, 28
_MICROBATCHES = (4, 8, 16)
_CLIP = 1.75  # about the median length of a gradient
_OURS = "microbatch 8"  # the default of training
_USUAL = "jax_privacy, flax.linen.Conv"
_ON_OURS = "jax_privacy on jaxsel's network"
_PHYSICAL = 64
_MODES = tuple(f"Opacus {mode}" for mode in peers.OPACUS_MODES)
_CHUNKS = f"Opacus ew, {_PHYSICAL} at a time"
# jaxsel clips to C (1 - 2**-14) and Opacus adds 1e-6 to norms; all else is rounding.
_TOLERANCE = 2.0**-12
# A square product, and the network's largest; libraries differ in which they are best at.
_PRODUCTS = ((512, 512, 512), (1568, 576, 64))


class Work(NamedTuple):
    """The gradients to be summed.

    Attributes:
      params: parameters of the network.
      strides: strides of its convolutions.
      images, labels: the batch.
      clip_norm: the clipping norm C; about half of the gradients are longer.
    """

    params: Any
    strides: tuple[int, ...]
    images: Float[np.ndarray, "batch height width channels"]
    labels: Int[np.ndarray, " batch"]
    clip_norm: float


class Competitor(NamedTuple):
    """A method of computing the sum.

    Attributes:
      run: computes and returns the sum, a tree like the parameters.
      note: a remark on the method.
    """

    run: Callable[[], Any]
    note: str


def work(batch: int = BATCH, side: int = SIDE) -> Work:
    """Random images of ``side`` x ``side`` pixels, with random labels and fresh parameters."""
    generator = np.random.default_rng(13)
    images = generator.random((batch, side, side, 1), dtype=np.float32)
    labels = generator.integers(0, 10, batch).astype(np.int32)
    # Images of all brightnesses have gradients of all lengths.
    images *= generator.random((batch, 1, 1, 1), dtype=np.float32)
    params = network().init(jax.random.key(13), jnp.asarray(images[:1]))["params"]
    return Work(params, STRIDES["strided"], images, labels, _CLIP)


def example_operations(params: Any, strides: tuple[int, ...], side: int) -> int:
    """Floating-point operations of the matrix products of one example's gradient.

    A product of the forward pass has two products of its size in the backward pass. One of
    these is for the gradient with respect to its inputs, which the first layer does not need.
    Products with padding are counted.

    Args:
      params: parameters of the network.
      strides: strides of its convolutions.
      side: width and height of the images, in pixels.
    """
    total = 0
    for number, stride in enumerate(strides):
        side = -(-side // stride)
        passes = 2 if number == 0 else 3
        total += 2 * passes * side**2 * params[f"Conv_{number}"]["kernel"].size
    return total + 2 * 3 * params["Dense_0"]["kernel"].size


def _compiled(function: Callable[..., Any], *arguments) -> Competitor:
    """A JAX function compiled for these arguments, with a note on time and memory."""
    start = time.perf_counter()
    program = jax.jit(function).lower(*arguments).compile()
    seconds = time.perf_counter() - start
    memory: Any = program.memory_analysis()
    return Competitor(
        lambda: jax.block_until_ready(program(*arguments)),
        f"compiled in {seconds:.1f} s, {memory.temp_size_in_bytes / 1e6:.0f} MB of temporaries",
    )


def _own(task: Work) -> dict[str, Competitor]:
    model = network()
    loss = functools.partial(cross_entropy, model)
    batch = len(task.labels)
    arguments = (
        task.params,
        (jnp.asarray(task.images), jnp.asarray(task.labels)),
        jnp.arange(batch, dtype=jnp.int32),
        jnp.int32(batch),
        jnp.float32(task.clip_norm),
    )
    methods: dict[str, Callable[..., Any]] = {
        f"microbatch {size}": functools.partial(microbatched_sum, loss, microbatch=size)
        for size in _MICROBATCHES
    }
    methods["plain"] = functools.partial(plain_sum, loss)
    methods["ghost"] = functools.partial(ghost_sum, model)
    return {name: _compiled(method, *arguments) for name, method in methods.items()}


def _jax_privacy(task: Work) -> dict[str, Competitor]:
    loss = functools.partial(cross_entropy, network())
    arguments = task.params, jnp.asarray(task.images), jnp.asarray(task.labels)
    usual = peers.jax_privacy_sum(
        peers.usual_loss(task.params, task.strides), task.clip_norm, keep_batch_dim=True
    )
    on_ours = peers.jax_privacy_sum(
        lambda params, image, label: loss(params, (image, label)),
        task.clip_norm,
        keep_batch_dim=False,
        microbatch=8,
    )
    version = f"jax_privacy {importlib.metadata.version('jax_privacy')}"
    found = {_USUAL: usual, _ON_OURS: on_ours}
    return {
        name: made._replace(note=f"{version}, {made.note}")
        for name, function in found.items()
        for made in [_compiled(function, *arguments)]
    }


def _opacus(task: Work) -> dict[str, Competitor]:
    def made(mode: str, **options) -> Competitor:
        run = peers.opacus_sum(mode, *task, **options)
        versions = [f"{p} {importlib.metadata.version(p)}" for p in ("opacus", "torch")]
        return Competitor(run, ", ".join(versions))

    found = {name: made(mode) for name, mode in zip(_MODES, peers.OPACUS_MODES, strict=True)}
    return found | {_CHUNKS: made("ew", physical_batch=_PHYSICAL)}


def same_sums(found: Mapping[str, Any]) -> None:
    """Checks that all sums agree with the one called "plain".

    Raises:
      RuntimeError: if one does not.
    """
    flat = {
        name: np.concatenate(
            [np.asarray(leaf, np.float64).ravel() for leaf in jax.tree.leaves(tree)]
        )
        for name, tree in found.items()
    }
    for name, values in flat.items():
        gap = np.linalg.norm(values - flat["plain"]) / np.linalg.norm(flat["plain"])
        if not gap <= _TOLERANCE:
            raise RuntimeError(f"{name} computes another sum: {gap:.1e} away")


class _Products(NamedTuple):
    run: Callable[[], Any]
    operations: int


def _products(operations: int) -> dict[str, _Products]:
    """Matrix products of each shape, repeated to about so many operations together.

    They last about as long as a sum, so that a busy machine disturbs both alike.
    """
    generator = np.random.default_rng(0)
    jitted = jax.jit(jnp.matmul)
    found: dict[str, _Products] = {}
    for rows, inner, columns in _PRODUCTS:
        left = generator.random((rows, inner), dtype=np.float32)
        right = generator.random((inner, columns), dtype=np.float32)
        arrays = jnp.asarray(left), jnp.asarray(right)
        once: dict[str, Callable[[], Any]] = {}
        once["JAX"] = lambda arrays=arrays: jitted(*arrays).block_until_ready()
        with contextlib.suppress(Unavailable):
            once["PyTorch"] = peers.torch_matmul(left, right)
        own = 2 * rows * inner * columns
        times = max(1, round(operations / own))
        for library, product in once.items():
            found[f"{library} {rows}x{inner} by {inner}x{columns}"] = _Products(
                functools.partial(_repeat, product, times), times * own
            )
    return found


def _repeat(once: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        once()


def _sampler(once: Callable[[], Any], batch: int) -> Sampler:
    return Sampler(lambda trials: _repeat(once, trials // batch), batch)


def _rate(timing: Timing) -> str:
    return f"{1 / timing.fastest:.0f}/s, median {1 / timing.median:.0f}"


def measure(settings: Settings, task: Work | None = None) -> list[GoalResult]:
    """The speed of the clipped sum of a batch, in examples per second.

    Args:
      settings: how long to measure.
      task: the gradients to sum; None for ``work()``.
    """
    task = work() if task is None else task
    batch, side = task.images.shape[:2]
    own, others, absent = _own(task), {}, {}
    for library, make in (("jax_privacy", _jax_privacy), ("Opacus", _opacus)):
        try:
            others |= make(task)
        except Unavailable as error:
            absent[library] = str(error)
    competitors = own | others
    same_sums({name: each.run() for name, each in competitors.items()})
    operations = example_operations(task.params, task.strides, side)
    products = _products(batch * operations)
    everybody = {name: each.run for name, each in (competitors | products).items()}
    times = time_all({name: _sampler(run, batch) for name, run in everybody.items()}, settings)

    def beside(name: str) -> tuple[str, float, str]:
        detail = "; ".join(
            f"{each}: {_rate(times[each])} ({competitors[each].note})" for each in (_OURS, name)
        )
        return f"clipped sum / {name}", ratio(times, name, _OURS), detail

    goals = []
    for library, names, threshold in (
        ("jax_privacy", (_USUAL,), 2.5),
        ("jax_privacy", (_ON_OURS,), 1.0),
        ("Opacus", _MODES, 1.3),
    ):
        if library in absent:
            name = names[0] if len(names) == 1 else library
            why = absent[library]
            goals.append(missing(GOAL, f"clipped sum / {name}", threshold, why))
            continue
        best = min(names, key=lambda name: times[name].fastest)
        title, measured, detail = beside(best)
        title += ", its best mode" if len(names) > 1 else ""
        goals.append(at_least(GOAL, title, measured, threshold, detail))

    speeds = {
        name: each.operations / batch / times[name].fastest / 1e9 for name, each in products.items()
    }
    peak = max(speeds, key=lambda name: speeds[name])
    speed = operations / times[_OURS].fastest / 1e9
    goals.append(
        at_least(
            GOAL,
            "clipped sum, share of the matmul peak",
            speed / speeds[peak],
            0.55,
            f"{speed:.0f} of {speeds[peak]:.0f} GFLOP/s ({peak}); "
            f"{operations / 1e6:.1f} MFLOP an example",
        )
    )
    rest = [name for name in own if name != _OURS] + [n for n in others if n == _CHUNKS]
    return goals + [note(GOAL, *beside(name)) for name in rest]
