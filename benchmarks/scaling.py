"""Goal 13: two devices, shards or joined processes are as fast as two independent processes.

Run as ``python -m benchmarks.scaling WAY TRIALS SEED INDEX ADDRESS``. This is one process,
which prints "ready" when it has compiled, runs its trials whenever it reads a line, and
prints the seconds that they took.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.results import GoalResult, at_least

_TRIALS = 2**28
_LEAST = 0.95
_APART = "two processes apart"
# Way -> number of processes with one thread each; two devices have one thread each.
_WAYS = {_APART: 2, "two shards": 2, "two joined processes": 2, "two devices": 1}
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_TWO_DEVICES = "--xla_force_host_platform_device_count=2"


def measure(repeats: int = 5, trials: int = _TRIALS) -> list[GoalResult]:
    """Speeds of two devices, shards or joined processes, relative to two independent processes.

    All processes are started and compiled first, and then run in turn. Ratios are those of
    the fastest repeats.

    Args:
      repeats: number of repeats of each way.
      trials: number of trials of one repeat, by both together.
    """
    running = {way: _started(way, trials) for way in _WAYS}
    spent: dict[str, list[float]] = {way: [] for way in _WAYS}
    try:
        for _ in range(repeats):
            for way, processes in running.items():
                spent[way].append(_counted(processes))
    finally:
        for processes in running.values():
            for process in processes:
                process.kill()
                process.communicate()
    apart = min(spent[_APART])
    rates = "; ".join(f"{w}: {1e-6 * trials / min(s):.4g} M/s" for w, s in spent.items())
    detail = f"noisy max of 3, {trials} trials, {os.cpu_count()} CPUs; {rates}"
    return [
        at_least(13, f"{way} / {_APART}", apart / min(spent[way]), _LEAST, detail)
        for way in _WAYS
        if way != _APART
    ]


def _started(way: str, trials: int) -> list[subprocess.Popen]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    flags = _TWO_DEVICES if way == "two devices" else _ONE_THREAD
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scaling", way, str(trials), str(index), address],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(_WAYS[way])
    ]
    for process in processes:
        _expect(process, "ready")
    return processes


def _expect(process: subprocess.Popen, word: str) -> None:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if line != word:
        raise RuntimeError(f"a process of the bench said {line!r}, not {word!r}")


def _counted(processes: Sequence[subprocess.Popen]) -> float:
    """Seconds until all of the processes have run once."""
    started = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _expect(process, "counted")
    return time.perf_counter() - started


def _serve(way: str, trials: int, index: int, address: str) -> None:
    from jaxsel.kernel import hosts
    from jaxsel.kernel.engine import simulate
    from jaxsel.shards import Shard, keeping

    if way == "two joined processes":
        hosts.join(address, 2, index)
    import jaxsel

    built = jaxsel.mechanism("noisy_max")
    folder = tempfile.mkdtemp()

    def count(seed: int) -> None:
        settings = {"seed": seed, "progress": False}
        if way == "two shards":
            # A new file each time, since stored trials are not run again.
            with keeping(Shard(index, 2), f"{folder}/{seed}.nc"):
                simulate(built, trials=trials, **settings)
        elif way == _APART:
            half = trials // 2
            simulate(built, trials=half, first_trial=index * half, **settings)
        else:
            simulate(built, trials=trials, **settings)

    count(0)
    print("ready", flush=True)
    for seed, _ in enumerate(sys.stdin, 1):
        count(seed)
        print("counted", flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
