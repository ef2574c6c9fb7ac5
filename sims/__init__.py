"""Simulations behind the figures, which their files declare; run with ``python -m sims``."""

from sims.registry import SIMS, load, run

__all__ = ["SIMS", "load", "run"]
