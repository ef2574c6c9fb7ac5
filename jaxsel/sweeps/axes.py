"""Axes of a sweep: named lists of values, from text such as "1:1000:log13" or from lists.

In text, ``;`` separates values, and so does ``,`` if no value contains one; numbers may be
given as ranges: ``0:1:5`` is five numbers from 0 to 1, ``1:1000:log13`` thirteen in
geometric progression, and ``1:5`` the whole numbers from 1 to 5.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, Numbers, Parsed, Whole, nearest

Value = int | float | str
MOST = 1_000_000  # cells of a sweep


class Axis(NamedTuple):
    """Settings that vary together.

    Attributes:
      names: of the settings; one, or several that are zipped.
      values: one tuple per point, with a value for each name.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]


class Grid(NamedTuple):
    """The grid of a sweep.

    Attributes:
      axes: in the order given.
      fixed: the settings that have one value.
    """

    axes: tuple[Axis, ...]
    fixed: Mapping[str, Value]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of points of each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    def points(self) -> Iterator[dict[str, Value]]:
        """The settings of each cell by name; the last axis varies fastest."""
        for places in itertools.product(*(axis.values for axis in self.axes)):
            point = dict(self.fixed)
            for axis, values in zip(self.axes, places, strict=True):
                point |= dict(zip(axis.names, values, strict=True))
            yield point


def _plain(number: float, whole: bool) -> Value:
    """Rounds to twelve digits, so that steps of a range are plain: 0.1 + 0.2 is 0.3."""
    return round(number) if whole else float(f"{number:.12g}")


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(
            f"{text!r} in {name} is no number; a range is 0:1:5, or 1:1000:log13, or 1:5"
        )
    return found


def _whole(text: str) -> int | None:
    """The whole number that a text is, with all of its digits; None if it is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _is_range(text: str) -> bool:
    first, colon, _ = text.partition(":")
    return bool(colon) and first.strip()[:1] in "+-.0123456789"


def _range(name: str, text: str, whole: bool) -> list[Value]:
    ends = [part.strip() for part in text.split(":")]
    if len(ends) not in (2, 3):
        raise InputError(
            f"{text!r} in {name} is no range; it must look like 0:1:5, 1:1000:log13 or 1:5"
        )
    low, high = _number(name, ends[0]), _number(name, ends[1])
    if len(ends) == 2:
        first, last = _whole(ends[0]), _whole(ends[1])
        if first is None or last is None:
            raise InputError(f"{text!r} in {name} has no number of values; write {text}:5 for five")
        _check_number(name, high - low + 1.0)
        values = range(first, last + 1)
        whole = True
    else:
        logarithmic = ends[2].startswith("log")
        count = _number(name, ends[2].removeprefix("log"))
        if count != round(count) or count < 1:
            raise InputError(
                f"{text!r} in {name} asks for {ends[2]} values; it must be a whole number >= 1"
            )
        _check_number(name, count)
        if logarithmic and min(low, high) <= 0.0:
            raise InputError(f"{text!r} in {name} is logarithmic, and must be above 0")
        space = np.geomspace if logarithmic else np.linspace
        values = space(low, high, int(count))
    if not len(values):
        raise InputError(f"the range {text!r} in {name} is empty")
    return list(dict.fromkeys(_plain(value, whole) for value in values))


def _check_number(name: str, values: float) -> None:
    """Refuses more values than a sweep may have cells, before they are made."""
    if values > MOST:
        raise InputError(f"{name} has {values:.6g} values; a sweep has at most {MOST:,} cells")


def _from_text(name: str, text: str, domain: Domain) -> list[Any]:
    own_commas = isinstance(domain, Numbers) or "=" in text
    parts = text.split(";") if own_commas or ";" in text else text.split(",")
    found: list[Any] = []
    for part in (part.strip() for part in parts):
        if not part:
            raise InputError(f"{name} has an empty value in {text!r}")
        if _is_range(part) and not isinstance(domain, Numbers):
            found += _range(name, part, isinstance(domain, Whole))
        else:
            found.append(part)
    return found


def _written(value: Any) -> Any:
    """Lists as text; numbers and text unchanged."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return ",".join(f"{float(number):.12g}" for number in value)
    return value


def _as_given(text: Any, domain: Domain) -> Value:
    """A coordinate: a number if the setting is numeric, else the text."""
    if isinstance(text, str) and not isinstance(domain, Numbers | Parsed):
        try:
            number = float(text)
        except ValueError:
            return text
        whole = _whole(text) if isinstance(domain, Whole) else None
        return number if whole is None else whole
    return text if isinstance(text, int | float) else str(text)


def values_of(name: str, given: Any, domain: Domain) -> tuple[Value, ...]:
    """Parses the values of a setting; several make an axis.

    Args:
      name: of the setting, for messages.
      given: text, or a value, or a list of values.
      domain: the domain of one value, which parses it.

    Raises:
      InputError: if there is no value, one is outside the domain, or one is repeated.
    """
    if isinstance(given, str):
        found = _from_text(name, given, domain)
    elif isinstance(domain, Numbers) and not _is_nested(given):
        found = [given]
    elif isinstance(given, list | tuple | np.ndarray | range) and not hasattr(given, "_fields"):
        _check_number(name, len(given))
        found = list(given)
    else:
        found = [given]
    if not found:
        raise InputError(f"{name} has no values")
    kept = tuple(_as_given(_written(value), domain) for value in found)
    for value in kept:
        domain.read(name, value)
    twice = [value for value, times in Counter(kept).items() if times > 1]
    if twice:
        raise InputError(f"{name} has {twice[0]} twice; each value belongs there once")
    return kept


def _is_nested(given: Any) -> bool:
    return isinstance(given, list | tuple | np.ndarray) and any(
        isinstance(part, list | tuple | np.ndarray | str) for part in given
    )


def read_grid(
    given: Mapping[str, Any],
    domain_of: Callable[[str], Domain],
    zipped: Sequence[Sequence[str]] = (),
    kept: Collection[str] = (),
) -> Grid:
    """The grid of all combinations of the values of settings.

    Args:
      given: values by name of the setting.
      domain_of: gives the domain of a setting; raises InputError for an unknown name.
      zipped: groups of names whose values are paired, first with first.
      kept: names that make an axis even with one value.

    Raises:
      InputError: as ``values_of``; or for zipped names of unequal lengths, or too many
        cells.
    """
    found = {name: values_of(name, value, domain_of(name)) for name, value in given.items()}
    groups = _groups(found, zipped)
    axes, fixed = [], {}
    for names in groups:
        columns = [found[name] for name in names]
        if len(columns[0]) == 1 and not set(names) & set(kept):
            fixed |= {name: found[name][0] for name in names}
        else:
            axes.append(Axis(names, tuple(zip(*columns, strict=True))))
    grid = Grid(tuple(axes), fixed)
    if math.prod(grid.shape) > MOST:
        raise InputError(f"the sweep has {math.prod(grid.shape)} cells; at most {MOST}")
    return grid


def _groups(
    found: Mapping[str, Sequence[Value]], zipped: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    together: dict[str, tuple[str, ...]] = {}
    for group in zipped:
        for name in group:
            if name not in found:
                raise InputError(f"zipped is {name!r}, which has no values{nearest(name, found)}")
            if name in together:
                raise InputError(f"{name} is zipped twice")
            together[name] = tuple(group)
        if len({len(found[name]) for name in group}) > 1:
            sizes = ", ".join(f"{name} {len(found[name])}" for name in group)
            raise InputError(f"zipped settings need equally many values: {sizes}")
    return list(dict.fromkeys(together.get(name, (name,)) for name in found))
