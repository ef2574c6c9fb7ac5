"""jaxsel account for several searches or a grid: reads them, and prints the answer."""

import tomllib
from pathlib import Path
from typing import Any

from jaxsel.cli.output import print_cost
from jaxsel.cli.search_options import Accounted
from jaxsel.host.errors import InputError
from jaxsel.host.progress import spinner
from jaxsel.host.reading import read_text
from jaxsel.language.domains import nearest
from jaxsel.questions.account_grid import account_grid
from jaxsel.questions.released import compose, release, releases_from, search_cost
from jaxsel.tuning.composing_searches import Release
from jaxsel.tuning.drawn import read_drawn

_TABLES = ("search", "beside")


def _read_searches(path: Path) -> list[Release]:
    """The releases that a TOML file lists.

    The file has tables [[search]] with base, repetitions and times, and [[beside]] with
    base and times; or, for a single search, these keys at the top level. A search without
    repetitions and a [[beside]] with them are refused, since they are probably mistakes.

    Raises:
      InputError: if the file cannot be read, is not TOML, or lists no releases.
    """
    text = read_text(path, "TOML")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    tables = {name: document.pop(name) for name in _TABLES if name in document}
    if document and tables:
        key = next(iter(document))
        raise InputError(
            f"{path} has {key!r} beside its tables{nearest(key, _TABLES)}; put it into "
            "[[search]] or [[beside]]"
        )
    if not tables:
        if not document:
            raise InputError(f"{path} is empty; write a [[search]] as jaxsel account --help shows")
        tables = {"search": [document]}
    found = []
    for name, rows in tables.items():
        if not isinstance(rows, list):
            raise InputError(f"{path}: write [[{name}]], in double brackets")
        for row in rows:
            try:
                found.append(_row(name, row))
            except InputError as error:
                raise InputError(f"{path}: {error}") from None
    return found


def _row(table: str, row: dict[str, Any]) -> Release:
    if (table == "search") != ("repetitions" in row):
        wrong = "needs" if table == "search" else "has no"
        raise InputError(f"a [[{table}]] {wrong} repetitions, the law of K")
    (found,) = releases_from([row])
    return found


def gather(asked: Accounted) -> list[Release]:
    """Every release that the options name.

    Raises:
      InputError: if there is none, or as ``search_cost`` and ``_read_searches``.
    """
    found: list[Release] = []
    base, repetitions = asked.base, asked.repetitions
    all_released = read_drawn(asked.drawn).released_runs is not None
    if base is not None and (repetitions is not None or all_released):
        found += search_cost(base, repetitions, drawn=asked.drawn) * asked.times
    elif base is not None or repetitions is not None or asked.times != 1:
        raise InputError(
            "--base, --repetitions and --times say one search; give --base and --repetitions both"
        )
    for path in asked.search or []:
        found += _read_searches(path)
    for text in asked.beside or []:
        found += release(text)
    return found


def answer_composition(
    releases: list[Release], delta: float | None, epsilon: float | None, json: bool
) -> None:
    """Prints what the releases cost together; exit status 1 if nothing is proved.

    With an epsilon, the answer is the delta at it.
    """
    with spinner("adding up what is released"):
        found = compose(releases, delta, epsilon=epsilon)
    print_cost(found, json)


def answer_grid(
    base: str | None, repetitions: str | None, grid: int, delta: float, json: bool
) -> None:
    """Prints what a grid costs beside a random search; exit status 1 if nothing is proved.

    Raises:
      InputError: as ``account_grid``.
    """
    if base is None:
        raise InputError("--drawn grid needs --base: what one run guarantees")
    found = account_grid(base, grid, delta, repetitions=repetitions)
    print_cost(found, json)
