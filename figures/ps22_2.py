"""Papernot & Steinke 2022, Figure 2: Renyi bounds for a logarithmic number of runs.

Tallies on both sides of the Gaussian pair that meets 0.1-zCDP exactly, for two orders on
its outputs (see ``sims.common.gaussian_orders``). One trial is one execution of the tuned
algorithm.
"""

import itertools
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.renyi_overlay import renyi_figure, simple_claims
from jaxsel.language.domains import whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.repetitions import from_mean
from jaxsel.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from sims.cells import cells
from sims.common.gaussian_orders import SIDES, GaussianPair
from sims.common.renyi_tallies import natural_trial, two_block_trial
from sims.common.tuned_laws import RHO

TITLE = "Papernot & Steinke 2022, Figure 2: Renyi bounds, logarithmic K"
TRIALS = 4_000_000
ORDERS = 1.0 + np.geomspace(0.02, 29.0, 300)
POINTS = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0])
TOP = 6.5
_MARKERS = ("o", "s", "^", "D", "v", "<")

MEAN = Annotated[int, whole("E[K] of the laws", at_least=2)]
MEANS = over(10, 100, 1000, 10_000, 100_000, 1_000_000)


@cells()
def natural(
    trials: int, mean: MEAN = MEANS, side: int = over(SIDES), pair: GaussianPair = GaussianPair()
) -> Trial:
    """The bin of the released number, where larger outputs are better."""
    return natural_trial(from_mean("logarithmic", mean), side, trials, pair)


@cells()
def two_block(
    trials: int, mean: MEAN = MEANS, side: int = over(SIDES), pair: GaussianPair = GaussianPair()
) -> Trial:
    """The bin of the released number, in the two-block order."""
    return two_block_trial(from_mean("logarithmic", mean), side, trials, pair)


def claim(mean: float, order: np.ndarray, rho: float = RHO) -> np.ndarray:
    """Corollary 4 for a logarithmic law of K with this mean."""
    law = from_mean("logarithmic", mean)
    return zcdp_negative_binomial_renyi(order, rho, 0.0, law.parameters["gamma"])


def draw(natural: xr.Dataset, two_block: xr.Dataset, pair: GaussianPair = GaussianPair()) -> Canvas:
    """Corollary 4 beside the exact and the simulated divergence of Gaussian pairs."""
    means = natural["mean"].values.tolist()
    laws = [from_mean("logarithmic", mean) for mean in means]
    colours = colormaps["viridis"](np.linspace(0.9, 0.0, len(means)))
    looks = [
        {"color": colour, "marker": marker}
        for colour, marker in zip(colours, itertools.cycle(_MARKERS), strict=False)
    ]

    def claims(axes: Axes) -> None:
        simple_claims(axes, ORDERS, 10, pair)
        for mean, look in zip(means, looks, strict=True):
            axes.plot(
                ORDERS, claim(mean, ORDERS, pair.rho), color=look["color"], label=f"E[K] = {mean}"
            )

    return renyi_figure(
        [(natural, laws), (two_block, laws)],
        pair,
        claims,
        looks,
        ORDERS,
        POINTS,
        claim_label="Corollary 4 (claim)",
        top=TOP,
        note="; K logarithmic (η = 0).",
    )
