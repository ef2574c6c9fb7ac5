"""Cohen et al. 2022, Theorem 7: the choosing mechanism against the exponential one."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy.interpolate import PchipInterpolator

from figures.common import words
from figures.common.figure import load
from jaxsel.families.choosing.laws import choosing_settings
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims import clnss22_choosing as sim

TITLE = "Cohen et al. 2022, Theorem 7: choosing among exponentially many candidates"

_BLUE, _ORANGE, _GREEN, _BLACK = "#0072b2", "#d55e00", "#009e73", "#000000"
_KNOTS = (2, 8, 16, 22, 26, 30, 34, 40, 64, 128)
_MANY = 10_000
_BOUNDS = (1, 100, 10_000, 100_000)
_EXPONENTIAL = {"color": _BLACK, "linestyle": "-", "marker": "p"}
_ONE = {"color": _BLUE, "linestyle": "-", "marker": "o"}
_OTHERS = {"color": _ORANGE, "linestyle": "-", "marker": "s"}


class Estimate(NamedTuple):
    """Where the success rate crosses 1 - beta, as a factor of the exact lead.

    Attributes:
      middle: by straight lines between the observed rates.
      low, high: the last factor surely too small, the first one surely large enough, by
        exact intervals at each; the ends of the grid if there is none.
    """

    middle: float
    low: float
    high: float


def estimate(
    successes: np.ndarray, trials: int, factors: np.ndarray, confidence: float = 0.95
) -> Estimate:
    """From tallies at increasing factors; every interval has this confidence."""
    wanted = 1.0 - sim.BETA
    below, above = clopper_pearson(successes, trials, confidence)
    low = factors[above < wanted].max(initial=factors[0])
    high = factors[below > wanted].min(initial=factors[-1])
    rate = np.maximum.accumulate(successes / trials)
    return Estimate(float(np.interp(wanted, rate, factors)), float(low), float(high))


def marks(axes: Axes, record, tallies, x, exact, look: dict[str, Any]) -> None:
    """Simulated leads, at their exact values times the estimated factors."""
    factors, trials = record.arrays["factors"], int(record.values["trials"])
    found = np.array([estimate(row, trials, factors) for row in tallies])
    middle, low, high = (found * np.asarray(exact)[:, None]).T
    style.points(axes, x, middle, low, high, look)


def smooth(knots, values, x) -> np.ndarray:
    """Through exact values at the knots, without overshooting."""
    return PchipInterpolator(knots, values)(x)


def _candidates(axes: Axes, record) -> None:
    x = np.linspace(_KNOTS[0], _KNOTS[-1], 253)
    plain = [sim.exponential_lead(bits) for bits in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for bound, look in ((1, _ONE), (_MANY, _OTHERS)):
        exact = [sim.chosen_lead(bits, bound) for bits in _KNOTS]
        style.line(
            axes, x, smooth(_KNOTS, exact, x), look,
            label=f"Choosing mechanism, k = {bound:,}, exact",
        )  # fmt: skip
        claimed = choosing_settings(sim.EPSILON, sim.DELTA, sim.BETA, bound).support
        axes.axhline(
            claimed, color=look["color"], linestyle=":", linewidth=1.2,
            label=f"Loss at most (Theorem 7, claim), k = {bound:,}",
        )  # fmt: skip
    number = len(sim.BITS)
    found = record.arrays["chosen"][:number]
    exact = [sim.chosen_lead(bits, 1) for bits in sim.BITS]
    marks(axes, record, found, sim.BITS, exact, _ONE)
    # The same cell as in the other panel.
    exact = [sim.chosen_lead(sim.BOUND_BITS, _MANY)]
    marks(axes, record, record.arrays["chosen"][-1:], [sim.BOUND_BITS], exact, _OTHERS)
    exact = [sim.exponential_lead(bits) for bits in sim.BITS]
    marks(axes, record, record.arrays["exponential"], sim.BITS, exact, _EXPONENTIAL)
    axes.set_xlabel("Candidates $m$, as $\\log_2 m$")
    axes.set_ylabel(f"Lead at which the best wins with probability {1 - sim.BETA:g}")
    axes.set_xticks([0, 16, 32, 48, 64, 80, 96, 112, 128])
    axes.set_xlim(0, 130)
    axes.set_ylim(0, 190)
    axes.legend(loc="upper left", fontsize=7.2)


def _bounds(axes: Axes, record) -> None:
    for bits, place in ((32, (0, (1, 1))), (64, "--"), (128, "-")):
        axes.axhline(
            sim.exponential_lead(bits), color=_BLACK, linestyle=place, linewidth=1.3,
            label=f"Exponential mechanism, $m = 2^{{{bits}}}$",
        )  # fmt: skip
    x = np.geomspace(_BOUNDS[0], _BOUNDS[-1], 61)
    exact = [sim.chosen_lead(sim.BOUND_BITS, bound) for bound in _BOUNDS]
    look = {"color": _GREEN, "linestyle": "-", "marker": "D"}
    style.line(
        axes, x, smooth(np.log(_BOUNDS), exact, np.log(x)), look,
        label=f"Choosing mechanism, $m = 2^{{{sim.BOUND_BITS}}}$, exact",
    )  # fmt: skip
    made = [choosing_settings(sim.EPSILON, sim.DELTA, sim.BETA, b) for b in _BOUNDS]
    claimed = [settings.support for settings in made]
    axes.plot(
        _BOUNDS, claimed, color=_GREEN, linestyle=":",
        label="Loss at most (Theorem 7, claim), any $m$",
    )  # fmt: skip
    exact = [sim.chosen_lead(sim.BOUND_BITS, bound) for bound in sim.BOUNDS]
    found = record.arrays["chosen"][len(sim.BITS) :]
    marks(axes, record, found, sim.BOUNDS, exact, look)
    axes.set_xscale("log")
    axes.set_xlabel("Bound $k$ on how far all scores together move")
    axes.set_ylim(0, 190)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93), fontsize=7.2)


def draw() -> Canvas:
    """Left: against the number of candidates; right: against the bound k."""
    record = load("clnss22-choosing")
    figure, (left, right) = style.panels(2, height=4.4)
    _candidates(left, record)
    _bounds(right, record)
    style.note(
        figure,
        f"One candidate leads m − 1 equal ones; ε = {sim.EPSILON:g} in all, δ = "
        f"{words.power(sim.DELTA)} for the choosing mechanism (noise TLap(ε/3, "
        f"δβ/(5k)), up to ⌈4/β⌉ runs of each candidate, β = {sim.BETA:g}), δ = 0 for "
        "the exponential mechanism. The truncated noise ends, so that beyond some m "
        "more candidates do not matter; before that the exponential mechanism needs "
        "less. Lines: exact laws. Points: simulated, identical candidates as one "
        "group; bars: between the last lead surely too small and the first surely "
        f"enough, on a grid, 95 % each, {int(record.values['trials']):,} selections a "
        "lead.",
    )
    return figure
