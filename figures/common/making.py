"""Makes figures, and decides which ones are up to date.

Beside each picture lies a digest of what it shows, and in ``.made`` a note of the code, the
records and the libraries that it was drawn with. As long as none of these changed, the
picture is not drawn again.
"""

import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from figures import FIGURES
from figures.common.figure import Figure, records_in, render
from jaxsel.host import source_digest
from jaxsel.host.progress import spinner
from sims import registry
from sims.experiment import Settings, suffix

FORMATS = ("png", "pdf")
_SAID_SECONDS = 60.0  # as if so much were done, in the time that it is said to take
T = TypeVar("T")


class Place(NamedTuple):
    """The folders of pictures and records, and how records are simulated.

    Attributes:
      pictures, records: folders.
      trials, seed: of the simulations; None means those of the stored record, or else the
        simulation's own.
      settings: settings that differ from the defaults.
    """

    pictures: Path
    records: Path
    trials: int | None = None
    seed: int | None = None
    settings: Settings = ()


def budget(name: str, place: Place) -> dict[str, Any]:
    """Trials, seed and settings of a simulation, as keyword arguments of ``registry.run``.

    Trials or a seed that ``place`` does not give are those of the stored record.
    """
    stored = registry.budget(name, place.records, place.settings)
    trials = stored.get("trials") if place.trials is None else place.trials
    seed = stored.get("seed", 0) if place.seed is None else place.seed
    return {"trials": trials, "seed": seed, "settings": place.settings}


def _made_from(figure: Figure, place: Place) -> dict[str, Any]:
    paths = {
        path.name: path
        for name in figure.sims
        for path in registry.record_paths(name, place.records, place.settings)
    }
    found = registry.dependencies(figure.module, without_claims=False)
    beside = ["figures.common.digest"]
    if place.settings:
        # This module writes the note above the picture.
        beside.append("figures.common.altered")
    found["code"] |= source_digest.digests(beside)
    return found | {
        "records": {
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()
        },
        "matplotlib": importlib.metadata.version("matplotlib"),
    }


def _stem(figure: Figure, place: Place) -> str:
    """The name of the figure's files without ending, which depends on the settings."""
    return f"{figure.id}{suffix(place.settings)}"


def _note(figure: Figure, place: Place) -> Path:
    return place.pictures / ".made" / f"{_stem(figure, place)}.json"


def why_drawn(figure: Figure, place: Place) -> str:
    """The reason why a figure has to be drawn (again); "" if it is up to date."""
    made = [place.pictures / f"{_stem(figure, place)}.{kind}" for kind in (*FORMATS, "json")]
    if not all(path.exists() for path in [*made, _note(figure, place)]):
        return "not drawn yet"  # before its code and records are read
    for name in figure.sims:
        reason = registry.why_simulated(name, out=place.records, **budget(name, place))
        if reason:
            return f"the record {name}: {reason}"
    try:
        stored = json.loads(_note(figure, place).read_text(encoding="utf-8"))
    except ValueError:
        return "its note cannot be read"
    return registry.why_stale(stored, _made_from(figure, place))


def make(figure: Figure, place: Place, say: Callable[[str], None]) -> list[Path]:
    """Simulates what a figure needs, draws it, and returns its pictures.

    The digest of what they show is written beside them.
    """
    from figures.common import altered, digest
    from jaxsel.pictures import style

    # Two bars on one terminal spoil one another: the process that started these says what they do.
    progress = False if parent_process() is not None and sys.stderr.isatty() else None
    for name in figure.sims:
        run = {"out": place.records, "progress": progress, **budget(name, place)}
        registry.run(name, say=say, **run)
    made_from = _made_from(figure, place)
    with records_in(place.records, place.settings):
        drawn = render(figure)
    with style.applied():
        altered.mark(drawn, place.settings, figure.settable() if place.settings else {})
    written = style.save(drawn, place.pictures / _stem(figure, place), FORMATS)
    digest.write(written[0].with_suffix(".json"), digest.digest(drawn))
    note = _note(figure, place)
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps(made_from), encoding="utf-8")
    return written


def bring_up_to_date(name: str, given: dict[str, tuple[Place, str]]) -> tuple[str, str]:
    """The task of one process of ``python -m figures``.

    Args:
      name: name of the figure.
      given: for each figure, its place and the reason why it is drawn.

    Returns:
      The name, and the file of the picture.
    """
    from jaxsel.cli.output import say
    from jaxsel.kernel import compiled
    from jaxsel.kernel.compiled import compilation_cache

    place, reason = given[name]
    if reason.startswith(("the code", "different")):
        say(f"{name}: drawn again; {reason}")
    compilation_cache()
    with source_digest.at_one_moment():
        picture, *_ = make(FIGURES[name], place, say)
    compiled.forget()
    return name, str(picture)


def chains(figures: Iterable[Figure]) -> list[list[Figure]]:
    """Groups figures that read the same records, in the order in which to start them.

    A few quick ones come first, so that there soon is something to look at. Then come those
    that take longest, so that no process is left alone with one at the end.
    """
    found: list[list[Figure]] = []
    for figure in figures:
        reads = set(figure.sims)
        sharing = [each for each in found if reads & {s for f in each for s in f.sims}]
        merged = [other for each in sharing for other in each] + [figure]
        found = [each for each in found if each not in sharing] + [merged]
    found.sort(key=lambda each: sum(figure.seconds for figure in each))
    return found[:4] + found[4:][::-1]


def default_processes() -> int:
    """Number of processes: one per core, at most four; one if JAX has a GPU or TPU."""
    if importlib.metadata.entry_points(group="jax_plugins"):
        return 1  # several processes would have to share the device
    allowed = getattr(os, "sched_getaffinity", None)  # Linux has it
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return min(cores, 4)


def in_processes(
    task: Callable[..., T], jobs: Sequence[Sequence[Figure]], processes: int, *given: Any
) -> Iterator[T]:
    """``task(id, *given)`` of every figure; yields results in the order in which they finish.

    Args:
      task: a function of a module, which a new process can import.
      jobs: from ``chains``; the figures of one job are drawn one after another.
      processes: number of processes that work at once; 1 means this one.
      given: further arguments of the task.
    """
    with spinner("drawing") as tell:
        if processes == 1 or len(jobs) == 1:
            for figure in (figure for job in jobs for figure in job):
                tell(f"drawing {figure.id}")
                yield task(figure.id, *given)
        else:
            yield from _shared_out(task, jobs, processes, given, tell)


def _shared_out(
    task: Callable[..., T],
    jobs: Sequence[Sequence[Figure]],
    processes: int,
    given: tuple[Any, ...],
    tell: Callable[[str], None],
) -> Iterator[T]:
    # Processes that each start BLAS threads for small products slow one another down.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    waiting = [list(job) for job in jobs]
    running: dict[Future[T], list[Figure]] = {}
    # The option max_tasks_per_child can block the pool of Python 3.11.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        while waiting or running:
            # No more are submitted than can run, since a pool that is closed finishes all of them.
            while waiting and len(running) < processes:
                job = waiting.pop(0)
                running[pool.submit(task, job[0].id, *given)] = job
            tell(f"drawing {' and '.join(job[0].id for job in running.values())}")
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                if others := running.pop(future)[1:]:
                    waiting.insert(0, others)
                yield future.result()


def time_left(
    done: Sequence[Figure], waiting: Sequence[Figure], spent: float, processes: int
) -> str:
    """The remaining time as text, estimated from how long the figures took so far.

    Until they took a minute, it is mostly from how long they are said to take: the first ones are
    so quick that the start of the processes takes as long.
    """
    said, left = (sum(f.seconds for f in each) / processes for each in (done, waiting))
    minutes = left * (spent + _SAID_SECONDS) / (said + _SAID_SECONDS) / 60.0
    if not waiting:
        return "done"
    if minutes < 1.0:
        return "less than a minute left"
    return f"about {minutes:.0f} min left"
