"""An audit of a function: does what it returns refute what it claims?

Neighbouring inputs are proposed for the relation, the one with the most evidence against the
claim is found on few trials of each, an event is learned on more trials of it, and a lower
bound on epsilon comes from fresh trials, at the whole false-alarm rate: whatever the search
did, a function that keeps its claim is refuted with at most that probability.
"""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.auditing.event_limits import event_epsilon, event_epsilon_upper
from jaxsel.auditing.functions import neighbours
from jaxsel.auditing.functions.audited_function import check_first_start, load
from jaxsel.auditing.functions.calls import time_limit
from jaxsel.auditing.functions.clock import SEARCH, Clock
from jaxsel.auditing.functions.curve import AuditCurve, audit_curve, curve_events
from jaxsel.auditing.functions.drawing import ALONE, Draws, NoAnswerError, call_limits, silent
from jaxsel.auditing.functions.events import Aim, Chosen, Claim, Event, LargestBound, choose, halved
from jaxsel.auditing.functions.how import How
from jaxsel.auditing.functions.independence import by_call, check_independence, check_shares
from jaxsel.auditing.functions.neighbours import Neighbours
from jaxsel.auditing.functions.outcomes import Table, together
from jaxsel.auditing.functions.verdicts import (
    CONSTANT,
    EVENT,
    NOT_REFUTED,
    REFUTED,
    UNDECIDED,
    detectable,
    failed,
    needed,
    refutable,
    verdict,
)
from jaxsel.auditing.sequential import SequentialTest
from jaxsel.host.errors import MOST_TRIALS, InputError, check_integer, check_interval
from jaxsel.language.printing import Summary, printed
from jaxsel.language.relations import Relation, relation_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 2**20  # trials of a pair on each side that the search keeps and learns from, at most
_LEFT = 1 / 3  # of the pairs, after each round of the search
# Of the evidence that refutes: with less of it in the search, a refutation is beyond hope.
_HOPE = 0.25
_AGAIN = 40  # events that are compared on more trials, for a bound that is to be large
_FINALISTS = 2  # pairs whose events are learned with care
# A sequential audit: its first trials, and how many confirm, for each that it took.
_FIRST, _CONFIRMING = 64, 4
_SEARCH_STREAM, _BOUND_STREAM = 0, 1
_AT_ONCE, _FEW = 2**14, 1000  # trials of the bound that are held at once, and kept
_CHECK = 0.2  # of a time limit, for comparing calls and processes
_CURVE = 0.2  # of the time that the search leaves, for learning the events of a curve


@printed
class FunctionAudit(NamedTuple):
    """The result of an audit of a function.

    Attributes:
      function: its name.
      relation: in what sense the inputs are neighbours.
      claim: what is claimed, in words.
      epsilon, delta: the claim, or the point of its curve, that the event is held against.
      verdict: "refuted"; "not refuted"; "constant", if every trial on every input gave the
        same outcome; "failed", if no trial of either side gave an answer; or "cannot be
        judged", if no outcome of so few trials could have refuted the claim.
      lower: the lower bound on epsilon at ``delta``, which is above the truth with
        probability at most ``false_alarm``.
      upper: an upper limit, as sure, of the epsilon that the same event shows; other events and
        pairs may show more.
      false_alarm: the largest probability that a function that keeps its claim is refuted.
      detectable: the smallest epsilon that so many trials would have refuted, on an event of
        probability 0.1.
      event: the outcomes of the bound, in words.
      likelier: the side on which they are likelier, "data" or "neighbour".
      data, neighbour: the inputs.
      why: what distinguishes them, in words.
      counts: how often the event happened there, of how many trials, and the same two on
        the other side.
      trials: on each side, those of the search included.
      pairs: how many pairs were searched.
      ended_by: "trials", "time" or "an interrupt": what ended the audit.
      seconds: how long it took.
      search_seconds: of these, until pair and event were chosen.
      seed: of the randomness that is handed to the function.
      bits: whether outcomes were judged as released bits, and not as real numbers.
      curve: what many events show together, where that was asked for.
      needed: with fewer trials a side of the bound no outcome refutes the claim; infinite
        above 2^53.
      calls: where and how they were made, in words.

    Example:
        >>> import jaxsel
        >>> def noisy(rng, data, n):
        ...     return data + rng.laplace(size=n)
        >>> asked = {"relation": "general", "claim": 1.0, "trials": 4000}
        >>> found = jaxsel.audit_function(noisy, 0.0, 1.0, **asked)
        >>> found.verdict, found.lower < 1.0 < found.detectable
        ('not refuted', True)
    """

    function: str
    relation: str
    claim: str
    epsilon: float
    delta: float
    verdict: str
    lower: float
    upper: float
    false_alarm: float
    detectable: float
    event: str
    likelier: str
    data: Any
    neighbour: Any
    why: str
    counts: tuple[int, int, int, int]
    trials: int
    pairs: int
    ended_by: str
    seconds: float
    search_seconds: float
    seed: int
    bits: bool = False
    curve: AuditCurve | None = None
    needed: float = math.nan
    calls: str = ""

    @property
    def refuted(self) -> bool:
        """True if the lower bound exceeds the claim."""
        return self.verdict == REFUTED

    def plot(self) -> "Figure":
        """Plots the probability of the event on both inputs, and what the claim allows."""
        from jaxsel.pictures.tallied import draw_event

        names = ("data", "neighbour") if self.likelier == "data" else ("neighbour", "data")
        return draw_event(self.counts, names, self.epsilon, self.delta, self.event)

    def summary(self) -> Summary:
        """The verdict in words, beside the event and its counts on both sides."""
        at = f" at delta {self.delta:g}" if self.delta else ""
        how = " as released bits" if self.bits else ""
        claimed = f"{self.function} claims {self.claim} ({self.relation})"
        if self.verdict == REFUTED:
            said = (
                f"REFUTED{how}: {claimed}; epsilon{at} is at least {self.lower:.4g} "
                f"(false-alarm rate {self.false_alarm:g})."
            )
            if self.calls.startswith(ALONE):
                said += (
                    " All calls ran in this process, since no other can import the function: "
                    "what it keeps from call to call is judged, too."
                )
        elif self.verdict == NOT_REFUTED:
            seen = (
                f"would have refuted {self.detectable:.3g} and more"
                if self.detectable < math.inf
                else "would have refuted no epsilon"
            )
            said = (
                f"Not refuted{how}: {claimed}; so many trials {seen} on an event of probability "
                f"{EVENT:g} (false-alarm rate {self.false_alarm:g}). That is no proof."
            )
            if self.upper < self.epsilon:
                said += (
                    f" The event that was found shows at most {self.upper:.3g}: more queries or "
                    "candidates, or another pair, are needed to see more."
                )
        elif self.verdict == UNDECIDED:
            most = "more than 2^53" if self.needed == math.inf else f"{self.needed:,.0f}"
            ended = f", and {self.ended_by} ended it" if self.ended_by != "trials" else ""
            said = (
                f"CANNOT BE JUDGED{how}: {claimed}; no outcome of {min(self.counts[1::2]):,} "
                f"trials a side could refute that (false-alarm rate {self.false_alarm:g}): the "
                f"bound alone takes {most}, the search as many{ended}."
            )
        elif self.verdict == CONSTANT:
            said = f"{self.function} gives one outcome, whatever the input and the trial."
        else:
            said = f"FAILED: {self.function} gave no answer in any trial: {self.event}."
        other = "neighbour" if self.likelier == "data" else "data"
        x, n, y, m = self.counts
        rows = [
            ["pair", self.why],
            ["data", _short(self.data)],
            ["neighbour", _short(self.neighbour)],
            ["event", self.event],
            [f"on the {self.likelier}", f"{x} of {n}"],
            [f"on the {other}", f"{y} of {m}"],
            ["lower bound on epsilon", f"{self.lower:.4g}"],
            ["trials a side", f"{self.trials}, ended by {self.ended_by}; {self.pairs} pairs"],
            ["seconds", f"{self.seconds:.1f}"],
            *([["calls", self.calls]] if self.calls else []),
            *([] if self.curve is None else self.curve.rows(self.epsilon)),
        ]
        return Summary(said, ("what", "found"), rows)


def _short(given: Any) -> str:
    text = " ".join(repr(given).split())
    return text if len(text) <= 80 else f"{text[:76]} ..."


class _Search(NamedTuple):
    """A pair of inputs and the trials on both that have looked at it so far."""

    number: int
    pair: Neighbours
    tables: tuple[Table, Table] | None = None

    @property
    def both(self) -> tuple[Table, Table]:
        """The trials on the data and on the neighbour."""
        assert self.tables is not None
        return self.tables

    @property
    def rows(self) -> int:
        """How many there are on each side."""
        return 0 if self.tables is None else min(map(len, self.tables))

    def drawn(self, draws: Draws, trials: int, done: int) -> tuple[Table, Table]:
        """More trials on both sides."""
        stream = (_SEARCH_STREAM, self.number, done)
        sides = enumerate((self.pair.data, self.pair.neighbour))
        first, second = draws.draw_each([(data, (*stream, side)) for side, data in sides], trials)
        return first, second

    def joined(self, new: tuple[Table, Table]) -> "_Search":
        """With these trials besides its own."""
        if self.tables is None:
            return self._replace(tables=new)
        first, second = (together(sides) for sides in zip(self.tables, new, strict=True))
        return self._replace(tables=(first, second))

    def first(self, rows: int) -> "_Search":
        """With its first trials alone."""
        one, other = (side.rows(slice(rows)) for side in self.both)
        return self._replace(tables=(one, other))


def search_and_bound(
    subject: Any,
    *data: Any,
    relation: str | Relation,
    claims: Sequence[Claim],
    said: str,
    trials: int,
    false_alarm: float = 0.05,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    how: How = How(),
) -> FunctionAudit:
    """Looks for a pair of neighbours and an event that refute a claim of a function.

    Args:
      subject, data, relation, seed, settings: as for ``jaxsel.audit_function``.
      claims: the points (epsilon, delta) that are claimed, of which one is refuted.
      said: the claim in words.
      trials: on each side, the search included, which has half of them, and on each side of a
        pair 2^20 at most; the bound has what it leaves.
      false_alarm: the largest probability that a function that keeps its claim is refuted,
        whatever the seed is.
      how: how it is called, and what is looked for; of a search (``how.repetitions``) the
        subject is already the best of its runs.

    Raises:
      InputError: for bad input, a pair that is none, a file that cannot be imported, or
        trials that are not independent.
    """
    check_first_start()
    began = time.monotonic()
    known = relation_of(relation)
    error = check_interval("false_alarm", false_alarm, 0.0, 1.0)
    trials = check_integer("trials", trials, 100, MOST_TRIALS)
    seed = check_integer("seed", seed, 0)
    seconds = time_limit("seconds", how.seconds)
    if how.bits and how.sequential:
        raise InputError("a sequential audit takes values as real numbers; leave out bits")
    function = load(subject, how.kind)
    pairs = neighbours.pairs(known, *data)
    clock = Clock(began, seconds)
    searching = int(SEARCH * trials)
    if how.search_trials is not None:
        searching = check_integer("search_trials", how.search_trials, 2)
        if searching >= trials:
            raise InputError(f"search_trials is {searching}; it must be below trials, {trials}")
    aims = [LargestBound(*one) for one in claims] if how.largest else list(claims)
    limit, longer = call_limits(function, seconds, time_limit("call_seconds", how.call_seconds))
    with (
        Draws(
            function,
            settings,
            seed=seed,
            call_seconds=limit,
            longer=longer,
            workers=how.workers,
            until=clock.end,
            bits=how.bits,
            total=2 * trials,
            progress=how.progress,
        ) as draws,
        clock.interruptible(draws),
    ):
        share = math.inf if seconds is None else _CHECK * seconds
        try:
            constant = check_independence(draws, pairs[0].data, share)
        except NoAnswerError:  # in time, on this input; others, or later calls, may answer
            constant = None
        clock.search()
        if how.sequential:
            (chosen, claim_met, search), spent, size = _stopped(
                draws, pairs, aims, error, trials, clock
            )
            looked_at = len(pairs)
        else:
            again = searching // 2 if how.largest else 0
            (chosen, claim_met, search), spent, looked_at = _searched(
                draws, pairs, aims, error, searching - again, clock, again
            )
            # A search of few trials of many pairs may have taken more than its part.
            size = trials - min(spent, searching)
        others: list[Event] = []
        if how.curve:
            until = clock.part(_CURVE, clock.end)
            others, _ = clock.growing(
                lambda few: (curve_events(search.first(few).both, claim_met.epsilon), True),
                search.rows,
                until,
            )
        draws.check_answers(together(search.both))
        sides = zip((search.pair.data, search.pair.neighbour), search.both, strict=True)
        answering = [data for data, seen in sides if not silent(seen)]
        if constant is None and answering:
            constant = check_independence(draws, answering[0], share / 2.0)
        chosen_at = time.monotonic()
        events = [chosen.event, *others]
        clock.let(draws, clock.end)
        allowed = clock.affordable(size, 2.0 / draws.rate, clock.end)
        # Of many trials time ends the drawing. Of few, the last call is not to be the longest.
        made = allowed if allowed < _AT_ONCE else size
        bound = _counted(draws, search, made, (_BOUND_STREAM, search.number), events)
    for one in bound:
        check_shares(function.name, chosen.event.words, one.counts[0], one.sizes)
    inside = np.array([one.counts[0].sum() for one in bound])
    used = np.stack([[one.sizes.sum() for one in bound] - inside, inside], axis=1)
    if chosen.swapped:
        used = used[::-1]
    # The order of independent trials is independent of their counts, and the same for equal
    # seeds where the function has no randomness of its own.
    orders = [int.from_bytes(one.order) for one in bound]
    generator = np.random.default_rng([seed, *orders])
    lower = event_epsilon(used, claim_met.delta, error, generator)
    sizes, first = used.sum(axis=1).tolist(), [one.first for one in bound]
    return FunctionAudit(
        function=function.name,
        relation=known.value,
        claim=said,
        epsilon=claim_met.epsilon,
        delta=claim_met.delta,
        verdict=verdict(
            lower,
            claim_met,
            constant is not False,
            first,
            refutable(claim_met, sizes[0], sizes[1], error),
        ),
        lower=lower,
        upper=event_epsilon_upper(used, claim_met.delta, error),
        false_alarm=error,
        detectable=detectable(min(sizes), claim_met, error),
        event=chosen.event.words if not failed(first) else draws.said(str(first[0].words[0])),
        likelier="neighbour" if chosen.swapped else "data",
        data=search.pair.data,
        neighbour=search.pair.neighbour,
        why=search.pair.why,
        counts=(int(used[0, 1]), sizes[0], int(used[1, 1]), sizes[1]),
        trials=spent + min(sizes),
        pairs=looked_at,
        ended_by=clock.ended_by(min(sizes) < size or draws.shortened),
        seconds=time.monotonic() - began,
        search_seconds=chosen_at - began,
        seed=seed,
        bits=bool(how.bits),
        curve=audit_curve(
            others, [one.counts[1:] for one in bound], [one.sizes for one in bound], error
        )
        if how.curve
        else None,
        needed=needed(claim_met, error),
        calls=draws.ran,
    )


def _searched(
    draws: Draws,
    pairs: Sequence[Neighbours],
    claims: Sequence[Aim],
    error: float,
    trials: int,
    clock: Clock,
    trials_again: int = 0,
) -> tuple[tuple[Chosen, Aim, _Search], int, int]:
    """Event, claim and pair with the most evidence; the trials a side, and pairs, that it took.

    Args:
      draws, pairs, claims, error, trials, clock: what is searched, what error the bound may
        have, and on how many trials a side.
      trials_again: on which the best events are compared once more.
    """
    left = [_Search(number, pair) for number, pair in enumerate(pairs)]
    rounds = 1
    while len(pairs) * _LEFT**rounds > _FINALISTS / 2:
        rounds += 1
    spent, looked_at = 0, 0
    price = 2.0 / draws.rate  # seconds of a trial on both sides of a pair
    for place in range(rounds):
        last = place + 1 == rounds
        if place and clock.over(clock.searched):
            # What is learned takes time, too, and the bound needs its share.
            left = left[:1]
            break
        began = time.monotonic()
        until = clock.part(1.0 / (rounds - place + 1), clock.searched)
        # Of the first round it is not known yet how long it takes to rank them.
        clock.let(draws, until if place else clock.part(0.5, until))
        # Most are made where most pairs are compared, by fewest trials each.
        quota = trials - spent if last else (trials - spent) // 2
        kept = int(_ROWS * _LEFT ** (rounds - 1 - place))
        wanted = min(quota // len(left) + left[0].rows, kept) * len(left)
        allowed = clock.affordable(wanted, price, draws.until)
        clock.short = clock.short or allowed < wanted
        rows = allowed // len(left)
        each = max(rows - left[0].rows, 2)
        left, new = _with_more(draws, left, each, place, clock)
        spent += new
        looked_at = looked_at or len(left)
        if not last:
            number = len(left)
            eased = [one.eased((place + 1) / rounds) for one in claims]
            left, rows = clock.growing(
                lambda few, left=left, eased=eased: _strongest(left, eased, few, clock),
                max(one.rows for one in left),
                until,
            )
            # A round's trials are priced by all that the last one took.
            price = (time.monotonic() - began) / (rows * number)
    until = clock.part(0.5, clock.searched) if trials_again else clock.searched
    rows = max(one.rows for one in left)
    found, _ = clock.growing(lambda few: _found(left, claims, error, few, clock), rows, until)
    if trials_again:
        each = clock.affordable(trials_again, 2.0 / draws.rate, clock.searched) // len(found)
        each = max(each, 2)
        clock.let(draws, clock.searched)
        again: _Found = []
        for few, claim, one in found:
            if again and clock.over(clock.searched):
                break
            few = _compared_again(draws, one, claim, few[:_AGAIN], each, rounds)
            again.append((few, claim, one))
        found = again
        spent += each * len(found)
    few, claim, one = max(found, key=lambda each: each[0][0].evidence)
    return (few[0], claim, one), spent, looked_at


def _with_more(
    draws: Draws, left: Sequence[_Search], trials: int, done: int, clock: Clock
) -> tuple[list[_Search], int]:
    """The pairs with more trials, and how many trials a side of all these are.

    Each has an equal part of the time for drawing; where a single call takes more, and all the
    time of the search is over before every pair has some, those without any are left out.
    """
    found: list[_Search] = []
    until = draws.until
    for place, one in enumerate(left):
        if not (found and clock.over(clock.searched)):
            part = clock.part(1.0 / (len(left) - place), until)
            clock.let(draws, part)
            now = clock.affordable(trials, 2.0 / draws.rate, part)
            found.append(one.joined(one.drawn(draws, now, done)))
        elif one.rows:
            found.append(one)
    before = {one.number: one.rows for one in left}
    return found, sum(one.rows - before[one.number] for one in found)


def _strongest(
    left: Sequence[_Search], claims: Sequence[Aim], rows: int, clock: Clock
) -> tuple[list[_Search], bool]:
    """The pairs that have most evidence on their first trials, and whether all were ranked."""
    keep = max(round(len(left) * _LEFT), _FINALISTS)
    strength: list[float] = []
    for one in left:
        if strength and clock.over(clock.searched):
            break
        some = one.first(rows)
        strength.append(-max(_ranked(some, claim, True)[0].evidence for claim in claims))
    best = [left[place] for place in np.argsort(strength, kind="stable")[:keep].tolist()]
    return best, len(strength) == len(left)


_Found = list[tuple[list[Chosen], Aim, _Search]]


def _found(
    left: Sequence[_Search], claims: Sequence[Aim], error: float, rows: int, clock: Clock
) -> tuple[_Found, bool]:
    """The events of each pair and claim on the pair's first trials, and whether of all of them."""

    def ranked(aims: Sequence[tuple[Aim, Aim, _Search]]) -> _Found:
        found: _Found = []
        for aim, claim, one in aims:
            if found and clock.over(clock.searched):
                break
            found.append((_ranked(one.first(rows), aim), claim, one))
        return found

    found = ranked([(claim, claim, one) for one in left for claim in claims])
    whole = len(found) == len(left) * len(claims)
    enough = -_HOPE * math.log(error)
    if all(isinstance(claim, Claim) and few[0].evidence < enough for few, claim, _ in found):
        # Hardly anything speaks against the claim: the event that shows most is looked at.
        weak = found
        found = ranked([(LargestBound(*claim), claim, one) for _, claim, one in weak])
        whole = whole and len(found) == len(weak)
    return found, whole


def _compared_again(
    draws: Draws, search: _Search, claim: Aim, few: list[Chosen], trials: int, done: int
) -> list[Chosen]:
    """The same events by their evidence on many more trials, of which only counts are kept."""
    events = [one.event for one in few]
    sides = _counted(draws, search, trials, (_SEARCH_STREAM, search.number, done), events)
    (n, x), (m, y) = ((int(one.sizes.sum()), one.counts.sum(axis=1)) for one in sides)
    there, back = claim.evidence(x, y, (n, m)), claim.evidence(y, x, (m, n))
    strength = np.where([one.swapped for one in few], back, there).tolist()
    again = [one._replace(evidence=now) for one, now in zip(few, strength, strict=True)]
    return sorted(again, key=lambda one: -one.evidence)


def _stopped(
    draws: Draws,
    pairs: Sequence[Neighbours],
    claims: Sequence[Aim],
    error: float,
    trials: int,
    clock: Clock,
) -> tuple[tuple[Chosen, Aim, _Search], int, int]:
    """As ``_searched``, until the claim falls; and how many fresh trials are to confirm it.

    Raises:
      InputError: if the pair is not given, or the claim is no epsilon at delta 0.
    """
    (claim, *curve), (pair, *others) = claims, pairs
    if curve or claim.delta or others:
        raise InputError("a sequential audit is of one given pair, and a claim of epsilon alone")
    test, search = SequentialTest(claim.epsilon, error), _Search(0, pair)
    each, spent, most = _FIRST, 0, trials // (1 + _CONFIRMING)
    clock.let(draws, clock.searched)
    while test.stopped is None and spent < most and not (spent and clock.over(clock.searched)):
        wanted = max(min(each, most - spent), 1)
        if spent:
            wanted = clock.affordable(wanted, 2.0 / draws.rate, clock.searched)
        new = search.drawn(draws, wanted, spent)
        rows = min(map(len, new))
        test.feed(*(_for_bets(one)[:rows] for one in new))
        if search.rows < _ROWS:
            search = search.joined(new)
        spent += rows
        each = min(spent, _ROWS)  # twice as many in all
    # The test says how many trials are enough; the finding is the fresh trials' alone.
    size = trials - spent if test.stopped is None else min(_CONFIRMING * spent, trials - spent)
    until = clock.part(0.5, clock.end)
    chosen, _ = clock.growing(
        lambda few: (_ranked(search.first(few), claim)[0], True), search.rows, until
    )
    return (chosen, claim, search), spent, size


def _for_bets(given: Table) -> np.ndarray:
    """Outcomes that a sequential test takes: real numbers where all are, else words."""
    values = given.columns.get("value")
    if values is None or len(set(given.shapes)) > 1 or np.all(values == np.floor(values)):
        return given.words.astype(str)
    return values


def _ranked(search: _Search, claim: Aim, quickly: bool = False) -> list[Chosen]:
    """Events that are learned on one part of a pair's trials, as they do on the others."""
    return choose(*halved(search.both), claim, quickly)


class _Counts(NamedTuple):
    """Events on fresh trials of one input.

    Attributes:
      counts: Int["events calls"], trials in each event.
      sizes: Int["calls"], all trials.
      order: a digest of which trials are in the first of the events, in the order made.
      first: the first of the trials; the rest is not kept.
    """

    counts: np.ndarray
    sizes: np.ndarray
    order: bytes
    first: Table


def _counted(
    draws: Draws, search: _Search, trials: int, stream: tuple[int, ...], events: Sequence[Event]
) -> list[_Counts]:
    """Counts events on both sides of a pair, by turns: an end of the time cuts both alike."""
    sides = [
        (data, (*stream, side))
        for side, data in enumerate((search.pair.data, search.pair.neighbour))
    ]
    counts: list[list[np.ndarray]] = [[], []]
    sizes: list[list[int]] = [[], []]
    orders = [hashlib.blake2b(digest_size=16) for _ in sides]
    first: list[Table] = []
    end, reading = draws.until, 0.0
    for block, begin in enumerate(range(0, trials, _AT_ONCE)):
        # What is drawn is to be looked at in time, too.
        draws.until = min(draws.until, end - reading)
        if block and time.monotonic() > draws.until:
            break
        inputs = [(data, (*own, block)) for data, own in sides]
        made = draws.by_turns(inputs, min(_AT_ONCE, trials - begin))
        drawn_at = time.monotonic()
        for side, tables in enumerate(made):
            found = together(tables)
            inside = [event.holds(found) for event in events]
            counts[side].append(np.stack([by_call(one, tables) for one in inside]))
            sizes[side] += map(len, tables)
            orders[side].update(np.packbits(inside[0]).tobytes())
            if not block:
                first.append(found.rows(np.arange(min(_FEW, len(found)))))
        reading = max(reading, time.monotonic() - drawn_at)
    return [
        _Counts(np.concatenate(counts[side], axis=1), np.array(sizes[side]), order.digest(), few)
        for side, (order, few) in enumerate(zip(orders, first, strict=True))
    ]
