"""Liu & Talwar 2019, Theorem 4.7, beside Cohen et al. 2022, Theorem 4: runs needed.

Both search for a run that beats the median of a base. One trial is one execution of either
algorithm.
"""

import dataclasses
import functools
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel import repetitions as laws
from jaxsel.families.percentile.median_laws import median_failure, median_rounds
from jaxsel.families.percentile.parameters import READINGS
from jaxsel.families.percentile.pipeline import percentile_pipeline
from jaxsel.families.percentile.pipeline_laws import (
    Pipeline,
    most_calls,
    pipeline,
    pipeline_law,
    pipeline_params,
)
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Liu & Talwar 2019, Theorem 4.7: runs needed, beside Cohen et al. 2022"
TRIALS = 200_000
BETA = Annotated[float, probability("of a failure")]
# Scores 0, 0.05, ..., 1, equally likely: the median is 1/2.
SCORES = np.linspace(0.0, 1.0, 21)
MEDIAN_BASE = {"scores": SCORES.tolist(), "probabilities": np.full(21, 1.0 / 21.0).tolist()}
_SEARCH = style.own(style.GREEN, "-", "^")
_BOOST = style.own(style.PURPLE, "-", "D")
_IS_BAD = SCORES < 0.5 - 0.25 - 1e-12  # a score of the median less 1/(R-1) is good enough
_RATIOS = np.geomspace(0.3, 10.0, 60)


@dataclasses.dataclass(frozen=True)
class Budget:
    """The budget of both searches, 2 epsilon_1 + epsilon_0 in total, with epsilon_0 = 1."""

    base: Annotated[float, positive("epsilon_1, of one run")] = 0.1
    delta: Annotated[float, probability("delta in all")] = 1e-6

    @property
    def ratio(self) -> float:
        """alpha = epsilon_0/epsilon_1."""
        return 1.0 / self.base

    def search(self, beta: float, reading: str = "sharp", slack: float = 1.0) -> Pipeline:
        """Settings of Theorem 4.7 for K = 1 and R = 5."""
        return pipeline(
            base_epsilon=self.base, slack=slack, beta=beta, delta=self.delta, reading=reading
        )


@cells(measures=["counts", "frequency"])
def search(beta: BETA = over(0.5, 0.2, 0.1, 0.05, 0.02, 0.01), budget: Budget = Budget()) -> Trial:
    """The release of the search of Theorem 4.7."""
    params = pipeline_params(budget.search(beta))
    return Trial(percentile_pipeline(), MEDIAN_BASE, params)


@cells(measures=["counts", "frequency"])
def boosting(
    beta: BETA = over(0.5, 0.2, 0.1, 0.05, 0.02, 0.01), budget: Budget = Budget()
) -> Trial:
    """Cohen et al. 2022, Theorem 4, at the same total epsilon.

    A run beats the median with probability 1/2: outcomes "better" and "worse".
    """
    law = laws.beta_binomial(median_rounds(beta, budget.ratio), budget.ratio)
    return Trial(private_tuning(finite(), law.family), [0.5, 0.5], {"repetitions": law})


def calls(ratio: float, beta: float, budget: Budget = Budget()) -> dict[str, float]:
    """Largest numbers of runs at epsilon_0 = ratio epsilon_1 and K = 1, by name.

    Both algorithms then spend (2 + ratio) epsilon_1: Theorem 4.7, as corrected and in the
    sharp reading, and Theorem 4 of Cohen et al. with alpha = ratio.
    """
    slack = min(ratio * budget.base, 1.0)
    return {"boosting": float(median_rounds(beta, ratio))} | {
        reading: most_calls(budget.search(beta, reading, slack)) for reading in READINGS
    }


@functools.cache
def failures(beta: float, budget: Budget = Budget()) -> tuple[float, float]:
    """Exact probabilities that Theorem 4.7, and Theorem 4, end with nothing good enough.

    The former is at scores 0, 0.05, ..., 1, equally likely, where good enough means at least
    the median less 1/(R-1). The latter is for runs that beat the median half of the time.
    """
    law = pipeline_law(**MEDIAN_BASE, settings=budget.search(beta))
    return (
        float(law[:-1][_IS_BAD].sum() + law[-1]),
        median_failure(median_rounds(beta, budget.ratio), budget.ratio),
    )


def _plot_calls(axes: Axes, x, found: list[dict[str, float]], labels: bool) -> None:
    for name, look, label in (
        (
            "corrected",
            _SEARCH | {"linestyle": "--"},
            "LT Theorem 4.7, both parts at β/4 (LT-E10): N + T",
        ),
        ("sharp", _SEARCH, "LT Theorem 4.7, search at β (this project): N + T"),
        ("boosting", _BOOST, "Cohen et al., Theorem 4: T"),
    ):
        y = [row[name] for row in found]
        style.line(axes, x, y, look, label=label if labels else "_")
    axes.set(xscale="log", yscale="log", ylabel="Runs of the base, at most")


def _ticks(axes: Axes, step: int, most: int) -> None:
    axes.set_ylim(0.3, 10.0**most)
    powers = range(0, most + 1, step)
    axes.set_yticks([10.0**k for k in powers], [f"$10^{{{k}}}$" for k in powers])
    axes.minorticks_off()


def missed(search: xr.Dataset, boosting: xr.Dataset) -> list[xr.DataArray]:
    """How often either algorithm ended with nothing good enough: Int64["betas"]."""
    bad = [str(number) for number in np.flatnonzero(_IS_BAD)]
    return [
        found.counts.sel(outcome=outcomes).sum("outcome")
        for found, outcomes in ((search, [*bad, "none"]), (boosting, ["1", "none"]))
    ]


def draw(search: xr.Dataset, boosting: xr.Dataset, budget: Budget = Budget()) -> Canvas:
    """Draws exact numbers and laws as lines, simulated values as points with 95 % intervals."""
    trials, alpha = search.attrs["trials"], budget.ratio
    dense = np.geomspace(search["beta"].values[-1], search["beta"].values[0], 60)
    figure, (ratio, beta, failing) = style.panels(3, width=10.4, height=4.4)
    _plot_calls(ratio, _RATIOS, [calls(r, 0.1, budget) for r in _RATIOS.tolist()], True)
    _ticks(ratio, 20, 195)
    style.plain_ticks(ratio.xaxis, [0.3, 1.0, 3.0, 10.0])
    ratio.set_xlabel("α = ε₀/ε₁; total privacy (2 + α)ε₁, β = 0.1")
    along = [calls(alpha, b, budget) for b in dense.tolist()]
    _plot_calls(beta, dense, along, False)
    _ticks(beta, 5, 49)
    for name, look in (("corrected", _SEARCH), ("sharp", _SEARCH), ("boosting", _BOOST)):
        number = calls(alpha, 0.1, budget)[name]
        text = f"{number:.0f}" if number < 1e6 else f"$10^{{{np.log10(number):.1f}}}$"
        beta.plot(0.1, number, color=look["color"], marker=".", markersize=8)
        beta.annotate(text, (0.1, number), (5, 5), textcoords="offset points", fontsize=8.5)
    style.plain_ticks(beta.xaxis, [0.01, 0.1, 0.5])
    beta.set_xlabel(f"Failure probability β, α = {alpha:g}")
    exact = np.array([failures(b, budget) for b in dense.tolist()]).T
    looks = (_SEARCH, 1.6), (_BOOST, 1.0)
    for y, counts, (look, width) in zip(exact, missed(search, boosting), looks, strict=True):
        style.line(failing, dense, y, look, label="_", linewidth=width)
        style.shares(failing, counts["beta"], counts, trials, look)
    failing.plot(dense, dense, color=style.BLACK, linestyle=":", label="allowed: β")
    failing.set(xscale="log", yscale="log", ylim=(3e-8, 1.0))
    style.plain_ticks(failing.xaxis, [0.01, 0.1, 0.5])
    failing.minorticks_off()
    failing.set_xlabel(f"Failure probability β, α = {alpha:g}")
    failing.set_ylabel("Chance of nothing good enough")
    failing.legend(loc="upper left")
    style.legend_above(figure, ratio, 3)
    return style.captioned(
        figure,
        "One candidate (K of them need K times as many runs, of both), ε₁ = "
        f"{budget.base:g}, R = 5 thresholds, δ = {words.power(budget.delta)} (Theorem 4 "
        f"is pure). Right: exact failure probabilities and {trials:,} simulated runs "
        "each with 95 % intervals; for Theorem 4.7 on 21 equally likely scores (good "
        "enough: at least the median less 1/4), for Theorem 4 in its worst case. The "
        "simulation draws each count of N runs as one binomial number: nobody could "
        "make the runs.",
    )
