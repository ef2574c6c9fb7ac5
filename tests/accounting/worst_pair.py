"""The worst (epsilon, delta)-DP pair, of four outcomes."""

import math

import numpy as np

from jaxsel.accounting.single_run.pairs import LawPair


def approximate_pair(epsilon: float, delta: float) -> LawPair:
    """The pair of Kairouz, Oh & Viswanath (2015)."""
    large = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    small = large * math.exp(-epsilon)
    return LawPair(np.array([delta, large, small, 0.0]), np.array([0.0, small, large, delta]))
