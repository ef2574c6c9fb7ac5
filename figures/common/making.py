"""Making figures: what each picture was made from, and whether that still holds.

Beside the pictures lies, for each, a note of the code, the records and the libraries that
it was drawn with; as long as nothing of it changed, the picture is not drawn again.
"""

import contextlib
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from figures.common.figure import Figure, records_in, render
from jaxsel.errors import InputError
from jaxsel.records import read
from sims import registry

FORMATS = ("png", "pdf")


class Place(NamedTuple):
    """Where pictures and records lie, and how records are simulated.

    Attributes:
      pictures, records: folders.
      trials, seed: of the simulations; None: as stored, else the simulation's own.
    """

    pictures: Path
    records: Path
    trials: int | None = None
    seed: int | None = None


def settings(name: str, place: Place) -> dict[str, Any]:
    """Trials and seed of a simulation; what is not asked for stays as it was run."""
    path = registry.record_path(name, place.records)
    stored = {}
    if path.exists():
        with contextlib.suppress(InputError):  # what cannot be read is made again
            stored = read(path).configuration
    trials = stored.get("trials") if place.trials is None else place.trials
    seed = stored.get("seed", 0) if place.seed is None else place.seed
    return {"trials": trials, "seed": seed}


def _made_from(figure: Figure, place: Place) -> dict[str, Any]:
    paths = {name: registry.record_path(name, place.records) for name in figure.sims}
    return registry.dependencies(figure.module, without_claims=False) | {
        "records": {
            name: hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in paths.items()
        },
        "matplotlib": importlib.metadata.version("matplotlib"),
    }


def _note(figure: Figure, place: Place) -> Path:
    return place.pictures / ".made" / f"{figure.id}.json"


def why_drawn(figure: Figure, place: Place) -> str:
    """Why a figure has to be drawn (again), in words; "" if it is up to date."""
    for name in figure.sims:
        reason = registry.why_simulated(
            name, out=place.records, **settings(name, place)
        )
        if reason:
            return f"the record {name}: {reason}"
    pictures = [place.pictures / f"{figure.id}.{kind}" for kind in FORMATS]
    if not all(path.exists() for path in [*pictures, _note(figure, place)]):
        return "not drawn yet"
    try:
        stored = json.loads(_note(figure, place).read_text(encoding="utf-8"))
    except ValueError:
        return "its note cannot be read"
    return registry.why_stale(stored, _made_from(figure, place))


def make(figure: Figure, place: Place, say: Callable[[str], None]) -> list[Path]:
    """Simulates what a figure needs, draws it, and returns its pictures."""
    from jaxsel.pictures import style

    for name in figure.sims:
        chosen = settings(name, place)
        registry.run(name, out=place.records, say=say, **chosen)
    made_from = _made_from(figure, place)
    with records_in(place.records):
        drawn = render(figure)
    written = style.save(drawn, place.pictures / figure.id, FORMATS)
    note = _note(figure, place)
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps(made_from), encoding="utf-8")
    return written


def time_left(done: Sequence[Figure], waiting: Sequence[Figure], spent: float) -> str:
    """In words, from how long the figures took so far."""
    share = sum(f.seconds for f in waiting) / sum(f.seconds for f in done)
    minutes = spent * share / 60.0
    if not waiting:
        return "done"
    if minutes < 1.0:
        return "less than a minute left"
    return f"about {minutes:.0f} min left"
