"""Cohen et al. 2022, Theorem 8: stable selection against a gap test and others."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.clnss22_choosing import marks, smooth
from figures.common import words
from figures.common.figure import load
from jaxsel.families.choosing.laws import stable_settings
from jaxsel.pictures import style
from sims import clnss22_stable as sim
from sims.clnss22_choosing import BETA, DELTA, EPSILON, exponential_lead

TITLE = "Cohen et al. 2022, Theorem 8: a lead that is enough, whatever m"

_BLUE, _ORANGE, _GREEN, _BLACK = "#0072b2", "#d55e00", "#009e73", "#000000"
_KNOTS = (2, 8, 16, 22, 28, 34, 44, 192)
_RANKS = (1, 100, 10_000)
_STABLE = {"color": _BLUE, "linestyle": "-", "marker": "o"}
_PRINTED = {"color": _ORANGE, "linestyle": "--"}
_EXPONENTIAL = {"color": _BLACK, "linestyle": "-", "marker": "p"}
_TESTED = {"color": _GREEN, "linestyle": "-.", "marker": "^"}
_SHARES = {6: "noise at ε/6, exact", 3: "noise at ε/3 as printed: not (ε, δ)-DP"}


def _candidates(axes: Axes, record) -> None:
    x = np.linspace(_KNOTS[0], _KNOTS[-1], 381)
    plain = [exponential_lead(bits) for bits in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for shares, look in ((6, _STABLE), (3, _PRINTED)):
        exact = [sim.stable_lead(bits, 1, shares) for bits in _KNOTS]
        label = f"Stable selection, {_SHARES[shares]}"
        style.line(axes, x, smooth(_KNOTS, exact, x), look, label=label)
    axes.axhline(
        stable_settings(EPSILON, DELTA, BETA, 1).support,
        color=_BLUE, linestyle=":", linewidth=1.2,
        label="Gap that is enough (Theorem 8)",
    )  # fmt: skip
    tested = sim.tested_lead()
    style.line(
        axes, x, np.full(x.size, tested), _TESTED, label="Test of the gap, exact"
    )
    number = len(sim.BITS)
    exact = [sim.stable_lead(bits, 1) for bits in sim.BITS]
    marks(axes, record, record.arrays["stable"][:number], sim.BITS, exact, _STABLE)
    exact = [exponential_lead(bits) for bits in sim.BITS]
    found = record.arrays["exponential"][:number]
    marks(axes, record, found, sim.BITS, exact, _EXPONENTIAL)
    marks(axes, record, record.arrays["tested"], [sim.BITS[-2]], [tested], _TESTED)
    axes.set_xlabel("Candidates $m$, as $\\log_2 m$ (one leads: $k = 1$)")
    axes.set_ylabel(f"Lead at which a best one wins with probability {1 - BETA:g}")
    axes.set_xticks([0, 32, 64, 96, 128, 160, 192])
    axes.set_xlim(0, 196)
    axes.set_ylim(0, 330)
    axes.legend(loc="upper left", fontsize=7.2)


def _ranks(axes: Axes, record) -> None:
    x = np.geomspace(_RANKS[0], _RANKS[-1], 61)
    plain = [exponential_lead(sim.RANK_BITS, rank) for rank in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for shares, look in ((6, _STABLE), (3, _PRINTED)):
        exact = [sim.stable_lead(sim.RANK_BITS, rank, shares) for rank in _RANKS]
        style.line(
            axes, x, smooth(np.log(_RANKS), exact, np.log(x)), look,
            label=f"Stable selection, {_SHARES[shares]}",
        )  # fmt: skip
    supports = [stable_settings(EPSILON, DELTA, BETA, k).support for k in _RANKS]
    axes.plot(
        _RANKS, supports, color=_BLUE, linestyle=":",
        label="Gap that is enough (Theorem 8)",
    )  # fmt: skip
    number = len(sim.BITS)
    exact = [sim.stable_lead(sim.RANK_BITS, rank) for rank in sim.RANKS]
    marks(axes, record, record.arrays["stable"][number:], sim.RANKS, exact, _STABLE)
    exact = [exponential_lead(sim.RANK_BITS, rank) for rank in sim.RANKS]
    found = record.arrays["exponential"][number:]
    marks(axes, record, found, sim.RANKS, exact, _EXPONENTIAL)
    tested = sim.tested_lead()
    marks(axes, record, record.arrays["tested"], [1], [tested], _TESTED)
    axes.annotate(
        "test of the gap: $k = 1$ alone", (1, tested), (1.35, tested - 4.0),
        fontsize=7.2, color=_GREEN,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel(f"Candidates $k$ that share the lead, $m = 2^{{{sim.RANK_BITS}}}$")
    axes.set_ylim(0, 330)
    axes.legend(loc="upper right", fontsize=7.2, bbox_to_anchor=(1.0, 0.75))


def draw() -> Canvas:
    """Left: against the number of candidates; right: against k."""
    record = load("clnss22-stable")
    figure, (left, right) = style.panels(2, height=4.6)
    _candidates(left, record)
    _ranks(right, record)
    style.note(
        figure,
        f"k candidates share the best score and lead m − k equal ones; ε = {EPSILON:g} "
        f"and δ = {words.power(DELTA)} in all, β = {BETA:g}. Stable selection clips "
        "scores at the (k+1)-th largest and adds truncated Laplace noise; a lead may "
        "shrink by 2, hence rate ε/6 (at ε/3, as printed, it is not (ε, δ)-DP: "
        "CL-Thm8-index-printed). The test releases the best if half its lead over the "
        "second passes with Laplace noise 1/ε, and needs k = 1. Exponential mechanism: "
        "δ = 0. Lines: exact laws. Points: simulated; bars: between the last lead "
        "surely too small and the first surely enough, on a grid, 95 % each, "
        f"{int(record.values['trials']):,} selections a lead.",
    )
    return figure
