"""The simulations by name, and their records on disk."""

import contextlib
import hashlib
import importlib
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host import records, source_digest
from jaxsel.host.errors import InputError
from sims import listing
from sims.experiment import Piece
from sims.experiment import compute as compute_piece
from sims.settings import Settings, applied, of_module, suffix

FOLDER = Path(__file__).parent
FIGURES = FOLDER.parent / "figures"
OUT = FOLDER / "out"
# Modules that read tables from ``sims/data``.
STORED_TABLES = {
    "sims.common.digits_accuracies",
    "sims.common.digits_candidates",
    "sims.common.tumour_table",
}


class Sim(NamedTuple):
    """One simulation.

    Its file defines ``TRIALS`` and functions, see ``sims.experiment``; or, in ``sims``,
    ``run(*, trials, seed, progress)``, which returns a mapping of NumPy arrays and
    JSON-ready values.

    Attributes:
      name: what the command line and the figures call it: its file's, with hyphens.
      trials: default budget: trials a grid cell (what a trial is, the module says).
      module: full name of its module.
      pieces: its functions; () where it has a ``run``.
    """

    name: str
    trials: int
    module: str
    pieces: tuple[Piece, ...] = ()


class Result(NamedTuple):
    """A record read back: arrays by name, and everything else."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


def _listed(folder: Path) -> Iterator[Sim]:
    for name, constants in listing.files(folder, "TRIALS").items():
        file = listing.module_name(name)
        module = f"{folder.name}.{file}"
        found = listing.declared(folder / f"{file}.py")
        pieces = tuple(Piece(module, function) for function in found)
        yield Sim(name, constants["TRIALS"], module, pieces)


SIMS: dict[str, Sim] = {
    sim.name: sim
    for sim in sorted(
        (sim for folder in (FOLDER, FIGURES) for sim in _listed(folder)),
        key=lambda sim: listing.order(sim.name),
    )
}


def dependencies(*modules: str, without_claims: bool = True) -> dict[str, Any]:
    """What a simulation or a figure is made from, beside its numbers: code and data.

    Args:
      *modules: full names.
      without_claims: as for ``jaxsel.host.source_digest.digests``.
    """
    code = source_digest.digests(modules, without_claims)
    found: dict[str, Any] = {"code": code, "jax": importlib.metadata.version("jax")}
    if not STORED_TABLES.isdisjoint(code):
        tables = sorted((FOLDER / "data").glob("*.json"))
        found["data"] = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tables
        }
    if any(name.startswith("jaxsel.data.") for name in code):
        # What is found there decides what is simulated.
        found["folder"] = os.environ.get(FOLDER_VARIABLE, "")
    return found


def why_stale(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In words, how one configuration differs from another; "" if it does not."""
    if stored == now:
        return ""
    if all(isinstance(each.get("code"), Mapping) for each in (stored, now)):
        modules = source_digest.changed(stored["code"], now["code"])
        if modules:
            more = "" if len(modules) <= 3 else f" and {len(modules) - 3} more"
            return f"the code changed: {', '.join(modules[:3])}{more}"
    elif "code" in now:
        return "the code changed"
    keys = sorted(k for k in set(stored) | set(now) if stored.get(k) != now.get(k))
    return f"different: {', '.join(keys)}"


def settings_of(name: str, chosen: Settings) -> Settings:
    """Those of a figure's settings that its simulation depends on."""
    sim = find(name)
    if not sim.pieces:
        return of_module(sim.module, chosen)
    kept = [each for piece in sim.pieces for each in piece.own(chosen)]
    # In their own order, by which records are called.
    return tuple(each for each in chosen if each in kept)


def _configuration(
    sim: Sim, trials: int, seed: int, settings: Settings = ()
) -> dict[str, Any]:
    own: dict[str, Any] = {"sim": sim.name, "trials": trials, "seed": seed}
    if settings:
        # As it is read back: a record holds lists.
        own["settings"] = {
            setting.name: list(value) if isinstance(value, tuple) else value
            for setting, value in settings
        }
    found = dependencies(sim.module)
    if sim.pieces:
        # What calls its functions, and makes their data sets.
        runs = source_digest.digests(["jaxsel.sweeps.running"])
        found["code"] |= {
            name: code
            for name, code in runs.items()
            if name.startswith("jaxsel.sweeps.")
        }
    return own | found


def record_paths(name: str, out: Path = OUT, settings: Settings = ()) -> list[Path]:
    """Where the records of a simulation lie; one of other numbers has another name."""
    sim = find(name)
    return [piece.path(out, settings) for piece in sim.pieces] or [
        out / f"{name}{suffix(settings)}.nc"
    ]


def stored(
    name: str, out: Path = OUT, settings: Settings = ()
) -> dict[str, Any] | None:
    """What the records of a simulation were made from; None if one cannot be read."""
    sim = find(name)
    if sim.pieces:
        found = [piece.configuration(out, settings) for piece in sim.pieces]
        return found[0] if all(each == found[0] for each in found) else None
    with contextlib.suppress(InputError):
        return records.read(record_paths(name, out, settings)[0]).configuration
    return None


def find(name: str) -> Sim:
    """The simulation of that name; InputError if there is none."""
    if name not in SIMS:
        raise InputError(
            f"there is no simulation {name!r}; there are: {', '.join(SIMS)}"
        )
    return SIMS[name]


def load(name: str, out: Path = OUT, settings: Settings = ()) -> Any:
    """The stored record of a simulation, run with these settings.

    Returns:
      A ``Result``; or the data set of each of its functions, by name.

    Raises:
      InputError: if it was not run yet.
    """
    sim = find(name)
    if sim.pieces:
        return {piece.name: piece.read(out, settings) for piece in sim.pieces}
    (path,) = record_paths(name, out, settings)
    if not path.exists():
        raise InputError(f"{name} was not simulated yet; run python -m sims {name}")
    stored = records.read(path)
    values = {k: v for k, v in stored.attributes.items() if k != "versions"}
    return Result(stored.arrays, values | {"configuration": stored.configuration})


def why_simulated(
    name: str,
    *,
    trials: int | None = None,
    seed: int = 0,
    out: Path = OUT,
    settings: Settings = (),
) -> str:
    """Why a simulation has to be run (again), in words; "" if its record is up to date.

    Arguments as for ``run``.
    """
    sim = find(name)
    if not all(path.exists() for path in record_paths(name, out, settings)):
        return "not simulated yet"
    trials = sim.trials if trials is None else trials
    before = stored(name, out, settings)
    if before is None:
        return "the record cannot be read"
    return why_stale(before, _configuration(sim, trials, seed, settings))


def compute(
    name: str, *, trials: int | None = None, seed: int = 0, progress: bool | None = None
) -> dict[str, Any]:
    """What a simulation returns, stored nowhere; arguments as for ``run``."""
    sim = find(name)
    trials = sim.trials if trials is None else trials
    if sim.pieces:
        asked = {"trials": trials, "seed": seed, "progress": progress}
        return {
            piece.name: compute_piece(piece.function, **asked) for piece in sim.pieces
        }
    module = importlib.import_module(sim.module)
    return module.run(trials=trials, seed=seed, progress=progress)


def run(
    name: str,
    *,
    trials: int | None = None,
    seed: int = 0,
    out: Path = OUT,
    again: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda text: None,
    settings: Settings = (),
) -> Any:
    """Runs a simulation and stores its record, unless the same one is stored already.

    Args:
      name: of the simulation.
      trials: budget a grid cell; default: the simulation's own.
      seed: of all its randomness.
      out: folder of the records.
      again: run even if the record of this very configuration exists.
      progress: as for ``jaxsel.kernel.engine.simulate``.
      say: told what is happening.
      settings: other numbers than those of the files, from ``settings_of``.
    """
    sim = find(name)
    trials = sim.trials if trials is None else trials
    paths = record_paths(name, out, settings)
    if not again:
        reason = why_simulated(
            name, trials=trials, seed=seed, out=out, settings=settings
        )
        if not reason:
            say(f"{name}: up to date ({paths[0]})")
            return load(name, out, settings)
        if all(path.exists() for path in paths):
            say(f"{name}: its record is made again; {reason}")
    say(f"{name}: simulating, {trials} trials a cell")
    configuration = _configuration(sim, trials, seed, settings)
    if sim.pieces:
        for piece in sim.pieces:
            piece.run(out, settings, configuration, progress, again)
        return load(name, out, settings)
    with applied(settings):
        found = compute(name, trials=trials, seed=seed, progress=progress)
    arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
    values = {k: v for k, v in found.items() if not isinstance(v, np.ndarray)}
    records.write(
        paths[0], arrays=arrays, configuration=configuration, attributes=values
    )
    return load(name, out, settings)
