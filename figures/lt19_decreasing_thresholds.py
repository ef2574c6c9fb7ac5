"""Liu & Talwar 2019, Appendices B.2 and B.3: losses that grow without bound.

Two comparisons are made. Algorithm 6 is compared with Algorithm 1 on randomised response,
whose score is its answer. Further, the run with the median score of N runs, or with a random
rank up to it, is released, where a run is one of two models with probabilities (1 +- e)/2. A
trial is one release; its output is tallied on both sides.
"""

import math
from fractions import Fraction
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common.audited_bounds import audited
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.percentile.score_percentile import score_percentile
from jaxsel.families.percentile.score_percentile_laws import (
    median_loss_lower,
    percentile_law,
    random_rank_loss_lower,
)
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
)
from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Liu & Talwar 2019, B.2 and B.3: decreasing thresholds, and the median run"
SECONDS = 9
TRIALS = 1_000_000
EPSILON = Annotated[float, positive("epsilon of one run")]
SHIFT = Annotated[float, probability("by which a run tells two models apart")]
SIDES = over({"data": 0, "neighbour": 1})

_LOOKS = {
    0.3: style.own(style.ORANGE, "-", "s"),
    1.0: style.own(style.PURPLE, "--", "D"),
    "algorithm-1": style.own(style.GREEN, "-", "o"),
    "median": style.own(style.ORANGE, "-", "s"),
    "random": style.own(style.BLUE, "--", "^"),
}


def _answers(epsilon: float, side: int) -> dict:
    law = pairs.randomised_response(epsilon)[side]
    return {"probabilities": law, "scores": [1.0, 0.0]}


@cells(measures=["counts", "frequency"])
def algorithm_6(
    gamma: float = over(0.3, 1.0),
    levels: int = over(0, 1, 2, 3, 4, 6, 8),
    side: int = SIDES,
    epsilon: EPSILON = 1.0,
) -> Trial:
    """Algorithm 6, whose threshold may be lowered R times."""
    params = {"levels": levels, "gamma": gamma}
    return Trial(decreasing_thresholds(finite()), _answers(epsilon, side), params)


@cells(measures=["counts", "frequency"])
def algorithm_1(gamma: float = over(0.3, 1.0), side: int = SIDES, epsilon: EPSILON = 1.0) -> Trial:
    """Algorithm 1, whose threshold is fixed."""
    params = {"threshold": 1.0, "stop_probability": gamma}
    return Trial(threshold_selection(finite()), _answers(epsilon, side), params)


def _models(shift: float) -> pairs.LawPair:
    return pairs.bernoulli((1.0 + shift) / 2.0, (1.0 - shift) / 2.0)


# One release takes many runs, so there are a tenth as many trials.
@cells(measures=["counts", "frequency"], share=Fraction(1, 10))
def percentiles(
    rank: str = over("median", "random"),
    runs: int = over(1, 11, 51, 101, 201, 401, 801),
    side: int = SIDES,
    shift: SHIFT = 0.1,
) -> Trial:
    """The output of the run whose score has this rank among N."""
    params = {"count": runs, "rank": rank}
    return Trial(score_percentile(), _models(shift)[side], params)


def threshold_losses(epsilon: float, gamma: float, levels) -> tuple[np.ndarray, float]:
    """Exact epsilons on randomised response: of Algorithm 6 for each R, and of Algorithm 1."""
    pair = pairs.randomised_response(epsilon)
    lowered = [
        exact_epsilon(*(decreasing_threshold_law(q, [1.0, 0.0], n, gamma)[:-1] for q in pair))
        for n in levels
    ]
    first = exact_epsilon(*(threshold_law(q, 1, gamma) for q in pair))
    return np.array(lowered), first


def percentile_loss(shift: float, count: int, rank: str) -> float:
    """Exact epsilon of releasing the model whose score has this rank among N runs."""
    return exact_epsilon(*(percentile_law(q, count, rank) for q in _models(shift)))


def _marks(axes, x, y, look) -> None:
    axes.plot(x, y, **style.hollow(look, markersize=4.4, zorder=3))


def _left(axes, six: xr.Dataset, one: xr.Dataset, epsilon: float) -> None:
    levels = six["levels"].values
    dense = np.arange(levels[-1] + 1)
    axes.plot(
        dense,
        [decreasing_threshold_pure(1.0, n) for n in dense],
        **style.NEUTRAL,
        label="(2R + 1)ε₁, claim LT-Alg6-sharp",
    )
    lower = audited(six.counts) / epsilon
    for gamma in six["gamma"].values:
        exact, _ = threshold_losses(epsilon, gamma, dense)
        style.line(
            axes, dense, exact / epsilon, _LOOKS[gamma], label=f"Algorithm 6, γ = {gamma:g}: exact"
        )
        _marks(axes, levels, lower.sel(gamma=gamma), _LOOKS[gamma])
    gamma = one["gamma"].values[0]
    _, first = threshold_losses(epsilon, gamma, [0])
    look = _LOOKS["algorithm-1"]
    style.line(
        axes,
        dense,
        np.full(dense.size, first / epsilon),
        look,
        label=f"Algorithm 1, γ = {gamma:g}: exact",
    )
    bound = audited(one.counts.sel(gamma=gamma)) / epsilon
    _marks(axes, levels[-1:], [bound], look)
    axes.axhline(2.0, color=style.GREEN, linewidth=0.9, linestyle=":", label="2ε₁, LT Theorem 3.1")
    axes.set_xlabel("How often the threshold may be lowered, R")
    axes.set(ylabel="Total pure ε, in units of the ε₁ of one run", ylim=(0, 18))


def _right(axes, found: xr.Dataset, shift: float) -> None:
    runs = found["runs"].values
    run = 2.0 * math.atanh(shift)
    dense = np.unique(np.round(np.linspace(1, runs[-1], 60)).astype(int) | 1)
    lower = audited(found.counts) / run
    for rank, (name, claim, bound) in {
        "median": ("The median run", "LT-B.3", median_loss_lower),
        "random": ("A random rank up to it", "LT-B.3-random-rank", random_rank_loss_lower),
    }.items():
        look = _LOOKS[rank]
        exact = np.array([percentile_loss(shift, int(n), rank) for n in dense])
        style.line(axes, dense, exact / run, look, label=f"{name}: exact")
        least = np.array([bound(int(n), shift) for n in dense])
        axes.plot(
            dense,
            least / run,
            color=look["color"],
            linewidth=0.9,
            linestyle=(0, (1, 1.5)),
            label=f"at least, claim {claim}",
        )
        _marks(axes, runs, lower.sel(rank=rank), look)
    axes.axhline(
        3.0,
        color=style.DIM,
        linewidth=0.9,
        linestyle=":",
        label="3ε₁: Algorithm 2, any number of runs",
    )
    axes.set_xlabel("Number of runs, N")
    axes.set(ylabel="Total pure ε, in units of the ε₁ of one run", ylim=(0, None))


def draw(
    algorithm_6: xr.Dataset,
    algorithm_1: xr.Dataset,
    percentiles: xr.Dataset,
    epsilon: EPSILON = 1.0,
    shift: SHIFT = 0.1,
) -> Canvas:
    """Draws exact epsilons as lines and audited lower bounds as points."""
    figure, (left, right) = style.panels(2, width=9.0, height=4.6)
    _left(left, algorithm_6, algorithm_1, epsilon)
    _right(right, percentiles, shift)
    for axes in (left, right):
        axes.legend(loc="upper left")
    return style.captioned(
        figure,
        f"Left: one run is randomised response with ε₁ = {epsilon:g}, scored by its "
        "answer; Algorithm 6 lowers the threshold from 1 to 0 in R steps, each with "
        "probability γ after a failure; Algorithm 1 keeps it at 1. Right: one run "
        f"returns the better of two models with probability (1 ± {shift:g})/2; of N runs "
        "the one of median score is released, or of uniformly random rank up to the "
        "median. Open marks: audited lower bounds (95 %) from "
        f"{algorithm_6.attrs['trials']:,} releases a side (right: "
        f"{percentiles.attrs['trials']:,}); losses on events too rare to be seen escape "
        "them.",
    )
