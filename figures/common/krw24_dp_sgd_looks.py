"""How Figures 6 to 8 of Koskela, Redberg & Wang 2024 draw statements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.interpolate import PchipInterpolator

from figures.common import krw24_dp_sgd as shared
from figures.common.krw24_shared import LABELS as GAUSSIAN
from figures.common.words import AUDITED
from jaxsel.pictures import style
from sims.common.dp_sgd_runs import DpSgd

# The same as in Figures 2 to 4 for the statements that are shown there.
LOOKS = {
    "single": style.own(style.BROWN, ":"),
    "renyi": style.own(style.GREY, "--"),
    "profile": style.own(style.ORANGE, "-"),
    "renyi-profile": style.own(style.PURPLE, (0, (3, 1, 1, 1))),
    "envelope": style.own(style.BLUE, "-", linewidth=2.2),
    "natural": style.own(style.GREEN, "-.", linewidth=1.2),
}
LABELS = {
    "single": "one run, not tuned",
    "renyi": GAUSSIAN["RDP"],
    "profile": GAUSSIAN["profile"],
    "renyi-profile": "RDP, Theorem 5.6 with δ̂ from the profile (claim)",
    "envelope": GAUSSIAN["envelope"],
    "natural": GAUSSIAN["natural"],
    "exact": GAUSSIAN["adversarial"],
    "audited-natural": f"{AUDITED}, natural order",
    "audited-adversarial": f"{AUDITED}, adversarial order",
}
_EXACT = style.own(style.BLACK, "none", "o", markersize=3.0)
_NATURAL = style.own(style.GREEN, marker="^")
_MARKS = {
    "exact": _EXACT,
    "audited-natural": style.hollow(_NATURAL, markersize=5.4),
    "audited-adversarial": style.hollow(_EXACT, markersize=5.4),
}
# The legend entry that stands for several kinds of marks.
_GROUPS = {"audited": ("audited-natural", "audited-adversarial")}


def _marks(axes: Axes, x, y, name: str) -> None:
    axes.plot(x, y, markeredgewidth=1.0, zorder=4, clip_on=False, **_MARKS[name])


def simulated_profile(axes: Axes, tuned: xr.Dataset, at: np.ndarray, least: float):
    """Draws exact and audited values of delta(epsilon), beside the statements.

    Args:
      axes: the panel, whose limits are set, too.
      tuned: counts of the best of K runs.
      at: epsilons of the curves.
      least: the exact epsilon at DELTA in the adversarial order.
    """
    axes.plot(at, shared.natural_profile(tuned, at), **LOOKS["natural"])
    found = shared.audited(tuned)
    for order, name in enumerate(_GROUPS["audited"]):
        _marks(axes, found.lower[order], found.delta, name)
    _marks(axes, found.exact[1], found.delta, "exact")
    _marks(axes, [least], [shared.DELTA], "exact")
    axes.set(yscale="log", xlim=(0.0, at[-1]), ylim=(1e-8, 1.3), xlabel="ε")


def searched_marks(
    axes: Axes, runs: tuple[DpSgd, ...], family: str, means: Sequence[float]
) -> None:
    """Draws exact epsilons in the adversarial order against E[K]."""
    worst = [shared.adversarial_epsilon(runs, family, mean) for mean in means]
    _marks(axes, means, worst, "exact")


def keys(names: Sequence[str], labels: Mapping[str, str] = LABELS) -> list[Line2D]:
    """Legend entries: names of LOOKS, "exact" and "audited"."""
    looks = LOOKS | _MARKS
    named = (each for group in names for each in _GROUPS.get(group, (group,)))
    return [Line2D([], [], label=labels[name], **looks[name]) for name in named]


def mean_curve(axes: Axes, means, values, look: Mapping[str, Any], **settings) -> None:
    """Draws a curve against E[K], on a logarithmic axis, through values at a few means.

    Between them it is a monotone cubic; every tenth point is one of the values.
    """
    knots = np.log(means)
    fine = np.interp(
        np.linspace(0, knots.size - 1, 10 * knots.size - 9), np.arange(knots.size), knots
    )
    smooth = PchipInterpolator(knots, values)(fine)
    axes.plot(np.exp(fine), smooth, **(dict(look) | settings))


def mean_axis(axes: Axes, ticks: Sequence[float]) -> None:
    """Makes a logarithmic axis for E[K] with these ticks in plain numbers."""
    axes.set(xscale="log", xticks=ticks, xlabel="expected number of runs m = E[K]")
    style.plain_ticks(axes.xaxis)
