"""Goal 6: AboveThreshold over 1,000 queries, by jumps and by a literal scan.

Run as ``python -m benchmarks.sparse_vector TRIALS METHOD``. It runs that many trials in a
fresh process, and prints the seconds and the growth of the resident memory, in MiB.
"""

import re
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.engine_samplers import simulated
from benchmarks.numpy_samplers import in_blocks, new_generator
from benchmarks.processes import run_python
from benchmarks.results import GoalResult, at_least, at_most, note
from benchmarks.timing import Sampler, Settings, rates, ratio, time_all
from jaxsel.families.sparse_vector.above_threshold import above_threshold
from jaxsel.families.sparse_vector.bounds import above_threshold_noise

GOAL = 6
QUERIES = 1000
TRIALS = 1_000_000
_ROWS = 64  # trials of a NumPy block stay in cache
_PARAMS = {"epsilon": 1.0}


def workload(queries: int = QUERIES) -> dict[str, list[float]]:
    """All queries are 40 below the threshold, except for the last, 5 above it.

    About 97 % of the trials reach the last query: a scan must draw nearly all noises.
    """
    return {"answers": [-40.0, 5.0], "lengths": [queries - 1, 1]}


def numpy_scan(queries: int = QUERIES) -> Sampler:
    """The direct method in NumPy: all noises of a block of trials, and the first query above."""
    generator = new_generator()
    noise = above_threshold_noise(1.0)
    data = workload(queries)
    levels = np.repeat(data["answers"], np.asarray(data["lengths"], np.int64))
    mechanism = above_threshold()
    assert mechanism.law is not None
    law = mechanism.law(data, _PARAMS).probabilities

    def halts() -> np.ndarray:
        threshold = generator.laplace(scale=noise.threshold_scale, size=(_ROWS, 1))
        noisy = generator.laplace(scale=noise.query_scale, size=(_ROWS, queries))
        noisy += levels
        above = noisy >= threshold
        return np.where(above.any(axis=1), above.argmax(axis=1), queries)

    return in_blocks(halts, _ROWS, law)


def measure(settings: Settings, queries: int = QUERIES) -> list[GoalResult]:
    """Speeds of the jump, of the literal scan and of NumPy, interleaved."""
    data = workload(queries)
    samplers = {
        "jump": simulated(above_threshold(method="jump"), data, _PARAMS),
        "literal": simulated(above_threshold(method="literal"), data, _PARAMS),
        "NumPy scan": numpy_scan(queries),
    }
    times = time_all(samplers, settings)
    what = f"AboveThreshold, {queries} queries, jump"
    return [
        at_least(
            GOAL,
            f"{what} / literal scan",
            ratio(times, "literal", "jump"),
            10.0,
            rates(times, "jump", "literal"),
        ),
        note(
            GOAL,
            f"{what} / NumPy scan",
            ratio(times, "NumPy scan", "jump"),
            rates(times, "jump", "NumPy scan"),
        ),
        note(
            GOAL,
            "literal scan / NumPy scan",
            ratio(times, "NumPy scan", "literal"),
            rates(times, "literal", "NumPy scan"),
        ),
    ]


def measure_memory(trials: int = TRIALS) -> list[GoalResult]:
    """Seconds and memory of a million trials by jumps, each in a fresh process."""
    results = []
    for method, wanted in (("jump", trials), ("literal", max(1, trials // 20))):
        output = run_python("benchmarks.sparse_vector", str(wanted), method)
        seconds, growth = (float(part) for part in output.split())
        what = f"{wanted} trials x {QUERIES} queries, {method}"
        detail = f"{seconds:.3g} s with compilation, fresh process"
        results.append(at_most(GOAL, f"{what}: memory", growth, 256.0, detail, "MiB"))
        if method == "jump":
            results.append(at_most(GOAL, f"{what}: time", seconds, 10.0, detail, "s"))
    return results


def _peak() -> float:
    """Largest resident memory of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux getrusage inherits the maximum of the parent process; this number does not.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS: bytes


def main(trials: int, method: str) -> None:
    """Prints the seconds and MiB of that many trials."""
    import jax.numpy as jnp

    from jaxsel.kernel.engine import simulate

    jnp.zeros(1).block_until_ready()
    before, start = _peak(), time.perf_counter()
    mechanism = above_threshold(method=method)
    simulate(mechanism, workload(), _PARAMS, trials=trials, progress=False)
    print(time.perf_counter() - start, _peak() - before)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
