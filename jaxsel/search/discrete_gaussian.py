"""Exact samples of the discrete Gaussian law, from whole numbers alone.

The algorithms are those of Canonne, Kamath & Steinke, "The Discrete Gaussian for Differential
Privacy" (NeurIPS 2020), Algorithms 1 to 3: every coin is a comparison of whole numbers, so that
no rounding of a float can tell what was added.
"""

import random
from fractions import Fraction


def discrete_gaussian(sigma: float, source: random.Random) -> int:
    """A draw of x with probability proportional to exp(-x^2 / (2 sigma^2)), x a whole number.

    Args:
      sigma: > 0; taken as the exact rational number that the float is.
      source: of whole numbers; ``random.SystemRandom()`` for what is released.
    """
    variance = Fraction(sigma) ** 2
    scale = int(sigma) + 1
    while True:
        found = _discrete_laplace(scale, source)
        excess = (abs(found) - variance / scale) ** 2 / (2 * variance)
        if _bernoulli_exp(excess, source):
            return found


def _discrete_laplace(scale: int, source: random.Random) -> int:
    """A draw of x with probability proportional to exp(-|x| / scale)."""
    while True:
        rest = source.randrange(scale)
        if not _bernoulli_exp(Fraction(rest, scale), source):
            continue
        whole = 0
        while _bernoulli_exp(Fraction(1), source):
            whole += 1
        size, negative = rest + scale * whole, source.randrange(2) == 1
        # Of the two zeros, one.
        if not (negative and size == 0):
            return -size if negative else size


def _bernoulli_exp(exponent: Fraction, source: random.Random) -> bool:
    """True with probability exp(-exponent), for an exponent >= 0."""
    while exponent > 1:
        if not _bernoulli_exp(Fraction(1), source):
            return False
        exponent -= 1
    # The first k at which a coin of probability exponent / k fails is odd with that probability.
    k = 1
    while _bernoulli(exponent / k, source):
        k += 1
    return k % 2 == 1


def _bernoulli(probability: Fraction, source: random.Random) -> bool:
    return source.randrange(probability.denominator) < probability.numerator
