"""sweep: measures of a mechanism, or of the account of tuning, over a grid of settings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jaxsel.host.errors import InputError
from jaxsel.host.progress import progress_bar
from jaxsel.kernel.engine import Performance
from jaxsel.shards import Shard, read_shard
from jaxsel.sweeps import facts as known_facts
from jaxsel.sweeps import files
from jaxsel.sweeps.dataset import to_dataset
from jaxsel.sweeps.facts import Facts, find_fact
from jaxsel.sweeps.files import Going, State, keeping
from jaxsel.sweeps.functions import declared, shared_trials
from jaxsel.sweeps.planning import Plan, make_plan
from jaxsel.sweeps.sharing import check_parts, facts_of, joined, share_of
from jaxsel.sweeps.subject import About
from jaxsel.sweeps.tallying import Item, Store, tally

if TYPE_CHECKING:
    import xarray as xr


def sweep(
    subject: About,
    settings: Mapping[str, Any] = MappingProxyType({}),
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
      subject: a mechanism of the catalogue, by its name or as ``jaxsel.mechanism`` made it,
        whose settings are then the defaults; "account" (what tuning costs); or a function
        of one's own, which is called once a cell and returns a ``Trial`` (also as text,
        "file.py:function").
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
    plan = make_plan(subject, settings, measures, zipped, trials, seed, delta, confidence)
    with keeping(_fresh(plan, None), record) as kept:
        _do(plan, plan.facts, plan.items, kept, progress, performance)
        found = _dataset(plan, kept.state.store, kept.state.facts)
        kept.finish(found)
    return found


def refreshed(
    subject: Callable[..., Any],
    settings: Mapping[str, Any],
    *,
    trials: int,
    seed: int,
    record: str | Path | None,
    attributes: Mapping[str, Any] = MappingProxyType({}),
    progress: bool | None = None,
) -> "xr.Dataset":
    """A sweep that is kept in a file, and counted again where it would be another now.

    Args:
      subject, settings, seed, progress: as for ``sweep``.
      trials: that are asked for; the function may take a share of them.
      record: its file; None for none. What was counted of the same input by the same code
        stays, and anything else is replaced.
      attributes: more of them for the data set.

    Raises:
      InputError: as ``sweep``.
    """
    count = shared_trials(subject, trials)
    plan = make_plan(subject, settings, (), (), count, seed, 0.0, 0.95)
    performance = declared(subject).performance or Performance()
    with keeping(_fresh(plan, None), record) as kept:
        _do(plan, plan.facts, plan.items, kept, progress, performance, again=True)
        found = _dataset(plan, kept.state.store, kept.state.facts)
        found = found.assign_attrs(attributes)
        kept.finish(found)
    return found


def keep_found(dataset: "xr.Dataset", record: str | Path) -> None:
    """Writes a data set that no sweep made into a new file, as that of a sweep."""
    nothing = State(str(dataset.attrs.get("title", "")), "", {}, {}, {}, None)
    with keeping(nothing, record) as kept:
        kept.finish(dataset)


def keep_share(
    shard: Shard | str,
    subject: str | Callable[..., Any],
    settings: Mapping[str, Any],
    *,
    record: str | Path,
    measures: Sequence[str] = (),
    trials: float = 1_000_000,
    seed: int = 0,
    delta: float = 0.0,
    confidence: float = 0.95,
    zipped: Sequence[Sequence[str]] = (),
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> int:
    """One shard's share of a sweep, kept in a file for ``merge``.

    Args:
      shard: which, as ``jaxsel.shards.Shard`` or as text, "3/64"; or "auto", from the
        environment of an array job.
      record: the shard's own file; a shard that was killed goes on from it.
      subject, settings, measures, trials, seed, delta, confidence, zipped, progress,
        performance: as for ``sweep``, and equal for all shards.

    Returns:
      How many trials it has.

    Raises:
      InputError: as ``sweep``.
    """
    which = read_shard(shard) if isinstance(shard, str) else shard
    plan = make_plan(subject, settings, measures, zipped, trials, seed, delta, confidence)
    items = share_of(plan.items, which)
    with keeping(_fresh(plan, which), record) as kept:
        facts = facts_of(plan.facts, which)
        _do(plan, facts, items, kept, progress, performance)
        kept.finish(None)
    return sum(item.last - item.first for item in items)


def merge(
    paths: Sequence[str | Path],
    record: str | Path | None = None,
    subject: Callable[..., Any] | None = None,
) -> "xr.Dataset":
    """The sweep that all its shards make up, bit for bit that of one process.

    Args:
      paths: the files of all shards, in any order; none is changed.
      record: a file for the whole sweep, which it can go on from.
      subject: the function that was swept, if it is in no file of its own.

    Raises:
      InputError: for a shard that is missing, there twice or not finished, files of
        different sweeps, or a file that is no shard; or for a function that was changed
        since.
    """
    parts = [files.read(Path(path)) for path in paths]
    check_parts(parts)
    asked = dict(parts[0].asked)
    if subject is not None:
        asked["subject"] = subject
    elif not asked["subject"]:
        raise InputError(
            f"{parts[0].path} is of a function that is in no file; merge it in Python, "
            "with merge(paths, subject=function)"
        )
    plan = make_plan(**asked)
    own = plan.subject.function
    if own is not None and known_facts.code(own) != parts[0].code:
        raise InputError(
            f"{plan.subject.name} was changed since {parts[0].path} was made, and may "
            "mean other cells; run the shards anew"
        )
    store = joined(plan.items, parts)
    facts = {key: value for part in parts for key, value in part.facts.items()}
    with keeping(_fresh(plan, None), record) as kept:
        kept.state.store.update(store)
        kept.state.facts.update(facts)
        # What a shard found under other code, or not at all, is found here.
        _find_facts(plan, plan.facts, kept, progress=False)
        found = _dataset(plan, kept.state.store, kept.state.facts)
        kept.finish(found)
    return found


def _fresh(plan: Plan, shard: Shard | None) -> State:
    return State(
        plan.subject.name, known_facts.code(plan.subject.function), {}, {}, plan.asked(), shard
    )


def _dataset(plan: Plan, store: Store, facts: Facts) -> "xr.Dataset":
    return to_dataset(
        plan.subject, plan.grid, plan.cells, plan.measures, plan.options, store, facts
    )


def _do(
    plan: Plan,
    facts: Collection[str],
    items: Sequence[Item],
    kept: Going,
    progress: bool | None,
    performance: Performance,
    again: bool = False,
) -> None:
    """Finds these facts and simulates these items, whole sweeps and shares alike."""
    _find_facts(plan, facts, kept, progress)
    tally(
        items,
        kept.state.store,
        kept.sometimes,
        again=again,
        progress=progress,
        performance=performance,
    )


def _find_facts(plan: Plan, wanted: Collection[str], kept: Going, progress: bool | None) -> None:
    """Finds what needs no trial, and is not known yet."""
    facts = kept.state.facts
    missing = [key for key in wanted if key not in facts]
    # All of a cell together, since they follow from the same bounds, which are kept.
    place = {id(cell): number for number, cell in enumerate(plan.cells)}
    missing.sort(key=lambda key: place[id(plan.facts[key][1])])
    done = len(wanted) - len(missing)
    with progress_bar(len(wanted), done, progress, unit="bounds") as advance:
        for key in missing:
            fact, cell = plan.facts[key]
            facts[key] = find_fact(fact, cell, plan.options.delta)
            advance(1)
            kept.sometimes()
