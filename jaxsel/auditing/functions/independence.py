"""Refuses functions whose trials are not independent, which an audit would misjudge.

A generator with a fixed seed that repeats one stream in every process, a seed set inside the
function, a memoised answer, one draw that all rows of a call share: each makes many trials
one, and "refutes" anything. Trials that only share a part of their randomness show by an
event whose share differs between calls by more than chance.
"""

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.special

from jaxsel.auditing.functions.drawing import Draws
from jaxsel.auditing.functions.outcomes import Table, column, together
from jaxsel.host.errors import CouldNotError

_CALLS, _FEWEST = 8, 4  # that are compared, and where they take long
_ROWS = 64  # of a call, at most
_COLUMNS = 48
_EXPECTED = 10.0  # trials in an event, and out of it, in calls that are compared
_FEW = 8  # fewer rows of a call are not compared with each other
# Independent trials look like dependent ones with at most this probability.
_CHANCE = 1e-9
_STREAM = 2**31  # apart from the streams of all trials that are counted


def check_independence(draws: Draws, data: Any, seconds: float = math.inf) -> bool:
    """Looks whether trials, calls and processes share their randomness.

    Args:
      draws: what draws the trials.
      data: the input.
      seconds: about how long it may take; fewer trials are compared where calls are slow.

    Returns:
      Whether the function is constant on this input: all trials are equal, which may be by
      right.

    Raises:
      CouldNotError: if trials are not independent; it says what they share.
    """
    found: list[Table] = []
    began = time.monotonic()
    for call in range(_CALLS):
        # Pairs of calls are compared; a single one may take longer than its part of the time.
        if call in range(_FEWEST, _CALLS, 2) and time.monotonic() - began > seconds:
            break
        found.append(draws.fresh(data, _ROWS, (_STREAM + call,), call, seconds / _CALLS))
    name = draws.function.name
    every = np.concatenate([one.words for one in found])
    if len(set(every)) == 1:
        return True
    # Two calls of different processes in each pair of calls.
    if all(map(_equal, found[::2], found[1::2])) and _surprising(every):
        cause = {
            "own": "its generator has a fixed seed, so that every process repeats one stream",
            "generator": "its randomness does not come from rng",
            "vectorised": "its randomness does not come from rng",
            "jax": "its randomness does not come from the key",
        }[draws.function.kind]
        raise CouldNotError(
            f"{name} gives the same outcomes in every process and call: {cause}; trials that "
            "are not independent cannot be audited"
        )
    # Rows of one call agree far more often than rows of different calls.
    inside = np.mean([_share_equal(one.words) for one in found])
    if min(map(len, found)) >= _FEW and inside > 0.5 and _share_equal(every) < 0.75 * inside:
        what = "rows of one call" if draws.function.kind in ("vectorised", "jax") else "calls"
        raise CouldNotError(
            f"{name} gives equal outcomes to {what} that differ between processes: one draw is "
            "shared or an answer is remembered; trials that are not independent cannot be audited"
        )
    for one, other in itertools.pairwise(found):
        _check_end(name, one, other)
    sizes = np.array(list(map(len, found)))
    for words, inside in _common_events(found):
        check_shares(name, words, by_call(inside, found), sizes)
    return False


def _middle(entry: np.ndarray) -> float:
    """The middle number of those that are there; the mean of two may overflow."""
    if not np.isfinite(entry).any():
        return 0.0
    return float(np.nanquantile(entry, 0.5, method="lower"))


def _common_events(tables: list[Table]) -> Iterator[tuple[str, np.ndarray]]:
    """The commonest outcome, and the lower half of each entry, where they are neither rare."""
    whole = together(tables)
    values, counts = np.unique(whole.words.astype(str), return_counts=True)
    common = str(values[counts.argmax()])
    yield f"the outcome is {common}", whole.words.astype(str) == common
    for name in list(whole.columns)[:_COLUMNS]:
        entry = column(whole, name)
        level = _middle(entry)
        yield f"{name} <= {level:.6g}", entry <= level


def by_call(inside: np.ndarray, tables: Sequence[Table]) -> np.ndarray:
    """How many trials of each table are inside, Int["calls"]; ``inside`` is of all together."""
    ends = np.cumsum([len(one) for one in tables])
    return np.array([np.count_nonzero(part) for part in np.split(inside, ends[:-1])])


def check_shares(name: str, event: str, counts: np.ndarray, sizes: np.ndarray) -> None:
    """Refuses trials among which an event's share differs between calls by more than chance.

    Args:
      name: of the function.
      event: in words.
      counts, sizes: Int["calls"], trials in the event and all trials, in the order made.

    Raises:
      CouldNotError: if the chi-square statistic of equal shares has probability below 1e-9.
    """
    share = counts.sum() / max(sizes.sum(), 1)
    # Calls are put together until the statistic is nearly a chi-square.
    needed = _EXPECTED / max(min(share, 1.0 - share), 1e-300)
    groups = np.floor(np.cumsum(sizes) / max(needed, 1.0))
    ends = np.flatnonzero(np.diff(groups, prepend=0.0)) + 1
    if len(ends) < 2:
        return
    starts = np.concatenate([[0], ends[:-1]])
    seen, made = np.add.reduceat(counts, starts), np.add.reduceat(sizes, starts)
    share = seen.sum() / made.sum()
    statistic = float(np.sum((seen - made * share) ** 2 / (made * share * (1.0 - share))))
    if scipy.special.chdtrc(len(ends) - 1, statistic) < _CHANCE:
        raise CouldNotError(
            f"the share of trials of {name} in which {event} differs between calls by more than "
            "chance: rows of a call, or calls of a process, share a draw or a state; trials that "
            "are not independent cannot be audited"
        )


def _equal(one: Table, other: Table) -> bool:
    rows = min(len(one), len(other))
    return bool(np.all(one.words[:rows] == other.words[:rows]))


def _surprising(words: np.ndarray) -> bool:
    """Whether half of these calls would hardly ever agree with the other half everywhere."""
    # A common outcome agrees with itself: at least so often, however few were seen.
    share = max(_share_equal(words), 1.0 / len(words))
    return len(words) / 2 * math.log(share) < math.log(_CHANCE)


def _share_equal(words: np.ndarray) -> float:
    """The share of all pairs of different trials whose outcomes are equal."""
    _, counts = np.unique(words.astype(str), return_counts=True)
    return float(np.sum(counts * (counts - 1.0))) / max(len(words) * (len(words) - 1.0), 1.0)


def _check_end(name: str, one: Table, other: Table) -> None:
    """Refuses an object that stops after so many calls, the same number in two processes."""
    ends = []
    for given in (one, other):
        raised = np.array([str(word).startswith("raised ") for word in given.words])
        first = int(np.argmax(raised)) if raised.any() else len(raised)
        ends.append(first)
        if not (0 < first <= len(raised) // 2 and raised[first:].all()):
            return
    if ends[0] == ends[1]:
        word = str(one.words[ends[0]])
        raise CouldNotError(
            f"after {ends[0]} calls every call of {name} {word}: an object that stops after so "
            "many calls cannot be audited by repetition; make it anew in each call"
        )
