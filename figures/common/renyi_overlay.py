"""What Figures 2 and 3 of Papernot & Steinke 2022 lay over the claims, and their panels."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from figures.common.renyi_points import RenyiInterval, renyi_interval
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from sims.common import gaussian_orders as orders
from sims.registry import Result

# Bins lose what happens inside the rarest of them; points are shown as long as the
# divergence of the bins is this part of the divergence of the output itself.
RESOLVED = 0.95
# Between the points of one law and the next, lest their intervals hide each other.
STAGGER = 0.3
NATURAL, TWO_BLOCK = (
    "Score: larger outputs are better",
    "Score: outputs above a cut, then smaller ones",
)


class Overlay(NamedTuple):
    """Exact and simulated Renyi divergence of one tuned Gaussian pair.

    Attributes:
      law: of K.
      order, exact: the curve of the released number itself.
      point_order: where bins of it resolve that curve.
      points: simulated divergence of the bins there.
      binned: the exact divergence of the bins there.
    """

    law: Repetitions
    order: np.ndarray
    exact: np.ndarray
    point_order: np.ndarray
    points: RenyiInterval
    binned: np.ndarray


def _overlay(
    law, order, candidates, renyi, binned_law, tallies, directions, confidence
):
    """The worse of the directions at each order, chosen on exact values."""
    exact = renyi(order)[list(directions)].max(axis=0)
    at_points = renyi(candidates)
    # A law that always runs cannot release nothing: that is no outcome to be counted.
    outcomes = slice(None if law.probability_zero > 0 else -1)
    sides = [binned_law(shift)[outcomes] for shift in (0.0, orders.SHIFT)]
    tallies = tallies[:, outcomes]
    found = []
    for d in directions:
        first, second = (0, 1) if d == 0 else (1, 0)
        binned = renyi_divergence(sides[first], sides[second], candidates)
        interval = renyi_interval(
            tallies[first], tallies[second], candidates, confidence
        )
        found.append(np.stack([at_points[d], binned, *interval]))
    both = np.stack(found)
    worse = np.argmax(both[:, 0], axis=0)
    best = both[worse, :, np.arange(candidates.size)].T
    kept = best[1] >= RESOLVED * best[0]
    return Overlay(
        law,
        order,
        exact,
        candidates[kept],
        RenyiInterval(*best[2:, kept]),
        best[1, kept],
    )


def natural_overlay(
    record: Result,
    order: np.ndarray,
    candidates: Sequence[np.ndarray],
    confidence: float = 0.95,
) -> list[Overlay]:
    """Overlays of the natural order, one a law; the worse direction at each order.

    The other direction is that of the mirrored score, which prefers small outputs.

    Args:
      record: tallies (see ``sims.common.renyi_tallies``).
      order: orders of the exact curves.
      candidates: orders of the points, for each law.
      confidence: of all limits of one law together.
    """
    found = []
    for text, edges, tallies, at in zip(
        record.values["natural_laws"],
        record.arrays["natural_edges"],
        record.arrays["natural_counts"],
        candidates,
        strict=False,
    ):
        law = parse(text)
        found.append(
            _overlay(
                law, order, at,
                lambda a, law=law: orders.tuned_renyi(a, law),
                lambda shift, law=law, edges=edges: orders.natural_law(law, edges, shift),
                tallies, (0, 1), confidence,
            )
        )  # fmt: skip
    return found


def two_block_overlay(
    record: Result,
    order: np.ndarray,
    candidates: Sequence[np.ndarray],
    confidence: float = 0.95,
) -> list[Overlay]:
    """Overlays of the two-block order: as ``natural_overlay``, data against neighbour."""
    found = []
    for text, cut, edges, tallies, at in zip(
        record.values["two_block_laws"],
        record.arrays["cuts"],
        record.arrays["two_block_edges"],
        record.arrays["two_block_counts"],
        candidates,
        strict=False,
    ):
        law = parse(text)
        found.append(
            _overlay(
                law, order, at,
                lambda a, law=law, cut=cut: orders.tuned_renyi(a, law, cut),
                lambda shift, law=law, cut=cut, edges=edges: tuned_law(
                    orders.two_block_law(edges, cut, shift), law
                ),
                tallies, (0,), confidence,
            )
        )  # fmt: skip
    return found


def renyi_figure(
    record: Result,
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
      record: tallies (see ``sims.common.renyi_tallies``).
      claims: draws the paper's curves, with the labels of its legend.
      looks: colour and marker of each law, in the record's order.
      orders_drawn: Renyi orders of the exact curves.
      candidates: orders of the points, before they are moved apart.
      claim_label: what the solid curves are.
      top: of the vertical axis.
      note: the caption.
    """
    figure, panels = style.panels(2, width=10.4, height=4.4, sharey=True)
    middle = (len(looks) - 1) / 2.0
    staggered = [candidates + STAGGER * (i - middle) for i in range(len(looks))]
    overlays = (
        natural_overlay(record, orders_drawn, staggered),
        two_block_overlay(record, orders_drawn, staggered),
    )
    for axes, title, group in zip(panels, (NATURAL, TWO_BLOCK), overlays, strict=True):
        claims(axes)
        for look, overlay in zip(looks, group, strict=False):
            colour = look["color"]
            inside = overlay.exact <= top
            axes.plot(
                overlay.order[inside], overlay.exact[inside],
                color=colour, linestyle=(0, (1, 1.2)), linewidth=1.1,
            )  # fmt: skip
            estimate, low, high = overlay.points
            shown = estimate <= top
            style.points(
                axes, overlay.point_order[shown], estimate[shown], low[shown], high[shown],
                "Single run", **look,
            )  # fmt: skip
        axes.set_title(title)
        axes.set_xlabel(r"Rényi order $\lambda$")
        axes.set_xlim(0.0, float(np.ceil(orders_drawn[-1])))
        axes.set_ylim(0.0, top)
    panels[0].set_ylabel(r"Rényi divergence $D_\lambda(A(x)\,\|\,A(x'))$")
    grey = style.LAWS["Single run"]["color"]
    marks = [
        Line2D([], [], linestyle="none", label=" "),
        Line2D([], [], color=grey, label=f"thick: {claim_label}"),
        Line2D(
            [], [], color=grey, linestyle=(0, (1, 1.2)), linewidth=1.1,
            label="exact, Gaussian pair",
        ),
        Line2D(
            [], [], color=grey, linestyle="none", marker="o", markerfacecolor="white",
            label="simulated, Gaussian pair\n(95 % interval)",
        ),
    ]  # fmt: skip
    handles, _ = panels[0].get_legend_handles_labels()
    figure.legend(handles=[*handles, *marks], loc="outside right center")
    style.note(figure, note)
    return figure
