"""Outcomes of any kind as a table: words that can be counted and numbers that can be ordered.

Each outcome is read by itself, without a look at the others, so that tables of different
trials can be compared: an event that was learned on one is looked up in the other.
"""

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Of a longer outcome, the entries after these are read in its words alone.
_ENTRIES = 64
# Of these types, and of no class of a stranger's that is derived from one.
_PLAIN = frozenset((bool, int, float, str, type(None), list, tuple, dict, set, frozenset))
LOWEST_BIT = "exponent of the lowest bit of "
"""What the names of columns of low bits begin with; see ``with_bits``."""


class Table:
    """Trials, a row each.

    Attributes:
      words: Object["trials"], the whole outcome in words, its numbers included.
      shapes: Object["trials"], the same with "#" for every number that is neither NaN nor
        infinite; labels, exceptions, None and truth values are kept.
      columns: name of an entry to Float["trials"]; NaN where an outcome has no such number.
        Truth values and labels are columns of zeros and ones, named by what is true of them.
    """

    def __init__(
        self, words: np.ndarray, shapes: np.ndarray, columns: Mapping[str, np.ndarray]
    ) -> None:
        self.words, self.shapes, self.columns = words, shapes, columns

    def __len__(self) -> int:
        return len(self.words)

    def frequent(self, kind: str, least: float) -> dict[str, int]:
        """The words or the shapes that occur at least so often, and how often."""
        counts = Counter(getattr(self, kind))
        return {text: count for text, count in counts.items() if count >= least}

    def ranks(self, kind: str, texts: Sequence[str]) -> np.ndarray:
        """The place of each trial's words or shape among texts; their number if it is none."""
        places = {text: place for place, text in enumerate(texts)}
        found = (places.get(text, len(texts)) for text in getattr(self, kind))
        return np.fromiter(found, int, len(self))

    def rows(self, places: np.ndarray | slice) -> "Table":
        """The trials at these places."""
        columns = {name: column[places] for name, column in self.columns.items()}
        return Table(self.words[places], self.shapes[places], columns)

    def with_bits(self) -> "Table":
        """The same trials with the low bits of their numbers as further columns.

        For each entry the largest k such that its value is a multiple of 2^k: infinity for 0,
        NaN where there is no finite number; and of several entries the smallest.
        """
        return Table(self.words, self.shapes, {**self.columns, **_low_bits(self.columns)})


class _ArrayTable(Table):
    """Trials whose outcomes are the rows of an array; words are made when they are asked for."""

    def __init__(self, values: np.ndarray, bits: bool = False) -> None:
        self.values, self.bits = values, bits

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, places: np.ndarray | slice) -> Table:
        return _ArrayTable(self.values[places], self.bits)

    def with_bits(self) -> Table:
        return _ArrayTable(self.values, True)

    @functools.cached_property
    def _flat(self) -> np.ndarray:
        return self.values.reshape(len(self.values), -1)

    @functools.cached_property
    def columns(self) -> Mapping[str, np.ndarray]:
        flat, names = self._flat, ["value"]
        if self.values.ndim > 1:
            places = np.ndindex(*self.values.shape[1:])
            names = [f"entry {', '.join(map(str, place))}" for place in places]
        found = {name: flat[:, i].astype(float) for i, name in enumerate(names[:_ENTRIES])}
        low = _low_bits(found) if self.bits else {}
        return found | (_extremes(flat) if flat.shape[1] > 1 else {}) | low

    @functools.cached_property
    def _bits(self) -> np.ndarray:
        return _bits(self._flat)

    @functools.cached_property
    def _hashes(self) -> np.ndarray:
        return _hashes(self._bits)

    @functools.cached_property
    def words(self) -> np.ndarray:
        # A text is made once for each distinct row.
        first, which, _ = self._distinct
        return _objects([_text(row, exact=True) for row in self.values[first].tolist()])[which]

    @functools.cached_property
    def shapes(self) -> np.ndarray:
        found = np.full(len(self), self._finite_shape, object)
        for row in self._not_finite:
            found[row] = _text(self._plain(self._flat[row]), exact=False)
        return found

    @functools.cached_property
    def _finite_shape(self) -> str:
        return _text(self._plain(np.zeros(self._flat.shape[1])), exact=False)

    @functools.cached_property
    def _not_finite(self) -> np.ndarray:
        """Places of the trials that have another shape."""
        return np.flatnonzero(~np.isfinite(self._flat).all(axis=1))

    def frequent(self, kind: str, least: float) -> dict[str, int]:
        if kind == "shapes":
            if self._not_finite.size:
                return super().frequent(kind, least)
            return {self._finite_shape: len(self)} if len(self) >= least else {}
        first, _, counts = self._distinct
        kept = np.flatnonzero(counts >= least)
        texts = [_text(row, exact=True) for row in self.values[first[kept]].tolist()]
        return dict(zip(texts, counts[kept].tolist(), strict=True))

    def ranks(self, kind: str, texts: Sequence[str]) -> np.ndarray:
        if kind == "shapes":
            if self._not_finite.size:
                return super().ranks(kind, texts)
            return np.full(len(self), [*texts, self._finite_shape].index(self._finite_shape))
        known = [
            (place, row) for place, row in enumerate(map(self._read, texts)) if row is not None
        ]
        found = np.full(len(self), len(texts))
        if known:
            bits = _bits(np.array([row for _, row in known]))
            hashes = _hashes(bits)
            order = np.argsort(hashes)
            place = np.searchsorted(hashes[order], self._hashes).clip(max=len(known) - 1)
            row = order[place]
            same = np.flatnonzero(hashes[row] == self._hashes)
            same = same[(bits[row[same]] == self._bits[same]).all(axis=1)]
            found[same] = np.array([place for place, _ in known])[row[same]]
        return found

    def _read(self, text: str) -> np.ndarray | None:
        """The row whose words these are; None if no row of this kind has them."""
        try:
            row = np.array(json.loads(text.replace("nan", "NaN").replace("inf", "Infinity")))
        except ValueError:
            return None
        if row.dtype.kind not in "iuf" or row.shape != self.values.shape[1:]:
            return None
        row = row.reshape(-1).astype(self.values.dtype)
        return row if _text(self._plain(row), exact=True) == text else None

    @functools.cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _distinct(self._bits, self._hashes)

    def _plain(self, row: np.ndarray) -> Any:
        return row.reshape(self.values.shape[1:]).tolist()


def _objects(texts: Sequence[str]) -> np.ndarray:
    found = np.empty(len(texts), object)
    found[:] = texts
    return found


def _bits(rows: np.ndarray) -> np.ndarray:
    """The bits of every number, equal where numbers are."""
    kinds = {"i": np.int64, "u": np.uint64, "f": np.float64}
    # Of the two zeros, one.
    return (rows.astype(kinds[rows.dtype.kind]) + 0).view(np.uint64)


def _hashes(bits: np.ndarray) -> np.ndarray:
    """A number for each row; different ones for different rows, but for rare accidents."""
    generator = np.random.default_rng(0)
    odd = generator.integers(2**63, size=bits.shape[1], dtype=np.uint64) * np.uint64(2)
    return ((bits ^ (bits >> np.uint64(29))) * (odd + np.uint64(1))).sum(axis=1)


def _distinct(bits: np.ndarray, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of distinct rows, for each row which of these it is, and how often each occurs."""
    _, first, which, counts = np.unique(
        hashes, return_index=True, return_inverse=True, return_counts=True
    )
    if not np.array_equal(bits[first][which], bits):
        # An accident of the hashes: all entries are compared.
        _, first, which, counts = np.unique(
            bits, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
    return first, np.reshape(which, -1), counts


def table(outcomes: Sequence[Any] | np.ndarray) -> Table:
    """Reads the outcomes of trials.

    Args:
      outcomes: one for each trial: numbers, text, None, truth values, arrays, lists, tuples,
        sets, dictionaries, data frames, or what a call did instead of answering. An array of
        shape (trials, ...) holds the trials in its first axis. A complex number is read as its
        two parts, an object without a text of its own as its attributes.
    """
    if isinstance(outcomes, np.ndarray) and outcomes.size:
        if outcomes.dtype.kind == "c":
            outcomes = _parts(outcomes)
        if outcomes.dtype.kind in "fiu":
            return _ArrayTable(outcomes)
        if outcomes.dtype.kind in "bU" and outcomes.ndim == 1:
            values, which = np.unique(outcomes, return_inverse=True)
            words = _objects([repr(value) for value in values.tolist()])[which]
            return Table(words, words, {})
    outcomes = list(outcomes)
    words, shapes = np.empty(len(outcomes), object), np.empty(len(outcomes), object)
    columns: dict[str, np.ndarray] = {}
    for row, outcome in enumerate(outcomes):
        words[row], shapes[row], numbers = read(outcome)
        for name, value in numbers:
            if name not in columns:
                columns[name] = np.full(len(outcomes), np.nan)
            columns[name][row] = value
    for name in filter(_is_label, columns):
        # What is not said to be true of an outcome is false of it.
        np.nan_to_num(columns[name], copy=False, nan=0.0)
    return Table(words, shapes, columns)


def together(tables: Sequence[Table]) -> Table:
    """The trials of several tables, one after the other."""
    arrays = [one for one in tables if isinstance(one, _ArrayTable)]
    if len(arrays) == len(tables) and len({one.values.shape[1:] for one in arrays}) == 1:
        return _ArrayTable(np.concatenate([one.values for one in arrays]), arrays[0].bits)
    names = dict.fromkeys(name for one in tables for name in one.columns)
    columns = {name: np.concatenate([column(one, name) for one in tables]) for name in names}
    words = np.concatenate([one.words for one in tables])
    return Table(words, np.concatenate([one.shapes for one in tables]), columns)


def column(given: Table, name: str) -> np.ndarray:
    """A column by name; one that no outcome has is all NaN, a label's all zeros."""
    if name in given.columns:
        return given.columns[name]
    return np.full(len(given), 0.0 if _is_label(name) else np.nan)


def _is_label(name: str) -> bool:
    return " is " in name or name.startswith("number of ")


def lowest_bits(values: np.ndarray) -> np.ndarray:
    """The largest k such that a value is a multiple of 2^k; infinity for 0, NaN for no number."""
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, values, 0.0))
    mantissa = (fraction * 2.0**53).astype(np.int64)
    # A negative number in two's complement has its lowest bit where the positive one has it.
    _, place = np.frexp((mantissa & -mantissa).astype(float))
    found = np.where(mantissa == 0, np.inf, exponent - 53.0 + place - 1.0)
    return np.where(finite, found, np.nan)


def _low_bits(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of low bits, by the columns that hold entries."""
    entries = [name for name in columns if name == "value" or name.startswith("entry ")]
    found = {
        f"{LOWEST_BIT}{name}": lowest_bits(columns[name]) for name in entries if not _is_label(name)
    }
    if len(found) > 1:
        # First, since not all entries are looked at.
        found = {f"{LOWEST_BIT}some entry": np.fmin.reduce(list(found.values()))} | found
    return found


def _extremes(rows: np.ndarray) -> dict[str, np.ndarray]:
    """What several numbers say together: their largest, smallest and mean."""
    with np.errstate(all="ignore"):
        found = {"largest entry": rows.max(1), "smallest entry": rows.min(1), "mean": rows.mean(1)}
    return {name: values.astype(float) for name, values in found.items()}


def _parts(values: Any) -> np.ndarray:
    """Complex numbers as their real and imaginary parts, in one more axis."""
    return np.stack([values.real, values.imag], axis=-1)


def _plain(outcome: Any) -> Any:
    """An outcome as numbers, text, None, lists and dictionaries."""
    if type(outcome) in _PLAIN:
        return outcome
    if isinstance(outcome, np.ndarray | np.generic):
        return (_parts(np.asarray(outcome)) if outcome.dtype.kind == "c" else outcome).tolist()
    if isinstance(outcome, complex):
        return [outcome.real, outcome.imag]
    if hasattr(outcome, "to_dict") and hasattr(outcome, "columns"):  # a data frame
        return {str(name): outcome[name].tolist() for name in outcome.columns}
    if hasattr(outcome, "__array__"):
        return _plain(np.asarray(outcome))
    kind = type(outcome)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        # Its text would be where it lies in memory.
        return {"class": kind.__name__, **_attributes(outcome)}
    return outcome


def _attributes(outcome: Any) -> dict[str, Any]:
    """What an object holds: in its dictionary, and in the slots of its classes."""
    slots: dict[str, Any] = {}
    for base in type(outcome).__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            if hasattr(outcome, name):
                slots[name] = getattr(outcome, name)
    return {**slots, **getattr(outcome, "__dict__", {})}


class Read(NamedTuple):
    """What a table has of one outcome: its words, its shape, and numbers by column."""

    words: str
    shape: str
    numbers: list[tuple[str, float]]


def read(outcome: Any) -> Read:
    """Reads an outcome; one that is read already is as it is."""
    if isinstance(outcome, Read):
        return outcome
    try:
        return Read(_text(outcome, True), _text(outcome, False), list(_numbers(outcome)))
    except Exception as error:  # of whatever class of a stranger's
        said = (
            f"an object of type {type(outcome).__name__} whose text raises {type(error).__name__}"
        )
        return Read(said, said, [])


def _text(outcome: Any, exact: bool) -> str:
    outcome = _plain(outcome)
    if isinstance(outcome, bool) or outcome is None or isinstance(outcome, str):
        return repr(outcome)
    if isinstance(outcome, int | float):
        outcome = outcome + 0  # -0.0 is 0.0
        # A whole number may be too large for a float.
        if isinstance(outcome, int) or math.isfinite(outcome):
            return repr(outcome) if exact else "#"
        return repr(float(outcome))
    if isinstance(outcome, Mapping):
        # The order of keys is part of what is released.
        inner = (f"{_text(key, True)}: {_text(value, exact)}" for key, value in outcome.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(outcome, set | frozenset):
        return "{" + ", ".join(sorted(_text(part, exact) for part in outcome)) + "}"
    if isinstance(outcome, list | tuple):
        return "[" + ", ".join(_text(part, exact) for part in outcome) + "]"
    # Such as a function, whose text says where it lies in memory.
    return _ADDRESS.sub("", str(outcome))


def _numbers(outcome: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The columns of one outcome: (name, value)."""
    outcome = _plain(outcome)
    if isinstance(outcome, bool) or outcome is None or isinstance(outcome, str):
        if name:  # a lone label is its own words
            yield f"{name} is {outcome!r}", 1.0
    elif isinstance(outcome, int | float):
        yield name or "value", _as_float(outcome)
    elif isinstance(outcome, Mapping):
        for key, value in list(outcome.items())[:_ENTRIES]:
            yield from _numbers(value, f"{name or 'entry '}[{key!r}]")
        yield f"length{name}", float(len(outcome))
    elif isinstance(outcome, list | tuple):
        yield f"length{name}", float(len(outcome))
        for place, part in enumerate(outcome[:_ENTRIES]):
            yield from _numbers(part, f"{name}entry {place}" if not name else f"{name}[{place}]")
        yield from _counts(outcome, name)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _counts(outcome: Sequence[Any], name: str) -> Iterator[tuple[str, float]]:
    """How often each label of a sequence occurs, and where it is first."""
    first: dict[str, int] = {}
    number: dict[str, int] = {}
    numeric = [part for part in map(_plain, outcome) if _is_number(part)]
    for place, part in enumerate(map(_plain, outcome)):
        if isinstance(part, bool | str) or part is None:
            word = repr(part)
            first.setdefault(word, place)
            number[word] = number.get(word, 0) + 1
    for word, count in number.items():
        yield f"number of {word}{name}", float(count)
        yield f"place of the first {word}{name}", float(first[word])
    if len(numeric) > 1:
        values = np.array([_as_float(part) for part in numeric])[None]
        for kind, value in _extremes(values).items():
            yield f"{kind}{name}", float(value[0])


def _is_number(part: Any) -> bool:
    return isinstance(part, int | float) and not isinstance(part, bool)
