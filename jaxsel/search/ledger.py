"""The ledger of a data set: every private search of it counts, whatever became of it.

A second search "after the bug is mended" is the commonest way to overspend. A search is entered
before its first run is handed out, and stays: that its result was thrown away does not undo what
was looked at. The total is composed anew for every search, and a search that would exceed the
stated budget is refused.

The total of a ledger whose searches are chosen beforehand is that of their composition. Where a
search, or whether there is one, is chosen by what another one released, only a filter covers them:
say ``chosen="on the way"`` when the first search is entered (docs/composition.md, Section 8).
"""

import datetime
import functools
import json
import math
import secrets
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host import records
from jaxsel.host.errors import InputError, check_choice, check_interval
from jaxsel.host.reading import parse_json, read_text
from jaxsel.language.default_delta import DELTA
from jaxsel.language.domains import nearest
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.language.relations import ADD_OR_REMOVE_ONE, RELATIONS, relation_name
from jaxsel.questions.released import release
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.search.guarantee import as_text
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.composing_roles import Searched, worst_epsilon
from jaxsel.tuning.composing_searches import Release
from jaxsel.tuning.renyi_filter import RenyiFilter, Spent, renyi_filter, together

__all__ = ["Entry", "Ledger", "Total", "add", "enter", "read", "state_relation"]

_FORM = "jaxsel ledger 2"
_FIRST_FORM = "jaxsel ledger 1"  # of version 0.2.0: no relation, and chosen beforehand

BEFOREHAND, ON_THE_WAY = "beforehand", "on the way"
CHOSEN = {
    BEFOREHAND: "no search, nor whether there is one, depends on what another released",
    ON_THE_WAY: "a search may depend on what earlier ones released",
}
"""How the searches of a ledger are chosen, as the user declares it."""

KINDS = {"search": "a private search", "release": "a release that was made elsewhere"}
"""What an entry may be; the file of a version that knows more is refused."""

# What a part of an entry may say. Another key would change what is released, so that a file with
# one is refused.
_PART = ("base", "repetitions", "times")


class Entry(NamedTuple):
    """One search in a ledger, or a release that was made elsewhere.

    Attributes:
      search: a name that tells it from others.
      date: when it was entered.
      roles: for each role that a record may have in it, what is released of such a record, as
        the arguments of ``jaxsel.release``: base, repetitions and times.
      relation: which data sets are neighbours; None if it was not stated.
      kind: one of ``KINDS``.
      words: who made it, and what it is.
    """

    search: str
    date: str
    roles: tuple[tuple[Mapping[str, Any], ...], ...]
    relation: str | None = None
    kind: str = "search"
    words: str = ""


class Total(NamedTuple):
    """What all searches of a ledger guarantee together.

    Attributes:
      epsilon, delta: the guarantee of all of them. For searches that are chosen adaptively it is
        the whole budget, since what was spent so far depends on what was released.
      data: the name of the data set.
      relation: which data sets are neighbours; None if that was not stated.
      filter: the privacy filter of searches that are chosen adaptively; None for others.
      spent: what they took of its budget so far; None without a filter.
      combinations: the number of combinations of roles that a record may have in the searches.
      exact: whether epsilon is that of the costliest combination, and not only an upper bound.
    """

    epsilon: float
    delta: float
    data: str
    relation: str | None
    filter: RenyiFilter | None = None
    spent: Spent | None = None
    combinations: int = 1
    exact: bool = True

    @property
    def chosen(self) -> str:
        """How the searches are chosen, one of ``CHOSEN``."""
        return BEFOREHAND if self.filter is None else ON_THE_WAY

    @property
    def share(self) -> float:
        """The fraction of the privacy filter's budget that is spent; NaN without a filter."""
        if self.filter is None or self.spent is None:
            return math.nan
        parts = [self.spent.renyi / self.filter.renyi]
        if self.filter.failure > 0.0:
            parts.append(self.spent.failure / self.filter.failure)
        return max(parts)

    def sentences(self) -> list[str]:
        """Describes the guarantee of all searches, and what it assumes."""
        proved = f"({rounded_up(self.epsilon):g}, {self.delta:g})"
        if self.filter is not None:
            said = [
                f"All searches of {self.data} that its ledger lets through are {proved} together, "
                f"by JX-Compose-filter at order {self.filter.order:.4g}, although each may be "
                f"chosen by what earlier ones released; {100 * self.share:.3g} % of that is spent."
            ]
        else:
            said = [
                f"All searches of {self.data} in its ledger together: {proved}.",
                "That assumes that they were chosen beforehand: that none depends on what another "
                "released.",
            ]
        if not self.exact:
            said.append(
                f"It is a bound on all {self.combinations} combinations of the roles that a record "
                "may have, and not the cost of the worst of them."
            )
        said.append(
            "Which data sets are neighbours is not stated, so that no other search can be added."
            if self.relation is None
            else f"Neighbours of all of them: {RELATIONS[self.relation]}."
        )
        return said

    def as_record(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            "data": self.data,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "chosen": self.chosen,
            "filter": self.filter,
            "spent": self.share,
            "combinations": self.combinations,
            "exact": self.exact,
        }


@printed
class Ledger(NamedTuple):
    """The searches of one data set.

    Attributes:
      path: its file, which only its owner can read.
      data: the name of the data set.
      entries: the searches, in the order of their entry.
      filter: the budget of searches that are chosen on the way; None if they are chosen
        beforehand.
    """

    path: Path
    data: str
    entries: tuple[Entry, ...]
    filter: RenyiFilter | None = None

    @property
    def chosen(self) -> str:
        """How the searches are chosen, one of ``CHOSEN``."""
        return BEFOREHAND if self.filter is None else ON_THE_WAY

    @property
    def relation(self) -> str | None:
        """The neighbouring relation of all entries, or None if none is stated.

        Raises:
          InputError: if entries differ in it, or one of several entries states none.
        """
        if not self.entries:
            return None
        first = self.entries[0]
        for each in self.entries if len(self.entries) > 1 else ():
            if each.relation is None:
                raise InputError(
                    f"which data sets are neighbours is not stated of search {each.search} "
                    f"({each.date}) of this ledger, so that it adds up with no other; state it: "
                    f"jaxsel ledger {self.path} --relation {each.search}=RELATION, with one of "
                    f"{', '.join(RELATIONS)}"
                )
            if each.relation != first.relation:
                raise InputError(
                    f"search {first.search} is for neighbours by {first.relation} and search "
                    f"{each.search} for neighbours by {each.relation}; they do not add up, so keep "
                    "a ledger for each relation"
                )
        return first.relation

    def entry(self, search: str) -> Entry:
        """The entry of that name.

        Raises:
          InputError: if there is none.
        """
        for each in self.entries:
            if each.search == search:
                return each
        names = [each.search for each in self.entries]
        raise InputError(f"{self.path} has no search {search!r}{nearest(search, names)}")

    def total(self, delta: float) -> float:
        """The epsilon of all searches together: ``together(delta).epsilon``."""
        return self.together(delta).epsilon

    def together(self, delta: float | None = None) -> Total:
        """The composed guarantee of all searches, for a record of any role in each.

        A record may be trained on in one search and scored with in the next; the costliest
        combination of roles counts.

        Args:
          delta: in [0, 1); by default that of the privacy filter, or, without one, the default
            delta.

        Raises:
          InputError: if their relations differ, or are not stated.
        """
        relation = self.relation
        if self.filter is not None:
            parts = [_spent(self.filter, each) for each in self.entries]
            at = self.filter.delta if delta is None else delta
            epsilon = self.filter.epsilon_at(at)
            return Total(epsilon, at, self.data, relation, self.filter, together(parts))
        at = DELTA if delta is None else check_interval("delta", delta, 0.0, 1.0, low_open=False)
        same = Counter(_roles(each) for each in self.entries)
        found = worst_epsilon([Searched(roles, times) for roles, times in same.items()], at)
        return Total(
            found.epsilon,
            at,
            self.data,
            relation,
            combinations=found.combinations,
            exact=found.exact,
        )

    def summary(self) -> Summary:
        """A printable table of the searches, one per row."""
        rows = [
            [each.date, each.search, each.relation or "not stated", _words(each)]
            for each in self.entries
        ]
        sentence = f"Private searches of {self.data}, chosen {self.chosen}: {len(rows)}."
        columns = ("date", "search", "neighbours by", "what one record's part is")
        return Summary(sentence, columns, rows)


class _Roles(tuple[tuple[Release, ...], ...]):
    """What is released of a record, by its role; equal to no other but itself."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _roles(entry: Entry) -> _Roles:
    """What an entry releases; the same object for equal entries, whose pairs are found once."""
    return _read_roles(json.dumps([list(map(dict, role)) for role in entry.roles]), entry.relation)


@functools.lru_cache(maxsize=512)
def _read_roles(text: str, relation: str | None) -> _Roles:
    return _Roles(
        tuple(found for part in role for found in _read_part(json.dumps(part), relation))
        for role in json.loads(text)
    )


@functools.lru_cache(maxsize=512)
def _read_part(text: str, relation: str | None) -> tuple[Release, ...]:
    return release(**json.loads(text), relation=relation).releases


def _spent(budget: RenyiFilter, entry: Entry) -> Spent:
    """What an entry takes, of the record that pays most."""
    found = [budget.spent(role) for role in _roles(entry)]
    return Spent(max(each.renyi for each in found), max(each.failure for each in found))


_LONGEST = 100


def _words(entry: Entry) -> str:
    said = " or ".join(
        " and ".join(
            f"{part.get('repetitions') or '1'} x {_short(part['base'])}"
            + (f", {part['times']} times" if part.get("times", 1) > 1 else "")
            for part in role
        )
        for role in entry.roles
    )
    return f"{said} ({entry.words})" if entry.words else said


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# --- Entering ---------------------------------------------------------------------------


def enter(
    path: str | Path,
    data: str,
    entry: Entry,
    epsilon: float,
    delta: float,
    chosen: str | None = None,
) -> Total:
    """Enters a search, unless it would exceed the budget of all searches together.

    A search that is entered already, under its name, is not entered twice, nor refused; if what
    it is said to release has changed, the costlier of both counts, and the budget is asked again.

    Args:
      path: of the ledger; created if necessary, for its owner alone.
      data: the name of the data set.
      entry: the search.
      epsilon, delta: the budget. In a ledger of searches that are chosen on the way it is fixed
        by the first of them; an infinite epsilon then means that.
      chosen: one of ``CHOSEN``; None takes what the ledger says, and "beforehand" for a new one.

    Returns:
      What all searches guarantee together, this one included.

    Raises:
      InputError: if the budget would be exceeded, the relation of the search is not that of the
        others, or the searches are chosen in another way; the ledger is then unchanged.
    """
    place = Path(path).expanduser()
    if chosen is not None:
        check_choice("chosen", chosen, CHOSEN)
    while True:
        known = _read(place, data)
        after = _with(known, entry, epsilon, delta, chosen)
        total = after.together(delta)
        earlier = {each.search: each.roles for each in known.entries}
        if earlier.get(entry.search) != after.entry(entry.search).roles:
            _check_budget(after, total, epsilon)
        # The total takes seconds, in which another process may have entered a search.
        with records.exclusive(place, private=True) as replace:
            if _read(place, data) == known:
                replace(_content(after))
                return total


def _with(known: Ledger, entry: Entry, epsilon: float, delta: float, chosen: str | None) -> Ledger:
    """The ledger with a search more, or with what is known of it now."""
    if known.entries and chosen not in (None, known.chosen):
        raise InputError(
            f"{known.path} is the ledger of searches that are chosen {known.chosen}, and what its "
            f"earlier ones released is known; searches chosen {chosen} need a ledger of their own"
        )
    found = list(known.entries)
    places = [place for place, each in enumerate(found) if each.search == entry.search]
    if places:
        before = found[places[0]]
        # What was entered stays: a record had one of these roles, or one of those. So does a
        # relation that was stated in the ledger.
        roles = before.roles + tuple(role for role in entry.roles if role not in before.roles)
        stated = entry.relation or before.relation
        found[places[0]] = entry._replace(roles=roles, relation=stated, date=before.date)
    else:
        if entry.relation is None and found:
            raise InputError(
                "a search whose base does not say which data sets are neighbours adds up with no "
                f"other; say relation= of it, one of {', '.join(RELATIONS)}"
            )
        found.append(entry)
    after = known._replace(entries=tuple(found))
    if known.filter is not None:
        _check_same_budget(known.filter, epsilon, delta)
    elif chosen == ON_THE_WAY:
        if not math.isfinite(epsilon):
            raise InputError(
                "searches that are chosen on the way need a budget from the first of them: its "
                "Renyi order is fixed by it"
            )
        after = after._replace(filter=renyi_filter(epsilon, delta, _roles(entry)))
    return after


def _check_same_budget(fixed: RenyiFilter, epsilon: float, delta: float) -> None:
    if (math.isfinite(epsilon) and epsilon != fixed.epsilon) or delta != fixed.delta:
        raise InputError(
            f"the budget of this ledger is epsilon = {fixed.epsilon:g} at delta = {fixed.delta:g}, "
            "and was fixed when its first search was entered; give the same, or none and this delta"
        )


def _check_budget(after: Ledger, total: Total, epsilon: float) -> None:
    several = len(after.entries) > 1
    count = f"all {len(after.entries)} searches of {after.data}" if several else after.data
    if after.filter is None:
        if total.epsilon > epsilon:
            raise InputError(
                f"with this search, {count} would be "
                f"({rounded_up(total.epsilon):g}, {total.delta:g})-differentially private; the "
                f"budget is {epsilon:g}, and what earlier searches spent is spent"
            )
        return
    if not after.filter.covers([_spent(after.filter, each) for each in after.entries]):
        spent, budget = total.spent, after.filter
        assert spent is not None
        what = (
            f"a Renyi divergence of {spent.renyi:.4g} at order {budget.order:.4g}, of which the "
            f"budget of ({budget.epsilon:g}, {budget.delta:g}) allows {budget.renyi:.4g}"
            if not spent.renyi <= budget.renyi
            else f"failures of probability {spent.failure:.3g}, for which the first search left "
            f"{budget.failure:.3g} of delta"
        )
        raise InputError(
            f"with this search, {count} would take {what}; what earlier searches spent is spent"
        )


def add(
    path: str | Path,
    data: str | None,
    base: object,
    repetitions: Repetitions | str | None = None,
    times: int = 1,
    *,
    relation: object = None,
    words: str = "",
    epsilon: float = math.inf,
    delta: float,
    chosen: str | None = None,
) -> Total:
    """Enters a release that was made elsewhere: a published statistic, a model.

    Args:
      path: of the ledger.
      data: the name of the data set; None for a ledger that is there.
      base, repetitions, times: what was released, as in ``jaxsel.release``.
      relation: which data sets are neighbours, if the base does not say.
      words: who made it, and what it is.
      epsilon, delta, chosen: as in ``enter``.

    Raises:
      InputError: as ``enter``, or if the relation is not stated.
    """
    if epsilon != math.inf:
        check_interval("budget", epsilon, 0.0, math.inf)
    known = guarantee_of(base, relation)
    if known.relation is None:
        raise InputError(
            "say which data sets are neighbours in what is added: a relation, one of "
            f"{', '.join(RELATIONS)}"
        )
    part: dict[str, Any] = {"base": as_text(known), "times": times}
    if repetitions is not None:
        part["repetitions"] = as_law(repetitions).name
    release(**part, relation=known.relation)
    entry = Entry(
        secrets.token_hex(8),
        datetime.date.today().isoformat(),
        ((part,),),
        known.relation,
        "release",
        " ".join(words.split()),
    )
    name = read(path).data if data is None else data
    if not name:
        raise InputError("a ledger is of a data set; give the name of the data")
    return enter(path, name, entry, epsilon, delta, chosen)


def state_relation(path: str | Path, search: str, relation: object) -> Ledger:
    """States which data sets are neighbours in an entry that does not say.

    Args:
      path: of the ledger.
      search: the name of the entry.
      relation: one of ``RELATIONS``.

    Returns:
      The ledger, with the relation.

    Raises:
      InputError: if there is no such entry or relation, or the entry has another one.
    """
    place, wanted = Path(path).expanduser(), relation_name(relation)
    if wanted is None:
        raise InputError(f"give a relation, one of {', '.join(RELATIONS)}")
    read(place)  # refused before a lock is made beside it
    with records.exclusive(place, private=True) as replace:
        known = _read(place, None)
        before = known.entry(search)
        if before.relation not in (None, wanted):
            raise InputError(
                f"search {search} is for neighbours by {before.relation}, which stays as it was "
                "stated"
            )
        said = {each.relation for each in known.entries if each.relation and each is not before}
        if said - {wanted}:
            raise InputError(
                f"other searches of {place} are for neighbours by {', '.join(sorted(said))}, and "
                f"would not add up with {search} by {wanted}; keep a ledger for each relation"
            )
        stated = before._replace(relation=wanted)
        _roles(stated)  # its bases may say another one
        entries = [stated if each is before else each for each in known.entries]
        after = known._replace(entries=tuple(entries))
        replace(_content(after))
    return after


# --- The file ---------------------------------------------------------------------------


def read(path: str | Path, data: str | None = None) -> Ledger:
    """Reads the ledger of a data set.

    If there is no such file, it returns an empty ledger, provided that ``data`` is given.

    Raises:
      InputError: if the file is no ledger, is of another data set, or can be read by others; or
        if there is no such file and ``data`` is None.
    """
    place = Path(path).expanduser()
    if data is None and not place.exists():
        raise InputError(f"there is no ledger {place}")
    return _read(place, data)


def _content(ledger: Ledger) -> bytes:
    document = {
        "form": _FORM,
        "data": ledger.data,
        "chosen": ledger.chosen,
        "filter": None
        if ledger.filter is None
        # JSON has no infinite order.
        else {name: repr(value) for name, value in ledger.filter._asdict().items()},
        "entries": [each._asdict() for each in ledger.entries],
    }
    return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()


def _read(place: Path, data: str | None) -> Ledger:
    if not place.exists():
        return Ledger(place, data or "", ())
    records.check_private(place)
    try:
        content = parse_json(read_text(place, "a ledger"))
        if content["form"] == _FIRST_FORM:
            entries, budget = tuple(map(_first_entry, content["entries"])), None
        elif content["form"] == _FORM:
            entries = tuple(_entry(place, each) for each in content["entries"])
            budget = _budget(content["chosen"], content["filter"])
        else:
            raise ValueError
        known = Ledger(place, str(content["data"]), entries, budget)
        if len({each.search for each in entries}) < len(entries):
            raise ValueError
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{place} is no ledger of private searches; name another file") from None
    if data is not None and known.data != data:
        raise InputError(f"{place} is the ledger of {known.data}, not of {data}; name another file")
    return known


def _budget(chosen: str, kept: Mapping[str, str] | None) -> RenyiFilter | None:
    if (chosen, kept is None) not in ((BEFOREHAND, True), (ON_THE_WAY, False)):
        raise ValueError
    if kept is None:
        return None
    found = RenyiFilter(**{name: float(value) for name, value in kept.items()})
    if not (found.order > 1.0 and found.renyi > 0.0 and 0.0 <= found.failure <= found.delta < 1.0):
        raise ValueError
    try:
        guaranteed = found.guaranteed()
    except InputError:  # an epsilon that is no number
        raise ValueError from None
    if not guaranteed <= found.delta * (1.0 + 1e-9):
        raise ValueError  # edited: that budget has not this guarantee
    return found


def _first_entry(each: Mapping[str, Any]) -> Entry:
    roles = _checked_roles(each["roles"])
    # DP-SGD has one relation; of others none was kept.
    said = any("dp_sgd:" in part["base"] for role in roles for part in role)
    return Entry(
        _text(each["search"]), _text(each["date"]), roles, ADD_OR_REMOVE_ONE if said else None
    )


def _entry(place: Path, each: Mapping[str, Any]) -> Entry:
    kind = each["kind"]
    unknown = {*each} - {*Entry._fields}
    parts = [part for role in each["roles"] for part in role]
    unknown |= {key for part in parts for key in part} - {*_PART}
    if kind not in KINDS or unknown:
        what = f"of kind {kind!r}" if kind not in KINDS else f"with {', '.join(sorted(unknown))}"
        raise InputError(
            f"{place} has an entry {what}, which this version of jaxsel does not know, and so "
            "cannot add up; read it with the version that wrote it"
        )
    relation = relation_name(each["relation"])
    texts = (_text(each["search"]), _text(each["date"]))
    return Entry(*texts, _checked_roles(each["roles"]), relation, kind, _text(each["words"]))


def _checked_roles(roles: Any) -> tuple[tuple[Mapping[str, Any], ...], ...]:
    found = tuple(tuple(dict(part) for part in role) for role in roles)
    if not found or not all(found):
        raise ValueError
    for part in (part for role in found for part in role):
        _text(part["base"])
        if type(part.get("times", 1)) is not int or part.get("times", 1) < 1:
            raise ValueError
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
