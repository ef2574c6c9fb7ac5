"""``python -m tests.killed_worker MARKER``: Dask loses a worker in the middle of a run.

The exit status is 0 if the tallies are those of this process alone. The test runs in a
process of its own, because what a cluster leaves behind must not hold up others.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from jaxsel.kernel.engine import Performance, simulate
from jaxsel.shards import executors
from tests.shards.test_executors import python_mechanism


def main(marker: Path) -> int:
    """Runs the simulation; the worker that dies writes the marker."""
    import distributed

    # Its type annotations claim that everything is awaited.
    make_cluster: Any = distributed.LocalCluster
    here = os.getpid()

    def run(lane):
        # One worker, and only one, is killed in the middle of the third block.
        if lane == 2 * 64 + 9 and not marker.exists() and os.getpid() != here:
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.int32(int(lane) % 3)

    settings = {"trials": 500, "performance": Performance(block_size=64)}
    mechanism = python_mechanism(run)
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with make_cluster(**local) as cluster:
        with executors.dask(cluster.scheduler_address) as client:
            with executors.using(client, tasks=4):
                found = simulate(mechanism, (), (), **settings)
    alone = simulate(mechanism, (), (), **settings)
    return 0 if np.array_equal(found.values, alone.values) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
