"""The simulations by name, and their records on disk."""

import hashlib
import importlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host import records, source_digest
from jaxsel.host.errors import InputError
from sims import listing
from sims.settings import Settings, applied, of_module, suffix

FOLDER = Path(__file__).parent
OUT = FOLDER / "out"
# Modules that read tables from ``sims/data``.
STORED_TABLES = {
    "sims.common.digits_accuracies",
    "sims.common.digits_candidates",
    "sims.common.tumour_table",
}


class Sim(NamedTuple):
    """One simulation.

    Its file in ``sims`` defines ``TRIALS`` and ``run(*, trials, seed, progress)``, which
    returns a mapping of NumPy arrays and JSON-ready values.

    Attributes:
      name: what the command line and the figures call it: its file's, with hyphens.
      trials: default budget: trials a grid cell (what a trial is, the module says).
    """

    name: str
    trials: int

    @property
    def module(self) -> str:
        """Full name of its module."""
        return f"sims.{listing.module_name(self.name)}"


class Result(NamedTuple):
    """A record read back: arrays by name, and everything else."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


SIMS: dict[str, Sim] = {
    name: Sim(name, constants["TRIALS"])
    for name, constants in listing.files(FOLDER, "TRIALS").items()
}


def dependencies(module: str, without_claims: bool = True) -> dict[str, Any]:
    """What a simulation or a figure is made from, beside its numbers: code and data.

    Args:
      module: its full name.
      without_claims: as for ``jaxsel.host.source_digest.digests``.
    """
    code = source_digest.digests([module], without_claims)
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
    return of_module(find(name).module, chosen)


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
    return own | dependencies(sim.module)


def record_path(name: str, out: Path = OUT, settings: Settings = ()) -> Path:
    """Where the record of a simulation lies; one of other numbers has another name."""
    return out / f"{name}{suffix(settings)}.nc"


def find(name: str) -> Sim:
    """The simulation of that name; InputError if there is none."""
    if name not in SIMS:
        raise InputError(
            f"there is no simulation {name!r}; there are: {', '.join(SIMS)}"
        )
    return SIMS[name]


def load(name: str, out: Path = OUT, settings: Settings = ()) -> Result:
    """The stored record of a simulation, run with these settings.

    Raises:
      InputError: if it was not run yet.
    """
    path = record_path(find(name).name, out, settings)
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
    path = record_path(name, out, settings)
    if not path.exists():
        return "not simulated yet"
    trials = sim.trials if trials is None else trials
    try:
        stored = records.read(path).configuration
    except InputError:
        return "the record cannot be read"
    return why_stale(stored, _configuration(sim, trials, seed, settings))


def check_simulates(name: str) -> None:
    """InputError unless the trials of a simulation are those of the engine."""
    if "jaxsel.kernel.engine" not in source_digest.digests([find(name).module]):
        raise InputError(
            f"{name} does not simulate with jaxsel.kernel.engine (it reads tables or "
            "computes exact laws), so that there is nothing to share out; run it whole"
        )


def compute(
    name: str, *, trials: int | None = None, seed: int = 0, progress: bool | None = None
) -> dict[str, Any]:
    """What a simulation returns, stored nowhere; arguments as for ``run``."""
    sim = find(name)
    module = importlib.import_module(sim.module)
    trials = sim.trials if trials is None else trials
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
) -> Result:
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
    path = record_path(name, out, settings)
    if not again:
        reason = why_simulated(
            name, trials=trials, seed=seed, out=out, settings=settings
        )
        if not reason:
            say(f"{name}: up to date ({path})")
            return load(name, out, settings)
        if path.exists():
            say(f"{name}: its record is made again; {reason}")
    say(f"{name}: simulating, {trials} trials a cell")
    with applied(settings):
        found = compute(name, trials=trials, seed=seed, progress=progress)
    arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
    values = {k: v for k, v in found.items() if not isinstance(v, np.ndarray)}
    configuration = _configuration(sim, trials, seed, settings)
    records.write(path, arrays=arrays, configuration=configuration, attributes=values)
    return load(name, out, settings)
