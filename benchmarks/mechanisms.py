"""Every mechanism of the catalogue, side by side with its limit and with NumPy.

Run as ``python -m benchmarks.mechanisms --repeats 3 --seconds 0.1 [NAME]...`` in a
process of its own: one thread, one CPU; prints one JSON document.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import pin_to_one_cpu
from benchmarks.timing import Settings
from jaxsel import catalogue
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.language.entry import MechanismEntry
from jaxsel.language.trial import Trial

FORMAT = "jaxsel-speed-1"


class Speed(NamedTuple):
    """The speed of one form of one mechanism, at the default settings.

    Attributes:
      mechanism, method: their names; method is "" if there is only one.
      default: whether this is the default method.
      rate: trials per second of processor time on one thread, in the fastest repeat.
      of_limit: the time of its limit program (``counted_limit``) over its own; None if
        nothing was counted.
      over_numpy: the time of vectorised NumPy over its own: the same algorithm one operation
        at a time, or inversion of the exact law for method "law"; None if NumPy cannot run
        it.
      operations: mean number of operations per trial, by kind (``operations``).
      float64: how many of them are in float64.
    """

    mechanism: str
    method: str
    default: bool
    rate: float
    of_limit: float | None
    over_numpy: float | None
    operations: dict[str, float]
    float64: float


def forms(names: Sequence[str] = ()) -> Iterator[tuple[MechanismEntry, str, Trial]]:
    """Every mechanism with every method that runs at its default settings.

    The default methods of all mechanisms come first.

    Args:
      names: names of the mechanisms; none means all.

    Raises:
      InputError: for an unknown name.
    """
    import jax

    entries = [catalogue.find_mechanism(name) for name in names]
    every = [
        (entry, method)
        for entry in entries or catalogue.mechanisms()
        for method in getattr(entry.settings.get("method"), "options", ("",))
    ]
    for entry, method in sorted(every, key=lambda form: not _is_default(*form)):
        try:
            built = entry.build({"method": method} if method else {})
            with jax.enable_x64(True):
                built.mechanism.prepare(built.data, built.params)
        except InputError:
            continue  # the method needs an exact law, or is not for this base
        yield entry, method, built


def _is_default(entry: MechanismEntry, method: str) -> bool:
    return not method or method == entry.settings["method"].default


def measure(entry: MechanismEntry, method: str, built: Trial, settings: Settings) -> Speed:
    """Times one form, its limit and NumPy, interleaved; tests the law of each.

    Raises:
      RuntimeError: if the tallies of one contradict the exact law.
    """
    import jax

    from benchmarks.counted_limit import limit_of
    from benchmarks.engine_samplers import simulated
    from benchmarks.numpy_forms import numpy_form
    from benchmarks.numpy_samplers import inverse_cdf
    from benchmarks.operations import float64_operations, operations
    from benchmarks.timing import ratio, time_all
    from jaxsel.kernel import engine

    mechanism, data, params = built[:3]
    with jax.enable_x64(True):
        (prepared,) = engine._checked([mechanism.prepare(data, params)])
        counted = operations(mechanism, *prepared)
    samplers = {"engine": simulated(mechanism, data, params)}
    if counted:
        samplers["limit"] = limit_of(counted)
    if method == "law" and mechanism.law is not None:
        samplers["NumPy"] = inverse_cdf(mechanism.law(data, params).probabilities)
    else:
        with contextlib.suppress(TypeError):  # NumPy cannot run it
            samplers["NumPy"] = numpy_form(mechanism, data, params)
    times = time_all(samplers, settings)
    return Speed(
        entry.name,
        method,
        _is_default(entry, method),
        1.0 / times["engine"].fastest,
        1.0 / ratio(times, "engine", "limit") if counted else None,
        ratio(times, "NumPy", "engine") if "NumPy" in times else None,
        counted,
        float64_operations(counted),
    )


def machine() -> dict[str, Any]:
    """The machine, the versions and the date, without which a speed means little."""
    name = platform.processor()
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text(encoding="utf-8").splitlines()
        models = [line.partition(":")[2].strip() for line in lines if "model name" in line]
        name = models[0] if models else name
    return {
        "processor": name,
        "processors": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "date": datetime.date.today().isoformat(),
        "versions": records.versions(),
    }


def measure_all(
    names: Sequence[str],
    settings: Settings,
    record: str | Path | None = None,
    say: Callable[[str], object] = lambda text: None,
) -> dict[str, Any]:
    """The document of all forms of the mechanisms of these names; none means all.

    Args:
      names: names of mechanisms.
      settings: repeats and duration of the measurements.
      record: a JSON file that is written after every form, from which the measurement
        resumes.
      say: called with a message for every finished form.

    Raises:
      InputError: for an unknown name, or a record of something else.
    """
    document = {
        "format": FORMAT,
        "machine": machine(),
        "repeats": settings.repeats,
        "seconds": settings.seconds,
        "rows": [] if record is None else _begun(Path(record)),
    }
    done = {(row["mechanism"], row["method"]) for row in document["rows"]}
    for entry, method, built in forms(names):
        if (entry.name, method) in done:
            continue
        document["rows"].append(measure(entry, method, built, settings)._asdict())
        if record is not None:
            write(Path(record), document)
        say(f"{entry.name} {method} measured")
    return document


def read(path: Path) -> dict[str, Any]:
    """Reads a document that ``measure_all`` wrote.

    Raises:
      InputError: if the file is not such a document.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] == FORMAT:
            return document
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no record of speeds: {error!r}") from None
    raise InputError(f"{path} is no record of speeds of this version")


def write(path: Path, document: dict[str, Any]) -> None:
    """Replaces a JSON file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _begun(path: Path) -> list[dict[str, Any]]:
    return read(path)["rows"] if path.exists() else []


def main(arguments: list[str] | None = None) -> None:
    """Measures the mechanisms of the command line and prints the document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--record")
    parser.add_argument("--quiet", action="store_true")
    chosen = parser.parse_args(arguments)
    pin_to_one_cpu()
    settings = Settings(chosen.repeats, chosen.seconds, time.process_time)

    def say(text: str) -> None:
        if not chosen.quiet:
            print(text, file=sys.stderr, flush=True)

    print(json.dumps(measure_all(chosen.names, settings, chosen.record, say)))


if __name__ == "__main__":
    main()
