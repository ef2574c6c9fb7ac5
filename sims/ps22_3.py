"""Papernot & Steinke 2022, Figure 3: laws of K of mean 10, and always 10 runs.

Tallies on both sides of the Gaussian pair that meets 0.1-zCDP exactly, for two orders on
its outputs (see ``sims.common.gaussian_orders``). One trial is one execution of the tuned
algorithm.
"""

from jaxsel.language.domains import whole
from jaxsel.repetitions import from_mean
from sims.common.renyi_tallies import renyi_tallies

TRIALS = 4_000_000
MEAN = 10
SETTABLE = {
    "MEAN": whole("E[K] of all laws", at_least=2),
}
ETAS = (0.0, 1.0, 5.0)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by law of K, side and bin of the released number, in both orders.

    The fixed number of runs comes last, in the natural order only.
    """
    laws = [from_mean("truncated_negative_binomial", MEAN, eta=eta) for eta in ETAS]
    laws.append(from_mean("poisson", MEAN))
    natural = [*laws, from_mean("point_mass", MEAN)]
    return renyi_tallies(natural, laws, trials=trials, seed=seed, progress=progress)
