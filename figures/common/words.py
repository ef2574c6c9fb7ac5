"""Numbers as the figures write them, and phrases of their legends and captions."""

import math

AUDITED = "audited lower bound (95 %)"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(number: float, base: int = 10) -> str:
    """A number as a power: 10⁻⁶ for 1e-6, 2·10⁻⁵ for 2e-5.

    In base 10, other numbers from a thousandth to a thousand are written in digits.
    """
    if base == 10 and 1e-3 < number < 1e3 and math.log10(number) % 1.0 != 0.0:
        return f"{number:g}"
    exponent = math.floor(math.log(number, base) + 1e-9)
    mantissa = number / float(base) ** exponent
    times = "" if math.isclose(mantissa, 1.0) else f"{mantissa:.4g}·"
    return f"{times}{base}{str(exponent).translate(_RAISED)}"


def epsilon_at(delta: float) -> str:
    """The label of an axis of epsilon at this delta."""
    return f"ε at δ = {power(delta)}"


def exact_and_seen(trials: int, what: str) -> str:
    """The end of a caption of a figure with laws as lines and simulations as points."""
    return f"Lines: exact laws. Points: {trials:,} {what} each, 95 % intervals."


def scientific(number: float) -> str:
    """A number with a typographic minus sign: 1e−06 for 1e-6."""
    return f"{number:g}".replace("-", "−")


def fraction(number: float) -> str:
    """A number as text: 1/4 for 0.25; 0.3 for 0.3, whose inverse is not whole."""
    inverse = 1.0 / number
    if inverse > 1.5 and math.isclose(inverse, round(inverse), rel_tol=1e-9):
        return f"1/{round(inverse)}"
    return f"{number:.3g}"
