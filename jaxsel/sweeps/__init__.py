"""Sweeps: measures over a grid of named settings, as a labelled data set."""

from jaxsel.sweeps.running import keep_share, merge, sweep

__all__ = ["keep_share", "merge", "sweep"]
