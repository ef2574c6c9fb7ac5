"""sweep: measures of a mechanism, or of the account of tuning, over a grid of settings."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxsel import records
from jaxsel.engine import Performance
from jaxsel.errors import InputError, check_integer, check_interval
from jaxsel.progress import progress_bar
from jaxsel.sweeps import facts as known_facts
from jaxsel.sweeps import files
from jaxsel.sweeps.axes import read_grid
from jaxsel.sweeps.cells import Cell, make_cell, own_item, pair_items
from jaxsel.sweeps.dataset import Options, to_dataset
from jaxsel.sweeps.facts import FACT_OF, fact_key, find_fact
from jaxsel.sweeps.measures import Measure, find_measures, known_measures
from jaxsel.sweeps.subject import Subject, find_subject
from jaxsel.sweeps.tallying import Item, tally
from jaxsel.utility import MEANINGS

if TYPE_CHECKING:
    import xarray as xr

_SAVE_SECONDS = 10.0


def sweep(
    subject: str,
    settings: Mapping[str, Any],
    *,
    measures: Sequence[str] = (),
    trials: float = 1_000_000,
    seed: int = 0,
    delta: float = 0.0,
    confidence: float = 0.95,
    zipped: Sequence[Sequence[str]] = (),
    record: str | Path | None = None,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> "xr.Dataset":
    """Measures over all combinations of settings, with intervals, beside theory.

    A cell's trials depend on its own settings and the seed alone: it counts the same in
    every grid, whatever is added, and after any kill.

    Args:
      subject: a mechanism of the catalogue, or "account" (what tuning costs).
      settings: by name, one value or several (which make an axis), as values or as text:
        ``{"repetitions": ["geometric", "poisson"], "mean": "1:1000:log13"}``. Parameters
        of a law of K, and of an account's base, count as settings; so does "seed".
      measures: names; default: every utility and the best proven epsilon.
      trials: a cell; of an audit, a side; a whole number >= 1.
      seed: where it is no axis.
      delta: of epsilons, in [0, 1); an account has its own setting.
      confidence: of each interval and audit.
      zipped: groups of settings whose values go together, first with first.
      record: a NetCDF file to go on from and to save to, every ten seconds; a larger grid
        or more trials extend it.
      progress, performance: as for ``simulate_grid``.

    Returns:
      An ``xarray.Dataset`` with one dimension an axis; ``measure_low``, ``_high`` and
      ``_exact`` stand beside an estimate.

    Raises:
      InputError: for names, values or measures that do not exist or do not fit, or a
        record of something else.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.sweep("noisy_max", {"epsilon": [0.5, 1, 2]}, trials=1000)
        >>> found["success"].dims
        ('epsilon',)
    """
    options = Options(
        check_integer("trials", trials, 2),
        check_integer("seed", seed, 0),
        check_interval("delta", delta, 0.0, 1.0, low_open=False),
        check_interval("confidence", confidence, 0.0, 1.0),
    )
    about = find_subject(subject)
    if about.entry is None and options.delta > 0.0:
        raise InputError(
            f"delta is {delta:g}, but the delta of an account is one of its settings; "
            f"give delta={delta:g} among them"
        )
    grid = read_grid(settings, about.domain, zipped)
    cells = [make_cell(about, point, options.seed) for point in grid.points()]
    chosen = _chosen(tuple(measures), about, cells)
    items = _items(chosen, cells, options.trials)
    with _kept(about.name, record) as (state, keep, finish):
        _find_facts(chosen, cells, options.delta, state, keep, progress)
        tally(items, state.store, keep, progress=progress, performance=performance)
        found = to_dataset(
            about, grid, cells, chosen, options, state.store, state.facts
        )
        finish(found)
    return found


def _chosen(names: tuple[str, ...], about: Subject, cells: Sequence[Cell]):
    """The measures of these names; by default what says how good and how private."""
    if names:
        return find_measures(names, about, cells[0])
    known = known_measures(about, cells[0])
    utilities = [name for name in known if name in MEANINGS]
    names = (*(utilities or ["frequency"] * (about.entry is not None)), "epsilon_bound")
    return find_measures(names, about, cells[0])


def _items(
    measures: Sequence[Measure], cells: Sequence[Cell], trials: int
) -> list[Item]:
    """Everything to be simulated."""
    needs = {measure.needs for measure in measures}
    found = [own_item(cell, trials) for cell in cells] if "trials" in needs else []
    if "pairs" in needs:
        for cell in cells:
            for each in pair_items(cell, trials):
                found += [*each.selection, *each.used]
    return found


_Keep = Callable[[], None]


@contextlib.contextmanager
def _kept(
    subject: str, record: str | Path | None
) -> Iterator[tuple[files.State, _Keep, Callable[["xr.Dataset"], None]]]:
    """What is known already, and two ways to save: now and then, and when finished."""
    state = files.State(subject, known_facts.code(), {}, {})
    if record is None:
        yield state, lambda: None, lambda dataset: None
        return
    import xarray as xr

    path = Path(record)
    with records.exclusive(path) as replace:
        if path.exists():
            state = _gone_on_from(path, state)
        attrs = {
            "format": files.FORMAT,
            "title": f"jaxsel sweep of {subject}, unfinished",
        }
        unfinished = xr.Dataset(attrs=attrs)

        def save(dataset: "xr.Dataset" = unfinished) -> None:
            replace(lambda name: files.write(name, dataset, state))

        saved = time.monotonic()

        def keep() -> None:
            nonlocal saved
            if time.monotonic() - saved > _SAVE_SECONDS:
                save()
                saved = time.monotonic()

        try:
            yield state, keep, save
        except KeyboardInterrupt:
            save()
            raise


def _gone_on_from(path: Path, fresh: files.State) -> files.State:
    found = files.read(path)
    if found.subject != fresh.subject:
        raise InputError(
            f"{path} holds a sweep of {found.subject}, not of {fresh.subject}; name "
            "another file"
        )
    # What follows from other code is found again; tallies are refused, they cost more.
    return found if found.code == fresh.code else fresh._replace(store=found.store)


def _find_facts(
    measures: Sequence[Measure],
    cells: Sequence[Cell],
    delta: float,
    state: files.State,
    keep: _Keep,
    progress: bool | None,
) -> None:
    """Adds what needs no trial, of every cell."""
    wanted = dict.fromkeys(FACT_OF[m.name] for m in measures if m.name in FACT_OF)
    todo = {
        fact_key(fact, cell, delta): (fact, cell) for fact in wanted for cell in cells
    }
    missing = [key for key in todo if key not in state.facts]
    done = len(todo) - len(missing)
    with progress_bar(len(todo), done, progress, unit="bounds") as advance:
        for key in missing:
            fact, cell = todo[key]
            state.facts[key] = find_fact(fact, cell, delta)
            advance(1)
            keep()
