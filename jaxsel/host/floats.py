"""Functions of floats that Python refuses at the ends: inf where they exceed all floats.

Python raises OverflowError for a square or an exponential there, although inf is what a bound
says where it proves nothing.
"""

import math

_LARGEST_EXPONENT = math.log(1.7976931348623157e308)


def square(x: float) -> float:
    """x^2, inf where it exceeds all floats."""
    return x**2 if abs(x) < 1e154 else x * x


def exp(x: float) -> float:
    """e^x, inf where it exceeds all floats."""
    return math.exp(x) if x <= _LARGEST_EXPONENT else math.inf


def expm1(x: float) -> float:
    """e^x - 1, inf where it exceeds all floats."""
    return math.expm1(x) if x <= _LARGEST_EXPONENT else math.inf


def log_inverse(x: float) -> float:
    """log(1/x), also of an x whose reciprocal exceeds all floats."""
    return math.log(1.0 / x) if x > 1e-308 else -math.log(x)
