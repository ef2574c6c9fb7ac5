"""What tuning really costs: from audit to claim, for one base and six laws of K.

This is in none of the papers. It is drawn for three bases; this file's own is the Gaussian.
"""

import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import words
from figures.common.krw24_audits import Audited, arrows, audited_delta
from figures.common.krw24_ladder import LOOKS, Ladder, ladder
from figures.common.krw24_shared import DELTA, Delta
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.search_bounds import bounds_by_name
from sims.cells import cells
from sims.common.line_rankings import LAWS, RANKINGS, LineBase, planned_trial
from sims.common.worst_rankings import SIDES, TARGETS, GaussianBase

TITLE = "What tuning really costs: Gaussian base, from audits to claims"
TRIALS = 1_500_000
SECONDS = 14
_TITLES = (
    "K geometric, 𝔼[K] = 10",
    "K geometric, 𝔼[K] = 300",
    "K logarithmic, 𝔼[K] = 10",
    "K Poisson, 𝔼[K] = 10",
    "K binomial, n = 20, 𝔼[K] = 10",
    "K beta-binomial, τ = 20, γ = 1, 𝔼[K] = 10",
)
_RUNGS = {
    "envelope": "envelope*",
    "adversarial": "adversarial order",
    "aligned": "score = loss",
    "anti-aligned": "score = −loss",
    "independent": "score = noise",
}


@cells(measures=["counts", "frequency"])
def released(
    law: str = over(*LAWS),
    ranking: str = over(*RANKINGS),
    side: str = over(*SIDES),
    base: GaussianBase = GaussianBase(),
) -> Trial:
    """The released interval, under the natural ranking and under the worst ones."""
    return planned_trial(base, law, ranking, side)


# --- Audits ---------------------------------------------------------------------------


def _natural_points(found: Ladder) -> list[float]:
    """Epsilons at which the larger of the two natural profiles is about one of TARGETS."""
    natural = np.maximum(found.deltas["aligned"], found.deltas["anti-aligned"])
    seen = natural > 1e-6
    targets = np.array([target for target in TARGETS if target < natural[0]])
    logs = -np.log(natural[seen])
    return np.interp(-np.log(targets), logs, found.epsilons[seen]).tolist()


def audited(row: xr.Dataset, found: Ladder, confidence: float = 0.95) -> dict[str, list[Audited]]:
    """Audited lower bounds on delta, each at an epsilon fixed beforehand.

    Args:
      row: counts and exact laws of one law of K.
      found: the exact profiles and bounds of that law.
      confidence: confidence level of each bound.

    Returns:
      "adversarial" and "natural" (larger outputs are better); ``exact`` is the delta of the
      cells that are observed.
    """

    def at(epsilon: float, ranking: str) -> Audited:
        seen = row.sel(ranking=ranking)
        p, q = seen.frequency_exact.values
        exact = max(
            float(np.sum(np.maximum(a - math.exp(epsilon) * b, 0.0))) for a, b in ((p, q), (q, p))
        )
        return Audited(epsilon, audited_delta(seen, epsilon, confidence), exact)

    worst = [name for name in row["ranking"].values.tolist() if name != "natural"]
    sought = row.epsilon.sel(side="data")
    return {
        "natural": [at(epsilon, "natural") for epsilon in _natural_points(found)],
        "adversarial": [at(float(sought.sel(ranking=name)), name) for name in worst],
    }


# --- Drawing --------------------------------------------------------------------------


def _rungs(axes: Axes, found: Ladder) -> None:
    labels = bounds_by_name()
    names = _RUNGS | {name: labels[id].label for name, id in found.theorems.items()}
    floor = axes.get_ylim()[0] / 10.0
    axes.fill_between(
        found.epsilons,
        np.maximum(found.deltas["adversarial"], floor),
        np.maximum(found.deltas["envelope"], floor),
        color=LOOKS["envelope"]["color"],
        alpha=0.13,
        linewidth=0.0,
    )
    for name in LOOKS:
        axes.plot(
            found.epsilons,
            np.maximum(found.deltas[name], floor),
            **LOOKS[name],
            label=f"{names[name]}  {found.at[name]:.3f}",
        )


def _name_the_gap(axes: Axes, found: Ladder) -> None:
    """Writes what the shaded part is into its middle, if it is wide enough for the words."""
    names = ("adversarial", "envelope")
    low, high = (np.log(np.maximum(found.deltas[name], 1e-3)) for name in names)
    width = high - low
    if np.mean(width > 1.0) * found.epsilons[-1] < 0.2 * axes.get_xlim()[1]:
        return
    place = int(np.searchsorted(np.cumsum(width), 0.42 * width.sum()))
    axes.text(
        found.epsilons[place],
        math.exp(0.5 * (low[place] + high[place])),
        "not settled",
        fontsize=6.4,
        color="#2f5d7c",
        ha="center",
        va="center",
    )


def _panel(axes: Axes, row: xr.Dataset, found: Ladder, delta: float, low: float) -> None:
    # Every panel ends where its last curve ends.
    ends = [found.epsilons[curve > low].max() for curve in found.deltas.values()]
    axes.set(yscale="log", xlim=(0.0, 1.02 * max(ends)), ylim=(low, 2.0))
    _rungs(axes, found)
    legend = axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        fontsize=7.0,
        title=words.epsilon_at(delta),
        title_fontsize=7.4,
        handlelength=1.7,
        labelspacing=0.3,
        borderaxespad=0.0,
        borderpad=0.2,
        alignment="left",
        frameon=False,
    )
    for text, name in zip(legend.get_texts(), LOOKS, strict=True):
        text.set_color(LOOKS[name]["color"])
    for kind, points in audited(row, found).items():
        shown = [each for each in points if each.delta > 0.0]
        bounds = np.array([each.delta for each in shown])
        arrows(
            axes,
            [each.epsilon for each in shown],
            bounds,
            kind,
            None,
            yerr=1.1 * bounds,
            markersize=3.6,
        )
    axes.yaxis.set_major_locator(LogLocator(numticks=12))


def picture(released: xr.Dataset, base: LineBase, delta: float, told: str, low: float) -> Canvas:
    """One panel per law of K: every curve from audit to claim, with epsilon at delta.

    Args:
      released: counts and exact laws.
      base: the laws of one run.
      delta: the delta at which epsilons are written out.
      told: a description of the base.
      low: the least delta that is shown.
    """
    figure, panels = style.panels(2, 3, width=9.8, height=9.2, sharey=True)
    for axes, title, law in zip(panels, _TITLES, released["law"], strict=True):
        found = ladder(base, str(law.values), delta)
        _panel(axes, released.sel(law=law), found, delta, low)
        axes.set_title(title)
    _name_the_gap(panels[1], ladder(base, LAWS[1], delta))
    for axes in panels[-2:]:
        axes.set_xlabel("ε")
    for axes in panels[::2]:
        axes.set_ylabel("δ(ε)")
    return style.captioned(
        figure,
        f"What tuning really costs. Base: {told}. Claims, for every ranking of "
        "the outputs: RDP (PS: Papernot & Steinke 2022; Theorem 6 with the exact δ̂), "
        "profile (KRW: Koskela, Redberg & Wang 2024), envelope. *This project's; KRW "
        "have no theorem for the beta-binomial law. Exact values, for this pair: in "
        "the adversarial order, the worst ranking that a search found at each ε, and "
        "when the score is the privacy loss, less it, or pure noise (then the release "
        "is that of one run, if any). All: the larger of both directions. Shaded: not "
        "settled between the worst ranking found and the envelope bound. Audited "
        f"lower bounds (95 % each, {released.attrs['trials']:,} trials a side and "
        "ranking): circles, adversarial order; squares, larger outputs are better. Each "
        "panel has its own range of ε.",
    )


def draw(released: xr.Dataset, delta: Delta = DELTA, base: GaussianBase = GaussianBase()) -> Canvas:
    """Draws the panels for the Gaussian mechanism."""
    told = (
        f"Gaussian mechanism, sensitivity 1, σ = {base.noise_multiplier:g}: N(0, 1) "
        f"against N({words.fraction(base.means[1])}, 1)"
    )
    return picture(released, base, delta, told, 1e-8)
