"""Liu & Talwar 2019: what selection costs in utility at equal total epsilon."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common.figure import load
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.domains import positive
from jaxsel.pictures import style
from sims.lt19_utility import (
    BETA,
    CANDIDATES,
    EPSILONS,
    SCORES,
    SELECTORS,
    TENTHS,
    Selector,
)

TITLE = "Liu & Talwar 2019: utility of private selection at equal total epsilon"
SECONDS = 12
LARGE = 15.0  # a loss above this is a failure, in the second panel
SETTABLE = {
    "LARGE": positive("a loss above this is a failure"),
}
_DENSE = np.geomspace(EPSILONS[0], EPSILONS[-1], 33)
_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "exponential mechanism": (
        "Exponential mechanism, index only",
        {"color": "#000000", "linestyle": "-", "marker": "p"},
    ),
    "Algorithm 1, best - 10": (
        "Algorithm 1, threshold q* − 10: ε₁ = ε/2",
        {"color": "#0072b2", "linestyle": "-", "marker": "<"},
    ),
    "Algorithm 1, best - 30": (
        "Algorithm 1, threshold q* − 30: ε₁ = ε/2",
        {"color": "#3aa0dd", "linestyle": (0, (5, 1.2)), "marker": ">"},
    ),
    "Algorithm 2, beta/2K": (
        "Algorithm 2, γ = β/(2K): ε₁ = ε/3",
        {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    ),
    "Algorithm 2, 1/K": (
        "Algorithm 2, γ = 1/K: ε₁ = ε/3",
        {"color": "#8c6d1f", "linestyle": (0, (4, 1, 1, 1)), "marker": "d"},
    ),
    "publish all": (
        "Naive composition, all scores published: ε₁ = ε/K",
        style.look("Naive repetition"),
    ),
}


def _losses() -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers for each outcome: K times the loss in tenths, and of its excess.

    With no release a uniformly random candidate is taken, hence the K.
    """
    lost = TENTHS.max() - TENTHS
    large = (lost > 10.0 * LARGE).astype(np.int64)
    found = [np.append(CANDIDATES * v, v.sum()) for v in (lost, large)]
    return found[0], found[1]


def lines(selector: Selector, epsilons: np.ndarray = _DENSE) -> tuple[np.ndarray, ...]:
    """Exact expected loss, and exact chance of a loss above LARGE, at each epsilon."""
    law = selector.mechanism.law
    assert law is not None
    found = []
    for values, unit in zip(_losses(), (10.0, 1.0), strict=True):
        probabilities = (
            law(SCORES, selector.params(e)).probabilities for e in epsilons
        )
        exact = [p @ values[: p.size] for p in probabilities]
        found.append(np.array(exact) / (unit * CANDIDATES))
    return tuple(found)


def points(
    counts: np.ndarray, confidence: float = 0.95
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(mean, low, high) of the loss, and of the chance of a loss above LARGE.

    Args:
      counts: Int["epsilons candidates+1"].
      confidence: of each interval.
    """
    trials = counts.sum(axis=1)
    lost, large = _losses()
    total, squares = counts @ lost, counts @ lost**2
    scale = 10.0 * CANDIDATES
    low, high = mean_interval(
        trials, total, squares, confidence, 0.0, float(lost.max())
    )
    result = [(total / trials / scale, low / scale, high / scale)]
    # With no release the chance is that of a random candidate: bounded, not binomial.
    total, squares = counts @ large, counts @ large**2
    if np.any(counts[:, -1]):
        limits = mean_interval(
            trials, total, squares, confidence, 0.0, float(large.max())
        )
        low, high = (limit / CANDIDATES for limit in limits)
    else:
        low, high = clopper_pearson(total // CANDIDATES, trials, confidence)
    result.append((total / trials / CANDIDATES, low, high))
    return result


def _axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.9 * EPSILONS[0], 1.1 * EPSILONS[-1])
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("Total ε of what is released")


def draw() -> Canvas:
    """Lines: exact laws; points: simulated, with 95 % intervals."""
    record = load("lt19-utility")
    figure, panels = style.panels(2, width=9.4, height=5.0)
    for row, name in enumerate(record.values["selectors"]):
        label, look = _LOOKS[name]
        exact = lines(SELECTORS[name])
        seen = points(record.arrays["counts"][row])
        for axes, curve, (mean, low, high) in zip(panels, exact, seen, strict=True):
            style.line(axes, _DENSE, curve, look, label=label)
            shown = mean > 0
            style.points(
                axes, np.array(EPSILONS)[shown], mean[shown], low[shown], high[shown],
                look,
            )  # fmt: skip
    loss, failure = panels
    for axes in panels:
        _axis(axes)
        axes.set_yscale("log")
    loss.axhline(
        float(SCORES.max() - SCORES.mean()), color="#b00020", linewidth=1.0,
        linestyle=":", label="A random candidate",
    )  # fmt: skip
    loss.set_ylim(2e-2, 100.0)
    loss.set_ylabel("Expected loss q* − q of the selected candidate")
    failure.set_ylim(1e-4, 1.5)
    failure.set_ylabel(f"Chance of a loss above {LARGE:g}")
    handles, labels = loss.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    style.note(
        figure,
        f"K = {CANDIDATES} scores of sensitivity 1 between {SCORES.min():g} and "
        f"{SCORES.max():g}, few of them good. A run of Algorithms 1 and 2 draws a "
        "candidate and adds Laplace noise of scale 1/ε₁; the candidate and its noisy "
        f"score are released. Algorithm 1 stops with probability β/(2K), β = {BETA:g}, "
        "after each failure; if it gives up, a random candidate is taken. All are pure "
        "ε-DP. Lines: exact laws. Points: "
        f"{int(record.values['trials']):,} selections each, 95 % intervals.",
    )
    return figure
