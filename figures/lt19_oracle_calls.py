"""Liu & Talwar 2019, Theorem 4.7, beside Cohen et al. 2022, Theorem 4: runs needed."""

import functools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.families.percentile.median_laws import median_failure, median_rounds
from jaxsel.families.percentile.pipeline_laws import (
    READINGS,
    most_calls,
    pipeline,
    pipeline_law,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.lt19_percentile import ALPHA, BASE, BETAS, DELTA, median_base, median_search

TITLE = "Liu & Talwar 2019, Theorem 4.7: runs needed, beside Cohen et al. 2022"
NO_EFFECT = (
    "sims.lt19_percentile.SLACK",
    "sims.lt19_percentile.BETA",
    "sims.lt19_percentile.QUERIES",
)
SIMS = ("lt19-percentile",)
_SEARCH = {"color": "#009e73", "linestyle": "-", "marker": "^"}
_BOOST = {"color": "#aa4499", "linestyle": "-", "marker": "D"}
_RATIOS = np.geomspace(0.3, 10.0, 60)
_DENSE = np.geomspace(BETAS[-1], BETAS[0], 60)


def calls(ratio: float, beta: float) -> dict[str, float]:
    """Largest numbers of runs at epsilon_1 = 0.1, epsilon_0 = ratio epsilon_1, K = 1.

    Both algorithms then spend (2 + ratio) epsilon_1: Theorem 4.7 as corrected and in
    the sharp reading, and Cohen et al.'s Theorem 4 with alpha = ratio.
    """
    found = {"boosting": float(median_rounds(beta, ratio))}
    for reading in READINGS:
        settings = pipeline(
            base_epsilon=BASE,
            slack=min(ratio * BASE, 1.0),
            beta=beta,
            delta=DELTA,
            reading=reading,
        )
        found[reading] = most_calls(settings)
    return found


@functools.cache
def failures(beta: float) -> tuple[float, float]:
    """Exact chances to end with nothing good enough: Theorem 4.7, Theorem 4.

    The former at scores 0, 0.05, ..., 1, equally likely, where good enough is at least
    the median less 1/(R-1); the latter where a run beats the median half of the time.
    """
    base = median_base()
    law = pipeline_law(base["scores"], base["probabilities"], median_search(beta))
    low = np.array(base["scores"]) < 0.5 - 0.25 - 1e-12
    return (
        float(law[:-1][low].sum() + law[-1]),
        median_failure(median_rounds(beta, ALPHA), ALPHA),
    )


def _plot_calls(axes: Axes, x, found: list[dict[str, float]], labels: bool) -> None:
    for name, look, label in (
        ("corrected", _SEARCH | {"linestyle": "--"},
         "LT Theorem 4.7, both parts at β/4 (LT-E10): N + T"),
        ("sharp", _SEARCH, "LT Theorem 4.7, search at β (this project): N + T"),
        ("boosting", _BOOST, "Cohen et al., Theorem 4: T"),
    ):  # fmt: skip
        y = [row[name] for row in found]
        style.line(axes, x, y, look, label=label if labels else "_")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel("Runs of the base, at most")


def _ticks(axes: Axes, step: int, most: int) -> None:
    axes.set_ylim(0.3, 10.0**most)
    powers = range(0, most + 1, step)
    axes.set_yticks([10.0**k for k in powers], [f"$10^{{{k}}}$" for k in powers])
    axes.minorticks_off()


def _points(axes: Axes, counts: np.ndarray, trials: int, look) -> None:
    low, high = clopper_pearson(counts, trials, 0.95)
    seen = counts > 0
    x = np.array(BETAS)[seen]
    style.points(axes, x, (counts / trials)[seen], low[seen], high[seen], look)


def draw() -> Canvas:
    """Lines: exact numbers and laws; points: simulated, with 95 % intervals."""
    record = load("lt19-percentile")
    trials = int(record.values["trials"])
    figure, (ratio, beta, failing) = style.panels(3, width=10.4, height=4.4)
    _plot_calls(ratio, _RATIOS, [calls(float(r), 0.1) for r in _RATIOS], True)
    _ticks(ratio, 20, 195)
    ratio.set_xticks([0.3, 1.0, 3.0, 10.0], ["0.3", "1", "3", "10"])
    ratio.set_xlabel("α = ε₀/ε₁; total privacy (2 + α)ε₁, β = 0.1")
    _plot_calls(beta, _DENSE, [calls(ALPHA, float(b)) for b in _DENSE], False)
    _ticks(beta, 5, 49)
    for name, look in (
        ("corrected", _SEARCH),
        ("sharp", _SEARCH),
        ("boosting", _BOOST),
    ):
        number = calls(ALPHA, 0.1)[name]
        text = f"{number:.0f}" if number < 1e6 else f"$10^{{{np.log10(number):.1f}}}$"
        beta.plot(0.1, number, color=look["color"], marker=".", markersize=8)
        beta.annotate(
            text, (0.1, number), (5, 5), textcoords="offset points", fontsize=8.5
        )
    beta.set_xticks([0.01, 0.1, 0.5], ["0.01", "0.1", "0.5"])
    beta.set_xlabel(f"Failure probability β, α = {ALPHA:g}")
    exact = np.array([failures(float(b)) for b in _DENSE])
    scores = np.array(median_base()["scores"])
    search = record.arrays["search"]
    low = search[:, :-1][:, scores < 0.25 - 1e-12].sum(axis=1) + search[:, -1]
    style.line(failing, _DENSE, exact[:, 0], _SEARCH, label="_")
    style.line(failing, _DENSE, exact[:, 1], _BOOST, label="_", linewidth=1.0)
    _points(failing, low, trials, _SEARCH)
    _points(failing, record.arrays["boosting"][:, 1:].sum(axis=1), trials, _BOOST)
    failing.plot(_DENSE, _DENSE, color="#000000", linestyle=":", label="allowed: β")
    failing.set_xscale("log")
    failing.set_yscale("log")
    failing.set_ylim(3e-8, 1.0)
    failing.set_xticks([0.01, 0.1, 0.5], ["0.01", "0.1", "0.5"])
    failing.minorticks_off()
    failing.set_xlabel(f"Failure probability β, α = {ALPHA:g}")
    failing.set_ylabel("Chance of nothing good enough")
    failing.legend(loc="upper left")
    handles, labels = ratio.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    style.note(
        figure,
        "One candidate (K of them need K times as many runs, of both), "
        f"ε₁ = {BASE:g}, R = 5 thresholds, δ = {words.power(DELTA)} (Theorem 4 is "
        f"pure). Right: exact failure probabilities and {trials:,} simulated runs each "
        "with 95 % intervals; for Theorem 4.7 on 21 equally likely scores (good "
        "enough: at least the median less 1/4), for Theorem 4 in its worst case. The "
        "simulation draws each count of N runs as one binomial number: nobody could "
        "make the runs.",
    )
    return figure
