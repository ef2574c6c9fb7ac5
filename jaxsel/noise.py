# ruff: noqa: F403, F405
"""Noise laws, under the name that user-defined mechanisms import."""

from jaxsel.kernel.noise import *

__all__ = [
    "Ends",
    "exponential",
    "gumbel",
    "laplace",
    "normal",
    "number",
    "resolution",
    "truncated_laplace",
    "uniform",
    "variate",
]
