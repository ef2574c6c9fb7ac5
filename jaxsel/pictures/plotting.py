"""One call for the picture of any result."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxsel.host.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    found: Any,
    measures: Sequence[str] | None = None,
    *,
    x: str | None = None,
    hue: str | None = None,
    facet: str | None = None,
) -> "Figure":
    """Draws a result: a sweep as ``jaxsel sweep --plot`` does, any other by its own ``plot``.

    A sweep is an ``xarray.Dataset``, whose own ``plot`` is xarray's and does not know intervals
    and bounds. A notebook shows the figure; ``savefig`` writes it.

    Args:
      found: what ``jaxsel.sweep`` returned, or what xarray opened of its record; or another
        result with a picture, such as that of ``jaxsel.account``.
      measures: of a sweep, which to draw, in panels below each other; default all.
      x, hue, facet: of a sweep, names of axes, to override the choice.

    Returns:
      A Matplotlib figure without a window.

    Raises:
      InputError: for what has no picture, for unknown names, and for too many axes.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.sweep("noisy_max", {"epsilon": [0.5, 1, 2]}, trials=1000)
        >>> jaxsel.plot(found, ["success"]).axes[0].get_xlabel()
        'epsilon'
    """
    import xarray as xr

    if isinstance(found, xr.Dataset):
        from jaxsel.pictures.sweep import picture

        return picture(found, measures, x, hue, facet)
    if any(asked is not None for asked in (measures, x, hue, facet)):
        raise InputError("measures, x, hue and facet are of a sweep; leave them out")
    if not callable(getattr(found, "plot", None)):
        raise InputError(f"{type(found).__name__} has no picture; give a result of jaxsel")
    return found.plot()
