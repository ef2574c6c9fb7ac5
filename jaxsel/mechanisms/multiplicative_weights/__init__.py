"""Private multiplicative weights: linear queries answered from a public hypothesis.

Hardt & Rothblum 2010, and Cohen et al. 2022, Theorem 11.
"""

from jaxsel.mechanisms.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.mechanisms.multiplicative_weights.repetitive import repetitive
from jaxsel.mechanisms.multiplicative_weights.universe import ANALYSTS, Interaction

__all__ = ["ANALYSTS", "Interaction", "hardt_rothblum", "repetitive"]
