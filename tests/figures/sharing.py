"""Small records, made once for all tests and workers, and what every picture must satisfy."""

import contextlib
import fcntl
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np

from jaxsel.host import source_digest
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.pictures import style
from sims import registry
from tests.conftest import seed

FOLDER = Path()  # set by conftest to a folder that all workers share
# Records of whole files that several tests read, and the trials that the tests of laws need.
WHOLE = {
    **dict.fromkeys(("clnss22-selection", "clnss22-coin-game", "clnss22-median"), 3 * 8192),
    "clnss22-svt-family": 60_000,
    "krw24-2": 100_000,
    "krw24-4": 100_000,
    "lt19-utility": 20_000,
    "ps22-2": 100_000,
    "ps22-3": 100_000,
    "ps22-4": 200_000,
    "ps22-5": 100_000,
    "ps22-6": 200_000,
    "ps22-8": 300_000,
}


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def name_of(module: ModuleType) -> str:
    """The name of a simulation or figure, from its module."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def whole(*names: str) -> Path:
    """The folder of ``WHOLE``, with the records of these files, of which nothing is reduced."""
    folder = FOLDER / "whole"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        with _alone(folder / f"{name}.lock"):
            # What lies in it was made by this run of the tests.
            if not all(path.exists() for path in registry.record_paths(name, folder)):
                _run(name, WHOLE[name], seed(), folder)
    return folder


def _run(name: str, trials: int, at: int, folder: Path) -> None:
    with source_digest.at_one_moment():
        registry.run(name, trials=trials, seed=at, out=folder, progress=False)


def records_of(trials: Mapping[str, int], at: int | None = None) -> Path:
    """A folder with a record of each simulation, run with that many trials.

    Each test file has its own folder, because it may have reduced what is simulated.
    """
    return _records(trials, at, Path(sys._getframe(1).f_code.co_filename).stem)


def record_of(module: ModuleType, trials: int, at: int | None = None):
    """The record of one simulation, as for ``records_of``."""
    stem = Path(sys._getframe(1).f_code.co_filename).stem
    folder = _records({name_of(module): trials}, at, f"{stem}-{trials}")
    return registry.load(name_of(module), folder)


def _records(trials: Mapping[str, int], at: int | None, stem: str) -> Path:
    folder = FOLDER / stem
    folder.mkdir(parents=True, exist_ok=True)
    for name, number in trials.items():
        with _alone(folder / f"{name}.lock"):
            _run(name, number, seed() if at is None else at, folder)
    return folder


def drawn(module, record, monkeypatch, tmp_path):
    """Draws the figure, and checks that its captions and labels lie inside and files are written.

    Args:
      record: the data set of each function that ``draw`` takes, by name; or one that ``load``
        returns.
    """
    given = record if isinstance(record, dict) else {}
    if not given:
        monkeypatch.setattr(module, "load", lambda name: record)
    with style.applied():
        figure = module.draw(**given)
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [figure._supxlabel, *(text for axes in figure.axes for text in axes.texts)]
    texts += [axes.xaxis.label for axes in figure.axes]
    for text in texts:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0.0, text.get_text()
        assert box.x1 <= width, text.get_text()
        assert box.y1 <= height, text.get_text()
    (written,) = style.save(figure, tmp_path / name_of(module), ("png",))
    assert written.stat().st_size > 10_000
    return figure


def counts_of(found) -> np.ndarray:
    """How often each outcome happened: Int64["... outcomes"]."""
    # The frequency of an outcome that only other cells have is NaN.
    shares = np.nan_to_num(found.frequency.values)
    return np.rint(shares * found.attrs["trials"]).astype(np.int64)


def check_laws(found, alpha: float) -> None:
    """Checks that every cell of a data set with "frequency" follows its exact law.

    Args:
      found: the data set.
      alpha: probability of a false alarm, per cell.
    """
    laws = np.nan_to_num(found.frequency_exact.values)
    counts = counts_of(found)
    assert np.isfinite(found.frequency_exact.values).any(axis=-1).all()
    for place in np.ndindex(counts.shape[:-1]):
        assert goodness_of_fit(counts[place], laws[place]) > alpha, place
