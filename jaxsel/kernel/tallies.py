"""The tallies of a run, and arithmetic on the ranges of trials that they count."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.printing import Summary, printed

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

Range = tuple[int, int]
_Ranges = tuple[Range, ...]


def total(ranges: Iterable[Range]) -> int:
    """The number of trials in disjoint ranges."""
    return sum(last - first for first, last in ranges)


def shown(ranges: Iterable[Range]) -> str:
    """Ranges in words: "trials [0, 5) and [7, 9)"."""
    return "trials " + " and ".join(f"[{first}, {last})" for first, last in ranges)


def check_totals(totals: Iterable[Any], first: int, last: int, holder: str) -> None:
    """Checks that sums count each of the trials [first, last) once.

    Args:
      totals: from ``Statistic.totals``: the number of trials in each part of the sums.
      first, last: the trials that the sums should be of, first <= last.
      holder: the file or object with the sums, for the message.

    Raises:
      InputError: if trials are missing, or too many.
    """
    for found in totals:
        wrong = np.ravel(np.asarray(found))
        wrong = wrong[wrong != last - first]
        if wrong.size:
            raise InputError(
                f"{holder} counts {wrong[0]} trials where there are {last - first}, "
                f"[{first}, {last}): some were lost or counted twice; run it anew"
            )


def joined(one: _Ranges, other: _Ranges) -> _Ranges:
    """The union of two sets of trials, in order, adjacent ranges merged.

    Args:
      one, other: disjoint ranges [first, last), first < last, each.

    Raises:
      InputError: if a trial is in both; it says which.
    """
    both = [
        (max(a[0], b[0]), min(a[1], b[1]))
        for a in one
        for b in other
        if max(a[0], b[0]) < min(a[1], b[1])
    ]
    if both:
        raise InputError(
            f"both tallies count {shown(sorted(both))}; merge ranges that do not overlap"
        )
    found: list[Range] = []
    for first, last in sorted((*one, *other)):
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def read_ranges(value: object) -> _Ranges:
    """Parses ranges from a record, where they are lists of two whole numbers.

    Raises:
      InputError: if they are not disjoint ranges in order.
    """
    found: list[Range] = []
    try:
        for first, last in value:  # type: ignore[attr-defined]
            whole = type(first) is type(last) is int
            if not whole or not (found[-1][1] if found else 0) <= first < last:
                raise ValueError
            found.append((first, last))
    except (TypeError, ValueError):
        raise InputError(f"{value!r} are not ranges of trials") from None
    return tuple(found)


class Frequencies(NamedTuple):
    """Observed frequencies and their intervals, each Float64["cells events"]."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


@printed
class Tallies(NamedTuple):
    """Exact sums over trials of every cell of a grid.

    Attributes:
      values: pytree of np.int64 arrays with a leading axis of cells; for the default
        statistic Int64["cells events"].
      ranges: the trials counted in each cell, by number: disjoint ranges [first, last) in
        order, adjacent ones joined.
      labels: the names of the events, for the default statistic.
      configuration: what determines the outcome of each trial, as JSON-ready data.
      seconds: wall time spent computing, over all resumed parts.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanism("noisy_max", scores=[100, 0], epsilon=1)
        >>> tallies = jaxsel.simulate(built, trials=1000)
        >>> print(tallies.labels, tallies.values)
        ('0', '1') [[1000    0]]
        >>> more = jaxsel.simulate(built, trials=1000, first_trial=1000)
        >>> (tallies + more).trials
        2000
    """

    values: Any
    ranges: _Ranges
    labels: tuple[str, ...]
    configuration: Mapping[str, Any]
    seconds: float

    @property
    def trials(self) -> int:
        """Number of trials in each cell."""
        return total(self.ranges)

    def __add__(self, other: "Tallies") -> "Tallies":
        """The tallies of both ranges of trials, bit for bit those of one run of all.

        Raises:
          InputError: if they come from different configurations, count a trial twice, or
            do not count each of their trials.
        """
        different = sorted(
            key
            for key in {*self.configuration, *other.configuration}
            if self.configuration.get(key) != other.configuration.get(key)
        )
        if different:
            raise InputError(
                "these tallies come from different configurations (they differ in "
                f"{', '.join(different)})"
            )
        ranges = joined(self.ranges, other.ranges)
        self._check_whole()
        other._check_whole()
        return self._replace(
            values=jax.tree.map(np.add, self.values, other.values),
            ranges=ranges,
            seconds=self.seconds + other.seconds,
        )

    def frequencies(self, confidence: float = 0.95) -> Frequencies:
        """How often each event happened, with exact intervals (Clopper-Pearson).

        Args:
          confidence: of each interval, in (0, 1).

        Raises:
          InputError: if these are sums of another statistic than counts of events.
        """
        counts = self._counts()
        trials = np.full(counts.shape, self.trials)
        low, high = clopper_pearson(counts, trials, confidence)
        return Frequencies(counts / self.trials, low, high)

    def plot(self) -> "Figure":
        """Plots how often each outcome happened, with exact 95 % intervals.

        Raises:
          InputError: as ``frequencies``.
        """
        from jaxsel.pictures.tallied import draw_outcomes

        return draw_outcomes(self._counts(), self.labels, self.trials)

    def to_xarray(self, confidence: float = 0.95) -> "xarray.Dataset":
        """Counts and frequencies with named coordinates: "cell" and "outcome".

        Args:
          confidence: of each interval.

        Raises:
          InputError: as ``frequencies``.
        """
        import xarray as xr  # takes a second to import

        found = self.frequencies(confidence)
        dims = ("cell", "outcome")
        sure = {"confidence": confidence}
        return xr.Dataset(
            {
                "count": (dims, self._counts(), {"units": "trials"}),
                "frequency": (dims, found.value, {"units": "1"}),
                "frequency_low": (dims, found.low, {"units": "1"} | sure),
                "frequency_high": (dims, found.high, {"units": "1"} | sure),
            },
            {"cell": range(len(found.value)), "outcome": list(self.labels)},
            {
                "trials": self.trials,
                "ranges": shown(self.ranges),
                "configuration": json.dumps(dict(self.configuration), sort_keys=True),
            },
        )

    def to_dataframe(self, confidence: float = 0.95) -> "pandas.DataFrame":
        """``to_xarray`` as a table: one row per outcome of a cell."""
        return self.to_xarray(confidence).to_dataframe().reset_index()

    def _check_whole(self) -> None:
        """Raises InputError if counts of events do not sum to the number of trials."""
        cells = self.configuration["cells"]
        # The tallies that a shard returns are placeholders for those of all trials.
        if "shard" in self.configuration or np.shape(self.values) != (cells, len(self.labels)):
            return
        totals = [np.asarray(self.values).sum(axis=-1)]
        check_totals(totals, 0, self.trials, "these tallies")

    def _counts(self) -> np.ndarray:
        cells = self.configuration["cells"]
        if np.shape(self.values) != (cells, len(self.labels)):
            raise InputError(
                f"these are sums of {self.configuration['statistic']}, not counts of "
                "the mechanism's events"
            )
        self._check_whole()
        return np.asarray(self.values)

    def summary(self) -> Summary:
        """The tallies in words, and how often each event happened in each cell."""
        cells = self.configuration["cells"]
        sentence = (
            f"{self.trials} trials of {self.configuration['mechanism']}"
            f"{'' if cells == 1 else f' in each of {cells} cells'}, seed "
            f"{self.configuration['seed']}, {self.seconds:.3g} s."
        )
        values = self.values
        if np.shape(values) != (cells, len(self.labels)):
            return Summary(f"{sentence} Sums of {self.configuration['statistic']}.")
        if cells == 1:
            rows = [
                [label, int(count), count / self.trials]
                for label, count in zip(self.labels, values[0], strict=True)
            ]
            return Summary(sentence, ("outcome", "count", "frequency"), rows)
        columns = ("cell", *self.labels)
        rows = [[cell, *map(int, row)] for cell, row in enumerate(values)]
        return Summary(sentence, columns, rows)
