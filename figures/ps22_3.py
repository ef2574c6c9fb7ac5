"""Papernot & Steinke 2022, Figure 3: Renyi bounds for laws of K of mean 10."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from figures.common.renyi_overlay import renyi_figure
from jaxsel.accounting.single_run import curves
from jaxsel.families.tuning.bounds.negative_binomial import zcdp_negative_binomial_renyi
from jaxsel.families.tuning.bounds.poisson import poisson_renyi
from jaxsel.pictures import style
from jaxsel.repetitions import from_mean
from sims.common.tuned_laws import RHO
from sims.ps22_3 import ETAS, MEAN

TITLE = "Papernot & Steinke 2022, Figure 3: Renyi bounds, laws of K of mean 10"
NO_EFFECT = ("sims.common.tuned_laws.DELTA",)
ORDERS = 1.0 + np.geomspace(0.02, 49.0, 300)
POINTS = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0])
TOP = 9.0
_SOLID = {"linestyle": "-"}
_NAMES = (
    "Logarithmic η = 0",
    "Geometric η = 1",
    "η = 5",
    "Poisson",
    "Naive repetition",
)


def claim(eta: float, order: np.ndarray) -> np.ndarray:
    """Corollary 4 for the truncated negative binomial law of mean 10."""
    law = from_mean("truncated_negative_binomial", MEAN, eta=eta)
    return zcdp_negative_binomial_renyi(order, RHO, eta, law.parameters["gamma"])


def poisson_claim(order: np.ndarray) -> np.ndarray:
    """Theorem 6 with delta from Lemma 14, at the best order from ``order`` on."""
    return poisson_renyi(curves.zcdp(RHO), MEAN, delta_from="renyi")(order)


def _claims(axes: Axes) -> None:
    style.line(
        axes, ORDERS, RHO * ORDERS, "Single run", **_SOLID, label="K = 1 (unrepeated)"
    )
    style.line(
        axes,
        ORDERS,
        MEAN * RHO * ORDERS,
        "Naive repetition",
        **_SOLID,
        label=f"K = {MEAN} (naive repetition)",
    )
    for eta, name in zip(ETAS, _NAMES, strict=False):
        style.line(
            axes, ORDERS, claim(eta, ORDERS), name, label=f"E[K] = {MEAN} {name}"
        )
    style.line(
        axes, ORDERS, poisson_claim(ORDERS), "Poisson", label=f"E[K] = {MEAN} Poisson"
    )


def draw() -> Canvas:
    """The paper's bounds beside exact and simulated divergences of Gaussian pairs."""
    looks = [
        {key: style.LAWS[name][key] for key in ("color", "marker")} for name in _NAMES
    ]
    return renyi_figure(
        load("ps22-3"),
        _claims,
        looks,
        ORDERS,
        POINTS,
        claim_label="Corollary 4, Theorem 6,\ncomposition (claims)",
        top=TOP,
        note=(
            f"Base algorithm: {RHO:g}-zCDP. Theorem 6 with δ̂ from Lemma 14. Gaussian "
            f"pair: N(0, 1) against N(√{2.0 * RHO:g}, 1), the best of K runs by the "
            "score above each panel; left, the worse of that score and its mirror "
            "image. Points: bins of the released output, where they resolve the exact "
            "curve to 5 %; all limits of a pair hold together."
        ),
    )
