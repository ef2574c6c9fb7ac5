"""What a figure is, and where figures find the records they draw."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure as Canvas

from figures.common import style
from sims import registry

_RECORDS: ContextVar[Path] = ContextVar("records", default=registry.OUT)


class Figure(NamedTuple):
    """One figure.

    Attributes:
      id: what the command line calls it, and the name of its files.
      title: one line for people: paper, number, subject.
      sims: names of the simulations whose records it reads.
      draw: makes it, from records (read with ``load``) and from claims, bounds and exact
        laws; never simulates.
    """

    id: str
    title: str
    sims: tuple[str, ...]
    draw: Callable[[], Canvas]


@contextlib.contextmanager
def records_in(folder: str | Path) -> Iterator[None]:
    """Inside, ``load`` reads the records of this folder."""
    token = _RECORDS.set(Path(folder))
    try:
        yield
    finally:
        _RECORDS.reset(token)


def load(name: str) -> registry.Result:
    """The record of a simulation; InputError if it was not run yet."""
    return registry.load(name, _RECORDS.get())


def render(figure: Figure) -> Canvas:
    """Draws a figure in the shared style."""
    with style.applied():
        return figure.draw()
