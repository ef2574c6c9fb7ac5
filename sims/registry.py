"""The experiments by name, and whether their records are up to date."""

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from sims import listing
from sims.experiment import Experiment, Settings

if TYPE_CHECKING:
    import xarray as xr

FOLDER = Path(__file__).parent
FIGURES = FOLDER.parent / "figures"
OUT = FOLDER / "out"
_MISSING = "not simulated yet"


def _declared(name: str, trials: int) -> tuple[Experiment, ...]:
    file = listing.module_name(name)
    functions = listing.declared(FIGURES / f"{file}.py")
    return tuple(Experiment(f"figures.{file}", function, trials) for function in functions)


SIMS: dict[str, tuple[Experiment, ...]] = {
    name: _declared(name, constants["TRIALS"])
    for name, constants in listing.files(FIGURES, "TRIALS").items()
}
"""The experiments of each file, by its name on the command line, with hyphens for underscores."""


def dependencies(*modules: str, without_claims: bool = True) -> dict[str, Any]:
    """The code and data files that records or a figure depend on.

    Args:
      *modules: full names.
      without_claims: as for ``jaxsel.host.source_digest.digests``.
    """
    code = source_digest.digests(modules, without_claims)
    found: dict[str, Any] = {"code": code, "jax": importlib.metadata.version("jax")}
    if any(name.startswith(("jaxsel.data.", "sims.data.")) for name in code):
        # Stored tables and the files in the user's data folder determine the simulation.
        found["folder"] = os.environ.get(FOLDER_VARIABLE, "")
        tables = sorted((FOLDER / "data").glob("*.json"))
        found["data"] = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tables
        }
    return found


def why_stale(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describes how one configuration differs from another; "" if it does not."""
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


def find(name: str) -> tuple[Experiment, ...]:
    """The experiments of the file of that name.

    Raises:
      InputError: if there is none.
    """
    if name not in SIMS:
        raise InputError(f"there is no simulation {name!r}; there are: {', '.join(SIMS)}")
    return SIMS[name]


def _configuration(
    experiment: Experiment, trials: int | None, seed: int, settings: Settings = ()
) -> dict[str, Any]:
    """The configuration that determines the record of a function."""
    count = experiment.trials if trials is None else trials
    own: dict[str, Any] = {"sim": experiment.file, "trials": count, "seed": seed}
    if chosen := experiment.own(settings):
        # A record that is read back has lists in place of tuples.
        own["settings"] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in chosen
        }
    found = dependencies(experiment.module)
    # The code that calls the function and makes its data set.
    runs = source_digest.digests(["jaxsel.sweeps.running"])
    found["code"] |= {
        name: code for name, code in runs.items() if name.startswith("jaxsel.sweeps.")
    }
    return own | found


def record_paths(name: str, out: Path = OUT, settings: Settings = ()) -> list[Path]:
    """The paths of the records of a simulation; they depend on the settings."""
    return [experiment.path(out, settings) for experiment in find(name)]


def budget(name: str, out: Path = OUT, settings: Settings = ()) -> dict[str, Any]:
    """Trials and seed with which a simulation was run last; {} if that is not known."""
    for experiment in find(name):
        stored = experiment.configuration(out, settings)
        if stored is not None:
            return {key: stored[key] for key in ("trials", "seed")}
    return {}


def load(name: str, out: Path = OUT, settings: Settings = ()) -> dict[str, "xr.Dataset"]:
    """The record of each function of a simulation, run with these settings, by name.

    Raises:
      InputError: if it was not run yet.
    """
    return {experiment.name: experiment.read(out, settings) for experiment in find(name)}


def _why_made(experiment: Experiment, out: Path, settings: Settings, now: Mapping) -> str:
    if not experiment.path(out, settings).exists():
        return _MISSING
    stored = experiment.configuration(out, settings)
    return "the record cannot be read" if stored is None else why_stale(stored, now)


def why_simulated(
    name: str, *, trials: int | None = None, seed: int = 0, out: Path = OUT, settings: Settings = ()
) -> str:
    """The reason why a simulation must be run; "" if its records are up to date.

    Arguments as for ``run``.
    """
    for experiment in find(name):
        if not experiment.path(out, settings).exists():  # before the code is read
            return _MISSING
        now = _configuration(experiment, trials, seed, settings)
        if reason := _why_made(experiment, out, settings, now):
            return reason
    return ""


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
) -> dict[str, "xr.Dataset"]:
    """Runs a simulation and stores its records, unless the same are stored already.

    Args:
      name: name of the simulation.
      trials: budget in trials per grid cell; None means the simulation's default.
      seed: seed of all its randomness.
      out: folder of the records.
      again: run even if the record of this very configuration exists.
      progress: as for ``jaxsel.sweep``.
      say: called with messages about the progress.
      settings: settings that differ from the defaults.

    Returns:
      The data set of each function, by name.
    """
    wanted, reasons = [], []
    for experiment in find(name):
        now = _configuration(experiment, trials, seed, settings)
        reason = _why_made(experiment, out, settings, now)
        if reason or again:
            wanted.append((experiment, now))
            reasons += [reason] * experiment.path(out, settings).exists()
    if not wanted:
        say(f"{name}: up to date ({out})")
    else:
        if reasons and not again:
            say(
                f"{name}: its record is renewed where a cell's input or sampler is "
                f"another; {reasons[0]}"
            )
        else:
            say(f"{name}: simulating, {wanted[0][1]['trials']} trials a cell")
    for experiment, now in wanted:
        experiment.run(out, settings, now, progress, again)
        experiment.configuration(out, settings)  # kept: the next call opens no record
    return load(name, out, settings)
