"""python -m sims.gpu: computations that need a GPU, in pieces that can be resumed.

Four pieces: tallies of every mechanism against the same seed on the CPU; trials a second;
a billion trials of each family; and the networks of Papernot & Steinke 2022, Figure 7, in
the paper's setting, all runs at once. Progress is saved in one folder, so a call that is
killed, or that ends after ``--minutes``, is resumed by the same call.
"""

import argparse
import datetime
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import mechanisms as bench
from benchmarks.checks import chi_square_p_value
from jaxsel import catalogue
from jaxsel.data.images import load_images
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.language.entry import MechanismEntry
from sims.data import digits_accuracies
from sims.data.digits_accuracies import Setting
from sims.registry import OUT

_SEED = 20260101
_STEPS = 100  # steps of training between two saves
UNFINISHED = 75  # exit status: run the same command again to continue


class Scale(NamedTuple):
    """The amount of work.

    Attributes:
      mechanisms: names; () means all of the catalogue.
      compared: trials whose tallies are compared with the CPU's.
      seconds: least duration of the run from which a mechanism's speed is computed.
      trials: number of trials of the first mechanism of each family.
      networks: the settings of the networks to train.
    """

    mechanisms: tuple[str, ...]
    compared: int
    seconds: float
    trials: int
    networks: Setting


FULL = Scale((), 2**22, 1.0, 10**9, Setting("mnist", 1.1, 60, 40, 3))
SMALL = Scale(("noisy_max",), 2**13, 0.01, 2**15, Setting("digits", 3.0, 1, 3, 2))


class OutOfTime(Exception):
    """The time of this call is over; its progress is saved."""


class Work(NamedTuple):
    """A piece of work and its progress.

    Attributes:
      scale: the amount of work.
      folder: the folder of all results.
      until: when to stop, in seconds of ``time.monotonic``.
      done: names of the finished parts of this piece.
    """

    scale: Scale
    folder: Path
    until: float
    done: frozenset[str] = frozenset()

    def check_time(self) -> None:
        """Raises OutOfTime if the time is over."""
        if time.monotonic() > self.until:
            raise OutOfTime

    def entries(self) -> list[MechanismEntry]:
        """The mechanisms of this scale."""
        names = self.scale.mechanisms
        named = [catalogue.find_mechanism(name) for name in names]
        return named or list(catalogue.mechanisms())

    def entries_left(self) -> list[MechanismEntry]:
        """The mechanisms that this piece has not finished."""
        return [entry for entry in self.entries() if entry.name not in self.done]


def _devices() -> tuple[Any, ...]:
    import jax

    return tuple(jax.devices())


def compare(work: Work) -> Iterator[tuple[str, dict]]:
    """Yields, by mechanism, in how many trials at least the event differs from the CPU's.

    Both devices use the same seed. The number is half the l1 distance between their tallies.
    """
    import jax

    here = _devices()
    ways = [Performance(devices=here), Performance(devices=(jax.devices("cpu")[0],))]
    if here[0].platform == "cpu":
        ways[0] = Performance(block_size=1024)
    for entry in work.entries_left():
        built = entry.build({})
        found = [
            simulate(
                built, trials=work.scale.compared, seed=_SEED, progress=False, performance=way
            ).values[0]
            for way in ways
        ]
        moved = int(np.abs(found[0] - found[1]).sum()) // 2
        yield entry.name, {"trials": work.scale.compared, "different": moved}


def rates(work: Work) -> Iterator[tuple[str, dict]]:
    """Yields the speed of every compiled mechanism on all devices, in trials per second."""
    for entry in work.entries_left():
        built = entry.build({})
        trials, spent = 2**14, 0.0
        while spent < work.scale.seconds:
            trials *= 2
            for _ in range(2):  # the first call may compile
                start = time.perf_counter()
                simulate(built, trials=trials, seed=_SEED, progress=False)
                spent = time.perf_counter() - start
        yield entry.name, {"trials_a_second": trials / spent}


def billion(work: Work) -> Iterator[tuple[str, dict]]:
    """Yields, by family, a goodness-of-fit p-value of many trials of its first mechanism.

    Mechanisms whose exact law is not known are run without a test.
    """
    families: dict[str, MechanismEntry] = {}
    for entry in work.entries():
        families.setdefault(entry.module.split(".")[2], entry)
    for family, entry in families.items():
        if family in work.done:
            continue
        built = entry.build({})
        kept = work.folder / f"{entry.name}.nc"
        row: dict[str, Any] = {"mechanism": entry.name, "trials": work.scale.trials}
        tallies, done = None, _trials_in(kept)
        while tallies is None or done < work.scale.trials:
            # Trials in a record are not run again.
            done = min(work.scale.trials, max(2**20, 2 * done))
            tallies = simulate(built, trials=done, seed=_SEED, record=kept)
            work.check_time()
        law = built.mechanism.known_law(built.data, built.params)
        if law is not None:
            row["p_value"] = chi_square_p_value(tallies.values[0], law.probabilities)
        yield family, row


def _trials_in(record: Path) -> int:
    if not record.exists():
        return 0
    ((first, last),) = records.read(record).attribute("ranges", list)
    return last - first


def networks(work: Work) -> Iterator[tuple[str, dict]]:
    """Trains a network for every learning rate and seed, all at once."""
    if "table" in work.done:
        return
    import jax
    import jax.numpy as jnp

    from jaxsel.training import dp_sgd, runs
    from jaxsel.training.network import network

    setting = work.scale.networks
    images = load_images(setting.images)
    record = digits_accuracies.provenance(setting.images, setting, images, 0)
    record["made_by"] = "python -m sims.gpu: training.runs, all networks side by side"
    learning = np.geomspace(*digits_accuracies.PAPER_RATES, setting.rates)
    rows = runs.addresses(np.arange(setting.seeds * setting.rates))
    model = network("strided", images.classes)
    how = dp_sgd.recipe(
        len(images.labels), record["batch_size"], noise_multiplier=setting.noise_multiplier
    )
    data = (jnp.asarray(images.images), jnp.asarray(images.labels))
    state = runs.begin(model, data[0][0], rows)
    leaves, structure = jax.tree.flatten(state)
    kept = work.folder / "networks.npz"
    if kept.exists():
        with np.load(kept) as saved:
            leaves = [jnp.asarray(saved[f"leaf_{i}"]) for i in range(len(leaves))]
        state = jax.tree.unflatten(structure, leaves)
    each = jnp.asarray(np.tile(learning, setting.seeds), jnp.float32)
    while (done := int(state.step[0])) < record["steps"]:
        steps = min(_STEPS, record["steps"] - done)
        state = runs.advance(model, how, data, state, rows, each, jnp.int32(steps))
        _keep(kept, jax.tree.leaves(state))
        print(f"networks: step {done + steps} of {record['steps']}", file=sys.stderr)
        work.check_time()
    if bool(jnp.any(state.overflow)):
        raise RuntimeError("a batch did not fit; the networks are void")
    held_out = (jnp.asarray(images.test_images), jnp.asarray(images.test_labels))
    right = jax.vmap(lambda params: dp_sgd.accuracy(model, params, held_out))
    correct = np.asarray(right(state.params))
    yield (
        "table",
        record
        | {
            "date": datetime.date.today().isoformat(),
            "device": _devices()[0].device_kind,
            "learning_rates": learning.tolist(),
            "correct": np.reshape(correct, (setting.seeds, setting.rates)).T.tolist(),
        },
    )


def _keep(path: Path, leaves: list) -> None:
    part = path.with_name(f".{path.name}.part.npz")
    arrays: dict[str, Any] = {f"leaf_{i}": leaf for i, leaf in enumerate(leaves)}
    np.savez(part, **arrays)
    part.replace(path)


PIECES: dict[str, Callable[[Work], Iterator[tuple[str, dict]]]] = {
    "compare": compare,
    "rates": rates,
    "billion": billion,
    "networks": networks,
}


def run(scale: Scale, folder: Path, minutes: float = math.inf) -> dict[str, Any] | None:
    """Runs or resumes all pieces.

    Args:
      scale: the amount of work.
      folder: the folder of all results; one that holds the work of another scale is refused.
      minutes: after how many minutes to stop; the current part is finished first.

    Returns:
      The record, including machine and versions; None if work remains.

    Raises:
      InputError: if the folder holds the work of another scale or machine.
    """
    path = folder / "record.json"
    here = {"device": _devices()[0].device_kind, "devices": len(_devices())}
    wanted = json.loads(json.dumps({"scale": scale, "machine": here}))
    document = wanted | {"measured_on": bench.machine()}
    document["pieces"] = {name: {} for name in PIECES}
    if path.exists():
        document = json.loads(path.read_text(encoding="utf-8"))
        if {name: document.get(name) for name in wanted} != wanted:
            raise InputError(f"{path} is of another scale or machine; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60.0 * minutes
    try:
        for name, piece in PIECES.items():
            rows = document["pieces"][name]
            for key, row in piece(Work(scale, folder, until, frozenset(rows))):
                rows[key] = row
                bench.write(path, document)
                print(f"{name}: {key}", file=sys.stderr, flush=True)
                if time.monotonic() > until:
                    return None
    except OutOfTime:
        return None
    return document


def main(arguments: list[str] | None = None) -> int:
    """Prints the record; the exit status is 75 if work remains, and 2 for bad input."""
    parser = argparse.ArgumentParser("sims.gpu", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a minute, on any machine")
    parser.add_argument("--minutes", type=float, default=math.inf, help="then stop")
    parser.add_argument("--out", type=Path, help="folder of the work")
    given = parser.parse_args(arguments)
    scale = SMALL if given.small else FULL
    folder = given.out or OUT / ("gpu_small" if given.small else "gpu")
    try:
        document = run(scale, folder, given.minutes)
    except InputError as error:
        print(f"sims.gpu: {error}", file=sys.stderr)
        return 2
    if document is None:
        print("sims.gpu: not finished; the same command goes on", file=sys.stderr)
        return UNFINISHED
    print(json.dumps(document, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
