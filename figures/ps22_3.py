"""Papernot & Steinke 2022, Figure 3: Renyi bounds for laws of K of mean 10, and always 10.

Tallies on both sides of the Gaussian pair that meets 0.1-zCDP exactly, for two orders on
its outputs (see ``sims.common.gaussian_orders``). One trial is one execution of the tuned
algorithm.
"""

from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.renyi_overlay import renyi_figure, simple_claims
from jaxsel.accounting.single_run import curves
from jaxsel.language.domains import whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_renyi
from sims.cells import cells
from sims.common.gaussian_orders import SIDES, GaussianPair, law_of
from sims.common.renyi_tallies import natural_trial, two_block_trial
from sims.common.tuned_laws import RHO

TITLE = "Papernot & Steinke 2022, Figure 3: Renyi bounds, laws of K of mean 10"
TRIALS = 4_000_000
ORDERS = 1.0 + np.geomspace(0.02, 49.0, 300)
POINTS = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0])
TOP = 9.0
MEAN = 10
NAMES = {
    "eta=0": "Logarithmic η = 0",
    "eta=1": "Geometric η = 1",
    "eta=5": "η = 5",
    "poisson": "Poisson",
}
ALL = {**NAMES, "naive": "Naive repetition"}
OF_ALL = Annotated[int, whole("E[K] of all laws", at_least=2)]


@cells()
def natural(
    trials: int,
    law: str = over(*ALL),
    side: int = over(SIDES),
    mean: OF_ALL = MEAN,
    pair: GaussianPair = GaussianPair(),
) -> Trial:
    """The bin of the released number, where larger outputs are better."""
    return natural_trial(law_of(law, mean), side, trials, pair)


@cells()
def two_block(
    trials: int,
    law: str = over(*NAMES),
    side: int = over(SIDES),
    mean: OF_ALL = MEAN,
    pair: GaussianPair = GaussianPair(),
) -> Trial:
    """The bin of the released number, in the two-block order."""
    return two_block_trial(law_of(law, mean), side, trials, pair)


def claim(name: str, order: np.ndarray, mean: int = MEAN, rho: float = RHO) -> np.ndarray:
    """The theorem's bound for a law: Corollary 4, or Theorem 6 with delta from Lemma 14.

    The latter is the least bound over all orders from ``order`` on.
    """
    if name == "poisson":
        return poisson_renyi(curves.zcdp(rho), mean, delta_from="renyi")(order)
    numbers = law_of(name, mean).parameters
    return zcdp_negative_binomial_renyi(order, rho, numbers["eta"], numbers["gamma"])


def draw(
    natural: xr.Dataset,
    two_block: xr.Dataset,
    mean: OF_ALL = MEAN,
    pair: GaussianPair = GaussianPair(),
) -> Canvas:
    """Draws the paper's bounds beside exact and simulated divergences of Gaussian pairs."""

    def claims(axes: Axes) -> None:
        simple_claims(axes, ORDERS, mean, pair)
        for name, look in NAMES.items():
            curve = claim(name, ORDERS, mean, pair.rho)
            style.line(axes, ORDERS, curve, look, label=f"E[K] = {mean} {look}")

    looks = [{key: style.LAWS[name][key] for key in ("color", "marker")} for name in ALL.values()]
    return renyi_figure(
        [
            (found, [law_of(name, mean) for name in found["law"].values])
            for found in (natural, two_block)
        ],
        pair,
        claims,
        looks,
        ORDERS,
        POINTS,
        claim_label="Corollary 4, Theorem 6,\ncomposition (claims)",
        top=TOP,
        note=". Theorem 6 with δ̂ from Lemma 14.",
    )
