"""COVID-19 cases by US state and day, 12 March to 12 May 2020 (Zhu & Wang 2022, EXP2).

The paper names no publisher. These are the counts of The New York Times in their last
revision (2023-03-23), https://github.com/nytimes/covid-19-data: free for non-commercial
use, with credit. Its file us-states.csv is read as published; the checksum is taken
over the table of these 62 days, so that rows of other days do not matter.
"""

import csv
import io
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import FOLDER_VARIABLE, Source, available, read_source
from jaxsel.host.errors import InputError, check_choice

KINDS = ("daily", "cumulative")
DAYS = tuple(
    str(day) for day in np.arange(np.datetime64("2020-03-12"), np.datetime64("2020-05-13"))
)
_DAY_BEFORE = "2020-03-11"
_URL = "https://raw.githubusercontent.com/nytimes/covid-19-data/master/us-states.csv"


class CaseCounts(NamedTuple):
    """New or cumulative cases, by day and state.

    Attributes:
      kind: one of KINDS.
      dates: tuple of days.
      states: tuple of states, territories and the capital's district, in alphabetical order.
      counts: Int64["days states"], >= 0.
      source: description of where the counts come from, for a caption.
      generated: whether they are generated in place of real data.
    """

    kind: str
    dates: tuple[str, ...]
    states: tuple[str, ...]
    counts: np.ndarray
    source: str
    generated: bool


def _window(content: bytes, kind: str) -> bytes:
    """Turns us-states.csv (date, state, fips, cases, deaths) into a table of days and states.

    Content of another form, such as the table itself, is returned unchanged.
    """
    if not content.startswith(b"date,state,"):
        return content
    rows = csv.reader(io.StringIO(content.decode("utf-8")))
    header = next(rows)
    cases = header.index("cases")
    days = (_DAY_BEFORE, *DAYS)
    found: dict[str, dict[str, int]] = {day: {} for day in days}
    for row in rows:
        if row and row[0] in found:
            found[row[0]][row[1]] = int(row[cases])
    states = sorted({state for day in days for state in found[day]})
    table = np.array([[found[day].get(s, 0) for s in states] for day in days])
    table = np.diff(table, axis=0) if kind == "daily" else table[1:]
    lines = [",".join(["date", *states])]
    lines += [",".join([day, *map(str, row)]) for day, row in zip(DAYS, table, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _source(kind: str, digest: str) -> Source:
    return Source("us-states.csv", _URL, digest, lambda content: _window(content, kind))


DAILY = _source("daily", "e7614e8d12915a07ba16728520986c739e8e1e16c85220fddf6485ed8812a54f")
CUMULATIVE = _source(
    "cumulative", "909381f79e752ef84c57d5387102eb69107ee49d0a0c39273679d3a7365b94ab"
)


def _variants(kind: str) -> tuple[Source, ...]:
    """The accepted sources: the publisher's file, or a table of the window."""
    check_choice("kind", kind, KINDS)
    source = DAILY if kind == "daily" else CUMULATIVE
    table = f"nyt_final_2023-03-23_{kind}.csv"
    names = (source.file, table, f"covid19_us/{table}")
    return tuple(source._replace(file=name) for name in names)


def covid_available(path: str | Path | None = None) -> bool:
    """Whether both kinds of counts lie at the path or in the folder JAXSEL_DATA."""
    return all(any(available(s, path) for s in _variants(kind)) for kind in KINDS)


def load_covid(kind: str = "daily", path: str | Path | None = None) -> CaseCounts:
    """Loads the new cases of each day, or the cumulative ones.

    A daily count is the difference of two published totals. Three of these differences are
    negative (Georgia on 12 April, Puerto Rico on 21 April, Idaho on 3 May) and are set to 0,
    since a histogram has no negative counts.

    Args:
      kind: "daily" or "cumulative".
      path: of the file us-states.csv, or its folder; by default the folder in the variable
        JAXSEL_DATA.

    Raises:
      InputError: if the kind is unknown, or no file or an altered one is found.
    """
    variants = _variants(kind)
    source = next((s for s in variants if available(s, path)), None)
    if source is None:
        folder = path if path is not None else os.environ.get(FOLDER_VARIABLE)
        where = "the case counts are not at hand"
        if folder:
            where = f"{folder} does not exist or has no us-states.csv"
        raise InputError(
            f"{where}; download {_URL} and name the file, its folder, or the folder in "
            f"the variable {FOLDER_VARIABLE}; sha256 of the table of its 62 days: "
            f"{variants[0].sha256}"
        )
    lines = read_source(source, path).decode("utf-8").splitlines()
    states = tuple(lines[0].split(",")[1:])
    cells = [line.split(",") for line in lines[1:]]
    counts = np.array([row[1:] for row in cells], dtype=np.int64)
    return CaseCounts(
        kind,
        tuple(row[0] for row in cells),
        states,
        np.maximum(counts, 0),
        "cases by state, The New York Times",
        False,
    )


def generated_covid(kind: str = "daily") -> CaseCounts:
    """A generated epidemic of 55 states, which replaces the real one.

    State r has about 1/r of the cases of the first. Their total grows tenfold in 12.5 days
    until day 25 and is constant afterwards. Counts have Poisson noise from a fixed seed.

    Args:
      kind: "daily" or "cumulative".
    """
    check_choice("kind", kind, KINDS)
    generator = np.random.default_rng(2020)
    total = 300.0 * 10.0 ** (np.minimum(np.arange(len(DAYS)), 25.0) / 12.5)
    share = 1.0 / np.arange(1.0, 56.0)
    daily = generator.poisson(total[:, None] * share / share.sum())
    counts = np.cumsum(daily, axis=0) if kind == "cumulative" else daily
    return CaseCounts(
        kind,
        DAYS,
        tuple(f"state {number}" for number in range(1, 56)),
        counts.astype(np.int64),
        "generated epidemic of 55 states",
        True,
    )
