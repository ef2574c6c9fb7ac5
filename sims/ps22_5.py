"""Papernot & Steinke 2022, Figure 5: expected quantile of the best of K runs.

A run is summarised by its quantile, which is uniform; the best of K is drawn through the
generating function of K and its quantile is averaged (0 if K = 0). One trial is one
execution of the tuned algorithm. Eight values of epsilon for each law of K; the law is
the one that the paper's theorems give that epsilon.
"""

import functools

import jax.numpy as jnp
import numpy as np

from jaxsel.families.tuning.bases import Base, Draw
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel import noise
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import moments
from jaxsel.language.domains import numbers
from sims.common import tuned_laws

TRIALS = 1_000_000
EPSILONS = (3.25, 3.75, 4.25, 4.75, 5.25, 5.75, 6.25, 6.75)
SETTABLE = {
    "EPSILONS": numbers("epsilons of the simulated points", above=0.0),
}


@functools.cache
def uniform_quantile() -> Base:
    """A base whose score is its own quantile, uniform on (0, 1); one label."""

    def at_rank(key, rank, data, params):
        del key, data, params
        return Draw(-rank, 1.0 - rank, jnp.int32(0))

    def draw(key, data, params):
        precision = "float64" if jnp.asarray(1.0).dtype == jnp.float64 else "tail"
        rank = noise.uniform(noise.ends(key, 0, precision)[0])
        return at_rank(key, rank, data, params)

    def best_law(data, params, repetitions):
        del data, params
        none = repetitions.probability_zero
        return np.array([1.0 - none, none])

    return Base(
        name="uniform_quantile",
        prepare=lambda data, params: ((), ()),
        draw=draw,
        at_rank=at_rank,
        labels=lambda data, params: ("run",),
        law_above=lambda data, params, threshold: np.array(
            [np.clip(1.0 - threshold, 0.0, 1.0)]
        ),
        best_law=best_law,
    )


def released_quantile(selection):
    """The quantile of the released run; 0 if nothing is released."""
    return jnp.where(jnp.isnan(selection.score), 0.0, selection.score)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Fixed-point sums of the quantile, Int64["laws epsilons"], in 2**-30 of a unit."""
    statistic = moments(released_quantile, 0.0, 1.0)
    parameters, sums = [], []
    for number, family in enumerate(tuned_laws.FAMILIES.values()):
        chosen = [tuned_laws.at_epsilon(family, epsilon) for epsilon in EPSILONS]
        tallies = simulate_grid(
            private_tuning(uniform_quantile(), chosen[0].family),
            [((), {"repetitions": law}) for law in chosen],
            trials=trials,
            seed=seed + number,
            statistic=statistic,
            progress=progress,
        )
        parameters.append([dict(law.parameters) for law in chosen])
        sums.append(tallies.values)
    names = ("sum", "square_high", "square_low", "outside")
    return {name: np.stack([part[name] for part in sums]) for name in names} | {
        "trials": trials,
        "families": list(tuned_laws.FAMILIES),
        "parameters": parameters,
        "rho": tuned_laws.RHO,
        "delta": tuned_laws.DELTA,
    }
