"""Goal 11: the cost of compilation, and of one program for any number of trials.

Run as ``python -m benchmarks.startup``: prints the seconds of the first simulation of a
fresh process, imports and JAX's own start excluded.
"""

import itertools
import tempfile
import time

import numpy as np

from benchmarks.processes import run_python
from benchmarks.results import GoalResult, at_most
from benchmarks.timing import Sampler, Settings, rates, time_all

_PROCESSES = 4


def measure_compilation() -> list[GoalResult]:
    """Time of the first simulation of a process, without and with a persistent cache."""
    cold, warm = [], []
    for _ in range(_PROCESSES):
        with tempfile.TemporaryDirectory() as folder:
            cache = {
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "XDG_CACHE_HOME": folder,
            }
            for times in (cold, warm):
                output = run_python("benchmarks.startup", extra=cache)
                times.append(float(output))
    what = f"simulate of noisy max, m = 100, 8192 trials; best of {_PROCESSES} processes"
    return [
        at_most(11, "first call, empty compilation cache", min(cold), 1.0, what, "s"),
        at_most(11, "first call, warm compilation cache", min(warm), 0.2, what, "s"),
    ]


def _first_call() -> float:
    import jax.numpy as jnp

    from jaxsel.families.noisy_max.noisy_max import noisy_max
    from jaxsel.kernel.compiled import compilation_cache
    from jaxsel.kernel.engine import simulate

    compilation_cache()
    jnp.zeros(1).block_until_ready()
    scores, params = np.linspace(0.0, 5.0, 100), {"noise_scale": 1.0}
    start = time.perf_counter()
    simulate(noisy_max(), scores, params, trials=8192, progress=False)
    return time.perf_counter() - start


def measure_dynamic_trials(settings: Settings) -> list[GoalResult]:
    """Time of the engine's loop over any number of blocks, against a fixed number of blocks."""
    import jax

    from benchmarks.selection import scores_of
    from jaxsel.families.noisy_max.noisy_max import noisy_max
    from jaxsel.kernel import engine
    from jaxsel.kernel.statistics import counts

    block = 8192
    trials = 32 * block
    mechanism = noisy_max(method="race", precision="fast")
    scores, params = scores_of(100), {"noise_scale": 1.0}
    with jax.enable_x64(True):
        plan = engine._plan(engine.Performance(block, None, (jax.devices()[0],)))
        tally = counts(mechanism.event, 100)
        step = engine._compile(mechanism, tally, plan.block_size, plan.mesh)
        (prepared,) = engine._checked([mechanism.prepare(scores, params)])
        ends = np.zeros(1, np.int64), np.full(1, trials, np.int64)
        fixed = jax.jit(lambda words, prepared: step(words, prepared, *ends))
    seeds = itertools.count(1)

    def sampler(run) -> Sampler:
        def repeat(wanted: int):
            total = 0
            with jax.enable_x64(True):
                for _ in range(wanted // trials):
                    words = tuple(np.uint32(word) for word in (next(seeds), 0, 0))
                    total = total + np.asarray(run(words, prepared))[0]
            return total

        law = mechanism.law(scores, params).probabilities  # type: ignore[misc]
        return Sampler(repeat, trials, law)

    samplers = {
        "any number of trials": sampler(lambda w, p: step(w, p, *ends)),
        "fixed number": sampler(fixed),
    }
    times = time_all(samplers, settings)
    names = tuple(samplers)
    excess = times[names[0]].fastest / times[names[1]].fastest - 1
    return [
        at_most(
            11,
            "extra time of one program for any number of trials",
            excess,
            0.03,
            rates(times, *names),
            "share",
        )
    ]


if __name__ == "__main__":
    print(_first_call())
