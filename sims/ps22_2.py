"""Papernot & Steinke 2022, Figure 2: a logarithmic number of runs of mean 10 to 10^6.

Tallies on both sides of the Gaussian pair that meets 0.1-zCDP exactly, for two orders on
its outputs (see ``sims.common.gaussian_orders``). One trial is one execution of the tuned
algorithm.
"""

from jaxsel.language.domains import numbers
from jaxsel.repetitions import from_mean
from sims.common.renyi_tallies import renyi_tallies

TRIALS = 4_000_000
MEANS = (10, 100, 1000, 10_000, 100_000, 1_000_000)
SETTABLE = {
    "MEANS": numbers("E[K] of the laws", above=1.0),
}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by law of K, side and bin of the released number, in both orders."""
    laws = [from_mean("logarithmic", mean) for mean in MEANS]
    found = renyi_tallies(laws, laws, trials=trials, seed=seed, progress=progress)
    return found | {"means": list(MEANS)}
