"""What a figure is, and where figures find the records they draw."""

import contextlib
import importlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sims import listing, registry
from sims.experiment import Piece, settings_of, signature_of
from sims.settings import Setting, Settings, settable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from jaxsel.sweeps.signature import Signature

_RECORDS: ContextVar[Path] = ContextVar("records", default=registry.OUT)
_SETTINGS: ContextVar[Settings] = ContextVar("settings", default=())


class Figure(NamedTuple):
    """One figure, as its file in ``figures`` declares it.

    The file defines ``TITLE``, ``SIMS`` if it reads other records than that of its own
    name, ``SECONDS`` if it is not quick, ``NO_EFFECT`` if what it imports has settings
    that do not matter here, and ``draw()``, which makes the figure from records (read
    with ``load``, or taken as arguments, see ``sims.experiment``) and from claims, bounds
    and exact laws; it never simulates.

    Attributes:
      id: what the command line calls it, and the name of its files.
      title: one line for people: paper, number, subject.
      sims: names of the simulations whose records it reads.
      seconds: about how long it takes, simulations included, on one core; for the order
        of drawing and for saying how long the others will take.
      no_effect: modules, or constants of theirs, that declare numbers settable which do
        not change it.
      pieces: what ``draw`` takes: data sets of functions of experiments.
    """

    id: str
    title: str
    sims: tuple[str, ...]
    seconds: float = 5.0
    no_effect: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()

    @property
    def module(self) -> str:
        """Full name of its module."""
        return f"figures.{listing.module_name(self.id)}"

    def settable(self) -> dict[str, Setting]:
        """The numbers that can be set, of its own and of its simulations, by name."""
        found = settings_of(self._signature(), self.module)
        for piece in self.pieces:
            for name, setting in settings_of(piece.signature(), piece.module).items():
                if found.setdefault(name, setting).value != setting.value:
                    raise ValueError(f"{self.id} has two settings {name}; rename one")
        if not self.pieces:
            sims = (registry.find(name).module for name in self.sims)
            found |= settable([self.module, *sims], self.no_effect)
        return dict(sorted(found.items()))

    def _signature(self) -> "Signature":
        draw = importlib.import_module(self.module).draw
        return signature_of(draw, [piece.name for piece in self.pieces])

    def draw(self) -> "Canvas":
        """Draws it with Matplotlib's settings as they are; see ``render``."""
        folder, chosen = _RECORDS.get(), _SETTINGS.get()
        found = {piece.name: piece.read(folder, chosen) for piece in self.pieces}
        signature = self._signature()
        defaults = {name: domain.default for name, domain in signature.settings.items()}
        values = {each.setting.name: each.value for each in chosen}
        return signature.call({**defaults, **values}, **found)


@contextlib.contextmanager
def records_in(folder: str | Path, settings: Settings = ()) -> Iterator[None]:
    """Inside, ``load`` reads the records of this folder, run with these settings."""
    folder_token = _RECORDS.set(Path(folder))
    settings_token = _SETTINGS.set(settings)
    try:
        yield
    finally:
        _SETTINGS.reset(settings_token)
        _RECORDS.reset(folder_token)


def load(name: str) -> registry.Result:
    """The record of a simulation; InputError if it was not run yet."""
    chosen = registry.settings_of(name, _SETTINGS.get())
    return registry.load(name, _RECORDS.get(), chosen)


def render(figure: Figure) -> "Canvas":
    """Draws a figure in the shared style."""
    from jaxsel.pictures import style

    with style.applied():
        return figure.draw()
