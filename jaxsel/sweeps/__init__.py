"""Sweeps: measures over a grid of named settings, as a labelled data set."""

from jaxsel.sweeps.running import keep_share
from jaxsel.sweeps.running import merge as merge
from jaxsel.sweeps.running import sweep as sweep

__all__ = ["keep_share"]
