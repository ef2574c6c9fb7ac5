"""The record of a figure, read from what its file declares, and where it finds its data sets."""

import contextlib
import importlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.language.domains import Domain
from sims import listing, registry
from sims.experiment import Experiment, Settings, offered, signature_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from jaxsel.language.signature import Signature

_RECORDS: ContextVar[Path] = ContextVar("records", default=registry.OUT)
_SETTINGS: ContextVar[Settings] = ContextVar("settings", default=())


class Figure(NamedTuple):
    """One figure, as its file in ``figures`` declares it.

    The file defines ``TITLE``, ``SECONDS`` if it is not quick, the functions that it
    simulates (see ``sims.experiment``), and ``draw``. The latter makes the figure from the
    data sets of these functions, or of those of other files, and from claims, bounds and
    exact laws.

    Attributes:
      id: its name on the command line, and the name of its files.
      title: one line for people: paper, number, subject.
      sims: names of the simulations whose records it reads.
      seconds: approximate time it takes on one core, simulations included; used to order the
        figures and to estimate the remaining time.
      experiments: those whose data sets ``draw`` takes.
    """

    id: str
    title: str
    sims: tuple[str, ...]
    seconds: float = 5.0
    experiments: tuple[Experiment, ...] = ()

    @property
    def module(self) -> str:
        """Full name of its module."""
        return f"figures.{listing.module_name(self.id)}"

    def settable(self) -> dict[str, Domain]:
        """Settings of the figure and of its simulations, by name."""
        found = offered(self._signature())
        for experiment in self.experiments:
            for name, domain in offered(experiment.signature()).items():
                if found.setdefault(name, domain).default != domain.default:
                    raise ValueError(f"{self.id} has two settings {name}; rename one")
        return dict(sorted(found.items()))

    def _signature(self) -> "Signature":
        draw = importlib.import_module(self.module).draw
        return signature_of(draw, [each.name for each in self.experiments])

    def draw(self) -> "Canvas":
        """Draws it with Matplotlib's settings as they are; see ``render``."""
        folder, chosen = _RECORDS.get(), _SETTINGS.get()
        found = {each.name: each.read(folder, chosen) for each in self.experiments}
        signature = self._signature()
        defaults = {name: domain.default for name, domain in signature.settings.items()}
        return signature.call({**defaults, **dict(chosen)}, **found)


@contextlib.contextmanager
def records_in(folder: str | Path, settings: Settings = ()) -> Iterator[None]:
    """A context in which figures read the records of this folder, run with these settings."""
    folder_token = _RECORDS.set(Path(folder))
    settings_token = _SETTINGS.set(settings)
    try:
        yield
    finally:
        _SETTINGS.reset(settings_token)
        _RECORDS.reset(folder_token)


def render(figure: Figure) -> "Canvas":
    """Draws a figure in the shared style."""
    from jaxsel.pictures import style

    with style.applied():
        return figure.draw()
