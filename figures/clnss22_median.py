"""How often no run beats the median: Cohen et al. 2022, Theorem 4; Liu & Talwar 2019.

Each run beats the median with probability 1/2. Two algorithms are simulated: one Selection of
at most T runs, for several alpha and T, and random stopping, for several gamma. One trial is
one execution.
"""

import functools
import math
from typing import Annotated, Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from figures.common import words
from jaxsel import repetitions as laws
from jaxsel.families.percentile.better_than_median import better_than_median
from jaxsel.families.percentile.median_laws import (
    beta_binomial_boosting,
    median_failure,
    percentile_boosting,
)
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Theorem 4: failure probability against oracle calls"
TRIALS = 1_000_000

ALPHAS = {"¼": 0.25, "½": 0.5, "1": 1.0, "2": 2.0, "ln 10⁴ ≈ 9.2": math.log(1e4)}
FAILURE = Annotated[float, number("failure probability that is aimed at", above=0.0, below=0.5)]
FAILURES = over(0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
_COIN = (0.5, 0.5)

_LOOKS = (
    style.own(style.BLUE, "-", "o"),
    style.own(style.SKY, "-", "v"),
    style.own(style.ORANGE, "-", "s"),
    style.own(style.GREEN, "-", "^"),
    style.own(style.PURPLE, "-", "D"),
)
_STOPPING = style.own(style.BLACK, "--", "x")
_BETAS = (("0.1", 0.1, "-"), ("0.01", 1e-2, "--"), ("10⁻⁴", 1e-4, ":"))
_LEAST = 5e-5


def least_rounds(failure: float, alpha: float) -> int:
    """The least T whose failure probability is at most ``failure``."""
    low, high = 0, 1
    while median_failure(high, alpha) > failure:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if median_failure(middle, alpha) > failure:
            low = middle
        else:
            high = middle
    return high


@cells(measures=["frequency"])
def selected(alpha: float = over(ALPHAS), failure: FAILURE = FAILURES) -> Trial:
    """One Selection of at most T runs, the least T that suffices; outcome 0 beats the median."""
    rounds = least_rounds(failure, alpha)
    return Trial(
        better_than_median(finite()),
        _COIN,
        {"alpha": alpha, "rounds": rounds},
        beside={"rounds": rounds, "calls": alpha / (1.0 + alpha) * rounds},
    )


@cells(measures=["frequency"])
def stopped(failure: FAILURE = FAILURES) -> Trial:
    """Random stopping at gamma = b/(1 - b), where b is the failure probability."""
    return Trial(
        private_tuning(finite()),
        _COIN,
        {"repetitions": laws.geometric(failure / (1.0 - failure))},
        beside={"calls": (1.0 - failure) / failure},
    )


@functools.cache
def curve(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers T, and the exact failure probability at each, down to 5e-5."""
    rounds = np.unique(np.round(np.geomspace(1.0, 1e18, 400))).astype(np.int64)
    failure = np.array([median_failure(int(count), alpha) for count in rounds])
    kept = failure > _LEAST
    return rounds[kept], failure[kept]


def theorem_calls(beta: float, alpha: float) -> float:
    """log10 of the number T of runs in Theorem 4."""
    return beta_binomial_boosting(beta, alpha).log_max_calls / math.log(10.0)


def _marks(axes: Axes, row: xr.Dataset, look: dict[str, Any]) -> None:
    seen = 1.0 - row.sel(outcome="0")
    ends = seen.frequency_high, seen.frequency_low
    style.points(axes, row.calls, seen.frequency, *ends, look)


def _failures(axes: Axes, selected: xr.Dataset, stopped: xr.Dataset) -> None:
    for name, look in zip(selected["alpha"].values, _LOOKS, strict=False):
        alpha = ALPHAS[name]
        rounds, failure = curve(alpha)
        share = alpha / (1.0 + alpha)
        style.line(axes, share * rounds, failure, look, label=f"α = {name}")
        axes.plot(rounds, failure, color=look["color"], linestyle=":", linewidth=1.0)
        _marks(axes, selected.sel(alpha=name), look)
    betas = np.geomspace(0.5, _LEAST, 60)
    style.line(axes, (1.0 - betas) / betas, betas, _STOPPING, label="LT Algorithm 2, no maximum")
    _marks(axes, stopped, _STOPPING)
    axes.plot([], [], **style.own(style.DIM, ":", linewidth=1.0), label="maximal calls, T")
    axes.set(xscale="log", yscale="log", xlim=(0.6, 1e9), ylim=(6e-5, 0.8))
    axes.set_xlabel("Oracle calls: mean (solid and dashed), maximal (dotted)")
    axes.set_ylabel("Probability that no run beats the median")
    _above(axes, 3)


def _above(axes: Axes, columns: int) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.47, 1.0), ncols=columns, fontsize=7.6)


def _calls(axes: Axes, epsilon: float, delta: float, thresholds: int) -> None:
    alphas = np.geomspace(0.1, 8.0, 100)
    for power, beta, pattern in _BETAS:
        ours = [theorem_calls(beta, float(a)) for a in alphas]
        axes.plot(
            2.0 + alphas,
            ours,
            color=style.ORANGE,
            linestyle=pattern,
            label=f"Theorem 4 (claim), β = {power}",
        )
    for power, beta, pattern in _BETAS:
        # The theorem's slack must be below 2: alpha epsilon < 2.
        some = alphas[alphas * epsilon < 1.9]
        theirs = [
            percentile_boosting(beta, float(a), epsilon, delta, thresholds=thresholds).log_max_calls
            / math.log(10.0)
            for a in some
        ]
        axes.plot(
            2.0 + some,
            theirs,
            color=style.BLUE,
            linestyle=pattern,
            label=f"LT Theorem 4.7, β = {power}",
        )
    axes.set(yscale="log", xlim=(2.0, 10.0), ylim=(0.9, 3000.0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"10$^{{{x:g}}}$"))
    axes.set_xlabel("Privacy of the release, in units of the base's ε: 2 + α")
    axes.set_ylabel("Oracle calls, at most")
    _above(axes, 2)


def draw(
    selected: xr.Dataset,
    stopped: xr.Dataset,
    epsilon: Annotated[float, positive("epsilon of the base, in the right panel")] = 0.5,
    delta: Annotated[float, probability("delta of Theorem 4.7")] = 1e-6,
    thresholds: Annotated[int, whole("of Theorem 4.7", at_least=2)] = 100,
) -> Canvas:
    """Draws failure probabilities against runs (left), and runs against privacy (right)."""
    figure, (failures, calls) = style.panels(2, width=9.8, height=4.6)
    _failures(failures, selected, stopped)
    _calls(calls, epsilon, delta, thresholds)
    return style.captioned(
        figure,
        "One Selection of Bin(T, p) runs, p = U^(1/α), over a base whose runs beat its "
        "median with probability ½; its privacy is (2 + α)ε, that of random stopping "
        "(LT Algorithm 2) 3ε. Left: lines are exact laws, points are simulated, "
        f"{selected.attrs['trials']:,} executions each, 95 % intervals. Right: the T of "
        "Theorem 4, and the runs that Liu & Talwar's Theorem 4.7 asks for with one "
        f"candidate (Algorithm 5, then 1; as corrected, ε = {epsilon:g}, δ = "
        f"{words.power(delta)}, {thresholds} thresholds), for equal privacy; the axis "
        "counts digits.",
    )
