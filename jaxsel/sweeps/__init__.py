"""Sweeps: measures over a grid of named settings, as a labelled data set."""

from jaxsel.sweeps.running import sweep

__all__ = ["sweep"]
