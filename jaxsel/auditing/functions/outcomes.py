"""Outcomes of any kind as a table: words that can be counted and numbers that can be ordered.

Each outcome is read by itself, without a look at the others, so that tables of different
trials can be compared: an event that was learned on one is looked up in the other.
"""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# Of a longer outcome, the entries after these are read in its words alone.
_ENTRIES = 64


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

    @functools.cached_property
    def coded_words(self) -> tuple[list[str], np.ndarray]:
        """The distinct words, and for each trial the place of its own among them."""
        return _coded(self.words)

    @functools.cached_property
    def coded_shapes(self) -> tuple[list[str], np.ndarray]:
        """The same of the shapes."""
        return _coded(self.shapes)

    def rows(self, places: np.ndarray | slice) -> "Table":
        """The trials at these places."""
        columns = {name: column[places] for name, column in self.columns.items()}
        return Table(self.words[places], self.shapes[places], columns)


class _ArrayTable(Table):
    """Trials whose outcomes are the rows of an array; words are made when they are asked for."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, places: np.ndarray | slice) -> Table:
        return _ArrayTable(self.values[places])

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
        return found | (_extremes(flat) if flat.shape[1] > 1 else {})

    @functools.cached_property
    def coded_words(self) -> tuple[list[str], np.ndarray]:
        # A text is made once for each distinct row.
        first, which = _distinct(self._flat)
        return [_text(self._plain(row), exact=True) for row in self._flat[first]], which

    @functools.cached_property
    def words(self) -> np.ndarray:
        texts, which = self.coded_words
        return _objects(texts)[which]

    @functools.cached_property
    def coded_shapes(self) -> tuple[list[str], np.ndarray]:
        finite = np.isfinite(self._flat).all(axis=1)
        others = np.flatnonzero(~finite)
        given = [np.zeros(self._flat.shape[1]), *self._flat[others]]
        texts, which = _coded(_objects([_text(self._plain(row), exact=False) for row in given]))
        codes = np.full(len(self), which[0])
        codes[others] = which[1:]
        return texts, codes

    @functools.cached_property
    def shapes(self) -> np.ndarray:
        texts, which = self.coded_shapes
        return _objects(texts)[which]

    def _plain(self, row: np.ndarray) -> Any:
        return row.tolist() if self.values.ndim > 1 else row[0].item()


def _objects(texts: Sequence[str]) -> np.ndarray:
    found = np.empty(len(texts), object)
    found[:] = texts
    return found


def _coded(texts: np.ndarray) -> tuple[list[str], np.ndarray]:
    codes: dict[str, int] = {}
    which = np.fromiter((codes.setdefault(text, len(codes)) for text in texts), int, len(texts))
    return list(codes), which


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows that differ from all before, and for each row which of these it is."""
    whole = rows.dtype.kind in "iu"
    # Of the two zeros, one.
    plain = (
        rows.astype(np.int64 if rows.dtype.kind == "i" else np.uint64)
        if whole
        else (rows.astype(float) + 0.0)
    )
    bits = np.ascontiguousarray(plain).view(np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    _, first, which = np.unique(
        ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1), return_index=True, return_inverse=True
    )
    if np.array_equal(bits[first][which], bits):
        return first, which
    # Two rows with one number: about never; then rows are sorted by all their entries.
    _, first, which = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    return first, np.reshape(which, -1)


def table(outcomes: Sequence[Any] | np.ndarray) -> Table:
    """Reads the outcomes of trials.

    Args:
      outcomes: one for each trial: numbers, text, None, truth values, arrays, lists, tuples,
        sets, dictionaries, data frames, or what a call did instead of answering. An array of
        shape (trials, ...) holds the trials in its first axis.
    """
    if isinstance(outcomes, np.ndarray) and outcomes.dtype.kind in "fiu" and outcomes.size:
        return _ArrayTable(outcomes)
    if isinstance(outcomes, np.ndarray):
        outcomes = [outcome.tolist() for outcome in outcomes]
    words, shapes = np.empty(len(outcomes), object), np.empty(len(outcomes), object)
    columns: dict[str, np.ndarray] = {}
    for row, outcome in enumerate(outcomes):
        words[row], shapes[row] = _text(outcome, exact=True), _text(outcome, exact=False)
        for name, value in _numbers(outcome):
            if name not in columns:
                columns[name] = np.full(len(outcomes), np.nan)
            columns[name][row] = value
    for name in filter(_is_label, columns):
        # What is not said to be true of an outcome is false of it.
        np.nan_to_num(columns[name], copy=False, nan=0.0)
    return Table(words, shapes, columns)


def together(tables: Sequence[Table]) -> Table:
    """The trials of several tables, one after the other."""
    arrays = [one.values for one in tables if isinstance(one, _ArrayTable)]
    if len(arrays) == len(tables) and len({array.shape[1:] for array in arrays}) == 1:
        return _ArrayTable(np.concatenate(arrays))
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


def _extremes(rows: np.ndarray) -> dict[str, np.ndarray]:
    """What several numbers say together: their largest, smallest and mean."""
    with np.errstate(all="ignore"):
        found = {"largest entry": rows.max(1), "smallest entry": rows.min(1), "mean": rows.mean(1)}
    return {name: values.astype(float) for name, values in found.items()}


def _plain(outcome: Any) -> Any:
    """An outcome as numbers, text, None, lists and dictionaries."""
    if isinstance(outcome, np.ndarray | np.generic):
        return outcome.tolist()
    if hasattr(outcome, "to_dict") and hasattr(outcome, "columns"):  # a data frame
        return {str(name): outcome[name].tolist() for name in outcome.columns}
    if hasattr(outcome, "__array__"):
        return np.asarray(outcome).tolist()
    return outcome


def _text(outcome: Any, exact: bool) -> str:
    outcome = _plain(outcome)
    if isinstance(outcome, bool) or outcome is None or isinstance(outcome, str):
        return repr(outcome)
    if isinstance(outcome, int | float):
        if math.isfinite(outcome):
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
    return str(outcome)


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
        return math.copysign(math.inf, number)


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
