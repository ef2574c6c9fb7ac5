"""Parameters shared by the errata of two papers."""

import math

from jaxsel.errors import check_interval


def probability(name: str, value: float) -> float:
    """``value`` as a float in (0, 1), or InputError."""
    return check_interval(name, value, 0.0, 1.0)


def one_to_infinity(name: str, value: float) -> float:
    """``value`` as a float in (1, inf), or InputError."""
    return check_interval(name, value, 1.0, math.inf)
