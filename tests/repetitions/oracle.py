"""The laws of K by mpmath, straight from their definitions, and example laws.

Nothing here shares a formula with the package beyond the papers' own definitions:
probabilities are products, and generating functions are those printed, at 80 digits.
"""

from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

from jaxsel import repetitions as laws

# The relative accuracy that float64 must reach: 1e-12 is about 5000 rounding errors, for
# values whose logarithm may be 700.
ACCURACY = 1e-12

# Tails from 1e-18 to 1, dense at both ends and on both sides of 1/2.
TAILS = np.concatenate(
    [
        np.logspace(-18, -0.31, 19),
        [0.499999, 0.5, 0.500001, 0.7, 0.9, 1 - 1e-3, 1 - 1e-9, 1 - 1e-15],
    ]
)


class Exact(NamedTuple):
    """A law of K in mpmath: its probabilities, generating function and derivative, and moments."""

    pmf: Callable[[int], mpf]
    pgf: Callable[[mpf], mpf]
    derivative: Callable[[mpf], mpf]
    mean: mpf
    variance: mpf


def truncated_negative_binomial(eta: float, gamma: float) -> Exact:
    """Papernot & Steinke 2022, Definition 1 and Equation (7), as printed."""
    with mpmath.workdps(80):
        e, g = mpf(eta), mpf(gamma)
        if e == 0:
            mean = (1 / g - 1) / mpmath.log(1 / g)
        else:
            mean = e * (1 - g) / (g * (1 - g**e))

        def pmf(k: int) -> mpf:
            with mpmath.workdps(80):
                if e == 0:
                    return (1 - g) ** k / (k * mpmath.log(1 / g))
                product = mpf(1)
                for j in range(k):
                    product *= (j + e) / (j + 1)
                return (1 - g) ** k / (g ** (-e) - 1) * product

        def pgf(x: mpf) -> mpf:
            with mpmath.workdps(80):
                if e == 0:
                    return mpmath.log(1 - (1 - g) * x) / mpmath.log(g)
                return ((1 - (1 - g) * x) ** (-e) - 1) / (g ** (-e) - 1)

        def derivative(x: mpf) -> mpf:
            with mpmath.workdps(80):
                return mean * (g / (1 - (1 - g) * x)) ** (e + 1)

        second = mean * (1 + e) * (1 - g) / g  # f''(1)
        return Exact(pmf, pgf, derivative, mean, second + mean - mean**2)


def _relative_error(value: float, exact: mpf, floor: float = 1e-300) -> float:
    with mpmath.workdps(80):
        if exact <= floor:  # float64 may round it to anything down to 0
            return 0.0 if 0 <= value <= 1.001 * floor else float("inf")
        return float(abs(mpf(float(value)) / exact - 1))


def worst(values, exact) -> float:
    """The largest relative error; values that are exactly below 1e-300 need only be that small."""
    pairs = zip(np.atleast_1d(values), exact, strict=True)
    return max(_relative_error(value, true) for value, true in pairs)


# One law of each kind, small enough to sum: P[K > 4000] is below 1e-17.
EXAMPLES = {
    "point_mass": laws.point_mass(7),
    "single": laws.point_mass(1),
    "geometric": laws.geometric(0.05),
    "logarithmic": laws.logarithmic(0.02),
    "negative_eta": laws.truncated_negative_binomial(-0.7, 0.02),
    "half_eta": laws.truncated_negative_binomial(0.5, 0.03),
    "large_eta": laws.truncated_negative_binomial(6.0, 0.2),
    "poisson": laws.poisson(3.5),
    "rare_poisson": laws.poisson(0.01),
    "binomial": laws.binomial(20, 0.3),
    "sure_binomial": laws.binomial(6, 1.0),
    "uniform": laws.beta_binomial(30, 1.0),
    "beta_binomial": laws.beta_binomial(200, 2.5),
    "spread_beta_binomial": laws.beta_binomial(50, 0.2),
    "conditioned": laws.conditioned(laws.geometric(0.05), 25),
    "conditioned_poisson": laws.conditioned(laws.poisson(3.5), 4),
    "capped_geometric": laws.capped(laws.geometric(0.05), 25),
    "capped_logarithmic": laws.capped(laws.logarithmic(0.02), 40),
    "capped_binomial": laws.capped(laws.binomial(20, 0.3), 8),
}
SUPPORT = np.arange(4001)
