"""Goal 5: private tuning, K geometric of mean 100, 100 outcomes."""

import numpy as np

from benchmarks.engine_samplers import simulated
from benchmarks.jax_samplers import masked_loop
from benchmarks.numpy_tuning import power, ragged
from benchmarks.results import GoalResult, at_least, note
from benchmarks.timing import Settings, rates, ratio, time_all
from jaxsel import repetitions
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.kernel.tables import from_law

_FAMILY = "truncated_negative_binomial"
_MEAN = 100.0


def measure(settings: Settings) -> list[GoalResult]:
    """The shortcuts of private tuning against loops over K and against NumPy."""
    # Probabilities rise from the best outcome to the worst, so that the result depends on K.
    base = np.linspace(1.0, 3.0, 100)
    base /= base.sum()
    params = {"repetitions": repetitions.geometric(1.0 / _MEAN)}
    forms = {
        method: private_tuning(finite(), _FAMILY, method=method) for method in ("rank", "count")
    }
    samplers = {
        "from_law": simulated(from_law(forms["rank"]), base, params),
        "rank": simulated(forms["rank"], base, params),
        "count": simulated(forms["count"], base, params),
    }
    law = samplers["rank"].law
    assert law is not None
    samplers |= {
        "JAX masked loop": masked_loop(base, _MEAN, law, search_once=False),
        "JAX masked loop, one search": masked_loop(base, _MEAN, law, search_once=True),
        "NumPy ragged": ragged(base, _MEAN, law, search_once=False),
        "NumPy ragged, one search": ragged(base, _MEAN, law, search_once=True),
        "NumPy U^(1/K)": power(base, _MEAN, law),
    }
    times = time_all(samplers, settings)

    def against(name: str, threshold: float | None) -> GoalResult:
        detail = rates(times, "from_law", name)
        found = ratio(times, name, "from_law")
        if threshold is None:
            return note(5, f"from_law / {name}", found, detail)
        return at_least(5, f"from_law / {name}", found, threshold, detail)

    return [
        against("JAX masked loop", 1000.0),
        against("JAX masked loop, one search", None),
        against("NumPy ragged", 200.0),
        against("NumPy ragged, one search", None),
        against("NumPy U^(1/K)", 4.0),
        against("rank", None),
        against("count", None),
    ]
