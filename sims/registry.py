"""The simulations by name, and their records on disk."""

import importlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel import records
from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.errors import InputError

OUT = Path(__file__).parent / "out"


class Sim(NamedTuple):
    """One simulation.

    Attributes:
      name: what the command line and the figures call it.
      module: the file in ``sims`` that defines ``run(*, trials, seed, progress)``, which
        returns a mapping of NumPy arrays and JSON-ready values.
      trials: default budget: trials a grid cell (what a trial is, the module says).
    """

    name: str
    module: str
    trials: int


class Result(NamedTuple):
    """A record read back: arrays by name, and everything else."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


_ALL = (
    Sim("ps22-1", "ps22_1", 1000),
    Sim("ps22-2", "ps22_2", 4_000_000),
    Sim("ps22-3", "ps22_3", 4_000_000),
    Sim("ps22-4", "ps22_4", 4_000_000),
    Sim("ps22-5", "ps22_5", 1_000_000),
    Sim("ps22-6", "ps22_6", 1_000_000),
    Sim("ps22-7", "ps22_7", 500),
    Sim("ps22-8", "ps22_8", 4_000_000),
    Sim("krw24-1", "krw24_1", 4_000_000),
    Sim("krw24-2", "krw24_2", 4_000_000),
    Sim("krw24-4", "krw24_4", 4_000_000),
    Sim("krw24-5", "krw24_5", 2000),
    Sim("krw24-6", "krw24_6", 4_000_000),
    Sim("krw24-profile", "krw24_profile", 1_500_000),
    Sim("krw24-beta-binomial", "krw24_beta_binomial", 2_000_000),
    Sim("zw22-table1", "zw22_table1", 4000),
    Sim("zw22-1a", "zw22_1a", 4000),
    Sim("zw22-1b", "zw22_1b", 1000),
    Sim("zw22-gaps", "zw22_gaps", 50_000),
    Sim("zw22-table2", "zw22_table2", 1000),
    Sim("lt19-selection", "lt19_selection", 1_000_000),
    Sim("lt19-privacy-cost", "lt19_privacy_cost", 1_500_000),
    Sim("lt19-decreasing-thresholds", "lt19_decreasing_thresholds", 1_000_000),
    Sim("lt19-hard-stop", "lt19_hard_stop", 4_000_000),
    Sim("lt19-packing", "lt19_packing", 4_000_000),
    Sim("lt19-percentile", "lt19_percentile", 200_000),
    Sim("lt19-utility", "lt19_utility", 500_000),
    Sim("lt19-generalisations", "lt19_generalisations", 300_000),
    Sim("clnss22-selection", "clnss22_selection", 1_000_000),
    Sim("clnss22-coin-game", "clnss22_coin_game", 1_000_000),
    Sim("clnss22-median", "clnss22_median", 1_000_000),
    Sim("clnss22-query-release", "clnss22_query_release", 100_000),
    Sim("clnss22-top-k", "clnss22_top_k", 20_000),
    Sim("clnss22-choosing", "clnss22_choosing", 200_000),
    Sim("clnss22-stable", "clnss22_stable", 200_000),
    Sim("clnss22-svt-family", "clnss22_svt_family", 500_000),
    Sim("clnss22-svt-error", "clnss22_svt_error", 30_000),
    Sim("clnss22-repetitions", "clnss22_repetitions", 300_000),
    Sim("clnss22-pmw", "clnss22_pmw", 1000),
    Sim("clnss22-adaptive", "clnss22_adaptive", 128),
)
SIMS: dict[str, Sim] = {sim.name: sim for sim in _ALL}


def _sources(module: str, seen: dict[str, bytes]) -> dict[str, bytes]:
    """The source of a module of this folder and of those that it imports from here."""
    path = Path(__file__).parent / f"{module}.py"
    if module not in seen and path.exists():
        seen[module] = path.read_bytes()
        for name in re.findall(
            rb"^(?:from|import) sims(?:\.| import )(\w+)", seen[module], re.M
        ):
            _sources(name.decode(), seen)
    return seen


def _configuration(sim: Sim, trials: int, seed: int) -> dict[str, Any]:
    sources = _sources(sim.module, {})
    if any(b"jaxsel.data" in text for text in sources.values()):
        # What is found there decides what is simulated.
        folder = os.environ.get(FOLDER_VARIABLE, "")
        sources[FOLDER_VARIABLE] = f"folder {folder}".encode()
    return {
        "sim": sim.name,
        "trials": trials,
        "seed": seed,
        "source_digest": records.digest(
            {name: np.frombuffer(text, np.uint8) for name, text in sources.items()}
        ),
    }


def _module(sim: Sim):
    return importlib.import_module(f"sims.{sim.module}")


def record_path(name: str, out: Path = OUT) -> Path:
    """Where the record of a simulation lies."""
    return out / f"{name}.nc"


def find(name: str) -> Sim:
    """The simulation of that name; InputError if there is none."""
    if name not in SIMS:
        raise InputError(
            f"there is no simulation {name!r}; there are: {', '.join(SIMS)}"
        )
    return SIMS[name]


def load(name: str, out: Path = OUT) -> Result:
    """The stored record of a simulation.

    Raises:
      InputError: if it was not run yet.
    """
    path = record_path(find(name).name, out)
    if not path.exists():
        raise InputError(f"{name} was not simulated yet; run python -m sims {name}")
    stored = records.read(path)
    values = {k: v for k, v in stored.attributes.items() if k != "versions"}
    return Result(stored.arrays, values | {"configuration": stored.configuration})


def run(
    name: str,
    *,
    trials: int | None = None,
    seed: int = 0,
    out: Path = OUT,
    again: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Result:
    """Runs a simulation and stores its record, unless the same one is stored already.

    Args:
      name: of the simulation.
      trials: budget a grid cell; default: the simulation's own.
      seed: of all its randomness.
      out: folder of the records.
      again: run even if the record of this very configuration exists.
      progress: as for ``jaxsel.engine.simulate``.
      say: told what is happening.
    """
    sim = find(name)
    trials = sim.trials if trials is None else trials
    configuration = _configuration(sim, trials, seed)
    path = record_path(name, out)
    if path.exists() and not again:
        stored = records.read(path)
        if stored.configuration == configuration:
            say(f"{name}: up to date ({path})")
            return load(name, out)
    say(f"{name}: simulating, {trials} trials a cell")
    found = _module(sim).run(trials=trials, seed=seed, progress=progress)
    arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
    values = {k: v for k, v in found.items() if not isinstance(v, np.ndarray)}
    records.write(path, arrays=arrays, configuration=configuration, attributes=values)
    return load(name, out)
