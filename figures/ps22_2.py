"""Papernot & Steinke 2022, Figure 2: Renyi bounds for a logarithmic number of runs."""

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from figures.common.renyi_overlay import renyi_figure
from jaxsel.families.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from jaxsel.pictures import style
from jaxsel.repetitions import from_mean
from sims.common.tuned_laws import RHO
from sims.ps22_2 import MEANS

TITLE = "Papernot & Steinke 2022, Figure 2: Renyi bounds, logarithmic K"
NO_EFFECT = ("sims.common.tuned_laws.DELTA",)
ORDERS = 1.0 + np.geomspace(0.02, 29.0, 300)
POINTS = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0])
TOP = 6.5
_SOLID = {"linestyle": "-"}
_MARKERS = ("o", "s", "^", "D", "v", "<")


def claim(mean: float, order: np.ndarray) -> np.ndarray:
    """Corollary 4 for a logarithmic law of K with this mean."""
    law = from_mean("logarithmic", mean)
    return zcdp_negative_binomial_renyi(order, RHO, 0.0, law.parameters["gamma"])


def _look(index: int) -> dict:
    share = index / (len(MEANS) - 1)
    return {"color": colormaps["viridis"](0.9 - 0.9 * share), "marker": _MARKERS[index]}


def _claims(axes: Axes) -> None:
    style.line(
        axes, ORDERS, RHO * ORDERS, "Single run", **_SOLID, label="K = 1 (unrepeated)"
    )
    style.line(
        axes,
        ORDERS,
        10 * RHO * ORDERS,
        "Naive repetition",
        **_SOLID,
        label="K = 10 (naive repetition)",
    )
    for index, mean in enumerate(MEANS):
        axes.plot(
            ORDERS, claim(mean, ORDERS), color=_look(index)["color"],
            label=f"E[K] = {mean}",
        )  # fmt: skip


def draw() -> Canvas:
    """Corollary 4 beside the exact and the simulated divergence of Gaussian pairs."""
    return renyi_figure(
        load("ps22-2"),
        _claims,
        [_look(index) for index in range(len(MEANS))],
        ORDERS,
        POINTS,
        claim_label="Corollary 4 (claim)",
        top=TOP,
        note=(
            f"Base algorithm: {RHO:g}-zCDP; K logarithmic (η = 0). Gaussian pair: N(0, "
            f"1) against N(√{2.0 * RHO:g}, 1), the best of K runs by the score above "
            "each panel; left, the worse of that score and its mirror image. Points: "
            "bins of the released output, where they resolve the exact curve to 5 %; "
            "all limits of a pair hold together."
        ),
    )
