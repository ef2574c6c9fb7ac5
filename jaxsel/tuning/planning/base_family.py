"""A base whose noise is open: the guarantee of one run as a function of the noise."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import interpolate

from jaxsel.accounting.numerics.digits import to_digits
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.planning.attack_limit import AttackLimit

# Settings that may be open, and whether larger values are more private.
_OPEN = {"noise_multiplier": True, "noise_scale": True, "mu": False, "rho": False, "epsilon": False}
_DIGITS = 4  # significant digits of the noise that is returned
_CLOSE = 1e-3  # tolerance of the logarithm of the noise
# Before a search has more points than these, its costs say less than those of the ones before.
_FEW = 3
_FAR, _NEAR = 2.0, 0.02  # excesses that tell how costs fall, and those that have the root
_NONE = 5.0  # stands for the logarithm of an infinite cost
_MOST = 1e6  # the largest noise, and the inverse of the least


class BaseFamily(NamedTuple):
    """The guarantee of one run as a function of an open setting.

    Attributes:
      text: of the base, without the open setting.
      name: of the open setting.
      more_is_more_private: False for mu, rho and epsilon.
      known: cache: value -> the guarantee of one run.
      searched: of each search for the least noise, value -> how far its cost was from the most, as
        a logarithm; None if that is not to be used for the next.
    """

    text: str
    name: str
    more_is_more_private: bool
    known: dict[float, BaseGuarantee]
    searched: list[dict[float, float]] | None = None

    def at(self, value: float) -> BaseGuarantee:
        """The guarantee of one run, cached, since that of DP-SGD takes a second."""
        if value not in self.known:
            self.known[value] = guarantee_of(self._text(repr(value)))
        return self.known[value]

    def _text(self, value: str) -> str:
        return f"{self.text}{',' if ':' in self.text else ':'}{self.name}={value}"

    def written(self, value: float) -> str:
        """The base with this value, as text."""
        return self._text(f"{value:g}")

    def rounded(self, value: float) -> float:
        """Four digits, on the private side."""
        return to_digits(value, _DIGITS, self.more_is_more_private, slack=1e-9)


def open_base(text: str) -> BaseFamily | BaseGuarantee:
    """Parses a base with or without its noise.

    Args:
      text: as for ``guarantee_of``; one of noise_multiplier, noise_scale, mu, rho and
        epsilon may be missing.

    Raises:
      InputError: if nothing or too much is missing.
    """
    text = text.strip().rstrip(",:")
    complaints = []
    try:
        return guarantee_of(text)
    except InputError as error:
        complaints.append(str(error))
    for name, more in _OPEN.items():
        family = BaseFamily(text, name, more, {}, [])
        try:
            family.at(1.0)
        except InputError as error:
            complaints.append(str(error))
            continue
        return family
    # An error about a number is more helpful than one about the form.
    raise InputError(min(complaints, key=lambda said: said.startswith("base is")))


def least_noise(
    family: BaseFamily,
    cost: Callable[[BaseGuarantee], float],
    most: float,
    attack: AttackLimit | None = None,
    near: float = math.nan,
) -> float:
    """The least noise with a cost of at most ``most``, to four digits or a relative 1e-3.

    Args:
      family: of bases; cached ones are tried first.
      cost: base -> epsilon of the release, or its delta at the epsilon of ``attack``;
        decreasing in the noise.
      most: the largest cost that is allowed; > 0.
      attack: the limit on attacks from which ``most`` follows; None if the cost is epsilon.
      near: a value to begin with, where costs take longer than bases; NaN if none is known.

    Returns:
      The value of the open setting. ``cost`` was evaluated there, and is at most ``most``.

    Raises:
      InputError: if the cost exceeds ``most`` even at the largest noise.
    """
    sign = 1.0 if family.more_is_more_private else -1.0
    found: dict[float, float] = {}
    searched = [] if family.searched is None else family.searched
    shape = _shape(sign, searched)

    def excess(value: float) -> float:
        """log(cost / most); against the log of noise its slope is about -1."""
        if value not in found:
            here = cost(family.at(value))
            found[value] = math.log(max(here, 1e-12) / most) if math.isfinite(here) else _NONE
        return found[value]

    def ends() -> tuple[float, float]:
        """log of the largest insufficient noise, and of the least sufficient noise."""
        places = {sign * math.log(value): value for value in found}
        low = max((x for x, v in places.items() if found[v] > 0.0), default=-math.inf)
        high = min((x for x, v in places.items() if found[v] <= 0.0), default=math.inf)
        return low, high

    if not math.isnan(near):
        excess(family.rounded(near))
    elif attack is None:
        _try_known(family, sign, excess)
    else:
        # A cost takes longer than a base here, and one is enough to begin with.
        last = searched[-1] if searched else {}
        excess(min(last, key=lambda value: abs(last[value]), default=1.0))
    searched.append(found)
    for _ in range(100):
        low, high = ends()
        if high - low <= _CLOSE:
            break
        guess = _guess(sign, found, shape, low, high)
        if abs(guess) > math.log(_MOST):
            said, instead = f"epsilon {most:g}", "another epsilon, a larger delta"
            if attack is not None:
                said, instead = attack.of(attack.most), "a larger one"
            raise InputError(
                f"{said} is not reached for any {family.name} from {1 / _MOST:g} to "
                f"{_MOST:g}; take {instead} or fewer runs"
            )
        value = family.rounded(math.exp(sign * guess))
        if value in found:  # no rounded value is left in between
            break
        # Close enough to the target.
        if -_CLOSE < excess(value) <= 0.0:
            return value
    value = family.rounded(math.exp(sign * ends()[1]))
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    while excess(value) > 0.0:
        value = float(f"{value + sign * step:.{_DIGITS}g}")
    return value


def _try_known(family: BaseFamily, sign: float, excess: Callable[[float], float]) -> None:
    """Evaluates cached bases by bisection, or a first base."""
    values = sorted(family.known, key=lambda value: sign * value) or [1.0]
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if excess(values[middle]) > 0 else (low, middle)
    for place in (low - 1, low, low + 1):  # neighbours, to interpolate between
        if 0 <= place < len(values):
            excess(values[place])


_Found = dict[float, float]  # value -> log(cost / most)


def _points(sign: float, found: _Found) -> list[tuple[float, float]]:
    """Logarithms of noise, increasing, and log(cost / most) there."""
    return sorted((sign * math.log(value), over) for value, over in found.items() if over != _NONE)


def _shape(sign: float, searched: Sequence[_Found]) -> Callable[[float], float] | None:
    """Excess -> how far beyond its root a search had it; None before a search had a root.

    The costs of laws of K differ, but they fall alike.
    """
    overs, beyond = [], []
    for found in searched:
        points = [point for point in _points(sign, found) if abs(point[1]) < _FAR]
        x, over = min(points, key=lambda point: abs(point[1]), default=(0.0, _NONE))
        if abs(over) < _NEAR:
            overs += [each for _, each in points]
            beyond += [each - x for each, _ in points]
    distinct = len({round(over / _NEAR) for over in overs})
    if distinct < 2:
        return None
    fitted = np.polynomial.Polynomial.fit(overs, beyond, min(distinct - 1, 3))
    return lambda over: float(fitted(over))


def _guess(
    sign: float, found: _Found, shape: Callable[[float], float] | None, low: float, high: float
) -> float:
    """An estimate of the log noise at which the cost is epsilon, slightly increased."""
    points = _points(sign, found)
    margin = 0.25 * _CLOSE
    guess = math.nan
    x, over = min(points, key=lambda point: abs(point[1]), default=(0.0, _NONE))
    if shape is not None and len(points) <= _FEW and abs(over) < _FAR:
        guess = x + shape(0.0) - shape(over)
    elif len(points) > 1:
        # Inverse interpolation: a polynomial in the excess through the nearest points.
        near = sorted(points, key=lambda point: abs(point[1]))[:4]
        overs = [each for _, each in near]
        if len(set(overs)) == len(near):
            guess = float(interpolate.barycentric_interpolate(overs, [x for x, _ in near], 0.0))
    if not (math.isfinite(low) and math.isfinite(high)):
        # The slope is about -1: far beyond that nothing is known.
        if low < guess < high and abs(guess - x) <= 2.0 * abs(over):
            return guess + margin
        if not math.isfinite(low):
            return high + max(found.values()) - 0.1
        return low + min(found.values()) + 0.1
    margin = min(margin, 0.25 * (high - low))
    if not low < guess < high:
        guess = 0.5 * (low + high)
    return min(max(guess + margin, low + margin), high - margin)
