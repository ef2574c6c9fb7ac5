"""The plan of a sweep: its cells, the trials to simulate and the facts to compute."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxsel.host.errors import MOST_TRIALS, InputError, check_integer, check_interval
from jaxsel.host.progress import progress_bar
from jaxsel.language.domains import probability
from jaxsel.language.parts import read_parts
from jaxsel.language.utility import MEANINGS
from jaxsel.sweeps.axes import Grid, Value
from jaxsel.sweeps.cells import Cell, make_cell, own_item, pair_items
from jaxsel.sweeps.dataset import Options
from jaxsel.sweeps.facts import FACT_OF, fact_key
from jaxsel.sweeps.measures import Measure, find_measures, known_measures
from jaxsel.sweeps.swept_subject import About, Subject, find_subject
from jaxsel.sweeps.tables import DIMENSIONS, SUFFIXES
from jaxsel.sweeps.tallying import Item


class Plan(NamedTuple):
    """A parsed and validated sweep.

    Attributes:
      subject: its subject.
      grid: its axes.
      cells: in the order of ``grid.points``.
      measures: its measures.
      options: its options.
      items: all trials to simulate.
      facts: all facts to compute without trials: (fact, cell) by key.
      zipped: groups of settings whose values are paired.
    """

    subject: Subject
    grid: Grid
    cells: Sequence[Cell]
    measures: Sequence[Measure]
    options: Options
    items: Sequence[Item]
    facts: Mapping[str, tuple[str, Cell]]
    zipped: Sequence[Sequence[str]]

    def asked(self) -> dict[str, Any]:
        """The request as JSON-serialisable data, from which ``planned`` makes the same plan."""
        settings: dict[str, list[Value]] = {k: [v] for k, v in self.grid.fixed.items()}
        for axis in self.grid.axes:
            for number, name in enumerate(axis.names):
                settings[name] = [place[number] for place in axis.values]
        return {
            "subject": self.subject.place,
            "settings": settings,
            "measures": [measure.name for measure in self.measures],
            "zipped": [list(group) for group in self.zipped],
            **self.options._asdict(),
        }


_CONFIDENCE = {
    "confidence": probability("of each interval and audit by itself"),
    "joint": probability("of all intervals and audits of a sweep together"),
}


def _read_options(given: Options | Mapping[str, Any]) -> Options:
    """Checks options, of which some may be missing.

    Raises:
      InputError: for a number out of range.
    """
    found = Options()._replace(**(given if isinstance(given, Mapping) else given._asdict()))
    trials, seed, delta, confidence, joint = found
    said = read_parts("confidence", confidence, _CONFIDENCE, first="confidence")
    if len(said) != 1:
        raise InputError("confidence is that of each interval, or of all together; give one")
    ((how, level),) = said.items()
    return Options(
        check_integer("trials", trials, 2, MOST_TRIALS),
        check_integer("seed", seed, 0),
        check_interval("delta", delta, 0.0, 1.0, low_open=False),
        level,
        bool(joint) or how == "joint",
    )


def make_plan(
    subject: About,
    settings: Mapping[str, Any],
    measures: Sequence[str] = (),
    zipped: Sequence[Sequence[str]] = (),
    options: Options | Mapping[str, Any] = Options(),
    progress: bool | None = False,
) -> Plan:
    """Parses a sweep; arguments and errors as for ``sweep``.

    Args:
      zipped: groups of settings whose values are paired, first with first.
      options: the others; ``confidence`` may be a text, "joint=0.95".
    """
    options = _read_options(options)
    about = find_subject(subject)
    if about.build is None and options.delta > 0.0:
        raise InputError(
            f"delta is {options.delta:g}, but the delta of an account is one of its settings; "
            f"give delta={options.delta:g} among them"
        )
    if about.function is not None and _needs(about, "trials"):
        settings = {"trials": options.trials, **settings}
    grid = about.grid(settings, zipped)
    cells = []
    # The bar is that of the trials; this is seen only where it is long.
    shown = None if progress is None else False
    with progress_bar(math.prod(grid.shape), 0, shown, unit="cells") as advance:
        for point in grid.points():
            cells.append(make_cell(about, point, options.seed))
            advance(1)
    chosen = _chosen(tuple(measures), about, cells)
    _check_axes(grid, chosen, cells[0])
    wanted = dict.fromkeys(FACT_OF[m.name] for m in chosen if m.name in FACT_OF)
    facts = {fact_key(fact, cell, options.delta): (fact, cell) for fact in wanted for cell in cells}
    items = _items(chosen, cells, options.trials)
    return Plan(about, grid, cells, chosen, options, items, facts, zipped)


def planned(asked: Mapping[str, Any]) -> Plan:
    """The plan whose ``asked`` it is."""
    options = {name: asked[name] for name in Options._fields if name in asked}
    return make_plan(**{k: v for k, v in asked.items() if k not in options}, options=options)


def _needs(about: Subject, name: str) -> bool:
    """Whether a subject has a setting of that name without a default, which is no axis."""
    known = about.settings.get(name)
    return known is not None and known.default is None and name not in about.axes


def _chosen(names: tuple[str, ...], about: Subject, cells: Sequence[Cell]):
    """The measures with these names; by default all utilities and the best proven epsilon."""
    names = names or about.measures
    if names:
        return find_measures(names, about, cells[0])
    known = known_measures(about, cells[0])
    utilities = [name for name in known if name in MEANINGS]
    events = [name for name in ("frequency", "tallies") if name in known]
    names = tuple(utilities or events)
    if about.function is None or _is_proven(cells[0]):
        names += ("epsilon_bound",)
    return find_measures(names, about, cells[0])


def _check_axes(grid: Grid, measures: Sequence[Measure], first: Cell) -> None:
    """Refuses an axis whose name something else of the data set has.

    Raises:
      InputError: for the first such axis.
    """
    taken = {measure.name + suffix for measure in measures for suffix in ("", *SUFFIXES)}
    beside = set() if first.built is None else set(first.built.beside)
    for name in (name for axis in grid.axes for name in axis.names):
        if name in taken | DIMENSIONS | beside:
            raise InputError(
                f"the axis {name} has the name of something that is measured; give the setting "
                "another name, or a single value"
            )


def _is_proven(cell: Cell) -> bool:
    """Whether the cell of a user's function names the claim that covers it."""
    built = cell.built
    assert built is not None
    try:
        return any(built.guarantee(pair) for pair in built.pairs())
    except InputError:  # no pair at these settings, and nobody has asked for one
        return False


def _items(measures: Sequence[Measure], cells: Sequence[Cell], trials: int) -> list[Item]:
    """All trials to simulate."""
    needs = {measure.needs for measure in measures}
    found = [own_item(cell, trials) for cell in cells] if "trials" in needs else []
    if "pairs" in needs:
        for cell in cells:
            for each in pair_items(cell, trials):
                found += [*each.selection, *each.used]
    return found
