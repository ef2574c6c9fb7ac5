"""Rounds the result of a search to a few digits, in the conservative direction."""

import math


def to_digits(value: float, digits: int, up: bool, slack: float = 0.0) -> float:
    """Rounds a number up or down to a number of significant digits.

    To print a proven number, for which no slack is allowed, use
    ``jaxsel.language.printing.digits_up``.

    Args:
      value: > 0, finite.
      digits: the number of significant digits.
      up: whether to round up instead of down.
      slack: tolerance in units of the last digit: a value that exceeds a rounded number by
        less is rounded to it, since a search may end on either side of its target.
    """
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    steps = math.ceil(value / unit - slack) if up else math.floor(value / unit + slack)
    return float(f"{steps * unit:.{digits}g}")
