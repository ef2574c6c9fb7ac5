"""How Figures 6 to 8 of Koskela, Redberg & Wang 2024 show statements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter
from scipy.interpolate import PchipInterpolator

from figures.common.krw24_dp_sgd import Audited

# As in Figures 2 to 4 where a statement is shown there.
LOOKS: Mapping[str, dict[str, Any]] = {
    "single": {"color": "#8c6d1f", "linestyle": ":"},
    "renyi": {"color": "#7f7f7f", "linestyle": "--"},
    "profile": {"color": "#d55e00", "linestyle": "-"},
    "renyi-profile": {"color": "#aa4499", "linestyle": (0, (3, 1, 1, 1))},
    "envelope": {"color": "#0072b2", "linestyle": "-", "linewidth": 2.2},
    "natural": {"color": "#009e73", "linestyle": "-.", "linewidth": 1.2},
}
LABELS = {
    "single": "one run, not tuned",
    "renyi": "RDP, Theorem 5.1 (claim)",
    "profile": "Theorem 5.2 (claim)",
    "renyi-profile": "RDP, Theorem 5.6 with δ̂ from the profile (claim)",
    "envelope": "envelope bound (this project)",
    "natural": "exact, natural order",
    "exact": "exact, adversarial order",
    "audited-natural": "audited lower bound (95 %), natural order",
    "audited-adversarial": "audited lower bound (95 %), adversarial order",
}
_OPEN = {"markersize": 5.4, "markerfacecolor": "white"}
_MARKS: Mapping[str, dict[str, Any]] = {
    "exact": {"color": "#000000", "marker": "o", "markersize": 3.0},
    "audited-natural": {"color": "#009e73", "marker": "^", **_OPEN},
    "audited-adversarial": {"color": "#000000", "marker": "o", **_OPEN},
}
# The key that stands for the marks of ``audited_marks``.
_GROUPS = {"audited": ("audited-natural", "audited-adversarial")}


def _marks(axes: Axes, x, y, name: str) -> None:
    axes.plot(
        x, y, linestyle="none", markeredgewidth=1.0, zorder=4, clip_on=False,
        **_MARKS[name],
    )  # fmt: skip


def exact_marks(axes: Axes, x, y) -> None:
    """Exact values in the adversarial order."""
    _marks(axes, x, y, "exact")


def audited_marks(axes: Axes, found: Audited) -> None:
    """Audited bounds in both orders, and exact values in the adversarial order."""
    for order, name in enumerate(_GROUPS["audited"]):
        _marks(axes, found.lower[order], found.delta, name)
    exact_marks(axes, found.exact[1], found.delta)


def keys(names: Sequence[str], labels: Mapping[str, str] = LABELS) -> list[Line2D]:
    """Legend entries: names of LOOKS, "exact" and "audited"."""
    found = []
    for name in (each for group in names for each in _GROUPS.get(group, (group,))):
        settings: dict[str, Any] = dict(LOOKS.get(name, {"linestyle": "none"}))
        settings |= _MARKS.get(name, {})
        found.append(Line2D([], [], label=labels[name], **settings))
    return found


def mean_curve(axes: Axes, means, values, look: Mapping[str, Any], **settings) -> None:
    """A curve against E[K], on a logarithmic axis, through values at a few means.

    Between them it is a monotone cubic; every tenth point is one of the values.
    """
    knots = np.log(means)
    fine = np.interp(
        np.linspace(0, knots.size - 1, 10 * knots.size - 9),
        np.arange(knots.size),
        knots,
    )
    smooth = PchipInterpolator(knots, values)(fine)
    axes.plot(np.exp(fine), smooth, **(dict(look) | settings))


def mean_axis(axes: Axes, ticks: Sequence[float]) -> None:
    """A logarithmic axis for E[K] with these ticks in plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlabel("expected number of runs m = E[K]")
