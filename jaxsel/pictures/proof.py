"""Figures of a proof: its privacy profile, and the trade-off of any test."""

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy import special

from jaxsel.pictures import style

PROVEN, GAUSSIAN = style.law("Logarithmic η = 0"), style.law("Geometric η = 1")
# Not pure black, which Matplotlib leaves out of the SVG for the page to choose.
INK, FAINT = "#010101", style.GREY


class Drawn(NamedTuple):
    """The data of the figures of a proof.

    Attributes:
      epsilon, delta: the stated guarantee.
      epsilons, deltas: Float[np.ndarray, "points"], the proven profile.
      falses, trues: Float[np.ndarray, "points"], the largest true positive rate at each
        false positive rate.
      rates: false positive rates with their true positive rates, which are marked.
      mu: parameter of the dominating Gaussian; may be inf.
    """

    epsilon: float
    delta: float
    epsilons: np.ndarray
    deltas: np.ndarray
    falses: np.ndarray
    trues: np.ndarray
    rates: tuple[tuple[float, float], ...]
    mu: float


def gaussian_delta(epsilon: np.ndarray, mu: float) -> np.ndarray:
    """The profile of N(0, 1) and N(mu, 1), for drawing."""
    if mu == 0.0:
        return np.zeros_like(epsilon)
    above = special.ndtr(mu / 2.0 - epsilon / mu)
    rest = np.exp(epsilon + special.log_ndtr(-mu / 2.0 - epsilon / mu))
    return np.maximum(above - rest, 0.0)


def draw_profile(drawn: Drawn) -> Figure:
    """Draws delta, on a logarithmic scale, against epsilon; the stated point is marked."""
    with style.applied():
        figure, (axes,) = style.panels(width=4.6, height=3.2)
        least = _least(drawn)
        seen = drawn.deltas >= least / 10.0
        axes.plot(drawn.epsilons[seen], drawn.deltas[seen], label="proven, at most", **PROVEN)
        if np.isfinite(drawn.mu):
            nearest = gaussian_delta(drawn.epsilons, drawn.mu)
            seen = nearest >= least / 10.0
            axes.plot(
                drawn.epsilons[seen],
                nearest[seen],
                label=f"Gaussian, μ = {drawn.mu:.3g}",
                **GAUSSIAN,
            )
        if drawn.delta > 0.0:
            axes.plot(
                [drawn.epsilon],
                [drawn.delta],
                label="as stated",
                marker="o",
                markersize=6,
                color=INK,
                linestyle="none",
                zorder=4,
            )
        else:
            axes.axvline(drawn.epsilon, label="as stated", color=INK, linewidth=1.0)
        axes.set(yscale="log", ylim=(least, 1.5))
        axes.set(xlim=(0.0, None), xlabel="ε", ylabel="δ", title="Privacy profile")
        axes.legend(loc="lower left")
    return figure


def _least(drawn: Drawn) -> float:
    """The lower end of the delta axis: a little below the stated delta."""
    return min(drawn.delta / 30.0, 1e-6) if drawn.delta > 0.0 else 1e-9


def draw_tradeoff(drawn: Drawn) -> Figure:
    """Draws the true positive rate against the false positive rate, both logarithmic."""
    with style.applied():
        figure, (axes,) = style.panels(width=4.6, height=3.2)
        axes.plot(drawn.falses, drawn.trues, label="proven, at most", **PROVEN)
        if np.isfinite(drawn.mu):
            nearest = special.ndtr(special.ndtri(drawn.falses) + drawn.mu)
            axes.plot(drawn.falses, nearest, label=f"Gaussian, μ = {drawn.mu:.3g}", **GAUSSIAN)
        axes.plot(drawn.falses, drawn.falses, label="a guess", color=FAINT, linestyle=":")
        axes.plot(
            [fpr for fpr, _ in drawn.rates],
            [tpr for _, tpr in drawn.rates],
            label="as stated",
            marker="o",
            markersize=6,
            color=INK,
            linestyle="none",
            zorder=4,
        )
        axes.set(xscale="log", yscale="log", xlim=(float(drawn.falses[0]), 1.0))
        axes.set(ylim=(float(drawn.falses[0]), 1.5), xlabel="false positive rate")
        axes.set(ylabel="true positive rate", title="What any test can do")
        axes.legend(loc="lower right")
    return figure
