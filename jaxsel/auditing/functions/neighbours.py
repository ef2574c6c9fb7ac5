"""Pairs of neighbouring inputs for an audit, from an example of the input and a relation.

A deterministic choice is invisible until a pair flips the winner, and no amount of sampling
replaces such a pair. Score vectors move by the patterns of StatDP (Ding, Wang, Wang, Zhang &
Kifer 2018) and by some that flip or tie the winner; records are added, removed and replaced,
down to the empty data set.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError, UnsupportedError
from jaxsel.language.relations import Relation

_SCORES = (Relation.GENERAL, Relation.MONOTONE, Relation.L1)
_RECORDS = (Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE)
_AUDITED = (*_SCORES, *_RECORDS, Relation.LOCAL)
"""The relations whose pairs can be proposed and checked."""

_EXAMPLES = {relation: [1.0] * 5 for relation in _SCORES} | {
    relation: [0.0, 1.0] * 4 for relation in _RECORDS
}


_FAR = -20.0  # a score that is never chosen


class Neighbours(NamedTuple):
    """Two inputs.

    Attributes:
      data, neighbour: the inputs.
      why: what distinguishes them, in words.
    """

    data: Any
    neighbour: Any
    why: str


def example(relation: Relation) -> Any:
    """An input of the kind that a relation is about, where a person has given none."""
    if relation not in _AUDITED:
        raise _unsupported(relation)
    if relation not in _EXAMPLES:
        raise InputError(
            f"neighbours by {relation.value} need an example of the input; give it as data"
        )
    return _EXAMPLES[relation]


def pairs(relation: Relation, *data: Any) -> list[Neighbours]:
    """The given pair, which must be one, or those that are proposed for an example.

    Args:
      relation: in what sense they are neighbours.
      data: two inputs; or an example of the input, by default five scores, or eight records of
        0 and 1.

    Raises:
      InputError: for inputs that are no neighbours, or an example from which none come.
    """
    if len(data) > 2:
        raise InputError(f"{len(data)} inputs are given; give an example of them, or two")
    if len(data) == 2:
        check(relation, *data)
        return [Neighbours(*data, "the given pair")]
    like = data[0] if data and data[0] is not None else example(relation)
    found = propose(relation, like)
    if not found:
        raise InputError(
            f"no two inputs that are neighbours by {relation.value} come from the example "
            f"{like!r}; give one with values that differ, or a pair"
        )
    return found


def propose(relation: Relation, data: Any) -> list[Neighbours]:
    """Pairs of neighbours for a relation.

    Args:
      relation: in what sense they are neighbours.
      data: an example of the input. For scores: a vector, whose length is kept, or one number,
        the answer of a query. For records: a list, an array or a data frame, whose records and
        range are used. For a local randomiser: the list of inputs that are compared.
    """
    if relation in _SCORES:
        found = _of_scores(relation, data)
    elif relation in _RECORDS:
        found = _of_records(relation, data)
    elif relation is Relation.LOCAL:
        found = [
            Neighbours(first, second, f"input {first!r} or {second!r}")
            for first, second in itertools.combinations(data, 2)
        ]
    else:
        raise _unsupported(relation)
    seen: dict[str, Neighbours] = {}
    for pair in found:
        # Both orders of a pair are one: events are looked for in both directions.
        sides = sorted(repr(_plain(side)) for side in (pair.data, pair.neighbour))
        seen.setdefault(repr(sides), pair)
    return list(seen.values())


def check(relation: Relation, data: Any, neighbour: Any) -> None:
    """Raises InputError if two inputs are no neighbours by the relation."""
    if relation is Relation.LOCAL:
        problem = "its two inputs are equal" if repr(data) == repr(neighbour) else ""
    elif relation in _SCORES:
        problem = _score_problem(relation, data, neighbour)
    elif relation in _RECORDS:
        problem = _record_problem(relation, _listed(data), _listed(neighbour))
    else:
        raise _unsupported(relation)
    if problem:
        raise InputError(f"the pair is none of {relation.value}: {problem}")


def _unsupported(relation: Relation) -> UnsupportedError:
    allowed = ", ".join(one.value for one in _AUDITED)
    return UnsupportedError(f"relation is {relation.value!r}; a function is audited by: {allowed}")


def _score_problem(relation: Relation, data: Any, neighbour: Any) -> str:
    first, second = np.asarray(data, float), np.asarray(neighbour, float)
    if first.shape != second.shape:
        return f"the scores have shapes {first.shape} and {second.shape}"
    moved = second - first
    slack = 1e-9
    if not moved.any():
        return "its two inputs are equal"
    if relation is Relation.L1 and np.abs(moved).sum() > 1.0 + slack:
        return f"the scores move by {np.abs(moved).sum():g} in all, more than 1"
    if np.abs(moved).max(initial=0.0) > 1.0 + slack:
        return f"a score moves by {np.abs(moved).max():g}, more than 1"
    if relation is Relation.MONOTONE and moved.min(initial=0.0) < 0.0 < moved.max(initial=0.0):
        return "some scores rise and others fall"
    return ""


def _record_problem(relation: Relation, data: list, neighbour: list) -> str:
    first, second = ([repr(record) for record in side] for side in (data, neighbour))
    if relation is Relation.REPLACE_ONE:
        if len(first) != len(second):
            return f"it has {len(first)} and {len(second)} records"
        moved = sum(one != other for one, other in zip(first, second, strict=True))
        if not moved:
            return "its two inputs are equal"
        return f"{moved} records differ" if moved > 1 else ""
    longer, shorter = sorted((first, second), key=len, reverse=True)
    if len(longer) - len(shorter) != 1:
        return f"it has {len(first)} and {len(second)} records"
    place = next((i for i, record in enumerate(shorter) if record != longer[i]), len(shorter))
    return "" if longer[place + 1 :] == shorter[place:] else "more than one record differs"


def _of_scores(relation: Relation, data: Any) -> Iterator[Neighbours]:
    given = np.asarray(data, float)
    if given.ndim == 0:
        for pair in _of_scores(relation, np.asarray(data).reshape(1)):
            yield Neighbours(pair.data[0].item(), pair.neighbour[0].item(), pair.why)
        return
    if given.ndim != 1 or given.size == 0:
        raise InputError(f"scores have shape {given.shape}; they must be a vector or one number")
    size = given.size
    low, ones, one, half = (
        np.zeros(size),
        np.ones(size),
        np.eye(size)[0],
        np.arange(size) < size / 2,
    )
    last, rest = one[::-1], np.where(one > 0, 0.0, _FAR)
    second = np.roll(one, 1) if size > 1 else one
    moves = [
        (one, "one score higher"),
        (-one, "one score lower"),
        (ones, "all scores higher"),
        (-ones, "all scores lower"),
        (2.0 * one - ones, "one score higher, the rest lower"),
        (ones - 2.0 * last, "the last score lower, the rest higher"),
        (half - 1.0 * ~half, "one half higher, the other lower"),
        (1.0 * half, "one half higher"),
    ]
    found = [
        Neighbours(start, start + move, f"{where}; {how}")
        for (start, where), (move, how) in itertools.product(
            [(given, "the example"), (low, "zeros")], moves
        )
    ]
    found += [
        Neighbours(one, second, "the winner flips"),
        Neighbours(0.5 * one, 0.5 * second, "the winner flips by half a score"),
        Neighbours(one, low, "a lead of 1, or a tie"),
        Neighbours(2.0 * one, one, "a lead of 2, or of 1"),
        Neighbours(1.0 * half, 1.0 * ~half, "which half is high flips"),
        Neighbours(1.0 * half, half + ones, "half ones, half zeros; all scores higher"),
        Neighbours(rest, rest + one, "one candidate alone; its score is higher"),
    ]
    if size > 1:
        two = np.where(np.arange(size) < 2, 0.0, _FAR)
        found.append(Neighbours(two + one, two, "two candidates; the winner or a tie"))
    whole = np.all(given == np.floor(given)) and np.asarray(data).dtype.kind in "iu"
    for pair in found:
        sides = (pair.data, pair.neighbour)
        if _score_problem(relation, *sides):
            continue
        if whole:
            if any(np.any(side != np.floor(side)) for side in sides):
                continue
            sides = (sides[0].astype(int), sides[1].astype(int))
        if not isinstance(data, np.ndarray):
            sides = (sides[0].tolist(), sides[1].tolist())
        yield Neighbours(sides[0], sides[1], pair.why)


def _plain(data: Any) -> Any:
    return _listed(data) if hasattr(data, "__len__") and not isinstance(data, str) else data


def _listed(data: Any) -> list:
    """The records of a data set; rows of an array or a data frame; what is no list is a record."""
    if hasattr(data, "iloc"):
        return data.to_dict("records")
    if not hasattr(data, "__iter__"):
        return [data]
    return np.asarray(data).tolist() if isinstance(data, np.ndarray) else list(data)


def _like(data: Any) -> Callable[[Sequence], Any]:
    """Makes records into a data set of the example's kind."""
    if hasattr(data, "iloc"):
        kind, columns, types = type(data), list(data.columns), data.dtypes
        return lambda records: kind(list(records), columns=columns).astype(types)
    if isinstance(data, np.ndarray):
        shape, dtype = data.shape[1:], data.dtype
        return lambda records: np.asarray(list(records), dtype).reshape(-1, *shape)
    return tuple if isinstance(data, tuple) else list


def _of_records(relation: Relation, data: Any) -> Iterator[Neighbours]:
    if not hasattr(data, "__iter__"):
        raise InputError(f"the example is {data!r}, one record; give a list of records, or a pair")
    records, make = _listed(data), _like(data)
    if not records:
        raise InputError("the example has no record; give one whose records show their range")
    distinct = list({repr(record): record for record in records}.values())
    try:
        distinct.sort()
    except TypeError:
        pass
    low, high = distinct[0], distinct[-1]
    size = len(records)
    extremes = [low] if low == high else [low, high]
    sets = [
        (records, "the example"),
        ([low] * size, "all records the lowest"),
        ([high] * size, "all records the highest"),
        ([low] * (size - size // 2) + [high] * (size // 2), "half lowest, half highest"),
        ([low] * (size - 1) + [high], "all lowest but one"),
        ([high] * (size - 1) + [low], "all highest but one"),
        ([low], "one lowest record"),
        ([high], "one highest record"),
        ([low, high], "two records"),
        ([low] * (size // 2 + 1) + [high] * (size // 2), "one more of the lowest"),
    ]
    for inside, where in sets:
        if relation is Relation.ADD_OR_REMOVE_ONE:
            for record in extremes:
                yield Neighbours(
                    make(inside), make([*inside, record]), f"{where}; {record!r} is added"
                )
            if inside is records:
                continue
            yield Neighbours(make(inside), make(inside[:-1]), f"{where}; the last is removed")
        else:
            for record, place in itertools.product(extremes, {0, len(inside) - 1}):
                moved = [*inside[:place], record, *inside[place + 1 :]]
                if moved != inside:
                    why = f"{where}; record {place} becomes {record!r}"
                    yield Neighbours(make(inside), make(moved), why)
    if relation is Relation.ADD_OR_REMOVE_ONE:
        for record in distinct:
            yield Neighbours(make([]), make([record]), f"nothing, or {record!r} alone")
        for place in range(min(size, 8)):
            rest = records[:place] + records[place + 1 :]
            yield Neighbours(make(records), make(rest), f"the example; record {place} is removed")
