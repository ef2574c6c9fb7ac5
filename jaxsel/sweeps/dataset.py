"""The result of a sweep: an xarray data set with named coordinates, units, provenance."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.auditing.audit import audit_tallies
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.sweeps.axes import Grid
from jaxsel.sweeps.cells import Cell, own_item, pair_items
from jaxsel.sweeps.facts import FACT_OF, Facts, fact_key
from jaxsel.sweeps.measures import Measure, estimates
from jaxsel.sweeps.swept_subject import SEED, Subject
from jaxsel.sweeps.tables import SUFFIXES
from jaxsel.sweeps.tallying import Kept, Store, kept_of

if TYPE_CHECKING:
    import xarray as xr


class Options(NamedTuple):
    """Options of a sweep that are not settings of its subject.

    Attributes:
      trials: per cell; for an audit, per input.
      seed: used if the seed is not an axis.
      delta: the delta at which epsilons of mechanisms are given.
      confidence: of every interval, and of an audit simultaneously over all pairs of a
        cell.
      joint: whether all of these hold together at that confidence, and not each by itself.
    """

    trials: int = 1_000_000
    seed: int = 0
    delta: float = 0.0
    confidence: float = 0.95
    joint: bool = False


ALONE, TOGETHER = "each by itself at this confidence", "all together at this confidence"
"""How intervals and audits hold: the attribute ``intervals`` of a data set."""


class _Known(NamedTuple):
    """Everything that the variables are computed from.

    Attributes:
      cells, options, store, facts: as for ``to_dataset``.
      uncertain: the number of measures that have intervals, or are audits.
    """

    cells: Sequence[Cell]
    options: Options
    store: Store
    facts: Facts
    uncertain: int

    def confidence(self, parts: int = 1) -> float:
        """Of one interval of so many in a cell, or of one audit, of a measure."""
        if not self.options.joint:
            return self.options.confidence
        sharing = len(self.cells) * self.uncertain * parts
        return 1.0 - (1.0 - self.options.confidence) / sharing

    def fact(self, cell: Cell, measure: str) -> dict[str, float]:
        return self.facts[fact_key(FACT_OF[measure], cell, self.options.delta)]

    def kept(self, cell: Cell) -> Kept:
        return kept_of(own_item(cell, self.options.trials), self.store)

    def counts(self, cell: Cell) -> np.ndarray:
        return self.kept(cell).counts


# For one measure: (suffix of the variable, further dimension or "", values by cell); values
# along a further dimension are a mapping from its coordinates.
_Column = tuple[str, str, list[Any]]


def _law(cell: Cell) -> np.ndarray | None:
    assert cell.built is not None
    mechanism, data, params = cell.built[:3]
    law = mechanism.known_law(data, params)
    return None if law is None else law.probabilities


def _utilities(known: _Known) -> dict[str, list[_Column]]:
    rows = []
    for cell in known.cells:
        assert cell.built is not None
        rows.append(estimates(cell.built, known.counts(cell), _law(cell), known.confidence()))
    return {
        name: [
            ("", "", [row[name].value if name in row else np.nan for row in rows]),
            ("_low", "", [row[name].low if name in row else np.nan for row in rows]),
            ("_high", "", [row[name].high if name in row else np.nan for row in rows]),
            ("_exact", "", [row[name].exact if name in row else np.nan for row in rows]),
        ]
        for name in dict.fromkeys(name for row in rows for name in row)
    }


def _labelled(cell: Cell, values: np.ndarray) -> dict[str, float]:
    assert cell.built is not None
    mechanism, data, params = cell.built[:3]
    return dict(zip(mechanism.labels(data, params), values, strict=True))


def _counts(known: _Known) -> list[_Column]:
    return [("", "outcome", [_labelled(c, known.counts(c)) for c in known.cells])]


def _frequency(known: _Known) -> list[_Column]:
    columns: dict[str, list[Any]] = {"": [], "_low": [], "_high": [], "_exact": []}
    for cell in known.cells:
        counts, law = known.counts(cell), _law(cell)
        low, high = clopper_pearson(counts, counts.sum(), known.confidence(counts.size))
        exact = np.full(counts.size, np.nan) if law is None else law
        for suffix, values in zip(columns, (counts / counts.sum(), low, high, exact), strict=True):
            columns[suffix].append(_labelled(cell, values))
    return [(suffix, "outcome", values) for suffix, values in columns.items()]


def _audited(known: _Known) -> list[_Column]:
    found = []
    for cell in known.cells:
        assert cell.built is not None
        pairs = pair_items(cell, known.options.trials)
        # The error probability is divided among the pairs.
        confidence = 1.0 - (1.0 - known.confidence()) / len(pairs)
        lower = [
            audit_tallies(
                cell.built,
                each.pair,
                **each.tallies(known.store),
                delta=known.options.delta,
                confidence=confidence,
                seed=cell.seed,
            ).bound.lower
            for each in pairs
        ]
        found.append(max(lower))
    return [("", "", found)]


def _best(known: _Known) -> list[_Column]:
    rows = [known.fact(cell, "epsilon_bound") for cell in known.cells]
    return [
        ("", "", [min(row.values(), default=np.nan) for row in rows]),
        ("_theorem", "", [min(row, key=row.__getitem__, default="") for row in rows]),
    ]


def _by_theorem(known: _Known) -> list[_Column]:
    return [("", "theorem", [known.fact(c, "epsilon_bounds") for c in known.cells])]


def _fact(measure: str) -> Callable[[_Known], list[_Column]]:
    return lambda known: [
        ("", "", [known.fact(c, measure).get(measure, np.nan) for c in known.cells])
    ]


_SPECIAL: Mapping[str, Callable[[_Known], list[_Column]]] = {
    "counts": _counts,
    "frequency": _frequency,
    "audited": _audited,
    "epsilon_bound": _best,
    "epsilon_bounds": _by_theorem,
}


def _columns(measures: Sequence[Measure], known: _Known) -> dict[str, list[_Column]]:
    found: dict[str, list[_Column]] = {}
    utilities = None
    for measure in measures:
        if measure.name in _SPECIAL:
            found[measure.name] = _SPECIAL[measure.name](known)
        elif measure.name in FACT_OF:
            found[measure.name] = _fact(measure.name)(known)
        else:
            utilities = _utilities(known) if utilities is None else utilities
            found[measure.name] = utilities[measure.name]
    return found


def _arrays(
    measures: Sequence[Measure], known: _Known
) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    """Further numbers of the cells, and the sums of their statistics.

    Yields:
      For each its name, its further dimensions, and its values with the cells first.
    """
    rows: list[Mapping[str, Any]] = []
    for cell in known.cells:
        rows.append({} if cell.built is None else dict(cell.built.beside))
        if any(measure.name == "tallies" for measure in measures):
            rows[-1] = {**rows[-1], **known.kept(cell).sums()}
    for name in rows[0] if rows else ():
        values = [np.asarray(row[name]) for row in rows]
        if len({value.shape for value in values}) > 1:
            raise InputError(f"{name} has another shape in another cell; give it one shape in all")
        own = tuple(f"{name}_{axis}" for axis in range(values[0].ndim))
        yield name, own, np.stack(values)


def _spread(rows: list[dict[str, Any]]) -> tuple[list[str], np.ndarray]:
    """Stacks mappings into one column per name; missing entries are NaN, or 0."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    whole = all(isinstance(v, np.integer) for row in rows for v in row.values())
    lacking = 0 if whole else np.nan
    table = [[row.get(name, lacking) for name in names] for row in rows]
    return names, np.array(table)


def to_dataset(
    subject: Subject,
    grid: Grid,
    cells: Sequence[Cell],
    measures: Sequence[Measure],
    options: Options,
    store: Store,
    facts: Facts,
) -> "xr.Dataset":
    """The labelled data set of a finished sweep.

    Args:
      subject: the subject of the sweep.
      grid: its axes; dimensions in this order.
      cells: its cells, in the order of ``grid.points``.
      measures: the measures to include.
      options: its options.
      store, facts: the tallies and the facts of every cell.

    Returns:
      One variable per measure, with ``_low``, ``_high`` and ``_exact`` beside estimates.
    """
    import xarray as xr

    dims = tuple(axis.names[0] for axis in grid.axes)
    coords: dict[str, Any] = {}
    for axis in grid.axes:
        for number, name in enumerate(axis.names):
            values = np.array([place[number] for place in axis.values])
            attrs = {"long_name": name.replace("_", " ")}
            if subject.domain(name).help:
                attrs["comment"] = subject.domain(name).help
            coords[name] = (axis.names[0], values, attrs)
    # Tallies and counts need trials, too, and have no interval.
    uncertain = [one for one in measures if one.needs and one.name not in ("counts", "tallies")]
    known = _Known(cells, options, store, facts, max(len(uncertain), 1))
    variables: dict[str, Any] = {
        name: ((*dims, *own), values.reshape(*grid.shape, *values.shape[1:]))
        for name, own, values in _arrays(measures, known)
    }
    others = [measure for measure in measures if measure.name != "tallies"]
    for measure, columns in zip(others, _columns(others, known).values(), strict=True):
        for suffix, extra, values in columns:
            attrs: dict[str, Any] = {
                "long_name": measure.title + (f": {SUFFIXES[suffix]}" if suffix else ""),
                "comment": measure.meaning,
                "units": measure.units,
                "kind": measure.kind,
            }
            # Explains NaN; counts and names of theorems are never missing.
            if suffix != "_theorem" and measure.name != "counts":
                attrs["missing"] = "not known" if suffix == "_exact" else measure.missing
            if "epsilon" in measure.title:
                attrs["quantity"] = "epsilon"
            if suffix in ("_low", "_high") or measure.needs == "pairs":
                attrs["confidence"] = options.confidence
            if extra:
                names, table = _spread(values)
                coords[extra] = (extra, np.array(names, dtype=object))
                shaped = table.reshape(*grid.shape, len(names))
                variables[measure.name + suffix] = ((*dims, extra), shaped, attrs)
            else:
                array = np.array(values, dtype=object if suffix == "_theorem" else float)
                variables[measure.name + suffix] = (dims, array.reshape(grid.shape), attrs)
    simulated = any(measure.needs for measure in measures)
    attrs: dict[str, Any] = {
        "title": f"jaxsel sweep of {subject.name}",
        "mechanism": subject.name,
        "measures": json.dumps([measure.name for measure in measures]),
        "settings": json.dumps(dict(grid.fixed)),
        "confidence": options.confidence,
        "versions": json.dumps(records.versions(), sort_keys=True),
    }
    if uncertain:
        attrs["intervals"] = TOGETHER if options.joint else ALONE
    if simulated:
        attrs["trials"] = options.trials
        if SEED not in coords:
            attrs["seed"] = str(options.seed)
    if subject.build is not None:
        attrs["delta"] = options.delta
    return xr.Dataset(variables, coords, attrs)
