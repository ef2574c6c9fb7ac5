"""Errors and updates of private multiplicative weights (Cohen et al. 2022, section 4.3).

The data are a real table of 256 cells. The mechanisms are (1, 1e-6)-DP, with the settings
that are proven with all constants; updates have the learning rate 4 g, where g is the least
error that updates. At each query the analyst asks for the cells to which the hypothesis gives
too little mass, the query with the largest error. One trial is one interaction.
"""

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy import stats

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights import updates as updates_of
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.families.multiplicative_weights.repetitive import repetitive
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.statistics import counts, histogram
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells
from sims.data.universe import table

TITLE = "Cohen et al. 2022, Theorems 9 and 11: error of private multiplicative weights"
TRIALS = 1000
SECONDS = 15

MECHANISMS = over("hardt_rothblum", "repetitive")
EDGES = tuple((np.arange(1, 2001) / 4000).tolist())  # of bins of the largest error
LONG = 500  # number of queries in the simulation of updates
_MOST = 600  # number of queries for which a program is compiled, at least
_BLOCK = Performance(block_size=64)
BETA = Annotated[float, probability("of a failure")]
MANY = Annotated[int, whole("queries where beta varies", at_least=1)]

LOOKS = {
    "hardt_rothblum": style.own(style.ORANGE, "--", "s"),
    "repetitive": style.own(style.BLUE, "-", "o"),
}
LABELS = {
    "hardt_rothblum": "Hardt–Rothblum (Theorem 9)",
    "repetitive": "Repetitive sparse vector (Theorem 11)",
}
RATES = {
    "η = g/2": ("⌊4 log|X|/g²⌋", style.own(style.GREY, "--", "v")),
    "η = 4g": ("⌊log|X|/(2g²)⌋", style.own(style.GREEN, "-", "^")),
}
_SHARP = "η = 4g"
LEAST_BETA = 1e-30


@dataclasses.dataclass(frozen=True)
class Budget:
    """The total privacy budget."""

    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta in all")] = 1e-6

    def settings(
        self, name: str, cells: int, rows: int, queries: int, beta: float
    ) -> weights.Settings:
        """The proven settings of a mechanism, for these queries and this failure probability."""
        return getattr(weights, name)(
            cells, rows, queries, self.epsilon, self.delta, beta, sharp=True
        )


def _mechanism(name: str, queries: int) -> Mechanism:
    # One compiled program per mechanism: the number of queries is an argument, not a shape.
    make = hardt_rothblum if name == "hardt_rothblum" else repetitive
    return make(max(queries, _MOST), analyst="worst")


def _max_error(outcome):
    return outcome.max_error


def _updates(outcome):
    return outcome.updates


def _trial(name: str, queries: int, beta: float, budget: Budget) -> Trial:
    data = table()
    found = budget.settings(name, data.counts.size, data.rows, queries, beta)
    return Trial(
        _mechanism(name, queries),
        data.counts,
        weights.parameters(found) | {"asked": queries},
        statistic=histogram(_max_error, EDGES),
    )


@cells(performance=_BLOCK)
def by_queries(
    mechanism: str = MECHANISMS,
    queries: Annotated[int, whole("of the left panel", at_least=1)] = over(20, 60, 200, 600),
    beta: BETA = 0.01,
    budget: Budget = Budget(),
) -> Trial:
    """Histograms of the largest error, for several numbers of queries."""
    return _trial(mechanism, queries, beta, budget)


@cells(performance=_BLOCK)
def by_failure(
    mechanism: str = MECHANISMS,
    # With 1000 trials, the confidence intervals of these quantiles have both ends.
    failure: BETA = over(0.3, 0.1, 0.03, 0.01),
    many: MANY = 200,
    budget: Budget = Budget(),
) -> Trial:
    """Histograms of the largest error, for several failure probabilities beta."""
    return _trial(mechanism, many, failure, budget)


@cells(share=Fraction(1, 10), performance=_BLOCK)
def updated(
    rate: str = over(*RATES),
    gap: Annotated[float, positive("least error of an update")] = over(
        0.05, 0.08, 0.13, 0.2, 0.3, 0.45
    ),
) -> Trial:
    """Numbers of updates if hardly any query of an error below ``gap`` updates: noise of gap/80."""
    counted_cells = table().counts
    sharp, noise = rate == _SHARP, gap / 80.0
    return Trial(
        _mechanism("hardt_rothblum", LONG),
        counted_cells,
        {
            "threshold": 1.2 * gap,
            "rate": updates_of.learning_rate(gap, sharp=sharp),
            "max_updates": updates_of.max_updates(counted_cells.size, gap, sharp=sharp),
            "threshold_scale": noise,
            "query_scale": noise,
            "answer_scale": noise,
            "asked": LONG,
        },
        statistic=counts(_updates, LONG + 1),
    )


@functools.cache
def guarantee(
    name: str, cells: int, rows: int, queries: int, beta: float, budget: Budget = Budget()
) -> float:
    """The proved error alpha of the settings that were simulated."""
    return budget.settings(name, cells, rows, queries, beta).error


def quantile(counts: np.ndarray, level: float) -> tuple[float, float, float]:
    """A quantile, as the upper edge of its bin, with a 95 % interval from order statistics."""
    total, below = int(counts.sum()), np.cumsum(counts)
    low, high = stats.binom.ppf([0.025, 0.975], total, level)
    edges = np.append(EDGES, np.inf)

    def edge(rank: float) -> float:
        if rank > total:  # beyond the largest error seen
            return math.nan
        return float(edges[np.searchsorted(below, max(rank, 1))])

    return edge(math.ceil(total * level)), edge(low), edge(high + 1)


def _points(axes: Axes, x, rows: xr.DataArray, beta, look: dict[str, Any]) -> None:
    x, levels = np.asarray(x), 1.0 - np.broadcast_to(beta, len(rows))
    found = [quantile(row, p) for row, p in zip(rows.values, levels, strict=True)]
    middle, low, high = np.array(found).T
    # Intervals without an upper end are left out.
    known = np.isfinite(high)
    style.points(axes, x[known], middle[known], low[known], high[known], look)


def _update_counts(axes: Axes, updated: xr.Dataset, cells: int) -> None:
    gap = updated["gap"].values
    gaps = np.geomspace(gap[0], gap[-1], 80)
    for name in updated["rate"].values:
        formula, look = RATES[name]
        sharp = name == _SHARP
        bound = [updates_of.max_updates(cells, g, sharp=sharp) for g in gaps.tolist()]
        style.line(axes, gaps, bound, look, label=f"{name}: {formula}")
        tallies = updated.tally.sel(rate=name).values
        mean = tallies @ np.arange(tallies.shape[1]) / tallies.sum(axis=1)
        least, most = np.transpose([np.flatnonzero(row)[[0, -1]] for row in tallies])
        style.points(axes, gap, mean, least, most, look)
    axes.set(xscale="log", yscale="log")
    style.plain_ticks(axes.xaxis, [0.05, 0.1, 0.2, 0.4])
    axes.minorticks_off()
    axes.set(xlabel="Least error g of a query that updates", ylabel="Number of updates")
    axes.legend(loc="upper right")


def draw(
    by_queries: xr.Dataset,
    by_failure: xr.Dataset,
    updated: xr.Dataset,
    beta: BETA = 0.01,
    many: MANY = 200,
    budget: Budget = Budget(),
) -> Canvas:
    """Draws proved errors as lines and simulated ones as points with 95 % intervals."""
    data = table()
    size = data.counts.size
    figure, (left, middle, right) = style.panels(3, width=11.4, height=4.3)
    queries, betas = by_queries["queries"].values, np.geomspace(0.5, LEAST_BETA, 60)
    numbers = np.unique(np.geomspace(queries[0], 1e6, 60).astype(int))
    for name in by_queries["mechanism"].values:
        look, proved = LOOKS[name], functools.partial(guarantee, name, size, data.rows)
        exact = [proved(m, beta, budget) for m in numbers.tolist()]
        style.line(left, numbers, exact, look, label=LABELS[name])
        _points(left, queries, by_queries.tally.sel(mechanism=name), beta, look)
        exact = [proved(many, b, budget) for b in betas.tolist()]
        style.line(middle, -np.log10(betas), exact, look, label=LABELS[name])
        failure, row = by_failure["failure"].values, by_failure.tally
        row = row.sel(mechanism=name)
        _points(middle, -np.log10(failure), row, failure, look)
    _update_counts(right, updated, size)
    left.set(xscale="log", xlabel="Number of queries m")
    left.set_ylabel(f"Largest error, kept with probability {1 - beta:g}")
    middle.set_xlabel(f"log₁₀(1/β), m = {many} queries")
    middle.set_ylabel("Largest error, kept with probability 1 − β")
    for axes in (left, middle):
        axes.set_ylim(0.0, 1.25 * axes.get_ylim()[1])  # room for the legend
        axes.legend(loc="upper left")
    return style.captioned(
        figure,
        f"{data.source}: n = {data.rows:,} rows in |X| = {size} cells; "
        f"({budget.epsilon:g}, {budget.delta:g})-DP in all, learning rate 4g in the first "
        "two panels. Each query asks for the cells that the hypothesis holds too rarely, "
        "the one that errs most. Lines: proved errors and most updates, constants "
        f"included. Points: quantiles of {by_queries.attrs['trials']:,} interactions with "
        "these settings (at probability 1 − β, 95 % intervals); in the last panel "
        "means, and the whole range, with noise of g/80.",
    )
