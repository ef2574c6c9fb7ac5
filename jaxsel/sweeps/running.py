"""sweep: measures of a mechanism, or of the account of tuning, over a grid of settings.

A sweep plans its cells (``planning``), computes what needs no trials (``facts``), counts the trials
that are missing (``tallying``), and makes the data set of all (``dataset``).
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_arguments, warn
from jaxsel.host.progress import progress_bar
from jaxsel.kernel.engine import Performance
from jaxsel.shards import Shard, read_shard
from jaxsel.sweeps import facts as known_facts
from jaxsel.sweeps import files
from jaxsel.sweeps.dataset import Options, to_dataset
from jaxsel.sweeps.facts import Facts, find_fact
from jaxsel.sweeps.files import RunningSweep, State, opened
from jaxsel.sweeps.functions import declared, shared_trials
from jaxsel.sweeps.planning import Plan, make_plan, planned
from jaxsel.sweeps.sharing import check_parts, facts_of, joined, share_of
from jaxsel.sweeps.swept_subject import About
from jaxsel.sweeps.tallying import Item, Store, tally

if TYPE_CHECKING:
    import xarray as xr

P = ParamSpec("P")
R = TypeVar("R")


def together(
    settings: Mapping[Any, Any], groups: Sequence[Sequence[str]]
) -> dict[str | tuple[str, ...], Any]:
    """Settings with one key for each group of names whose values are paired."""
    left = dict(settings)
    found = {tuple(group): [left.pop(name, None) for name in group] for group in groups}
    return {**left, **found}


def _apart(
    settings: Mapping[str | tuple[str, ...], Any],
) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Each setting by its own name, and the groups whose values are paired.

    Raises:
      InputError: unless keys are names or tuples of names, with values for each name of a group.
    """
    found: dict[str, Any] = {}
    groups = []
    if not isinstance(settings, Mapping):
        raise InputError(f"settings are {settings!r}; they must be values by name")
    for key, values in settings.items():
        if isinstance(key, str):
            found[key] = values
            continue
        if not isinstance(key, tuple) or not all(isinstance(name, str) for name in key):
            raise InputError(f"{key!r} is no name of a setting, nor several names in a tuple")
        if not isinstance(values, Sequence) or len(values) != len(key):
            raise InputError(f"{', '.join(key)} vary together; give the values of each, in a list")
        groups.append(key)
        found.update({n: each for n, each in zip(key, values, strict=True) if each is not None})
    return found, groups


def _former_zipped(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, which took ``zipped`` until 0.2.0."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> R:
        if "zipped" not in named:
            return function(*given, **named)
        warn(
            f"{function.__name__}(zipped=...)",
            f'{function.__name__}(settings={{("a", "b"): [values of a, values of b]}})',
        )
        groups = named.pop("zipped")
        chosen = signature.bind(*given, **named)
        chosen.arguments["settings"] = together(chosen.arguments.get("settings", {}), groups)
        return function(*chosen.args, **chosen.kwargs)

    return call


@_former_zipped
def sweep(
    subject: About,
    settings: Mapping[Any, Any] = MappingProxyType({}),
    *,
    measures: Sequence[str] = (),
    trials: float = 1_000_000,
    seed: int = 0,
    delta: float = 0.0,
    confidence: float | str = 0.95,
    record: str | Path | None = None,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> "xr.Dataset":
    """Measures over all combinations of settings, with intervals and theoretical values.

    The trials of a cell depend on its own settings and the seed alone: they are the same in
    every grid, and after any kill and resume.

    Args:
      subject: a mechanism of the catalogue, by its name or from ``jaxsel.mechanism``, whose
        settings are then the defaults; "account" (the cost of tuning); or your own
        function, which is called once per cell and returns a ``Trial`` (also as text,
        "file.py:function").
      settings: by name, one value or several (which make an axis), as values or as text:
        ``{"repetitions": ["geometric", "poisson"], "mean": "1:1000:log13"}``. Parameters
        of a law of K, and of an account's base, count as settings; so does "seed". Names whose
        values are paired, first with first, are one key:
        ``{("epsilon", "gamma"): [[0.5, 1.0], [0.1, 0.2]]}``.
      measures: names; default: every utility and the best proven epsilon.
      trials: per cell; for an audit, per input; a whole number >= 1.
      seed: used if the seed is not an axis.
      delta: of epsilons, in [0, 1); an account has its own setting.
      confidence: of each interval and audit, each by itself; "joint=0.95" is that of all of the
        sweep together, by a share of the error for each (Bonferroni).
      record: a NetCDF file to resume from and to save to, every ten seconds; a larger grid
        or more trials extend it.
      progress, performance: as for ``simulate_grid``.

    Returns:
      An ``xarray.Dataset`` with one dimension per axis; an estimate has ``measure_low``,
      ``_high`` and ``_exact`` beside it.

    Raises:
      InputError: for names, values or measures that do not exist or are incompatible, or
        a record of another sweep.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.sweep("noisy_max", {"epsilon": [0.5, 1, 2]}, trials=1000)
        >>> found["success"].dims
        ('epsilon',)
    """
    options = {"trials": trials, "seed": seed, "delta": delta, "confidence": confidence}
    own, groups = _apart(settings)
    plan = make_plan(subject, own, measures, groups, options, progress)
    return swept(plan, record, progress=progress, performance=performance)


def swept(
    plan: Plan,
    record: str | Path | None,
    *,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> "xr.Dataset":
    """The sweep of a plan; arguments and errors as for ``sweep``."""
    with opened(_fresh(plan, None), record) as kept:
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
    """A sweep kept in a file, whose outdated tallies are simulated again.

    Args:
      subject, settings, seed, progress: as for ``sweep``.
      trials: the number requested; the function may use a fraction of them.
      record: its file; None for none. Tallies of the same input by the same code are
        reused, and all others are replaced.
      attributes: further attributes of the data set.

    Raises:
      InputError: as ``sweep``.
    """
    count = shared_trials(subject, trials)
    plan = make_plan(subject, settings, options={"trials": count, "seed": seed})
    performance = declared(subject).performance or Performance()
    with opened(_fresh(plan, None), record) as kept:
        _do(plan, plan.facts, plan.items, kept, progress, performance, again=True)
        found = _dataset(plan, kept.state.store, kept.state.facts)
        found = found.assign_attrs(attributes)
        kept.finish(found)
    return found


def write_dataset(dataset: "xr.Dataset", record: str | Path) -> None:
    """Writes a data set that does not come from a sweep to a new file in a sweep's format."""
    nothing = State(str(dataset.attrs.get("title", "")), "", {}, {}, {}, None)
    with opened(nothing, record) as kept:
        kept.finish(dataset)


@_former_zipped
@former_arguments({name: f"options.{name}" for name in Options._fields if name != "joint"})
def keep_share(
    shard: Shard | str,
    subject: About,
    settings: Mapping[Any, Any],
    *,
    record: str | Path,
    measures: Sequence[str] = (),
    options: Options | Mapping[str, Any] = Options(),
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> int:
    """Runs one shard of a sweep, and saves it in a file for ``merge``.

    Args:
      shard: a ``jaxsel.shards.Shard`` or text, "3/64"; or "auto", from the environment of
        an array job.
      subject, settings: as for ``sweep``, and equal for all shards; so are the measures and
        the options.
      record: the shard's own file; a shard that was killed resumes from it.
      measures, progress, performance: as for ``sweep``.
      options: ``trials``, ``seed``, ``delta`` and ``confidence`` of ``sweep``.

    Returns:
      The number of trials of this shard.

    Raises:
      InputError: as ``sweep``.
    """
    own, groups = _apart(settings)
    plan = make_plan(subject, own, measures, groups, options, progress)
    return shared(shard, plan, record, progress=progress, performance=performance)


def shared(
    shard: Shard | str,
    plan: Plan,
    record: str | Path,
    *,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> int:
    """One shard of the sweep of a plan; arguments, result and errors as for ``keep_share``."""
    which = read_shard(shard) if isinstance(shard, str) else shard
    items = share_of(plan.items, which)
    with opened(_fresh(plan, which), record) as kept:
        facts = facts_of(plan.facts, which)
        _do(plan, facts, items, kept, progress, performance)
        kept.finish(None)
    return sum(item.last - item.first for item in items)


def merge(
    paths: Sequence[str | Path],
    record: str | Path | None = None,
    subject: Callable[..., Any] | None = None,
) -> "xr.Dataset":
    """Merges all shards of a sweep; the result is that of a single process, bit for bit.

    Args:
      paths: the files of all shards, in any order; none is changed.
      record: a file for the whole sweep, from which it can be extended.
      subject: the function that was swept, if it cannot be loaded from a file.

    Raises:
      InputError: for a shard that is missing, duplicated or not finished, files of
        different sweeps, or a file that is no shard; or for a function that has changed
        since.

    Example:
        >>> import tempfile
        >>> import jaxsel
        >>> from jaxsel.sweeps import keep_share
        >>> folder = tempfile.mkdtemp()
        >>> files = [f"{folder}/{part}.nc" for part in (0, 1)]
        >>> for part, file in enumerate(files):  # each in a process of its own, anywhere
        ...     _ = keep_share(
        ...         f"{part}/2", "noisy_max", {}, record=file, options={"trials": 1000}
        ...     )
        >>> merged = jaxsel.merge(files)
        >>> merged.identical(jaxsel.sweep("noisy_max", trials=1000))
        True
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
    plan = planned(asked)
    own = plan.subject.function
    if own is not None and known_facts.code(own) != parts[0].code:
        raise InputError(
            f"{plan.subject.name} was changed since {parts[0].path} was made, and may "
            "mean other cells; run the shards anew"
        )
    store = joined(plan.items, parts)
    facts = {key: value for part in parts for key, value in part.facts.items()}
    with opened(_fresh(plan, None), record) as kept:
        kept.state.store.update(store)
        kept.state.facts.update(facts)
        # Facts that a shard lacks, or computed with other code, are computed here.
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
    kept: RunningSweep,
    progress: bool | None,
    performance: Performance,
    again: bool = False,
) -> None:
    """Computes facts and simulates items, of a whole sweep or of a shard."""
    _find_facts(plan, facts, kept, progress)
    tally(
        items,
        kept.state.store,
        kept.checkpoint,
        again=again,
        progress=progress,
        performance=performance,
    )


def _find_facts(
    plan: Plan, wanted: Collection[str], kept: RunningSweep, progress: bool | None
) -> None:
    """Computes the facts that are not known yet."""
    facts = kept.state.facts
    missing = [key for key in wanted if key not in facts]
    # The facts of a cell are computed together, since they share cached bounds.
    place = {id(cell): number for number, cell in enumerate(plan.cells)}
    missing.sort(key=lambda key: place[id(plan.facts[key][1])])
    done = len(wanted) - len(missing)
    with progress_bar(len(wanted), done, progress, unit="bounds") as advance:
        for key in missing:
            fact, cell = plan.facts[key]
            facts[key] = find_fact(fact, cell, plan.options.delta)
            advance(1)
            kept.checkpoint()
