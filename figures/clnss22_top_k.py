"""Cohen et al. 2022, Theorem 6: top k with high confidence, against peeling."""

import functools
import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.clnss22_choosing import smooth
from figures.common import words
from figures.common.figure import load
from jaxsel.families.top_k.baselines import advanced_composition_share
from jaxsel.families.top_k.confident_laws import confident_gap_bound, confident_settings
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims import clnss22_top_k as sim

TITLE = "Cohen et al. 2022, Theorem 6: top-k selection with high confidence"
NO_EFFECT = ("sims.clnss22_choosing",)

_BLUE, _ORANGE, _BLACK = "#0072b2", "#d55e00", "#000000"
_PEELING = {"color": _BLACK, "linestyle": "-", "marker": "p"}
_CONFIDENT = {"color": _BLUE, "linestyle": "-", "marker": "o"}
LARGE_CANDIDATES, LARGE_K = 10_000, 100


@functools.cache
def certain_gap(candidates: int, k: int) -> float:
    """What the gap never exceeds, at (EPSILON, DELTA) in all: Theorem 6, beta < delta.

    The release is set up for DELTA/10 and beta = DELTA/10; sets with a larger gap, and
    none, are replaced by the true top k.
    """
    settings = confident_settings(sim.EPSILON, sim.DELTA / 10.0, sim.DELTA / 10.0, k)
    return confident_gap_bound(candidates, settings)


def _lines(axes: Axes, candidates: int, k: int, largest: float, knots: int) -> None:
    """All against log(1/beta)."""
    x = np.linspace(0.2, largest, 41)
    peeled = [sim.peeled(math.exp(-t), candidates, k) for t in x]
    style.line(axes, x, peeled, _PEELING, label="Peeling, exact")
    few = np.linspace(0.2, largest, knots)
    boosted = [sim.confident(math.exp(-t), candidates, k) for t in few]
    style.line(
        axes, x, smooth(few, boosted, x), _CONFIDENT,
        label="Theorem 6 set up for β, exact",
    )  # fmt: skip
    axes.set_title(f"the best {k} of {candidates:,} candidates")
    axes.set_xlabel("$\\log(1/\\beta)$")
    axes.set_xlim(0.0, largest)


def _marks(axes: Axes, failures, trials: int, betas, exact, look) -> None:
    """Simulated chances of failure at the exact leads, as horizontal bars."""
    low, high = clopper_pearson(np.asarray(failures), trials, 0.95)
    x = -np.log(np.asarray(failures) / trials)
    reach = np.maximum(np.stack([x + np.log(high), -np.log(low) - x]), 0.0)
    axes.errorbar(
        x, [exact(beta) for beta in betas], xerr=reach, color=look["color"],
        marker=look["marker"], linestyle="none", markersize=4.2,
        markerfacecolor="white", markeredgewidth=1.1, elinewidth=1.1, capsize=2.2,
        zorder=3,
    )  # fmt: skip


def draw() -> Canvas:
    """Left: few candidates, with simulations; right: many."""
    record = load("clnss22-top-k")
    figure, (small, large) = style.panels(2, height=4.4)
    _lines(small, sim.CANDIDATES, sim.K, 34.0, 41)
    peeled, trials = record.arrays["peeling"], int(record.values["peeling_trials"])
    seen = peeled > 0
    betas = np.array(sim.PEELING_BETAS)[seen].tolist()
    _marks(small, peeled[seen], trials, betas, sim.peeled, _PEELING)
    _marks(
        small, record.arrays["confident"], int(record.values["trials"]),
        sim.CONFIDENT_BETAS, sim.confident, _CONFIDENT,
    )  # fmt: skip
    small.set_ylabel("Lead at which a release fails with probability β")
    small.set_ylim(0.0)
    small.legend(loc="upper left")
    _lines(large, LARGE_CANDIDATES, LARGE_K, 300.0, 10)
    large.axhline(
        certain_gap(LARGE_CANDIDATES, LARGE_K),
        color=_ORANGE, linestyle="--",
        label="Theorem 6, β < δ: gap never above (claim)",
    )  # fmt: skip
    large.set_ylim(0.0)
    large.legend(loc="lower right")
    slopes = [
        2.0 / advanced_composition_share(sim.EPSILON, k, sim.DELTA)
        for k in (sim.K, LARGE_K)
    ]
    draws = int(record.values["trials"])
    style.note(
        figure,
        "The k best of m candidates lead all others by the same amount, and a release "
        f"fails unless it is just them; left m = {sim.CANDIDATES}, k = {sim.K}, right "
        f"m = {LARGE_CANDIDATES:,}, k = {LARGE_K}; ε = {sim.EPSILON:g}, δ = "
        f"{words.power(sim.DELTA)} in all. Peeling: k exponential "
        "mechanisms, pure or advanced composition, whichever is better; its lead grows "
        f"by 2/ε_r = {slopes[0]:.3g} and {slopes[1]:.3g} for each unit of log(1/β). "
        "Theorem 6 (corrected constants) draws up to 4/β sets, each at a sixth of the "
        "budget, and releases the one of smallest noisy gap; for β < δ it may also "
        "replace bad sets. Lines: exact laws. Points: simulated chance of failure at "
        f"the exact lead, 95 % intervals; {trials:,} and {draws:,} releases.",
    )
    return figure
