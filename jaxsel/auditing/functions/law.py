"""check_law: are the outcomes of a function distributed as its documentation says?

A test of goodness of fit on one input. It speaks of what is released there, and not of privacy:
for that two inputs are compared.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.special

from jaxsel.auditing.functions.audited_function import check_first_start, load
from jaxsel.auditing.functions.calls import time_limit
from jaxsel.auditing.functions.drawing import Draws, call_limits
from jaxsel.auditing.functions.how import Calls, read, reads_former
from jaxsel.auditing.functions.independence import check_independence, check_shares
from jaxsel.auditing.functions.outcomes import Table, column, table
from jaxsel.auditing.functions.verdicts import failed
from jaxsel.host.errors import (
    MOST_TRIALS,
    CouldNotError,
    InputError,
    UnsupportedError,
    check_finite,
    check_integer,
    check_interval,
)
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.language.domains import nearest
from jaxsel.language.printing import Summary, printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AT_ONCE = 2**18  # trials that are held at once
_CHECK = 0.2  # of a time limit, for comparing calls and processes
_GROUPS = 1024  # of calls, whose counts are kept apart
_SHOWN = 8  # cells that the summary shows
_POINTS = 4096  # of a discrete law, that have cells of their own
_POWER = 0.8  # at which a deviation counts as one that would be seen
_STREAM = 2
# Numbers are rounded, at the ends of a law's support, too, to float32 at the worst.
_ROUNDED = 2.0**-23
_ELSEWHERE = "anything else"


@printed
class LawCheck(NamedTuple):
    """Outcomes on one input beside the law that they should have.

    Attributes:
      function: its name.
      law: in words.
      data: the input.
      p_value: the probability, at most, that outcomes of this law lie so far from it.
      false_alarm: the largest probability that a function that has this law is refuted.
      detectable: about the smallest relative deviation of the cells' probabilities, root mean
        square, that so many trials refute in most runs.
      cells: sets of outcomes, in words; the last is whatever the law never gives.
      probabilities: of the cells, by the law.
      counts: trials in each cell.
      trials: their number.
      limited: whether the time, and not the number of trials, ended the check.
      seconds: how long it took.
      seed: of the randomness that is handed to the function.

    Example:
        >>> import jaxsel
        >>> coin = jaxsel.check_law(
        ...     lambda rng, data: rng.random() < 0.5, None, law={True: 0.5, False: 0.5}, trials=1000
        ... )
        >>> coin.trials, sum(coin.counts), coin.cells[:2]
        (1000, 1000, ('True', 'False'))
    """

    function: str
    law: str
    data: Any
    p_value: float
    false_alarm: float
    detectable: float
    cells: tuple[str, ...]
    probabilities: tuple[float, ...]
    counts: tuple[int, ...]
    trials: int
    limited: bool
    seconds: float
    seed: int

    @property
    def refuted(self) -> bool:
        """True if the outcomes have another law, but for the stated false-alarm rate."""
        return self.p_value <= self.false_alarm

    def plot(self) -> "Figure":
        """Plots the share of each cell beside its probability."""
        from jaxsel.pictures.tallied import draw_outcomes

        kept = slice(None) if self.counts[-1] else slice(-1)
        shown = np.array([self.counts[kept]])
        law = np.array(self.probabilities[kept])
        return draw_outcomes(shown, self.cells[kept], self.trials, law)

    def summary(self) -> Summary:
        """The verdict in words, above the cells that deviate most."""
        shown = " ".join(repr(self.data).split())
        on = f"{self.function} on {shown if len(shown) <= 60 else f'{shown[:56]} ...'}"
        how = f"p-value {self.p_value:.3g}, false-alarm rate {self.false_alarm:g}"
        by = ", which the time ended" if self.limited else ""
        if self.refuted:
            said = f"REFUTED: {on} does not have the law {self.law} ({how})."
        else:
            said = (
                f"Not refuted: {on} may have the law {self.law} ({how}); {self.trials} trials{by} "
                f"refute cells that are off by {100 * self.detectable:.2g} % in most runs."
            )
        said += " This speaks of one input, and not of privacy."
        expected = self.trials * np.array(self.probabilities)
        moved = np.abs(_deviations(np.array(self.counts), expected))
        places = np.argsort(-moved, kind="stable")[:_SHOWN].tolist()
        rows = [
            [self.cells[place], self.counts[place], f"{expected[place]:.1f}", f"{moved[place]:.2f}"]
            for place in places
            if self.counts[place] or expected[place]
        ]
        return Summary(said, ("cell", "seen", "expected", "in standard deviations"), rows)


def _deviations(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Of each cell's count, in standard deviations; infinite for what has no probability."""
    trials = max(expected.sum(), 1.0)
    spread = np.sqrt(expected * (1.0 - np.minimum(expected / trials, 1.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts == expected, 0.0, (counts - expected) / spread)


class _Cells(NamedTuple):
    """A law as a partition of all outcomes.

    Attributes:
      said: the law in words.
      words: of the cells; the last is all that the law never gives.
      probabilities: of the cells.
      places: ``table -> Int["trials"]``, the cell of each trial.
      numbers: whether the law is one of numbers.
    """

    said: str
    words: tuple[str, ...]
    probabilities: np.ndarray
    places: Callable[[Table], np.ndarray]
    numbers: bool


@reads_former("false_alarm", "seconds", "kind", "call_seconds", "workers")
def check_law(
    subject: Any,
    data: Any,
    *,
    law: Any,
    trials: int = 1_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    how: Any = None,
) -> LawCheck:
    """Tests whether the outcomes of a function on an input have a given law.

    A continuous law is cut into cells of equal probability, about 2 trials^(2/5) of them (Mann
    & Wald 1942). The points of a discrete law are cells of their own, pooled where fewer than
    five trials are expected. The chi-square test is the one of
    ``host.intervals.goodness_of_fit``, whose false-alarm rate holds at every number of trials,
    without the usual approximation for large ones. What the law never gives (a number outside
    its support, NaN, an exception) refutes it at once.

    Args:
      subject: the function, as for ``audit_function``: ``f(rng, data, n)``, ``f(rng, data)``,
        ``f(data)``, ``f(key, data)``, or "path/to/file.py:name".
      data: its input.
      law: a distribution of scipy.stats as text, "laplace:loc=3,scale=2", or frozen; or a
        mapping from outcomes of any kind to their probabilities.
      trials: their number.
      confidence: a function that has this law is refuted with probability at most
        1 - confidence.
      seed: of the randomness that is handed to the function.
      settings: parameters of the function that have defaults, by name.
      how: how it is called: a text such as "seconds=10,kind=generator", or a
        ``jaxsel.auditing.functions.how.Calls``.

    Returns:
      What was seen, which prints.

    Raises:
      UnsupportedError: for a law of numbers, and a function that returns none.
      CouldNotError: if no call answers, or trials are not independent.
      InputError: for bad input.

    Example:
        >>> import jaxsel
        >>> def noisy(rng, data, n):
        ...     return data + rng.laplace(scale=2.0, size=n)
        >>> jaxsel.check_law(noisy, 3.0, law="laplace:loc=3,scale=2", trials=2000).refuted
        False
        >>> jaxsel.check_law(noisy, 3.0, law="laplace:loc=3,scale=1", trials=2000).refuted
        True
    """
    check_first_start()
    began = time.monotonic()
    trials = check_integer("trials", trials, 100, MOST_TRIALS)
    seed = check_integer("seed", seed, 0)
    calls = read(Calls, how)
    seconds = time_limit("seconds", calls.seconds)
    error = 1.0 - check_interval("confidence", confidence, 0.0, 1.0)
    cells = _cells(law, trials)
    function = load(subject, calls.kind)
    until = math.inf if seconds is None else began + seconds
    limit, longer = call_limits(function, seconds, time_limit("call_seconds", calls.call_seconds))
    counts: list[Any] = []
    sizes: list[int] = []
    elsewhere = _ELSEWHERE
    with Draws(
        function,
        settings,
        seed=seed,
        call_seconds=limit,
        longer=longer,
        workers=calls.workers,
        until=until,
        total=trials,
        progress=calls.progress,
    ) as draws:
        check_independence(draws, data, math.inf if seconds is None else _CHECK * seconds)
        for block, begin in enumerate(range(0, trials, _AT_ONCE)):
            if block and time.monotonic() > until:
                break
            made = draws.blocks(data, min(_AT_ONCE, trials - begin), (_STREAM, block))
            if not block:
                _check_kind(draws, made[0], cells)
            size = len(cells.words)
            for one in made:
                places = cells.places(one)
                counts.append(np.bincount(places, minlength=size))
                sizes.append(len(one))
                if counts[-1][-1] and elsewhere == _ELSEWHERE:
                    elsewhere += f", such as {one.words[int(np.argmax(places))]}"
                if len(counts) > _GROUPS:
                    counts, sizes = _paired(counts), _paired(sizes)
    total, every = np.sum(counts, axis=0), sum(sizes)
    worst = int(np.argmax(np.abs(_deviations(total, every * cells.probabilities))))
    by_call = np.array([one[worst] for one in counts])
    check_shares(function.name, f"the outcome is {cells.words[worst]}", by_call, np.array(sizes))
    return LawCheck(
        function=function.name,
        law=cells.said,
        data=data,
        p_value=goodness_of_fit(total, cells.probabilities),
        false_alarm=error,
        detectable=_detectable(cells.probabilities, every, error),
        cells=(*cells.words[:-1], elsewhere),
        probabilities=tuple(cells.probabilities.tolist()),
        counts=tuple(total.tolist()),
        trials=every,
        limited=every < trials,
        seconds=time.monotonic() - began,
        seed=seed,
    )


def _paired(counts: list[Any]) -> list[Any]:
    """The sums of every two counts that follow one another."""
    return [sum(counts[place + 1 : place + 2], counts[place]) for place in range(0, len(counts), 2)]


def _check_kind(draws: Draws, made: Table, cells: _Cells) -> None:
    """Refuses a function that never answers, and one whose answers are no single numbers."""
    first = str(made.rows(slice(1)).words[0])
    if failed([made]):
        raise CouldNotError(draws.no_answer(made))
    if cells.numbers and "value" not in made.columns:
        raise UnsupportedError(
            f"{draws.function.name} returns {first}; a law of numbers is held against a function "
            "that returns one"
        )


def _detectable(probabilities: np.ndarray, trials: int, error: float) -> float:
    """The deviation at which a chi-square test at half of the error has power ``_POWER``."""
    free = max(np.count_nonzero(trials * probabilities >= 5.0) - 1, 1)
    needed = scipy.special.chndtrinc(scipy.special.chdtri(free, error / 2.0), free, 1.0 - _POWER)
    return math.sqrt(float(needed) / trials)


def _cells(law: Any, trials: int) -> _Cells:
    if isinstance(law, Mapping):
        return _of_outcomes(law)
    said = law if isinstance(law, str) else _shown(law)
    frozen = _parsed(law) if isinstance(law, str) else law
    if hasattr(frozen, "freeze"):
        if frozen.shapes:
            raise InputError(f"law is {said}; give its parameters: {frozen.shapes}")
        frozen = frozen()
    if not (hasattr(frozen, "cdf") and hasattr(frozen, "support")):
        raise InputError(
            f"law is {law!r}; it must be a distribution of scipy.stats, as text such as "
            "laplace:loc=3,scale=2 or frozen, or a mapping from outcomes to probabilities"
        )
    if not hasattr(frozen, "ppf"):
        raise UnsupportedError(f"law is {said}, which has no quantiles")
    low, high = (float(end) for end in frozen.support())
    if not low <= high:
        raise InputError(f"law is {said}; there is no such law: a parameter is out of range")
    number = max(min(math.ceil(2.0 * trials**0.4), trials // 5), 2)
    if hasattr(frozen, "pmf"):
        return _of_points(frozen, said, number)
    return _of_intervals(frozen, said, number, (low, high))


def _shown(law: Any) -> str:
    """A frozen distribution as its text."""
    if not hasattr(law, "dist"):
        return getattr(law, "name", None) or repr(law)
    named = [f"{value:g}" for value in getattr(law, "args", ())]
    named += [f"{name}={value:g}" for name, value in getattr(law, "kwds", {}).items()]
    return f"{law.dist.name}:{','.join(named)}"


def _parsed(text: str) -> Any:
    """A frozen distribution of scipy.stats by its text."""
    # To import all of scipy.stats takes longer than most checks.
    import scipy.stats

    families = {
        name: one
        for name, one in vars(scipy.stats).items()
        if isinstance(one, scipy.stats.rv_continuous | scipy.stats.rv_discrete)
    }
    name, _, rest = text.partition(":")
    if name not in families:
        raise InputError(
            f"law is {text!r}, and {name!r} is no distribution of scipy.stats"
            f"{nearest(name, families)}"
        )
    shapes = [one.strip() for one in (families[name].shapes or "").split(",") if one.strip()]
    scales = ["scale"] if isinstance(families[name], scipy.stats.rv_continuous) else []
    known = [*shapes, "loc", *scales]
    form = f"{name}:{','.join(f'{key}=..' for key in known)}"
    values: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or key not in known:
            raise InputError(f"law is {text!r}; {name} has no {key!r}; write {form}")
        if key in values:
            raise InputError(f"law is {text!r}; {key} is given twice")
        try:
            values[key] = check_finite(key, float(value)).item()
        except ValueError:
            raise InputError(f"law is {text!r}; {key} must be a finite number") from None
    missing = [shape for shape in shapes if shape not in values]
    if missing:
        raise InputError(f"law is {text!r}; {name} needs {' and '.join(missing)}; write {form}")
    return families[name](**values)


def _of_intervals(law: Any, said: str, number: int, ends: tuple[float, float]) -> _Cells:
    """Cells of equal probability of a continuous law, between its quantiles."""
    low, high = (end - _ROUNDED * abs(end) * sign for end, sign in zip(ends, (1, -1), strict=True))

    def places(given: Table) -> np.ndarray:
        values = column(given, "value")
        inside = np.isfinite(values) & (values >= low) & (values <= high)
        rank = np.floor(number * law.cdf(np.where(inside, values, ends[0])))
        return np.where(inside, np.clip(rank, 0, number - 1), number).astype(int)

    edges = law.ppf(np.arange(number + 1) / number)
    words = [f"({edges[i]:.4g}, {edges[i + 1]:.4g}]" for i in range(number)]
    return _Cells(
        said, (*words, _ELSEWHERE), np.append(np.full(number, 1 / number), 0.0), places, True
    )


def _of_points(law: Any, said: str, number: int) -> _Cells:
    """The points of a discrete law, between two tails; groups of them where they are many."""
    levels = np.arange(1, number) / number
    tail = 0.01 / number
    first, last = float(law.ppf(tail)), float(law.ppf(1.0 - tail))
    if last - first < _POINTS:
        ends = np.arange(first, last + 1.0)
    else:
        ends = np.unique(law.ppf(levels))
    below = np.concatenate([[0.0], law.cdf(ends), [1.0]])

    def places(given: Table) -> np.ndarray:
        values = column(given, "value")
        possible = np.isfinite(values)
        possible &= law.pmf(np.where(possible, values, ends[0])) > 0.0
        found = np.searchsorted(ends, np.where(possible, values, ends[0]), side="left")
        return np.where(possible, found, len(ends) + 1)

    single = np.diff(ends, prepend=law.support()[0] - 1.0) == 1.0
    words = [
        f"{end:g}" if alone else f"at most {end:g}" if not place else f"{before + 1:g} to {end:g}"
        for place, (alone, before, end) in enumerate(
            zip(single, np.roll(ends, 1), ends, strict=True)
        )
    ]
    words += [f"above {ends[-1]:g}", _ELSEWHERE]
    # Where the distribution function is rounded, a tail may lack some 1e-16.
    probabilities = np.append(np.maximum(np.diff(below), 0.0), 0.0)
    return _Cells(said, tuple(words), probabilities, places, True)


def _of_outcomes(law: Mapping[Any, float]) -> _Cells:
    """The outcomes of a mapping."""
    outcomes, probabilities = list(law), np.array(list(law.values()), float)
    if not (outcomes and np.all(probabilities >= 0.0) and abs(probabilities.sum() - 1.0) <= 1e-9):
        raise InputError(
            "the law's probabilities must be non-negative and sum to 1; they sum to "
            f"{probabilities.sum():g}"
        )
    known = table(outcomes)
    texts = known.words.tolist()
    values = known.columns.get("value")
    # Numbers are equal whatever their type; what is no number is known by its words.
    numbers = values is not None and bool(np.isfinite(values).all())

    def places(given: Table) -> np.ndarray:
        if not numbers:
            return given.ranks("words", texts)
        assert values is not None
        order = np.argsort(values)
        seen = column(given, "value")
        found = order[np.searchsorted(values[order], seen).clip(max=len(values) - 1)]
        return np.where(values[found] == seen, found, len(values))

    shown = [f"{text}: {law[outcome]:g}" for text, outcome in zip(texts, outcomes, strict=True)]
    said = "{" + ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "") + "}"
    return _Cells(said, (*texts, _ELSEWHERE), np.append(probabilities, 0.0), places, numbers)
