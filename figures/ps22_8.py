"""Papernot & Steinke 2022, Figure 8: conditional sampling on the pair that is nearly worst.

The base algorithm runs until its output is in S = {1, 2}. At each order the pair of Appendix
D.2 has both Renyi divergences equal to 0.1 times the order. One trial is one search; its
output is tallied on both sides.
"""

from typing import Annotated, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.renyi_points import renyi_interval
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.accounting.single_run.pairs import tight_conditional
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.language.domains import number, positive
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.conditional import conditional_part, fitted_tight_conditional
from sims.cells import cells
from sims.common.tuned_laws import RHO

TITLE = "Papernot & Steinke 2022, Figure 8: conditional sampling"
TRIALS = 4_000_000

LARGEST = 0.25  # the largest a that the paper allows; it does not state its own
A = Annotated[float, number("of the pair of Appendix D.2", above=0.0, at_most=LARGEST)]
ZCDP = Annotated[float, positive("zCDP of one run")]
RIGHT, TOP = 25.0, 6.0
ORDERS = np.concatenate(
    [
        [1.05, 1.2, 1.4, 1.6, 1.8],
        2.0 + 4.0 * np.linspace(0.0, 1.0, 21) ** 2,
        np.arange(7.0, RIGHT + 0.1),
    ]
)


@cells(measures=["counts"])
def searched(
    order: Annotated[float, number("orders of the simulated points", above=1.0)] = over(
        2.0, 3.0, 4.5, 7.0, 10.0, 14.0, 18.0, 22.0
    ),
    side: int = over({"data": 0, "neighbour": 1}),
    a: A = LARGEST,
    rho: ZCDP = RHO,
) -> Trial:
    """Outputs of the searches; the first two are those in S, which has scores of at least 1."""
    pair = tight_conditional(*fitted_tight_conditional(order, rho, a), a)
    data = {"probabilities": pair[side], "scores": (1.0, 1.0, 0.0)}
    return Trial(threshold_selection(finite()), data, {"threshold": 1.0})


class Theory(NamedTuple):
    """The curves of the figure at one order.

    Attributes:
      upper: Corollary 16 (2) with divergences rho times the order, as in the paper.
      upper_true: the same with the pair's own divergence at the order less one.
      lower: the exact divergence of the conditioned pair.
    """

    upper: float
    upper_true: float
    lower: float


def theory(order: float, a: float = LARGEST, rho: float = RHO) -> Theory:
    """The curves at one order; the upper bounds hold from order 2 on, and are NaN below it."""
    first, second = tight_conditional(*fitted_tight_conditional(order, rho, a), a)
    good, other = first[:2], second[:2]
    lower = float(renyi_divergence(good / good.sum(), other / other.sum(), order))
    if order < 2.0:
        return Theory(np.nan, np.nan, lower)

    def stated(at: np.ndarray) -> np.ndarray:
        return rho * at

    def own(at: np.ndarray) -> np.ndarray:
        return renyi_divergence(second, first, at)

    upper, upper_true = (
        conditional_part(2, order, stated, backward, float(good.sum()))
        for backward in (stated, own)
    )
    return Theory(upper, upper_true, lower)


def simulated(searched: xr.Dataset, confidence: float = 0.95) -> np.ndarray:
    """Estimate, low and high of the divergence at each order: Float64["3 orders"]."""
    found = []
    for order in searched["order"].values:
        one, other = searched.counts.sel(outcome=["0", "1"], order=order).values
        found.append(renyi_interval(one, other, order, confidence))
    return np.concatenate(found, axis=1)


def draw(searched: xr.Dataset, a: A = LARGEST, rho: ZCDP = RHO) -> Canvas:
    """Draws the paper's bounds, the bound for the pair itself, and simulated divergences."""
    upper, upper_true, lower = np.array([theory(order, a, rho) for order in ORDERS]).T
    figure, (axes,) = style.panels(width=5.8, height=4.3)
    axes.plot(ORDERS, upper, color=style.ORANGE, label="upper bound (claim)")
    axes.plot(
        ORDERS,
        upper_true,
        color=style.ORANGE,
        linestyle="--",
        linewidth=1.1,
        label=r"the same with the pair's own $D_{\lambda-1}$",
    )
    axes.plot(ORDERS, lower, color=style.BLUE, label="lower bound (exact)")
    axes.plot(
        [0.0, RIGHT],
        [0.0, rho * RIGHT],
        color=style.GREEN,
        linestyle="-.",
        label=r"$D_\lambda(Q\,\|\,Q') = D_\lambda(Q'\,\|\,Q)$",
    )
    found, low, high = simulated(searched)
    style.points(
        axes,
        searched["order"],
        found,
        low,
        high,
        "Logarithmic η = 0",
        label="simulated (95 % interval)",
    )
    axes.set(xlim=(0.0, RIGHT), ylim=(0.0, TOP))
    axes.set(xlabel=r"Rényi order $\lambda$", ylabel="Rényi divergence")
    axes.legend(loc="upper left")
    return style.captioned(
        figure,
        f"Upper: Corollary 16 (2) with both divergences {rho:g} times their order, "
        "from order 2 on, where it holds. Lower: the pair of Appendix D.2 with a = "
        f"{words.fraction(a)} (not stated in the paper). Points: threshold selection, "
        f"{searched.attrs['trials']:,} trials a side.",
    )
