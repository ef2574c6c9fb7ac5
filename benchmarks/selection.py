"""Goals 2, 3, 4 and the speed half of 8: report noisy max."""

import numpy as np
from scipy import stats

from benchmarks import numpy_samplers, peers
from benchmarks.checks import maxima_p_value
from benchmarks.engine_samplers import simulated
from benchmarks.jax_samplers import argmax_of_gumbel
from benchmarks.limits import BLOCK, limit_kernel
from benchmarks.results import GoalResult, at_least, at_most, missing, note
from benchmarks.timing import Sampler, Settings, Timing, rates, ratio, time_all
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.kernel.tables import alias_table, from_law

_PARAMS = {"noise_scale": 1.0}
# Name, noise, method, noise of the limit kernel, and log cdf of that noise's variate.
_FORMS = (
    ("race", "gumbel", "race", "exponential", lambda x: x),
    ("Gumbel", "gumbel", "literal", "gumbel", stats.gumbel_r.logcdf),
    ("Laplace", "laplace", "literal", "laplace", stats.laplace.logcdf),
    ("Gaussian", "gaussian", "literal", "gaussian", stats.norm.logcdf),
)


def scores_of(count: int) -> np.ndarray:
    """Scores from 0 to 5 noise scales, so that many candidates win occasionally."""
    return np.linspace(0.0, 5.0, count)


def _engine(method: str = "race", precision: str = "fast", count: int = 100) -> Sampler:
    mechanism = noisy_max(method=method, precision=precision)
    return simulated(mechanism, scores_of(count), _PARAMS)


def measure_limits(settings: Settings) -> list[GoalResult]:
    """Goal 2: noisy max against its limit kernels, at 100 and 1000 candidates."""
    results = []
    for count in (100, 1000):
        samplers, p_values = {}, {}
        for name, noise, method, law, log_cdf in _FORMS:
            mechanism = noisy_max(noise, method=method, precision="fast")
            limit = limit_kernel(law, count)
            maxima = np.concatenate([limit.maxima(2**20 + seed) for seed in range(8)])
            p_values[name] = maxima_p_value(maxima, count, log_cdf)
            if p_values[name] < 1e-6:
                raise RuntimeError(f"the limit kernel of {name} has another law")
            samplers[name] = simulated(mechanism, scores_of(count), _PARAMS)
            samplers[f"{name} limit"] = limit.sampler
        times = time_all(samplers, settings)
        for name, *_ in _FORMS:
            detail = rates(times, name, f"{name} limit")
            detail += f" (law of {8 * BLOCK} maxima p = {p_values[name]:.2g})"
            share = times[name].fastest / times[f"{name} limit"].fastest
            title = f"{name} noisy max, m = {count}, time / limit kernel"
            results.append(at_most(2, title, share, 1.25, detail, "times"))
    return results


def measure_gumbel(settings: Settings) -> list[GoalResult]:
    """Goal 3: Gumbel noisy max by brute force, 100 candidates, against all competitors."""
    scores = scores_of(100)
    law = numpy_samplers.softmax(scores)
    samplers = {
        "race": _engine(),
        "literal": _engine("literal"),
        "NumPy argmax(scores + gumbel)": numpy_samplers.gumbel_argmax(scores),
        "NumPy race, ziggurat": numpy_samplers.race_from_ziggurat(scores),
        "NumPy race, -log(uniform)": numpy_samplers.race_from_uniforms(scores),
        "NumPy race, raw words": numpy_samplers.race_from_raw_words(scores),
        "JAX argmax(scores + gumbel)": argmax_of_gumbel(scores, law),
    }
    found, absent = {}, {}
    for name, make, threshold in (
        ("OpenDP loop", peers.opendp_noisy_max, 800.0),
        ("diffprivlib loop", peers.diffprivlib_exponential, 300.0),
    ):
        try:
            samplers[name], found[name] = make(scores, law)
        except peers.Unavailable as error:
            absent[name] = missing(3, f"race / {name}", threshold, str(error))
    times = time_all(samplers, settings)

    def against(name: str, threshold: float) -> GoalResult:
        if name in absent:
            return absent[name]
        extra = f"; {found[name]}" if name in found else ""
        return at_least(
            3,
            f"race / {name}",
            ratio(times, name, "race"),
            threshold,
            rates(times, "race", name) + extra,
        )

    def beside(name: str) -> GoalResult:
        detail = rates(times, "race", name)
        return note(3, f"race / {name}", ratio(times, name, "race"), detail)

    return [
        against("NumPy argmax(scores + gumbel)", 12.0),
        against("NumPy race, -log(uniform)", 4.0),
        beside("NumPy race, ziggurat"),
        beside("NumPy race, raw words"),
        against("JAX argmax(scores + gumbel)", 15.0),
        against("OpenDP loop", 800.0),
        against("diffprivlib loop", 300.0),
        beside("literal"),
    ]


def measure_alias(settings: Settings) -> list[GoalResult]:
    """Goal 4: the same law by table look-up.

    If only tallies are needed, one multinomial draw gives them for any number of trials;
    the samplers compared here make every trial.
    """
    scores = scores_of(100)
    law = numpy_samplers.softmax(scores)
    table = alias_table(law)
    keep = table.threshold / 2.0**64
    samplers = {
        "alias": simulated(from_law(noisy_max()), scores, _PARAMS),
        "race": _engine(),
        "NumPy argmax(scores + gumbel)": numpy_samplers.gumbel_argmax(scores),
        "NumPy searchsorted": numpy_samplers.inverse_cdf(law),
        "NumPy searchsorted, sorted": numpy_samplers.sorted_inverse_cdf(law),
        "NumPy alias": numpy_samplers.alias(law, keep, table.other),
    }
    times = time_all(samplers, settings)
    results = []
    for name, threshold in (
        ("NumPy argmax(scores + gumbel)", 300.0),
        ("NumPy searchsorted", 7.0),
        ("NumPy searchsorted, sorted", None),
        ("NumPy alias", None),
        ("race", 20.0),
    ):
        found = ratio(times, name, "alias")
        detail = rates(times, "alias", name)
        if threshold is None:
            results.append(note(4, f"alias / {name}", found, detail))
        else:
            results.append(at_least(4, f"alias / {name}", found, threshold, detail))
    return results


def measure_tail_cost(settings: Settings) -> list[GoalResult]:
    """Goal 8, first half: the time that accurate tails cost."""
    times: dict[str, Timing] = time_all(
        {"fast": _engine(), "tail": _engine(precision="tail")}, settings
    )
    share = times["tail"].fastest / times["fast"].fastest
    detail = rates(times, "tail", "fast")
    name = 'precision "tail", time / "fast" (race, m = 100)'
    return [at_most(8, name, share, 2.2, detail, "times")]
