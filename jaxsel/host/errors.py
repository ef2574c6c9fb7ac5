"""One exception for bad input, and the checks that raise it.

Every message is one sentence that says what is wrong and what is allowed; the command
line prints it and exits with status 2.
"""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np


class InputError(ValueError):
    """A value, name or file that the caller must change.

    Attributes:
      status: of the command line that meets it.

    Example:
        >>> import jaxsel
        >>> try:
        ...     jaxsel.mechanism("noisy_max", epsilon=-1)
        ... except jaxsel.InputError as error:
        ...     print(error)
        epsilon is -1; it must be a number in (0, inf)
    """

    status = 2

    def __init__(self, *parts: object) -> None:
        # An array that a sentence shows would break its line.
        super().__init__(
            *(re.sub(r"\s*\n\s*", " ", part) if isinstance(part, str) else part for part in parts)
        )


class CouldNotError(InputError):
    """What was asked cannot be judged: a function whose trials are not independent."""

    status = 3


class NoLawError(InputError):
    """The exact law of a mechanism takes too long, or is not accurate, at these settings."""


class UnsupportedError(InputError):
    """What was asked is well said, but nothing here serves it."""

    status = 4


MOST_TRIALS = 2**62
"""The largest number of trials: one beyond it cannot be counted in 64 bits on two inputs."""


_LONGEST_SHOWN = 200  # characters of a value; the sentence about it stays readable


def on_one_line(value: object) -> str:
    """A value as text on one line, for an error message; only the beginning of a long one."""
    try:
        line = " ".join(f"{value}".split())
    except Exception:  # of a whole number with thousands of digits, or an object of one's own
        line = f"a value of {type(value).__name__} that has no text"
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}..."


def _shown(value: object) -> str:
    return on_one_line(repr(value) if isinstance(value, str) else value)


def check_choice(name: str, value: object, choices) -> None:
    """Raises InputError unless ``value`` is one of ``choices``."""
    choices = list(choices)
    if value not in choices:
        allowed = ", ".join(str(choice) for choice in choices)
        raise InputError(f"{name} is {_shown(value)}; it must be one of: {allowed}")


def check_interval(
    name: str,
    value: float,
    low: float,
    high: float,
    *,
    low_open: bool = True,
    high_open: bool = True,
) -> float:
    """Returns ``value`` as a float inside the interval; NaN is always refused."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {_shown(value)}; it must be a number") from None
    except OverflowError:  # a whole number beyond all floats
        number = math.inf if value > 0 else -math.inf
    above = number > low if low_open else number >= low
    below = number < high if high_open else number <= high
    if math.isnan(number) or not (above and below):
        left, right = "(["[not low_open], ")]"[not high_open]
        raise InputError(
            f"{name} is {_shown(value)}; it must lie in {left}{low:g}, {high:g}{right}"
        )
    return number


def check_positive(name: str, value: float) -> float:
    """Returns ``value`` as a float; raises InputError unless finite and > 0."""
    return check_interval(name, value, 0.0, math.inf)


def check_integer(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Returns ``value`` as an int; raises InputError unless whole and between the two."""
    try:
        number = int(value)  # type: ignore[call-overload]
        whole = number == value
    except (TypeError, ValueError, OverflowError):
        whole = False
        number = minimum
    if not whole or isinstance(value, bool) or number < minimum:
        raise InputError(f"{name} is {_shown(value)}; it must be a whole number >= {minimum}")
    if maximum is not None and number > maximum:
        raise InputError(f"{name} is {_shown(value)}; it must be at most {maximum:.4g}")
    return number


def check_finite(name: str, values: object) -> np.ndarray:
    """Returns ``values`` as a float64 array; NaN, infinities and emptiness are refused."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers") from None
    if array.size == 0:
        raise InputError(f"{name} is empty; it must hold at least one number")
    if not np.isfinite(array).all():
        bad = int(np.size(array) - np.isfinite(array).sum())
        raise InputError(f"{name} holds {bad} NaN or infinite values; all must be finite")
    return array


def check_probability_vector(name: str, values: object) -> np.ndarray:
    """Returns ``values`` as float64 probabilities that sum to 1 (within 1e-9)."""
    array = check_finite(name, values)
    if array.ndim != 1 or np.any(array < 0) or abs(array.sum() - 1.0) > 1e-9:
        raise InputError(f"{name} must be a list of non-negative probabilities that sum to 1")
    return array


def check_params(
    params: Mapping[str, Any], required: Collection[str] = (), optional: Collection[str] = ()
) -> None:
    """Raises InputError for a parameter that is missing or unknown.

    Args:
      params: the parameters given to a mechanism.
      required: names that must be present.
      optional: further names that may be present.
    """
    if not isinstance(params, Mapping):
        raise InputError(f"parameters are {_shown(params)}; they must be a mapping")
    named = ", ".join([*required, *optional]) or "none"
    for name in required:
        if name not in params:
            raise InputError(f"{name} is missing; the parameters are: {named}")
    for name in params:
        if name not in required and name not in optional:
            raise InputError(f"{name} is no parameter here; there are: {named}")
