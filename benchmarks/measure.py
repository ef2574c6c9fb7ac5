"""The measuring process: one thread, one CPU, all timed goals side by side.

Run as ``python -m benchmarks.measure --goals 1,2 --repeats 9 --seconds 0.1``; prints
one JSON document.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

from benchmarks.results import GoalResult
from benchmarks.timing import Settings

# The goals that are measured in this process.
TIMED = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12)


def pin_to_one_cpu() -> None:
    """Restricts this process to one CPU; to be called before JAX starts.

    Otherwise XLA uses as many threads as there are CPUs.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def _measures() -> dict[int, list[Callable[[Settings], list[GoalResult]]]]:
    from benchmarks import selection, sparse_vector, startup, tails, top_k, training, tuning, words

    return {
        1: [words.measure],
        2: [selection.measure_limits],
        3: [selection.measure_gumbel],
        4: [selection.measure_alias],
        5: [tuning.measure],
        6: [sparse_vector.measure, lambda settings: sparse_vector.measure_memory()],
        7: [top_k.measure],
        8: [selection.measure_tail_cost, lambda settings: tails.measure()],
        11: [startup.measure_dynamic_trials],
        12: [training.measure],
    }


def main() -> None:
    """Measures the goals of the command line and prints the results as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--goals", required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    pin_to_one_cpu()
    settings = Settings(arguments.repeats, arguments.seconds)
    measures = _measures()
    results: list[GoalResult] = []
    for goal in (int(part) for part in arguments.goals.split(",")):
        start = time.monotonic()
        for measure in measures[goal]:
            results += measure(settings)
        if not arguments.quiet:
            spent = time.monotonic() - start
            print(f"goal {goal} measured in {spent:.0f} s", file=sys.stderr)
    print(json.dumps([result._asdict() for result in results]))


if __name__ == "__main__":
    main()
