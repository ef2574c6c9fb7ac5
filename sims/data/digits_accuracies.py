"""Accuracies of DP-SGD on handwritten digits, by learning rate and seed.

For Figure 7 of Papernot & Steinke 2022: the networks of their search, at a size that two
cores can train. The learning rate is the only hyperparameter that varies; batches of
expected size 256 and clipping norm 1 are the paper's. The paper's range, 0.025 to 1, is
extended to 8, because fewer steps need larger rates and the best rate should be inside the
grid.

`run` trains a table and `load` reads those stored here, made by
``python -m sims.data.digits_accuracies NAME``, NAME of SETTINGS; ``--workers 2`` trains
two networks at a time, ``--seeds N`` extends the stored table to N seeds. A run that was
killed resumes after its last trained network.

Large learning rates amplify rounding, and rounding depends on the processor, its number of
threads, XLA's flags and the version of JAX: on another machine most networks are the same
and some label a few images better or worse, at large rates many. The record names all of
these for every seed; "unknown" if they were not recorded.
"""

import argparse
import contextlib
import datetime
import functools
import json
import math
import multiprocessing
import os
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data.images import ImageSet, load_images
from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.host.errors import InputError, check_choice, check_integer, check_positive
from jaxsel.host.progress import progress_bar
from jaxsel.host.records import digest

PAPER_RATES = (0.025, 1.0)
_HIGHEST_RATE = 8.0
_BATCH_SIZE = 256
_FOLDER = Path(__file__).parent.parent
UNKNOWN = "unknown"
# Instruction sets that XLA uses if they are available.
_VECTORS = ("sse4_2", "avx", "fma", "avx2", "avx512f", "avx512_bf16", "asimd", "sve")


class Setting(NamedTuple):
    """The settings of a table.

    Attributes:
      images: name of the image set.
      noise_multiplier: standard deviation of the noise over the clipping norm, which is 1.
      epochs: passes over the training images.
      rates: number of learning rates, on a logarithmic grid from 0.025 to 8.
      seeds: number of networks trained with each learning rate.
    """

    images: str
    noise_multiplier: float
    epochs: int
    rates: int
    seeds: int


SETTINGS = {"digits": Setting("digits", 3.0, 20, 62, 5), "mnist": Setting("mnist", 1.1, 2, 16, 1)}


class AccuracyTable(NamedTuple):
    """The accuracies of trained networks.

    Attributes:
      title: description, for a caption.
      learning_rates: Float64["rates"], ascending.
      correct: Int64["rates seeds"], numbers of correctly labelled test images.
      test_images: number of test images.
      sampling_probability, noise_multiplier, steps: parameters of DP-SGD.
    """

    title: str
    learning_rates: np.ndarray
    correct: np.ndarray
    test_images: int
    sampling_probability: float
    noise_multiplier: float
    steps: int


def stored(name: str) -> Path:
    """The path of the record of a setting."""
    check_choice("setting", name, SETTINGS)
    return Path(__file__).parent / f"{name}_accuracies.json"


def train(setting: Setting, images: ImageSet, rate: float, *, seed: int, number: int) -> int:
    """Trains one network by DP-SGD; returns the number of correctly labelled test images.

    Args:
      setting: the settings.
      images: the data.
      rate: learning rate.
      seed: seed of the table.
      number: index of the network in the table; each has its own randomness.

    Raises:
      RuntimeError: if a batch exceeded the capacity (probability below 1e-18 per step).
    """
    import jax
    import jax.numpy as jnp
    import optax

    from jaxsel.kernel import stream
    from jaxsel.training import dp_sgd
    from jaxsel.training.network import network

    model = network("strided", images.classes)
    plan = dp_sgd.recipe(len(images.labels), _BATCH_SIZE, noise_multiplier=setting.noise_multiplier)
    data = (jnp.asarray(images.images), jnp.asarray(images.labels))
    held_out = (jnp.asarray(images.test_images), jnp.asarray(images.test_labels))
    # The first parameters come from another generator than the noise.
    fresh = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0]
    state = dp_sgd.initialise(model, data[0][0], optax.sgd(0.0), int(fresh))
    state = dp_sgd.train(
        model,
        plan,
        optax.sgd,
        state,
        data,
        stream.make_key(seed, number),
        jnp.float32(rate),
        jnp.int32(_steps(setting, len(images.labels))),
    )
    state = jax.block_until_ready(state)
    if bool(state.overflow):
        raise RuntimeError("a batch did not fit; the run is void")
    return int(dp_sgd.accuracy(model, state.params, held_out))


@functools.cache
def _images(name: str) -> ImageSet:
    return load_images(name)


def _train(setting: Setting, rates: list[float], seed: int, number: int) -> int:
    """Trains network ``number``.

    Networks are numbered seed by seed, so that a partial table already spans all learning
    rates.
    """
    rate = rates[number % len(rates)]
    return train(setting, _images(setting.images), rate, seed=seed, number=number)


def _counts(
    setting: Setting, rates: list[float], seed: int, done: int, workers: int
) -> Iterator[int]:
    """Yields the numbers of correct labels of network ``done`` and all later ones, in order."""
    one = functools.partial(_train, setting, rates, seed)
    numbers = range(done, len(rates) * setting.seeds)
    if workers == 1:
        yield from map(one, numbers)
        return
    # Fork is not safe once JAX has threads.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawned, initializer=one_for_this_process) as pool:
        try:
            yield from pool.map(one, numbers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _steps(setting: Setting, examples: int) -> int:
    return math.ceil(setting.epochs * examples / _BATCH_SIZE)


def _write(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    os.replace(part, path)


def machine() -> dict[str, str]:
    """Properties of the machine on which the rounding of a trained network depends."""
    name, vectors = platform.processor() or platform.machine(), ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
        facts = {key.strip(): value.strip() for key, value in facts.items()}
        name = facts.get("model name", name)
        known = facts.get("flags", "").split()
        vectors = " ".join(flag for flag in _VECTORS if flag in known)
    counted = getattr(os, "sched_getaffinity", None)
    return {
        "processor": name,
        "vector_instructions": vectors or UNKNOWN,
        "cores": str(len(counted(0)) if counted else os.cpu_count()),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def provenance(name: str, setting: Setting, images: ImageSet, seed: int) -> dict:
    arrays = (images.images, images.labels, images.test_images, images.test_labels)
    return {
        "name": name,
        "made_by": f"python -m sims.data.digits_accuracies {name}: training.dp_sgd, "
        "Poisson batches, plain SGD, the strided network, each network scored once on "
        "the test images",
        **setting._asdict(),
        "batch_size": _BATCH_SIZE,
        "clip_norm": 1.0,
        "training_images": len(images.labels),
        "test_images": len(images.test_labels),
        "images_sha256": digest(arrays),
        "steps": _steps(setting, len(images.labels)),
        "seed": seed,
    }


def run(
    name: str = "digits",
    *,
    setting: Setting | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Path = _FOLDER / "out",
    begun: Path | None = None,
    progress: bool | None = None,
) -> dict:
    """Trains the networks of a table and returns it as a record that `load` accepts.

    Args:
      name: one of SETTINGS.
      setting: settings to use in place of that name's.
      seed: seed of all randomness.
      workers: number of processes that train, each one network at a time.
      out: folder of the progress; the same call resumes from it.
      begun: a record of the same table with fewer seeds, whose networks are reused.
      progress: None shows a bar on a terminal only.

    Raises:
      InputError: if the images are not at hand, or ``out`` holds another table's part, or
        ``begun`` is of another table.
    """
    check_choice("setting", name, SETTINGS)
    setting = SETTINGS[name] if setting is None else setting
    seed = check_integer("seed", seed, 0)
    workers = check_integer("workers", workers, 1)
    if setting.images == "digits" and util.find_spec("sklearn") is None:
        raise InputError("scikit-learn is not installed; install the optional extra jaxsel[sims]")
    import jax

    images = _images(setting.images)
    record = provenance(name, setting, images, seed)
    rates = np.geomspace(PAPER_RATES[0], _HIGHEST_RATE, setting.rates)
    total = setting.rates * setting.seeds
    part = Path(out) / f"{name}_accuracies.partial.json"
    done, machines = _begun(begun, record)
    if part.exists():
        saved = json.loads(part.read_text(encoding="utf-8"))
        done, machines = saved.pop("correct"), saved.pop("machines", [])
        if saved != record:
            raise InputError(f"{part} is of another table; finish that or delete it")
    # A seed that was begun on one machine and finished on another names both.
    here = machine()
    for number in range(len(done) // setting.rates, setting.seeds):
        if number == len(machines):
            machines.append([])
        if here not in machines[number]:
            machines[number].append(here)
    with progress_bar(total, len(done), progress, unit="networks") as advance:
        for count in _counts(setting, rates.tolist(), seed, len(done), workers):
            done.append(count)
            reached = machines[: -(-len(done) // setting.rates)]
            _write(part, record | {"correct": done, "machines": reached})
            advance(1)
    correct = np.reshape(done, (setting.seeds, setting.rates)).T
    part.unlink(missing_ok=True)
    return record | {
        "date": datetime.date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "versions": _versions(),
        "machines": machines,
        "learning_rates": rates.tolist(),
        "correct": correct.tolist(),
    }


def _begun(path: Path | None, record: dict) -> tuple[list[int], list[list[dict]]]:
    """Reads a finished table with fewer seeds: correct labels of its networks, and machines.

    The labels are ordered seed by seed. Without a path both lists are empty.
    """
    if path is None:
        return [], []
    saved = json.loads(path.read_text(encoding="utf-8"))
    for key in set(record) - {"seeds", "made_by"}:
        if saved.get(key) != record[key]:
            raise InputError(f"{path} is of another table: it differs in {key}")
    if saved["seeds"] > record["seeds"]:
        raise InputError(f"{path} has {saved['seeds']} seeds already")
    return np.transpose(saved["correct"]).ravel().tolist(), saved["machines"]


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("jax", "jaxlib", "flax", "optax", "numpy", "scikit-learn"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def load(name: str = "digits", path: str | Path | None = None) -> AccuracyTable:
    """Reads a stored record and checks it; no image is needed.

    Args:
      name: one of SETTINGS.
      path: of the record; by default the one stored here.

    Raises:
      InputError: if the file is missing, is not JSON, or does not hold such a record.
    """
    path = stored(name) if path is None else Path(path)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    try:
        return _table(record)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a record of digits_accuracies.run: {error!r}") from None


def _table(record: dict[str, Any]) -> AccuracyTable:
    rates = np.array(record["learning_rates"], dtype=np.float64)
    correct = np.array(record["correct"])
    count = check_integer("test_images", record["test_images"], 1)
    examples = check_integer("training_images", record["training_images"], 1)
    if rates.ndim != 1 or not np.all(np.diff(rates, prepend=0.0) > 0.0):
        raise InputError("learning_rates must be positive and ascend")
    if correct.ndim != 2 or len(correct) != rates.size or correct.shape[1] < 1:
        raise InputError(
            f"correct has shape {correct.shape}; there are {rates.size} learning rates"
        )
    if correct.dtype.kind != "i" or correct.min() < 0 or correct.max() > count:
        raise InputError(f"correct must hold whole numbers from 0 to {count}")
    sets = {"digits": "scikit-learn's digits", "mnist": "MNIST"}
    epochs = check_integer("epochs", record["epochs"], 1)
    return AccuracyTable(
        title=f"{sets.get(record['images'], record['images'])}, {epochs} epoch{'s' * (epochs > 1)}",
        learning_rates=rates,
        correct=correct,
        test_images=count,
        sampling_probability=check_positive("batch_size", record["batch_size"]) / examples,
        noise_multiplier=check_positive("noise_multiplier", record["noise_multiplier"]),
        steps=check_integer("steps", record["steps"], 1),
    )


def main(arguments: list[str]) -> int:
    """Trains the tables that are named, and stores them."""
    parser = argparse.ArgumentParser("digits_accuracies", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument("--workers", type=int, default=1, help="processes that train")
    parser.add_argument("--seeds", type=int, help="networks a rate; those that are stored are kept")
    given = parser.parse_args(arguments)
    for name in given.names or list(SETTINGS):
        try:
            path, setting = stored(name), SETTINGS[name]
            if given.seeds is not None:
                seeds = check_integer("seeds", given.seeds, 1)
                setting = setting._replace(seeds=seeds)
            begun = path if given.seeds is not None and path.exists() else None
            found = run(name, setting=setting, workers=given.workers, begun=begun)
            _write(path, found)
        except InputError as error:
            sys.stderr.write(f"digits_accuracies: {error}\n")
            return 2
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
