"""Simulations behind the figures, one file per experiment; run with ``python -m sims``."""

from sims.registry import SIMS, load, run

__all__ = ["SIMS", "load", "run"]
