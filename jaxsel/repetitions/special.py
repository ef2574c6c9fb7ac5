"""Special functions that keep their relative accuracy where the laws of K need it."""

import math

import numpy as np
from scipy import special

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# Coefficients of 1/z, 1/z^3, ... in Stirling's series, highest power first.
_STIRLING = (
    1.0 / 156.0,
    -691.0 / 360360.0,
    1.0 / 1188.0,
    -1.0 / 1680.0,
    1.0 / 1260.0,
    -1.0 / 360.0,
    1.0 / 12.0,
)


def stirling_remainder(z: np.ndarray) -> np.ndarray:
    """log Gamma(z) - ((z - 1/2) log z - z + log(2 pi)/2), for z > 0."""
    z = np.asarray(z, dtype=np.float64)
    large = np.maximum(z, 10.0)  # at 10 the first omitted term is below 1e-15
    with np.errstate(over="ignore"):  # where the series is its last term, 1/(12 z)
        series = np.polyval(_STIRLING, 1.0 / (large * large)) / large
    small = np.minimum(z, 10.0)
    direct = special.gammaln(small) - ((small - 0.5) * np.log(small) - small + _HALF_LOG_TWO_PI)
    return np.where(z < 10.0, direct, series)


def log_beta(a: object, b: object) -> np.ndarray:
    """log B(a, b) for a, b > 0, without the cancellation of log Gamma terms.

    The difference of two log Gamma values near 1e9 has lost ten digits; here the parts
    that grow with the larger argument are cancelled analytically, by Stirling's series.
    """
    first, second = np.broadcast_arrays(
        np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    )
    small, large = np.minimum(first, second), np.maximum(first, second)
    direct = special.gammaln(small) + special.gammaln(large) - special.gammaln(small + large)
    asymptotic = (
        special.gammaln(small)
        + stirling_remainder(large)
        - stirling_remainder(small + large)
        - (small + large - 0.5) * np.log1p(small / large)
        - small * np.log(large)
        + small
    )
    return np.where(large < 10.0, direct, asymptotic)


def log_exprel(x: float) -> float:
    """log((e^x - 1) / x), 0 at x = 0, for every x without overflow."""
    return max(x, 0.0) + math.log(special.exprel(-abs(x)))


def exprel_difference(a: float, b: float) -> float:
    """(e^a - 1)/a - (e^b - 1)/b without cancellation when both are small."""
    if max(abs(a), abs(b)) >= 0.5:
        return float(special.exprel(a) - special.exprel(b))
    # (a^n - b^n) = (a - b)(a^(n-1) + a^(n-2) b + ... + b^(n-1))
    total, power_sums, power_of_b = 0.0, 0.0, 1.0
    factorial = 1.0
    for n in range(1, 20):
        power_sums = a * power_sums + power_of_b
        power_of_b *= b
        factorial *= n + 1
        total += power_sums / factorial
    return (a - b) * total


def power_sum(coefficients: np.ndarray, log_x: np.ndarray) -> np.ndarray:
    """sum_k coefficients[k] x^k for non-negative coefficients and x = exp(log_x) <= 1.

    All terms are non-negative, so nothing cancels. Powers are factored as
    x^(r + width b) = x^r (x^width)^b: one matrix product over blocks of ``width``
    coefficients, a bounded number of points at a time.
    """
    log_x = np.asarray(log_x, dtype=np.float64)
    points = log_x.ravel()
    width = 1 << max(0, (len(coefficients).bit_length() + 1) // 2)
    rows = -(-len(coefficients) // width)
    table = np.zeros(rows * width)
    table[: len(coefficients)] = coefficients
    table = table.reshape(rows, width).T
    result = np.full(points.shape, float(coefficients[0]))  # right for x = 0
    positive = np.flatnonzero(points > -np.inf)
    within, between = np.arange(width), width * np.arange(rows)
    chunk = max(1, 2_000_000 // (width + rows))
    for start in range(0, len(positive), chunk):
        chosen = positive[start : start + chunk]
        column = points[chosen, None]
        inner = np.exp(within * column) @ table
        result[chosen] = np.sum(inner * np.exp(between * column), axis=1)
    return result.reshape(log_x.shape)


def log_power_sum(coefficients: np.ndarray, log_x: np.ndarray) -> np.ndarray:
    """log of :func:`power_sum`, also where the sum itself would underflow."""
    log_x = np.asarray(log_x, dtype=np.float64)
    value = power_sum(coefficients, log_x)
    with np.errstate(divide="ignore"):
        result = np.log(value).ravel()
    exponents = np.flatnonzero(coefficients)
    if len(exponents) == 0:
        return result.reshape(log_x.shape)
    logs = np.log(coefficients[exponents])
    points = log_x.ravel()
    for index in np.flatnonzero((value.ravel() < 1e-280) & (points > -np.inf)):
        result[index] = special.logsumexp(logs + exponents * points[index])
    return result.reshape(log_x.shape)


def suffix_sums(values: np.ndarray) -> np.ndarray:
    """sums[i] = values[i] + values[i+1] + ..., in extended precision where there is."""
    return np.cumsum(values[::-1], dtype=np.longdouble)[::-1].astype(np.float64)
