# ruff: noqa: F403, F405
"""Random streams, under the name that user-defined mechanisms import."""

from jaxsel.kernel.stream import *

__all__ = ["Key", "at_round", "fold", "make_key", "words"]
