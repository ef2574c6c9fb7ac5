"""The panels of Figures 2 and 3 of Papernot & Steinke 2022, and what is drawn over claims."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from figures.common.renyi_points import RenyiInterval, renyi_interval
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions
from sims.common.gaussian_orders import GaussianPair

# Binning loses what happens inside the rarest bins. Points are shown while the divergence
# of the bins is at least this share of that of the output itself.
RESOLVED = 0.95
# Distance in order between the points of successive laws, so that their intervals are seen.
STAGGER = 0.3
TITLES = ("Score: larger outputs are better", "Score: outputs above a cut, then smaller ones")


class Overlay(NamedTuple):
    """Exact and simulated Renyi divergence of one tuned Gaussian pair.

    Attributes:
      order, exact: the curve of the released number itself.
      point_order: orders at which the bins resolve that curve.
      points: simulated divergence of the bins at these orders.
      binned: exact divergence of the bins at these orders.
    """

    order: np.ndarray
    exact: np.ndarray
    point_order: np.ndarray
    points: RenyiInterval
    binned: np.ndarray


def overlays(
    found: xr.Dataset,
    laws: Sequence[Repetitions],
    order: np.ndarray,
    candidates: Sequence[np.ndarray],
    pair: GaussianPair,
    confidence: float = 0.95,
) -> list[Overlay]:
    """The overlay of each law, in one of the two orders of outputs.

    In the natural order it is the worse direction at each Renyi order; the other direction is
    that of the mirrored score, which prefers small outputs. In the two-block order it is the
    data against the neighbour.

    Args:
      found: cells of ``sims.common.renyi_tallies``, laws by sides.
      laws: the laws of the cells.
      order: Renyi orders of the exact curves.
      candidates: Renyi orders of the points, for each law.
      pair: the laws of one run.
      confidence: confidence level of all limits of one law together.
    """
    axis = found["exact"].dims[0]
    return [
        _overlay(found.isel({axis: place}), law, order, at, pair, confidence)
        for place, (law, at) in enumerate(zip(laws, candidates, strict=True))
    ]


def _overlay(
    row: xr.Dataset,
    law: Repetitions,
    order: np.ndarray,
    candidates: np.ndarray,
    pair: GaussianPair,
    confidence: float,
) -> Overlay:
    """The overlay of one law, in the worse direction at each order by exact values."""
    cut = float(row["cut"][0]) if "cut" in row else None
    directions = [0, 1] if cut is None else [0]
    exact = pair.tuned_renyi(order, law, cut)[directions].max(axis=0)
    at_points = pair.tuned_renyi(candidates, law, cut)
    # If K >= 1 always, something is always released, and the last outcome is left out.
    outcomes = slice(None if law.probability_zero > 0 else -1)
    sides, tallies = (row[name].values[:, outcomes] for name in ("exact", "tally"))
    found = []
    for d in directions:
        binned = renyi_divergence(sides[d], sides[1 - d], candidates)
        interval = renyi_interval(tallies[d], tallies[1 - d], candidates, confidence)
        found.append(np.stack([at_points[d], binned, *interval]))
    both = np.stack(found)
    worse = np.argmax(both[:, 0], axis=0)
    best = both[worse, :, np.arange(candidates.size)].T
    kept = best[1] >= RESOLVED * best[0]
    return Overlay(order, exact, candidates[kept], RenyiInterval(*best[2:, kept]), best[1, kept])


def simple_claims(axes: Axes, order: np.ndarray, count: int, pair: GaussianPair) -> None:
    """Draws the bounds of one run, and of a fixed number of runs by composition."""
    one = pair.rho * order
    style.line(axes, order, one, "Single run", linestyle="-", label="K = 1 (unrepeated)")
    style.line(
        axes,
        order,
        count * one,
        "Naive repetition",
        linestyle="-",
        label=f"K = {count} (naive repetition)",
    )


def grey_keys(claims: str, seen: str) -> list[Line2D]:
    """Legend entries of the curves and marks that each law of K has in its own colour."""
    exact = style.own(style.GREY, style.DOTS, linewidth=1.1)
    return [
        Line2D([], [], linestyle="none", label=" "),
        Line2D([], [], color=style.GREY, label=f"thick: {claims}"),
        Line2D([], [], **exact, label="exact, Gaussian pair"),
        Line2D([], [], **style.hollow("Single run", marker="o"), label=seen),
    ]


def renyi_figure(
    panels: Sequence[tuple[xr.Dataset, Sequence[Repetitions]]],
    pair: GaussianPair,
    claims: Callable[[Axes], None],
    looks: Sequence[dict[str, Any]],
    orders_drawn: np.ndarray,
    candidates: np.ndarray,
    *,
    claim_label: str,
    top: float,
    note: str,
) -> Canvas:
    """Two panels with the same claims; each adds one order's exact curves and points.

    Args:
      panels: cells of the natural and of the two-block order, and their laws.
      pair: the laws of one run.
      claims: draws the paper's curves, with the labels of its legend.
      looks: colour and marker of each law.
      orders_drawn: Renyi orders of the exact curves.
      candidates: Renyi orders of the points, before they are moved apart.
      claim_label: legend entry of the solid curves.
      top: upper limit of the vertical axis.
      note: the beginning of the caption.
    """
    figure, drawn = style.panels(2, width=10.4, height=4.4, sharey=True)
    middle = (len(looks) - 1) / 2.0
    staggered = [candidates + STAGGER * (i - middle) for i in range(len(looks))]
    for axes, title, (found, laws) in zip(drawn, TITLES, panels, strict=True):
        claims(axes)
        at = staggered[: len(laws)]
        group = overlays(found, laws, orders_drawn, at, pair)
        for look, overlay in zip(looks, group, strict=False):
            colour = look["color"]
            inside = overlay.exact <= top
            axes.plot(
                overlay.order[inside],
                overlay.exact[inside],
                color=colour,
                linestyle=style.DOTS,
                linewidth=1.1,
            )
            estimate, low, high = overlay.points
            shown = estimate <= top
            style.points(
                axes,
                overlay.point_order[shown],
                estimate[shown],
                low[shown],
                high[shown],
                "Single run",
                **look,
            )
        axes.set(title=title, xlabel=r"Rényi order $\lambda$")
        axes.set(xlim=(0.0, float(np.ceil(orders_drawn[-1]))), ylim=(0.0, top))
    drawn[0].set_ylabel(r"Rényi divergence $D_\lambda(A(x)\,\|\,A(x'))$")
    handles, _ = drawn[0].get_legend_handles_labels()
    keys = grey_keys(claim_label, "simulated, Gaussian pair\n(95 % interval)")
    figure.legend(handles=[*handles, *keys], loc="outside right center")
    return style.captioned(
        figure,
        f"Base algorithm: {pair.rho:g}-zCDP{note} Gaussian pair: N(0, 1) against "
        f"N(√{2.0 * pair.rho:g}, 1), the best of K runs by the score above each panel; "
        "left, the worse of that score and its mirror image. Points: bins of the released "
        "output, where they resolve the exact curve to 5 %; all limits of a pair hold "
        "together.",
    )
