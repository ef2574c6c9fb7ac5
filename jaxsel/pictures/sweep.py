"""A sweep's data set as a figure; see ``jaxsel.pictures.layout`` for its format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxsel.pictures.layout import plan

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def picture(
    dataset: "xarray.Dataset",
    measures: Sequence[str] | None = None,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
) -> "Figure":
    """Draws a sweep.

    The layout is chosen by the axes (``layout.plan``): curves along the longest numeric
    axis, or a heat map over two long ones.

    Args:
      dataset: a sweep.
      measures: which to draw, in panels below each other; default all.
      x, hue, facet: names of axes, to override the choice.

    Returns:
      A Matplotlib figure without a window; ``style.save`` writes it.

    Raises:
      InputError: for unknown names, and for too many axes.
    """
    chosen = plan(dataset, measures, x, hue, facet)
    # Imported late: Matplotlib takes a while, and a refused request need not wait for it.
    from jaxsel.pictures import style, sweep_figure

    with style.applied():
        return sweep_figure.drawn(dataset, chosen)
