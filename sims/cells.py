"""Declares the functions of an experiment; see ``sims.experiment``.

Alone in a module, so that a record depends on the code that makes it, and not on all that keeps
and reads records.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def cells(*, name: str = "", **declared: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function that is called once a cell; see ``jaxsel.sweeps.functions.cells``.

    Its module's name is part of its own, so that it shares no random numbers with a function of
    another experiment, whatever their settings; a function that was moved keeps its ``name``.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        from jaxsel.sweeps import functions

        own = name or f"{function.__module__}.{function.__qualname__}"
        return functions.cells(name=own, **declared)(function)

    return declare


def computed(function: Callable[..., "xr.Dataset"]) -> Callable[..., "xr.Dataset"]:
    """Declares a function that returns a data set and is not a grid of cells.

    It is called with trials, seed and progress, and its settings.
    """
    function.computed = True  # type: ignore[attr-defined]
    return function
