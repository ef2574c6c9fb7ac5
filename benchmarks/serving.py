"""Runs trials for ``benchmarks.against``, with the package to be timed on the path.

It runs with the code of any commit, so it uses only what every commit has: the catalogue, and
``simulate``.
"""

import functools
import json
import os
import sys
import time

# One thread, regardless of the user's environment.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0"}
XLA_FLAGS = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 "
    "--xla_force_host_platform_device_count=1 --xla_backend_optimization_level=3"
)


@functools.lru_cache(maxsize=1)
def _built(mechanism: str, method: str):
    """The mechanism at its default settings; compiled programs of the previous one are dropped."""
    import jax

    from jaxsel import catalogue

    jax.clear_caches()
    entry = catalogue.find_mechanism(mechanism)
    return entry.build({"method": method} if method else {})


def _made(mechanism: str, method: str, trials: int) -> dict:
    from jaxsel import InputError, simulate

    try:
        built = _built(mechanism, method)
        started = time.process_time()
        found = simulate(built, trials=trials, progress=False)
    except InputError as error:
        return {"refused": str(error)}
    seconds = time.process_time() - started
    return {"seconds": seconds, "counts": [int(n) for n in found.values.ravel()]}


def main() -> None:
    """Answers requests, one per line, until the input ends."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for line in sys.stdin:
        print(json.dumps(_made(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
