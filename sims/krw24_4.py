"""Koskela, Redberg & Wang 2024, Figure 4: binomial or Poisson numbers of runs.

Tallies of the number of runs K itself; and, for some of its laws, tallies on both sides
of the Gaussian pair under natural and adversarial rankings of its outputs (see
``sims.krw24_2``). One trial is one draw of K, or one execution of the
tuned algorithm.
"""

import jax.numpy as jnp
import numpy as np

from jaxsel.kernel import repetition_sampling as sampling
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import FiniteLaw, Mechanism
from jaxsel.language.domains import whole
from jaxsel.repetitions import Repetitions, binomial, describe, poisson
from sims.krw24_2 import profile_tallies

TRIALS = 4_000_000
MEAN = 10
SETTABLE = {
    "MEAN": whole("E[K] of all laws", at_least=2, at_most=11),
}
COUNTS = (12, 15, 20, 50, 1000)  # n of Bin(n, MEAN/n)
LARGEST = 40  # numbers of runs from here on are counted together
PROFILED = (12, 20)  # those whose privacy is simulated, beside Poisson

_TABLE = 128  # entries of the look-up tables, of which no law here needs as many


def laws_of_figure() -> tuple[Repetitions, ...]:
    """Bin(n, 10/n) for every n of COUNTS, then Poisson(10)."""
    return (*(binomial(n, MEAN / n) for n in COUNTS), poisson(MEAN))


def _prepare(law: Repetitions, params):
    """The table of ``sample_count``, padded so that all laws go into one program."""
    table = sampling.prepare_count(law)
    cdf = np.pad(table["cdf"], (0, _TABLE - table["cdf"].size), mode="edge")
    return table | {"cdf": cdf}, params


def _law(law: Repetitions, params) -> FiniteLaw:
    masses = np.append(law.pmf(np.arange(LARGEST)), law.survival(LARGEST - 1))
    return FiniteLaw(masses, _labels(law, params))


def _labels(law: Repetitions, params) -> tuple[str, ...]:
    del law, params
    return (*(str(k) for k in range(LARGEST)), f">={LARGEST}")


NUMBER_OF_RUNS = Mechanism(
    name="number_of_runs",
    prepare=_prepare,
    sample=lambda key, table, params: sampling.sample_count(key, table),
    event=lambda count: jnp.minimum(count, LARGEST),
    labels=_labels,
    law=_law,
    resolution=2.0**-53,
)
"""K itself. Data: its law; no parameters."""


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies of K, Int64["laws LARGEST+1"], and those of ``profile_tallies``."""
    laws = laws_of_figure()
    settings = {"trials": trials, "progress": progress}
    tallies = simulate_grid(
        NUMBER_OF_RUNS, [(law, ()) for law in laws], seed=seed + 100, **settings
    )
    profiled = [law for n, law in zip(COUNTS, laws, strict=False) if n in PROFILED]
    found = profile_tallies([*profiled, laws[-1]], seed=seed, **settings)
    return found | {
        "numbers_of_runs": tallies.values,
        "number_laws": [describe(law) for law in laws],
    }
