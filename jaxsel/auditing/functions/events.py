"""Events on outcomes of any kind, learned from one half of the trials.

Every set of outcomes is an event that a private function keeps nearly as likely on the
neighbour. Candidates are whole outcomes and their unions in order of the likelihood ratio,
thresholds and values of single entries, what two or three of these say together, and levels
of a logistic regression. The candidate with the most evidence on trials that it was not
learned from is bounded on the other half.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

from jaxsel.auditing.event_limits import log_ratio_lower
from jaxsel.auditing.functions.outcomes import LOWEST_BIT, Table, column, together

# A value or an outcome is an event of its own from this share of one side's trials on: the
# bounds of clamping have it, the low bits of a float have not.
_ATOM = 1e-3
_ATOMS = 200
_LEVELS = 32  # thresholds of a column or a score
_COLUMNS = 48
_KEPT = 15  # candidates of each kind that are tried on other trials
_SEEDS = 5  # events that are combined with others
_ROWS = 10_000  # trials of a side that combinations and the regression are learned from
# Of a limit by which events are compared: the best of thousands is hardly above its truth.
_ERROR = 1e-3
_AT_ONCE = 2**16  # trials whose score is computed at once
_LEARNED = 500_000  # trials of a side that propose candidates, at most
_ITERATIONS = 40  # of the logistic regression
_RIDGE = 1.0
_ROWS_OF_SCORE = 200_000  # trials of a side that it is learned from, at last
_BINS, _ATOMS_OF_SCORE = 16, 40  # of each column


class Event(NamedTuple):
    """A set of outcomes.

    Attributes:
      words: what is true of the outcomes in it.
      holds: ``table -> Bool["trials"]``.
    """

    words: str
    holds: Callable[[Table], np.ndarray]

    def complement(self) -> "Event":
        """All other outcomes."""
        return Event(f"not ({self.words})", lambda given: ~self.holds(given))

    def both(self, other: "Event") -> "Event":
        """The outcomes in both events."""
        return Event(
            f"{self.words} and {other.words}", lambda given: self.holds(given) & other.holds(given)
        )


_ANY = Event("any outcome", lambda given: np.ones(len(given), bool))


class Claim(NamedTuple):
    """What an event is to refute: P(E) <= e^epsilon Q(E) + delta."""

    epsilon: float
    delta: float = 0.0

    def evidence(self, x: np.ndarray, y: np.ndarray, trials: tuple[int, int]) -> np.ndarray:
        """The evidence of each event against the claim, Float["events"].

        It is the exponent of the Chernoff bound on the upper tail of X given X + Y, where the
        claim just holds; 0 if X is not above its mean there.

        Args:
          x, y: Float["events"], counts of each event on the side where it is to be the likelier,
            and on the other side.
          trials: the numbers of trials of these two sides.
        """
        if not all(trials):
            return np.zeros(np.shape(x))
        y = y + trials[1] * self.delta * np.exp(-self.epsilon)
        share = scipy.special.expit(self.epsilon + np.log(trials[0] / trials[1]))
        expected = (x + y) * share
        found = scipy.special.rel_entr(x, expected) + scipy.special.rel_entr(y, x + y - expected)
        return np.where(x > expected, found, 0.0)

    def eased(self, share: float) -> "Claim":
        """A stronger claim, of epsilon times ``share`` <= 1, which fewer trials can refute."""
        return self._replace(epsilon=share * self.epsilon)


class LargestBound(NamedTuple):
    """A claim whose event is to bound epsilon by as much as it can, however sure it is to fall."""

    epsilon: float
    delta: float = 0.0

    def evidence(self, x: np.ndarray, y: np.ndarray, trials: tuple[int, int]) -> np.ndarray:
        """A lower confidence limit of log((p - delta)/q) for each event, of either sign.

        p and q are its probabilities on the two sides; arguments as of ``Claim.evidence``.
        """
        if not (all(trials) and np.size(x)):
            return np.zeros(np.shape(x))
        x = np.floor(np.maximum(x - trials[0] * self.delta, 0.0))
        return log_ratio_lower(x, y, _ERROR) - np.log(trials[0] / trials[1])

    def eased(self, share: float) -> "LargestBound":
        """The same object, as the limits of ``evidence`` do not depend on epsilon."""
        del share
        return self


Aim = Claim | LargestBound


class Chosen(NamedTuple):
    """The event with the most evidence.

    Attributes:
      event: the outcomes.
      swapped: whether they are the likelier on the neighbour.
      evidence: the claim's, on the trials on which the event was chosen.
    """

    event: Event
    swapped: bool
    evidence: float


def halved(tables: tuple[Table, Table]) -> tuple[tuple[Table, Table], tuple[Table, Table]]:
    """Splits the trials of both sides: some to propose events, the others to compare them on."""
    first, second = tables
    one, two = (min(len(given) // 2, _LEARNED) for given in tables)
    learned_on = (first.rows(slice(0, one)), second.rows(slice(0, two)))
    return learned_on, (first.rows(slice(one, None)), second.rows(slice(two, None)))


def choose(
    learned_on: tuple[Table, Table],
    chosen_on: tuple[Table, Table],
    claim: Aim,
    quickly: bool = False,
) -> list[Chosen]:
    """The candidate events, sorted by their evidence against the claim, the most first.

    Each is taken on the side where it has more evidence, and is replaced by its complement if
    that has more.

    Args:
      learned_on: trials on the data and on the neighbour that propose candidates.
      chosen_on: other trials of both, on which the candidates are compared.
      claim: what is to be refuted.
      quickly: whether to save time, as in ``learn``.
    """
    proposed = learn(learned_on, claim, quickly) or [_ANY]
    return _ranked(proposed, chosen_on, claim)


def learn(tables: tuple[Table, Table], claim: Aim, quickly: bool = False) -> list[Event]:
    """Proposes candidate events: of each kind those with the most evidence on these trials.

    The kinds are whole outcomes, thresholds and values of entries, unions of bins, levels of a
    logistic regression, and conjunctions of two or three of these. Empty without trials.

    Args:
      tables: the trials on the data and on the neighbour.
      claim: what is to be refuted.
      quickly: whether to leave out conjunctions and to fit the regression to fewer trials.
    """
    if not all(map(len, tables)):
        return []
    cut = list(_cut(tables))
    kinds = (_words(tables), _entries(cut), _unions(cut), _scores(tables, quickly))
    singles = [one for kind in kinds for one in _ranked(list(kind), tables, claim)[:_KEPT]]
    if quickly:
        return [one.event for one in singles]
    singles.sort(key=_weakest_last)
    joint = _conjunctions(singles, singles, tables, claim)[:_KEPT]
    triple = _conjunctions(joint, singles, tables, claim)[:_KEPT]
    return [one.event for one in (*singles, *joint, *triple)]


def _weakest_last(one: Chosen) -> float:
    return -one.evidence


def counts_of(events: Sequence[Event], given: Table) -> np.ndarray:
    """The number of the given trials that lie in each event, Float["events"]."""
    return np.array([np.count_nonzero(event.holds(given)) for event in events], float)


def _ranked(events: Sequence[Event], tables: tuple[Table, Table], claim: Aim) -> list[Chosen]:
    """Each event or its complement, in its better direction, by evidence."""
    n, m = len(tables[0]), len(tables[1])
    x, y = (counts_of(events, given) for given in tables)
    found = np.stack(
        [
            claim.evidence(x, y, (n, m)),
            claim.evidence(y, x, (m, n)),
            claim.evidence(n - x, m - y, (n, m)),
            claim.evidence(m - y, n - x, (m, n)),
        ]
    )
    best = found.argmax(axis=0)
    chosen = [
        Chosen(event.complement() if way >= 2 else event, bool(way % 2), float(found[way, place]))
        for place, (event, way) in enumerate(zip(events, best.tolist(), strict=True))
    ]
    return sorted(chosen, key=_weakest_last)


def _conjunctions(
    seeds: Sequence[Chosen], others: Sequence[Chosen], tables: tuple[Table, Table], claim: Aim
) -> list[Chosen]:
    """What the best seeds say together with the others, where that is more evidence."""
    few = [given.rows(slice(_ROWS)) for given in tables]
    inside = [np.array([one.event.holds(t) for one in others], np.float32) for t in few]
    found: list[Chosen] = []
    for seed in seeds[:_SEEDS]:
        # Counts of the seed with every other event, and with its complement.
        own = [seed.event.holds(given).astype(np.float32) for given in few]
        joint = [matrix @ row for matrix, row in zip(inside, own, strict=True)]
        rest = [row.sum() - counts for counts, row in zip(joint, own, strict=True)]
        sides = [np.concatenate(pair).astype(float) for pair in zip(joint, rest, strict=True)]
        first, second = (1, 0) if seed.swapped else (0, 1)
        trials = (len(few[first]), len(few[second]))
        gained = claim.evidence(sides[first], sides[second], trials)
        for place in np.argsort(-gained)[:_SEEDS].tolist():
            if gained[place] <= seed.evidence:
                break
            other = others[place % len(others)].event
            event = seed.event.both(other if place < len(others) else other.complement())
            found.append(Chosen(event, seed.swapped, float(gained[place])))
    return sorted(found, key=_weakest_last)


def _remembered(compute: Callable[[Table], np.ndarray]) -> Callable[[Table], np.ndarray]:
    """As ``compute``, for many events that ask about the same trials one after the other."""
    last: list[tuple[Table, np.ndarray]] = []

    def found(given: Table) -> np.ndarray:
        if not last or last[0][0] is not given:
            last[:] = [(given, compute(given))]
        return last[0][1]

    return found


def _words(tables: tuple[Table, Table]) -> Iterator[Event]:
    """Whole outcomes and shapes, and their unions in order of the likelihood ratio."""
    for kind in ("words", "shapes"):
        frequent = [given.frequent(kind, max(2.0, _ATOM * len(given))) for given in tables]
        total = {
            one: sum(side.get(one, 0) for side in frequent) for side in frequent for one in side
        }
        every = sorted(total, key=lambda token: -total[token])[:_ATOMS]
        counts = [
            np.bincount(given.ranks(kind, every), minlength=len(every) + 1) + 0.5
            for given in tables
        ]
        ratios = counts[0][: len(every)] / counts[1][: len(every)]
        every = [every[place] for place in np.argsort(-ratios, kind="stable").tolist()]
        ranks = _remembered(lambda given, kind=kind, every=every: given.ranks(kind, every))
        for rank, token in enumerate(every):
            yield Event(f"the outcome is {token}", lambda t, k=rank, of=ranks: of(t) == k)
        for size in range(2, len(every)):
            shown = ", ".join(every[: min(size, 3)]) + (", ..." if size > 3 else "")
            yield Event(
                f"the outcome is one of {size}: {shown}",
                lambda given, size=size, of=ranks: of(given) < size,
            )


def _names(tables: tuple[Table, Table]) -> list[str]:
    """The columns that are looked at: those of low bits are no part of the others' number."""
    every = list(dict.fromkeys([*tables[0].columns, *tables[1].columns]))
    low = [name for name in every if name.startswith(LOWEST_BIT)]
    return [name for name in every if name not in low][:_COLUMNS] + low[:_COLUMNS]


class _Entry(NamedTuple):
    """A column of both sides, and levels at which it is cut."""

    name: str
    sides: list[np.ndarray]
    values: np.ndarray
    counts: np.ndarray
    levels: np.ndarray


def _cut(tables: tuple[Table, Table]) -> Iterator[_Entry]:
    for name in _names(tables):
        sides = [column(given, name) for given in tables]
        both = np.concatenate(sides)
        both = both[np.isfinite(both)]
        if both.size == 0:
            continue
        values, counts = np.unique(both, return_counts=True)
        ranks = _ranks(np.array([1.0, 3.0, 10.0, 30.0, 100.0]) / both.size)
        levels = np.unique(np.quantile(both, ranks, method="lower"))
        yield _Entry(name, sides, values, counts, levels)


def _ranks(ends: np.ndarray) -> np.ndarray:
    """Where what is ordered is cut: into equal parts, and at both ends into rarer ones."""
    equal = np.linspace(0.0, 1.0, _LEVELS + 1)[1:-1]
    ends = ends[ends < 0.5]
    return np.unique(np.concatenate([equal, ends, 1.0 - ends]))


def _entries(cut: Sequence[_Entry]) -> Iterator[Event]:
    """Values and thresholds of each column."""
    for name, _, values, counts, levels in cut:
        often = counts >= max(2.0, 2.0 * _ATOM * counts.sum())
        for value in values[often][:_ATOMS].tolist():
            yield Event(f"{name} is {value:g}", _equals(name, value))
        for level in levels.tolist():
            words = f"{name} <= {level:.6g}"
            if name.startswith(LOWEST_BIT):
                words = f"{name.removeprefix(LOWEST_BIT)} is no multiple of 2^{level + 1:g}"
            yield Event(words, _at_most(name, level))


def _equals(name: str, value: float) -> Callable[[Table], np.ndarray]:
    return lambda given: column(given, name) == value


def _at_most(name: str, level: float) -> Callable[[Table], np.ndarray]:
    return lambda given: column(given, name) <= level


def _unions(cut: Sequence[_Entry]) -> Iterator[Event]:
    """Unions of the bins between levels of each column, in order of the likelihood ratio."""
    for entry in cut:
        if len(entry.values) > 2:
            yield from _unions_of(entry.name, entry.sides, entry.levels)


def _unions_of(name: str, sides: Sequence[np.ndarray], levels: np.ndarray) -> Iterator[Event]:
    size = len(levels) + 1

    def bins(values: np.ndarray) -> np.ndarray:
        places = np.searchsorted(levels, values, side="left")
        return np.where(np.isnan(values), size, places)

    of = _remembered(lambda given: bins(column(given, name)))
    counts = [np.bincount(bins(side), minlength=size + 1)[:size] for side in sides]
    order = np.argsort(-(counts[0] + 0.5) / (counts[1] + 0.5), kind="stable")
    for number in range(1, size):
        inside = np.zeros(size + 1, bool)
        inside[order[:number]] = True
        yield Event(
            f"{name} in {_intervals(levels, inside[:size])}",
            lambda given, inside=inside: inside[of(given)],
        )


def _intervals(levels: np.ndarray, inside: np.ndarray) -> str:
    """The bins of a union in words, neighbouring ones together."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    ends = [-np.inf, *levels.tolist(), np.inf]
    shown = [
        f"({ends[low]:.4g}, {ends[high]:.4g}]"
        for low, high in zip(edges[::2], edges[1::2], strict=True)
    ]
    return " or ".join(shown[:4]) + (f" or {len(shown) - 4} more" if len(shown) > 4 else "")


def _scores(tables: tuple[Table, Table], quickly: bool) -> Iterator[Event]:
    """Levels of a logistic regression that adds up what every column says."""
    # A low bit is an event by itself, which says more in words than a score does.
    names = [name for name in _names(tables) if not name.startswith(LOWEST_BIT)]
    if len(names) < 2:
        return
    few = min(_ROWS, max(_ROWS // 8, min(map(len, tables)) // 50)) if quickly else _ROWS_OF_SCORE
    rows = [given.rows(slice(few)) for given in tables]
    both, side = together(rows), np.repeat([1.0, 0.0], [len(given) for given in rows])
    features = _Features.fitted(names, both)
    weights = features.regression(both, side, _ITERATIONS // (3 if quickly else 1))
    score = _remembered(lambda given: features.score(given, weights))
    # What tells most is often rare.
    ranks = _ranks(np.geomspace(10.0 / len(side), 0.02, 8))
    for level in np.unique(np.quantile(score(both), ranks)):
        yield Event(
            f"a logistic score of {len(names)} entries <= {level:.4g}",
            lambda given, level=level: score(given) <= level,
        )


class _Features(NamedTuple):
    """What a regression adds up: each column, clipped and scaled, and the bin that it falls in.

    Attributes:
      names: of the columns.
      low, high: ends of each, between which it is scaled to [-1, 1].
      edges: of each column's bins; values that are frequent are bins of their own.
      starts: the number of each column's first bin among all.
    """

    names: Sequence[str]
    low: np.ndarray
    high: np.ndarray
    edges: Sequence[np.ndarray]
    starts: np.ndarray

    @classmethod
    def fitted(cls, names: Sequence[str], given: Table) -> "_Features":
        """Ends and bins by these trials."""
        low, high, edges = [], [], []
        for name in names:
            values = column(given, name)
            values = values[np.isfinite(values)]
            ends = np.quantile(values, [0.01, 0.99]) if values.size else np.zeros(2)
            low.append(ends[0])
            high.append(ends[1] if ends[1] > ends[0] else ends[0] + 1.0)
            edges.append(_edges(values))
        sizes = [len(one) + 2 for one in edges]  # between and beyond the edges, and for NaN
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(names, np.array(low), np.array(high), edges, starts)

    def _scaled(self, given: Table) -> np.ndarray:
        values = np.stack([column(given, name) for name in self.names], axis=1)
        # Halves: the difference of two floats may be none.
        low, high = self.low / 2.0, self.high / 2.0
        middle = np.clip(np.where(np.isnan(values), low + high, values), self.low, self.high) / 2.0
        return 2.0 * ((middle - low) / np.where(high > low, high - low, 1.0)) - 1.0

    def _bins(self, given: Table) -> np.ndarray:
        found = np.empty((len(given), len(self.names)), np.int32)
        for place, (name, edges) in enumerate(zip(self.names, self.edges, strict=True)):
            values = column(given, name)
            bins = np.searchsorted(edges, values, side="left")
            found[:, place] = np.where(np.isnan(values), len(edges) + 1, bins)
        return found + self.starts[:-1].astype(np.int32)

    def regression(self, given: Table, side: np.ndarray, iterations: int) -> np.ndarray:
        """Weights of the scaled columns, of the bins, and a constant; with a ridge penalty."""
        from scipy import optimize  # imported where it is needed: it takes long

        scaled, bins = self._scaled(given), self._bins(given)
        flat, width, size = bins.ravel(), bins.shape[1], int(self.starts[-1])

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            slopes, steps = weights[:width], weights[width:-1]
            total = scaled @ slopes + steps[bins].sum(axis=1) + weights[-1]
            rest = scipy.special.expit(total) - side
            value = np.logaddexp(0.0, total).sum() - side @ total
            slope = np.concatenate(
                [
                    rest @ scaled,
                    np.bincount(flat, np.repeat(rest, width), minlength=size),
                    [rest.sum()],
                ]
            )
            penalty = _RIDGE * weights
            return float(value + 0.5 * weights @ penalty), slope + penalty

        start = np.zeros(width + size + 1)
        options = {"maxiter": iterations}
        return optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x

    def score(self, given: Table, weights: np.ndarray) -> np.ndarray:
        """The sum that the regression fitted."""
        width = len(self.names)
        slopes, steps = weights[:width], weights[width:-1]
        found = np.empty(len(given))
        for first in range(0, len(given), _AT_ONCE):
            part = given.rows(slice(first, first + _AT_ONCE))
            step = steps[self._bins(part)].sum(axis=1)
            found[first : first + _AT_ONCE] = self._scaled(part) @ slopes + step
        return found


def _edges(values: np.ndarray) -> np.ndarray:
    """Ends of bins: quantiles of what is not frequent, and both sides of what is."""
    if not values.size:
        return values
    found, counts = np.unique(values, return_counts=True)
    atoms = found[counts >= max(2.0, 0.005 * values.size)][:_ATOMS_OF_SCORE]
    rest = values[~np.isin(values, atoms)]
    inner = np.quantile(rest, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]) if rest.size else rest
    return np.unique(np.concatenate([atoms, np.nextafter(atoms, -np.inf), inner]))
