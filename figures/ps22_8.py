"""Papernot & Steinke 2022, Figure 8: conditional sampling, upper and lower bounds."""

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from figures.common.renyi_points import renyi_interval
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.accounting.single_run.pairs import tight_conditional
from jaxsel.families.tuning.bounds.conditional import (
    conditional_part,
    fitted_tight_conditional,
)
from jaxsel.pictures import style
from sims.common.tuned_laws import RHO
from sims.ps22_8 import A
from sims.registry import Result

TITLE = "Papernot & Steinke 2022, Figure 8: conditional sampling"
NO_EFFECT = ("sims.common.tuned_laws.DELTA",)

RIGHT, TOP = 25.0, 6.0
ORDERS = np.concatenate(
    [
        [1.05, 1.2, 1.4, 1.6, 1.8],
        2.0 + 4.0 * np.linspace(0.0, 1.0, 21) ** 2,
        np.arange(7.0, RIGHT + 0.1),
    ]
)


class Theory(NamedTuple):
    """The curves of the figure at one order.

    Attributes:
      upper: Corollary 16 (2) with divergences rho times the order, as the paper has it.
      upper_true: the same with the pair's own divergence at one order less.
      lower: the exact divergence of the conditioned pair.
    """

    upper: float
    upper_true: float
    lower: float


def theory(order: float) -> Theory:
    """The curves at one order; the upper ones, which hold from 2 on, are nan below it."""
    s, t = fitted_tight_conditional(order, RHO, A)
    first, second = tight_conditional(s, t, A)
    good, other = first[:2], second[:2]
    lower = float(renyi_divergence(good / good.sum(), other / other.sum(), order))
    if order < 2.0:
        return Theory(np.nan, np.nan, lower)

    def stated(at: np.ndarray) -> np.ndarray:
        return RHO * at

    def own(at: np.ndarray) -> np.ndarray:
        return renyi_divergence(second, first, at)

    upper, upper_true = (
        conditional_part(2, order, stated, backward, float(good.sum()))
        for backward in (stated, own)
    )
    return Theory(upper, upper_true, lower)


def simulated(record: Result, confidence: float = 0.95) -> np.ndarray:
    """Estimate, low and high of the divergence at each order: Float64["orders 3"]."""
    rows = zip(record.arrays["counts"], record.values["orders"], strict=True)
    found = [
        renyi_interval(tallies[0], tallies[1], order, confidence)
        for tallies, order in rows
    ]
    return np.array([np.concatenate(each) for each in found])


def draw() -> Canvas:
    """The paper's bounds, the bound for the pair itself, and the simulated divergence."""
    record = load("ps22-8")
    upper, upper_true, lower = np.array([theory(order) for order in ORDERS]).T
    figure, (axes,) = style.panels(width=5.8, height=4.3)
    blue, orange, green = (
        style.LAWS[name]["color"]
        for name in ("Logarithmic η = 0", "Geometric η = 1", "Poisson")
    )
    axes.plot(ORDERS, upper, color=orange, label="upper bound (claim)")
    axes.plot(
        ORDERS, upper_true, color=orange, linestyle="--", linewidth=1.1,
        label=r"the same with the pair's own $D_{\lambda-1}$",
    )  # fmt: skip
    axes.plot(ORDERS, lower, color=blue, label="lower bound (exact)")
    axes.plot(
        [0.0, RIGHT], [0.0, RHO * RIGHT], color=green, linestyle="-.",
        label=r"$D_\lambda(Q\,\|\,Q') = D_\lambda(Q'\,\|\,Q)$",
    )  # fmt: skip
    mean, low, high = simulated(record).T
    style.points(
        axes, record.values["orders"], mean, low, high, "Logarithmic η = 0",
        label="simulated (95 % interval)",
    )  # fmt: skip
    axes.set(xlim=(0.0, RIGHT), ylim=(0.0, TOP))
    axes.set_xlabel(r"Rényi order $\lambda$")
    axes.set_ylabel("Rényi divergence")
    style.legend(axes, loc="upper left")
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Upper: Corollary 16 (2) with both divergences {RHO:g} times their order, "
        "from order 2 on, where it holds. Lower: the pair of Appendix D.2 with a = "
        f"{words.fraction(A)} (not stated "
        f"in the paper). Points: threshold selection, {trials:,} trials a side.",
    )
    return figure
