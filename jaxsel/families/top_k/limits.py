"""Limits of votes and scales within which float arithmetic is accurate."""

from jaxsel.host.errors import check_interval

MAX_COUNT = 1e15  # float64 distinguishes votes up to here
LEAST_PROBABILITY = 1e-150  # products of two do not underflow
SCALES = (1e-12, 1e12)  # of noise, in votes; privacy parameters are their inverses


def check_scale(name: str, value: float) -> float:
    """Checks that a scale of noise, or the inverse of one, is inside ``SCALES``."""
    return check_interval(name, value, *SCALES, low_open=False, high_open=False)
