"""Goal 9: the same tallies for any block size, devices and processes.

Run as ``python -m benchmarks.identity FIRST TRIALS HOW...``, with every HOW written as
BLOCKxDEVICES. For each HOW it prints the tallies of the same range of trials, in one JSON
document.
"""

import json
import sys

import numpy as np

from benchmarks.processes import run_python
from benchmarks.results import GoalResult, at_most

_TRIALS = 2**18 + 12_345
_SEED = 20260101
_PLAIN = "8192x1"
_HOW = (_PLAIN, "512x1", "65536x1", "1024x2")


def measure() -> list[GoalResult]:
    """Differences between tallies that must be equal bit for bit."""
    module = "benchmarks.identity"
    two_devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    whole = json.loads(run_python(module, "0", str(_TRIALS), *_HOW, extra=two_devices))
    split = _TRIALS // 3 + 1
    parts = [
        json.loads(run_python(module, "0", str(split), _PLAIN)),
        json.loads(run_python(module, str(split), str(_TRIALS - split), _PLAIN)),
    ]
    different, compared = 0, 0
    for name, runs in whole.items():
        reference = np.asarray(runs[_PLAIN])
        others = {how: np.asarray(tallies) for how, tallies in runs.items()}
        added = [np.asarray(part[name][_PLAIN]) for part in parts]
        others["2 processes"] = added[0] + added[1]
        for tallies in others.values():
            different += int(np.abs(tallies - reference).sum())
            compared += 1
    detail = (
        f"{compared} runs of {_TRIALS} trials: {len(whole)} mechanisms, blocks of 512 to "
        "65536, 1 and 2 devices, 1 and 2 processes"
    )
    name = "trials tallied differently"
    return [at_most(9, name, different, 0, detail, "trials")]


def _tallies(first_trial: int, trials: int, ways: list[str]) -> dict[str, dict[str, list[int]]]:
    import jax

    from jaxsel import repetitions
    from jaxsel.families.noisy_max.noisy_max import noisy_max
    from jaxsel.families.private_tuning.bases import finite
    from jaxsel.families.private_tuning.private_tuning import private_tuning
    from jaxsel.kernel.engine import Performance, simulate
    from jaxsel.kernel.tables import from_law

    scores, scale = np.linspace(0.0, 5.0, 33), {"noise_scale": 1.0}
    base = np.full(20, 0.05)
    law = {"repetitions": repetitions.geometric(0.1)}
    tuning = private_tuning(finite(), "truncated_negative_binomial")
    cases = {
        "race, fast": (noisy_max(method="race", precision="fast"), scores, scale),
        "Laplace, tail": (noisy_max("laplace"), scores, scale),
        "Gaussian, fast": (noisy_max("gaussian", precision="fast"), scores, scale),
        "alias": (from_law(noisy_max()), scores, scale),
        "private tuning": (tuning, base, law),
    }
    devices = jax.devices()
    result: dict[str, dict[str, list[int]]] = {}
    for name, (mechanism, data, params) in cases.items():
        result[name] = {}
        for how in ways:
            block, count = (int(part) for part in how.split("x"))
            tallies = simulate(
                mechanism,
                data,
                params,
                trials=trials,
                first_trial=first_trial,
                seed=_SEED,
                progress=False,
                performance=Performance(block, None, tuple(devices[:count])),
            )
            result[name][how] = tallies.values[0].tolist()
    return result


if __name__ == "__main__":
    print(json.dumps(_tallies(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
