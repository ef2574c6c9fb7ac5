"""The ledger of a data set: every private search of it counts, whatever became of it.

A second search "after the bug is mended" is the commonest way to overspend. A search is entered
before its first run is handed out, and stays: that its result was thrown away does not undo what
was looked at. The total is composed anew for every search, and a search that would exceed the
stated budget is refused.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.families.tuning.composing_searches import Release
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.questions.tuned import Released, release

_FORM = "jaxsel ledger 1"
# Ways in which records may have trained in some searches and been scored in others.
_MOST_ROLES = 200


class Entry(NamedTuple):
    """One search in a ledger.

    Attributes:
      search: a name that tells it from others.
      date: when it was entered.
      roles: for each role that a record may have in it, what is released of such a record, as
        the arguments of ``jaxsel.release``.
    """

    search: str
    date: str
    roles: tuple[tuple[Mapping[str, Any], ...], ...]


@printed
class Ledger(NamedTuple):
    """The searches of one data set.

    Attributes:
      path: its file, which only its owner can read.
      data: the name of the data set.
      entries: the searches, in the order of their entry.
    """

    path: Path
    data: str
    entries: tuple[Entry, ...]

    def total(self, delta: float) -> float:
        """The epsilon of all searches together, for a record of whatever role in each.

        A record that trains in one search may be scored in the next: the worst of these
        combinations counts.
        """
        if not self.entries:
            return 0.0
        same = Counter(
            json.dumps([list(map(dict, role)) for role in each.roles]) for each in self.entries
        )
        ways = []
        for text, times in same.items():
            roles = json.loads(text)
            ways.append(list(itertools.combinations_with_replacement(roles, times)))
        if math.prod(map(len, ways)) > _MOST_ROLES:
            return math.inf
        return max(
            _epsilon([part for each in chosen for role in each for part in role], delta)
            for chosen in itertools.product(*ways)
        )

    def summary(self) -> Summary:
        """The searches, a row each."""
        rows = [[each.date, each.search, _words(each)] for each in self.entries]
        sentence = f"Private searches of {self.data}: {len(rows)}."
        return Summary(sentence, ("date", "search", "what one record's part is"), rows)


def _words(entry: Entry) -> str:
    return " or ".join(
        " and ".join(
            f"{part.get('repetitions') or '1'} x {part['base']}"
            + (f", {part['times']} times" if part.get("times", 1) > 1 else "")
            for part in role
        )
        for role in entry.roles
    )


def _epsilon(parts: Sequence[Mapping[str, Any]], delta: float) -> float:
    same = Counter(json.dumps(part, sort_keys=True) for part in parts)
    found: list[Release] = []
    for text, times in same.items():
        part = json.loads(text)
        found += release(**{**part, "times": times * part.get("times", 1)})
    return Released(found).epsilon(delta)


def read(path: str | Path, data: str) -> Ledger:
    """The ledger of a data set; an empty one if there is no such file.

    Raises:
      InputError: if the file is no ledger, is of another data set, or open to others.
    """
    place = Path(path).expanduser()
    with records.exclusive(place, private=True):
        return _read(place, data)


def enter(path: str | Path, data: str, entry: Entry, epsilon: float, delta: float) -> float:
    """Enters a search, unless it would exceed the budget of all searches together.

    A search that is entered already, under its name, is not entered twice.

    Args:
      path: of the ledger; created if necessary, for its owner alone.
      data: the name of the data set.
      entry: the search.
      epsilon, delta: the budget.

    Returns:
      The epsilon of all searches together, this one included.

    Raises:
      InputError: if the budget would be exceeded; the ledger is then unchanged.
    """
    place = Path(path).expanduser()
    with records.exclusive(place, private=True) as replace:
        known = _read(place, data)
        before = [each for each in known.entries if each.search != entry.search]
        after = known._replace(entries=(*before, entry))
        total = after.total(delta)
        if total > epsilon:
            raise InputError(
                f"with this search, all {len(after.entries)} searches of {data} would be "
                f"({rounded_up(total):g}, {delta:g})-differentially private; the budget is "
                f"{epsilon:g}, and what earlier searches spent is spent"
            )
        content = {
            "form": _FORM,
            "data": data,
            "entries": [each._asdict() for each in after.entries],
        }
        replace((json.dumps(content, indent=1) + "\n").encode())
    return total


def _read(place: Path, data: str) -> Ledger:
    if not place.exists():
        return Ledger(place, data, ())
    try:
        content = json.loads(place.read_text())
        if content["form"] != _FORM:
            raise ValueError
        entries = tuple(
            Entry(each["search"], each["date"], tuple(map(tuple, each["roles"])))
            for each in content["entries"]
        )
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise InputError(f"{place} is no ledger of private searches; name another file") from None
    if content["data"] != data:
        raise InputError(
            f"{place} is the ledger of {content['data']}, not of {data}; name another file"
        )
    return Ledger(place, data, entries)
