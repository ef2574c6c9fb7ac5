"""Several processes of one run, joined by ``jax.distributed``.

Every process runs the same calls in the same order; each counts its devices' share of the
trials, and the sums of all are added in one reduction a call, over a mesh of one device a
process. The compiled program that runs the trials is the same as in a single process. A
process that has not joined others is number 0 of 1, and nothing here communicates.
"""

import collections
import functools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxsel.host.errors import InputError
from jaxsel.host.streams import output_to_errors

_JOIN_SECONDS = 60
T = TypeVar("T")


def join(coordinator: str, processes: int | None = None, process: int | None = None):
    """Joins the processes of one run; to be called before JAX is used.

    Args:
      coordinator: "HOST:PORT" of process 0, or "auto" where JAX can detect it
        (SLURM, Open MPI, Kubernetes, cloud TPUs).
      processes: how many there are.
      process: the number of this one, from 0.

    Raises:
      InputError: if the coordinator or the others do not answer within a minute, if the
        numbers are inconsistent, if "auto" detects nothing, or if the processes have
        different numbers of devices.
    """
    automatic = coordinator == "auto"
    if automatic != (processes is None) or automatic != (process is None):
        raise InputError(
            f"coordinator is {coordinator!r}; give HOST:PORT with the number of processes "
            'and the number of this one, or "auto" alone'
        )
    if processes is not None and not 0 <= (process or 0) < processes:
        raise InputError(f"process is {process}; it must be one of 0, ..., {processes - 1}")
    # CPU processes need Gloo for collective operations.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            None if automatic else coordinator,
            processes,
            process,
            initialization_timeout=_JOIN_SECONDS,
        )
    # The type of JAX's exception depends on which process is missing.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"cannot join the run at {coordinator}: {reason}") from error
    _check_devices()
    # Gloo prints its connections on standard output, which is for results only.
    with output_to_errors():
        from_first(lambda: None)
        sum_over_processes(np.zeros(1, np.int64))


def _check_devices() -> None:
    """Raises InputError in every process unless all have equally many devices.

    Trials are split by the number of devices."""
    of_each = collections.Counter(device.process_index for device in jax.devices())
    if len(set(of_each.values())) > 1:
        told = ", ".join(str(of_each[index]) for index in sorted(of_each))
        raise InputError(f"the processes of this run have {told} devices; give all of them as many")


def count() -> int:
    """The number of processes."""
    return jax.process_count()


def number() -> int:
    """The number of this process; process 0 writes files and prints."""
    return jax.process_index()


def from_first(make: Callable[[], T]) -> T:
    """Broadcasts what ``make`` returns in the first process to every process.

    Raises:
      InputError: in every process, if ``make`` raised one in the first.
    """
    if count() == 1:
        return make()
    message, raised = b"", None
    if number() == 0:
        try:
            message = pickle.dumps((make(), None))
        except InputError as error:
            raised = error
            message = pickle.dumps((None, str(error)))
    size = int(multihost_utils.broadcast_one_to_all(np.int64(len(message))))
    # Sent as 32-bit words: not every backend can reduce bytes.
    padded = np.frombuffer(message.ljust(-(-size // 4) * 4, b"\0"), np.uint32)
    if number() != 0:
        padded = np.zeros(-(-size // 4), np.uint32)
    received = np.asarray(multihost_utils.broadcast_one_to_all(padded))
    found, sentence = pickle.loads(received.tobytes())
    if sentence is not None:
        raise raised or InputError(sentence)
    return found


def check_same(text: str) -> None:
    """Raises InputError in every process unless all of them pass the same text."""
    if count() == 1:
        return
    same = from_first(lambda: text) == text
    differing = int(sum_over_processes(np.array([not same], np.int64))[0])
    if differing:
        raise InputError(
            f"{differing} of {count()} processes were given another run than the first; "
            "start all of them with the same command, code and versions"
        )


def sum_over_processes(tree: Any) -> Any:
    """Sums over the processes of a pytree of np.int64 arrays, the same in each."""
    if count() == 1:
        return tree
    leaves, structure = jax.tree.flatten(tree)
    vector = np.concatenate([np.ravel(leaf) for leaf in leaves]).astype(np.int64)
    with jax.enable_x64(True):
        mesh = _mesh()
        everyone = multihost_utils.host_local_array_to_global_array(
            vector[None], mesh, P("processes")
        )
        total = np.asarray(_reduction(mesh)(everyone).addressable_data(0))
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = np.split(total, ends)
    parts = [p.reshape(np.shape(leaf)) for p, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, parts)


@functools.cache
def _mesh() -> Mesh:
    """One device of each process."""
    first = {device.process_index: device for device in reversed(jax.devices())}
    return Mesh(np.asarray([first[i] for i in range(count())]), ("processes",))


@functools.cache
def _reduction(mesh: Mesh):
    return jax.jit(
        jax.shard_map(
            lambda part: lax.psum(part[0], "processes"),
            mesh=mesh,
            in_specs=P("processes"),
            out_specs=P(),
            check_vma=False,
        )
    )
