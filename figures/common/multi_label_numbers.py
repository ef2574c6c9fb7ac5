"""Numbers of the multi-label figure: simulated qualities, rows of the table, curves."""

from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.intervals import clopper_pearson, mean_interval
from sims.common.multi_label_exact import (
    METHODS,
    TABLE,
    TEST,
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
    """Estimates of what ``Quality`` holds; ``answered`` is 1 for PATE."""

    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    answered: Estimate


class Row(NamedTuple):
    """A line of the table.

    Attributes:
      title, noise: in words.
      epsilon: by Lemma 17 and by the tight conversion; None where there is none.
      found: for each scenario a Simulated, a Quality, or None for no entry.
    """

    title: str
    noise: str
    epsilon: tuple[float, float] | None
    found: tuple[Any, ...]


def scenarios(record) -> list[Scenario]:
    """The votes that the record was made with."""
    arrays, values = record
    return [
        Scenario(
            votes=arrays[f"votes_{s}"],
            scaled=arrays[f"scaled_{s}"],
            truth=arrays[f"truth_{s}"] > 0.5,
            **about,
        )
        for s, about in enumerate(values["scenarios"])
    ]


def _ratio(hits: Estimate, wrong: Estimate) -> Estimate:
    """hits/(hits + wrong): it rises with hits and falls with wrong."""

    def share(good: float, bad: float) -> float:
        return good / (good + bad) if good + bad > 0.0 else float("nan")

    return Estimate(
        share(hits.value, wrong.value),
        share(hits.low, wrong.high),
        share(hits.high, wrong.low),
    )


def simulated(record, number: int, cell: int) -> Simulated:
    """Shares over all queries and trials, with intervals.

    PATE releases every label independently, with different probabilities: the binomial
    interval holds all the same (Hoeffding 1956). With StableTopK only queries are
    independent; what is averaged is a query's number of labels, and the empirical
    Bernstein interval holds though queries differ (Maurer & Pontil 2009, Theorem 11).
    Precision combines two intervals of 97.5 %.
    """
    arrays, values = record
    truth = arrays[f"truth_{number}"] > 0.5
    queries, labels = truth.shape
    trials = int(values["trials"])
    hits = int(arrays[f"hits_{number}"][cell].sum())
    wrong = int(arrays[f"released_{number}"][cell].sum()) - hits
    present, absent = (int(n) * trials for n in (truth.sum(), (~truth).sum()))
    right = absent + hits - wrong
    stable = TABLE[values["cells"][number][cell][0]].ratio > 0.0
    squares = arrays[f"squares_{number}"][cell]

    def of_query(total: int, square: int, confidence: float) -> Estimate:
        """Mean number of labels a query."""
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
        count = int(arrays[f"answered_{number}"][cell])
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


def by_label(record, number: int, cell: int) -> tuple[np.ndarray, ...]:
    """Accuracy of each label and its 95 % interval: three of Float["labels"].

    Draws of different queries are independent, so the binomial interval holds for all
    methods (Hoeffding 1956).
    """
    arrays, values = record
    truth = arrays[f"truth_{number}"] > 0.5
    trials = int(values["trials"])
    hits = arrays[f"hits_{number}"][cell]
    wrong = arrays[f"released_{number}"][cell] - hits
    right = trials * (~truth).sum(axis=0) + hits - wrong
    among = trials * truth.shape[0]
    low, high = clopper_pearson(right, among, CONFIDENCE)
    return right / among, low, high


def _cell(record, number: int, name: str) -> tuple[int, float] | None:
    """Cell and noise scale of a method in the table: those end each list of cells."""
    cells = record.values["cells"][number]
    ends = [each[0] for each in cells].index("Gaussian, corollaries")
    for cell in range(ends, len(cells)):
        if cells[cell][0] == name:
            return cell, float(cells[cell][1])
    return None


def _both(name: str, scale: float, queries: int, labels: int) -> tuple[float, float]:
    found = [
        total_epsilon(TABLE[name], scale, queries, labels, tight=tight)
        for tight in (False, True)
    ]
    return found[0], found[1]


def references(scenario: Scenario) -> tuple[Quality, Quality]:
    """Releasing no label at all, and the teachers' majority without noise."""
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


def rows(record) -> list[Row]:
    """The table: the paper's settings, and PATE made as accurate."""
    everyone = scenarios(record)
    shape = everyone[0].truth.shape
    select = record.values["selection_scale"]
    none = (None,) * len(everyone)

    def at_paper(title: str, noise: str, name: str, *, seen: bool = True) -> Row:
        found = none
        if seen:
            cells = [_cell(record, s, name) for s in range(len(everyone))]
            found = tuple(
                simulated(record, s, at[0]) if at else None
                for s, at in enumerate(cells)
            )
        return Row(title, noise, _both(name, TEST, *shape), found)

    scales = "σ₁ = {:g}, σ = {:g}".format
    found = [
        at_paper(
            "StableTopK, Gaussian noise", scales(select, TEST), "Gaussian, corollaries"
        ),
        at_paper(
            "  if all noisy gaps were released",
            "",
            "Gaussian, gaps released",
            seen=False,
        ),
        at_paper("  its tests alone", "", "test alone", seen=False),
        at_paper("StableTopK, Gumbel noise", scales(select / 2.0, TEST), "Gumbel"),
    ]
    titles = {"PATE": "PATE", "PATE-tau": f"PATE-τ, τ = {record.values['tau']}"}
    for name, title in titles.items():
        for s in range(len(everyone)):
            at = _cell(record, s, name)
            where = f"{title}, as accurate ({'AB'[s]})"
            if at is None:
                found.append(Row(where, "never", None, none))
                continue
            own: list[Any] = [None] * len(everyone)
            own[s] = simulated(record, s, at[0])
            epsilon = _both(name, at[1], *shape)
            found.append(Row(where, f"σ = {at[1]:.0f}", epsilon, tuple(own)))
    known = [references(scenario) for scenario in everyone]
    found.append(Row("No label at all", "", (0.0, 0.0), tuple(k[0] for k in known)))
    majority = tuple(k[1] for k in known)
    return [*found, Row("Majority of the teachers", "none", None, majority)]


def curve(
    scenario: Scenario, name: str, count: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Epsilon (tight) from LOW to HIGH, and exact accuracy."""
    method = METHODS[name]
    shape = scenario.truth.shape
    widest, least = (scale_at(method, epsilon, *shape) for epsilon in (LOW, HIGH))
    scales = np.geomspace(widest, least, count)
    epsilon = [total_epsilon(method, scale, *shape) for scale in scales]
    accuracy = [quality(scenario, method, scale).accuracy for scale in scales]
    return np.array(epsilon), np.array(accuracy)


def points(record, number: int, name: str) -> list[tuple[float, Estimate]]:
    """Epsilon and simulated accuracy of every cell of the method's mechanism."""
    scenario = scenarios(record)[number]
    wanted = METHODS[name]
    found = []
    for cell, (other, scale) in enumerate(record.values["cells"][number]):
        method = TABLE[other]
        if (method.mechanism, method.ratio) != (wanted.mechanism, wanted.ratio):
            continue
        epsilon = total_epsilon(wanted, float(scale), *scenario.truth.shape)
        if LOW * 0.999 <= epsilon <= HIGH * 1.001:
            found.append((epsilon, simulated(record, number, cell).accuracy))
    return found
