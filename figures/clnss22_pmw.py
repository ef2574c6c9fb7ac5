"""Cohen et al. 2022, Theorems 9 and 11: errors and updates of private multiplicative
weights."""

import functools
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from scipy import stats

from figures.common.figure import load
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights import updates as updates_of
from jaxsel.pictures import style
from sims.clnss22_pmw import (
    BETA,
    BETAS,
    DELTA,
    EDGES,
    EPSILON,
    GAPS,
    MANY,
    MECHANISMS,
    QUERIES,
)

TITLE = "Cohen et al. 2022, Theorems 9 and 11: error of private multiplicative weights"
SECONDS = 15
LOOKS: dict[str, dict[str, Any]] = {
    "hardt_rothblum": {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    "repetitive": {"color": "#0072b2", "linestyle": "-", "marker": "o"},
}
LABELS = {
    "hardt_rothblum": "Hardt–Rothblum (Theorem 9)",
    "repetitive": "Repetitive sparse vector (Theorem 11)",
}
RATES = (
    ("η = g/2", {"color": "#7f7f7f", "linestyle": "--", "marker": "v"}),
    ("η = 4g", {"color": "#009e73", "linestyle": "-", "marker": "^"}),
)
LEAST_BETA = 1e-30


@functools.cache
def guarantee(name: str, cells: int, rows: int, queries: int, beta: float) -> float:
    """The proved error alpha of the settings that were simulated."""
    settings = weights.hardt_rothblum if name == MECHANISMS[0] else weights.repetitive
    return settings(cells, rows, queries, EPSILON, DELTA, beta, sharp=True).error


def quantile(counts: np.ndarray, level: float) -> tuple[float, float, float]:
    """Upper bin edge of a quantile, and a 95 % interval from order statistics."""
    total, below = int(counts.sum()), np.cumsum(counts)
    low, high = stats.binom.ppf([0.025, 0.975], total, level)
    edges = np.append(EDGES, np.inf)

    def edge(rank: float) -> float:
        if rank > total:  # beyond the largest one seen
            return math.nan
        return float(edges[np.searchsorted(below, max(rank, 1))])

    return edge(math.ceil(total * level)), edge(low), edge(high + 1)


def _points(axes, x, rows, level, look) -> None:
    found = np.array([quantile(row, p) for row, p in zip(rows, level, strict=True)])
    middle, low, high = found.T
    # An interval without an upper end is not drawn as if it ended.
    known = np.isfinite(high)
    x = np.asarray(x)
    style.points(axes, x[known], middle[known], low[known], high[known], look)


def draw() -> Canvas:
    """Lines: proved; points: simulated, with 95 % intervals."""
    record = load("clnss22-pmw")
    values, arrays = record.values, record.arrays
    cells, rows = int(values["cells"]), int(values["rows"])
    figure, (by_queries, by_beta, updates) = style.panels(3, width=11.4, height=4.3)
    many = np.unique(np.geomspace(QUERIES[0], 1e6, 60).astype(int))
    betas = np.geomspace(0.5, LEAST_BETA, 60)
    for number, name in enumerate(MECHANISMS):
        look = LOOKS[name]
        style.line(
            by_queries, many,
            [guarantee(name, cells, rows, m, BETA) for m in many.tolist()],
            look, label=LABELS[name],
        )  # fmt: skip
        _points(
            by_queries, QUERIES, arrays["errors_by_queries"][number],
            [1.0 - BETA] * len(QUERIES), look,
        )  # fmt: skip
        style.line(
            by_beta, -np.log10(betas),
            [guarantee(name, cells, rows, MANY, b) for b in betas.tolist()], look,
            label=LABELS[name],
        )  # fmt: skip
        _points(
            by_beta, -np.log10(BETAS), arrays["errors_by_beta"][number],
            [1.0 - beta for beta in BETAS], look,
        )  # fmt: skip
    gaps = np.geomspace(GAPS[0], GAPS[-1], 80)
    for number, (label, look) in enumerate(RATES):
        sharp = number == 1
        bound = [updates_of.max_updates(cells, g, sharp=sharp) for g in gaps.tolist()]
        formula = "⌊log|X|/(2g²)⌋" if sharp else "⌊4 log|X|/g²⌋"
        style.line(updates, gaps, bound, look, label=f"{label}: {formula}")
        counts = arrays["updates"][number]
        seen = np.arange(counts.shape[1])
        mean = counts @ seen / counts.sum(axis=1)
        most = [int(np.flatnonzero(row)[-1]) for row in counts]
        least = [int(np.flatnonzero(row)[0]) for row in counts]
        style.points(updates, GAPS, mean, least, most, look)
    by_queries.set_xscale("log")
    by_queries.set_xlabel("Number of queries m")
    by_queries.set_ylabel(f"Largest error, kept with probability {1 - BETA:g}")
    by_beta.set_xlabel(f"log₁₀(1/β), m = {MANY} queries")
    by_beta.set_ylabel("Largest error, kept with probability 1 − β")
    for axes in (by_queries, by_beta):
        axes.set_ylim(0.0, 1.25 * axes.get_ylim()[1])  # room for the legend
        style.legend(axes, loc="upper left")
    updates.set_xscale("log")
    updates.set_yscale("log")
    updates.set_xticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
    updates.minorticks_off()
    updates.set_xlabel("Least error g of a query that updates")
    updates.set_ylabel("Number of updates")
    style.legend(updates, loc="upper right")
    style.note(
        figure,
        f"{values['source']}: n = {rows:,} rows in |X| = {cells} cells; "
        f"({EPSILON:g}, {DELTA:g})-DP in all, learning rate 4g in the first two "
        "panels. Each query asks for the cells that the hypothesis holds too rarely, "
        "the one that errs most. Lines: proved errors and most updates, constants "
        f"included. Points: quantiles of {int(values['trials']):,} interactions with "
        "these settings (at probability 1 − β, 95 % intervals); in the last panel "
        "means, and the whole range, with noise of g/80.",
    )
    return figure
