"""A number found by a search, to a few digits, on the side that is safe."""

import math


def to_digits(value: float, digits: int, up: bool, slack: float = 0.0) -> float:
    """So many significant digits, rounded up or down.

    For what is shown of a proven number, which no slack may touch, see
    ``jaxsel.language.printing.digits_up``.

    Args:
      value: > 0, finite.
      digits: how many.
      up: or down.
      slack: in units of the last digit: what lies so little beyond a number of that many
        digits counts as that number, since a search ends on either side of what it seeks.
    """
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    steps = math.ceil(value / unit - slack) if up else math.floor(value / unit + slack)
    return float(f"{steps * unit:.{digits}g}")
