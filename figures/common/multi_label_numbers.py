"""Numbers of the multi-label figure: simulated qualities, rows of the table, curves."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from jaxsel.host.intervals import clopper_pearson, mean_interval
from sims.common.multi_label_exact import (
    METHODS,
    SELECTION,
    TABLE,
    TEST,
    Labelling,
    Quality,
    quality,
    scale_at,
    total_epsilon,
)
from sims.common.multi_label_votes import Scenario

CONFIDENCE = 0.95
LOW, HIGH = 0.5, 100.0


class Estimate(NamedTuple):
    """A simulated value with its 95 % interval."""

    value: float
    low: float
    high: float


class Simulated(NamedTuple):
    """Estimates of the fields of ``Quality``; ``answered`` is 1 for PATE."""

    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    answered: Estimate


class Row(NamedTuple):
    """A line of the table.

    Attributes:
      title, noise: as text.
      epsilon: by Lemma 17 and by the tight conversion; None if there is none.
      found: for each scenario a Simulated, a Quality, or None for no entry.
    """

    title: str
    noise: str
    epsilon: tuple[float, float] | None
    found: tuple[Any, ...]


def scenario_of(row: xr.Dataset) -> Scenario:
    """The votes from which one scenario of the data set was made."""
    values: dict[str, Any] = {name: row[name].values[()] for name in Scenario._fields}
    return Scenario(**values)


def _ratio(hits: Estimate, wrong: Estimate) -> Estimate:
    """hits/(hits + wrong): it rises with hits and falls with wrong."""

    def share(good: float, bad: float) -> float:
        return good / (good + bad) if good + bad > 0.0 else float("nan")

    return Estimate(
        share(hits.value, wrong.value), share(hits.low, wrong.high), share(hits.high, wrong.low)
    )


def simulated(row: xr.Dataset, cell: int) -> Simulated:
    """Shares over all queries and trials, with intervals.

    PATE releases every label independently with its own probability, for which the binomial
    interval is valid, too (Hoeffding 1956). With StableTopK only queries are independent.
    There the mean of a query's number of labels is estimated, and the empirical Bernstein
    interval is valid although queries differ (Maurer & Pontil 2009, Theorem 11). Precision
    combines two intervals of confidence 97.5 %.
    """
    truth, here = row["truth"].values, row.isel(cell=cell)
    queries, labels = truth.shape
    trials = row.attrs["trials"]
    hits = int(here.hits.sum())
    wrong = int(here.released.sum()) - hits
    present, absent = (int(n) * trials for n in (truth.sum(), (~truth).sum()))
    right = absent + hits - wrong
    stable = TABLE[str(here["method"].values)].ratio > 0.0
    squares = here.squares.values

    def of_query(total: int, square: int, confidence: float) -> Estimate:
        """Mean number of labels per query."""
        n = queries * trials
        low, high = mean_interval(n, total, int(square), confidence, 0.0, labels)
        return Estimate(total / n, float(low), float(high))

    def of_labels(count: int, among: int, confidence: float) -> Estimate:
        low, high = clopper_pearson(count, among, confidence)
        return Estimate(count / among, float(low), float(high))

    half = (1.0 + CONFIDENCE) / 2.0
    a_query = present / (queries * trials)
    if stable:
        accuracy = _times(of_query(right, squares[0], CONFIDENCE), 1.0 / labels)
        recall = _times(of_query(hits, squares[1], CONFIDENCE), 1.0 / a_query)
        good, bad = of_query(hits, squares[1], half), of_query(wrong, squares[2], half)
        count = int(here.answered)
        answered = of_labels(count, queries * trials, CONFIDENCE)
    else:
        accuracy = of_labels(right, present + absent, CONFIDENCE)
        recall = of_labels(hits, present, CONFIDENCE)
        good = _times(of_labels(hits, present, half), a_query)
        bad = _times(of_labels(wrong, absent, half), labels - a_query)
        answered = Estimate(1.0, 1.0, 1.0)
    return Simulated(accuracy, _ratio(good, bad), recall, answered)


def _times(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(*(factor * part for part in estimate))


def simulated_cells(row: xr.Dataset) -> list[int]:
    """Numbers of the cells that were simulated."""
    return np.flatnonzero(np.isfinite(row["scale"].values)).tolist()


def _cell(row: xr.Dataset, name: str) -> int | None:
    """The number of a method's cell in the table; None if no noise makes it as accurate."""
    for cell in simulated_cells(row):
        here = row.isel(cell=cell)
        if np.isnan(here["epsilon"]) and here["method"] == name:
            return cell
    return None


def references(scenario: Scenario) -> tuple[Quality, Quality]:
    """Quality of releasing no label at all, and of the teachers' majority without noise."""
    truth = scenario.truth
    found = []
    for labels in (np.zeros_like(truth), scenario.votes > scenario.teachers / 2.0):
        hits, size = int((labels & truth).sum()), int(labels.sum())
        right = labels == truth
        found.append(
            Quality(
                float(right.mean()),
                hits / size if size else float("nan"),
                hits / int(truth.sum()),
                1.0 if size else 0.0,
                right.mean(axis=0),
            )
        )
    return found[0], found[1]


def rows(labelled: xr.Dataset, asked: Labelling = Labelling()) -> list[Row]:
    """The rows of the table: the paper's settings, and PATE made as accurate."""
    everyone = [labelled.isel(scenario=s) for s in range(labelled.sizes["scenario"])]
    queries, labels = everyone[0]["truth"].shape
    none = (None,) * len(everyone)

    def both(name: str, scale: float) -> tuple[float, float]:
        method = TABLE[name]
        found = [
            total_epsilon(method, scale, queries, labels, asked, tight=tight)
            for tight in (False, True)
        ]
        return found[0], found[1]

    def at_paper(title: str, noise: str, name: str, *, seen: bool = True) -> Row:
        found = none
        if seen:
            cells = [(row, _cell(row, name)) for row in everyone]
            found = tuple(None if at is None else simulated(row, at) for row, at in cells)
        return Row(title, noise, both(name, TEST), found)

    scales = "σ₁ = {:g}, σ = {:g}".format
    found = [
        at_paper("StableTopK, Gaussian noise", scales(SELECTION, TEST), "Gaussian, corollaries"),
        at_paper("  if all noisy gaps were released", "", "Gaussian, gaps released", seen=False),
        at_paper("  its tests alone", "", "test alone", seen=False),
        at_paper("StableTopK, Gumbel noise", scales(SELECTION / 2.0, TEST), "Gumbel"),
    ]
    titles = {"PATE": "PATE", "PATE-tau": f"PATE-τ, τ = {asked.tau}"}
    for name, title in titles.items():
        for s, row in enumerate(everyone):
            at = _cell(row, name)
            where = f"{title}, as accurate ({row['scenario'].values})"
            if at is None:
                found.append(Row(where, "never", None, none))
                continue
            own: list[Any] = [None] * len(everyone)
            own[s], scale = simulated(row, at), float(row["scale"][at])
            found.append(Row(where, f"σ = {scale:.0f}", both(name, scale), tuple(own)))
    known = [references(scenario_of(row)) for row in everyone]
    found.append(Row("No label at all", "", (0.0, 0.0), tuple(k[0] for k in known)))
    majority = tuple(k[1] for k in known)
    return [*found, Row("Majority of the teachers", "none", None, majority)]


def curve(
    scenario: Scenario, name: str, asked: Labelling = Labelling(), count: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Epsilons from LOW to HIGH, by the tight conversion, and the exact accuracy at each."""
    method = METHODS[name]
    queries, labels = scenario.truth.shape
    widest, least = (scale_at(method, epsilon, queries, labels, asked) for epsilon in (LOW, HIGH))
    scales = np.geomspace(widest, least, count)
    epsilon = [total_epsilon(method, scale, queries, labels, asked) for scale in scales]
    accuracy = [quality(scenario, method, scale, asked.delta_t).accuracy for scale in scales]
    return np.array(epsilon), np.array(accuracy)


def points(
    row: xr.Dataset, name: str, asked: Labelling = Labelling()
) -> list[tuple[float, Estimate]]:
    """Epsilon and simulated accuracy of every cell with the method's mechanism."""
    wanted, (queries, labels) = METHODS[name], row["truth"].shape
    found = []
    for cell in simulated_cells(row):
        method = TABLE[str(row["method"].values[cell])]
        if (method.mechanism, method.ratio) != (wanted.mechanism, wanted.ratio):
            continue
        scale = float(row["scale"][cell])
        epsilon = total_epsilon(wanted, scale, queries, labels, asked)
        if LOW * 0.999 <= epsilon <= HIGH * 1.001:
            found.append((epsilon, simulated(row, cell).accuracy))
    return found
