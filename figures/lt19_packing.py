"""Liu & Talwar 2019, Theorem D.2: selection has to lose nearly a factor of two."""

import math

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.families.thresholds.packing_laws import (
    packing_bound,
    packing_distance,
    smallest_exponential_epsilon,
)
from jaxsel.families.tuning.bounds.random_stopping import stopping_law
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.lt19_packing import ALPHA, EPSILON, STOP, base_laws

TITLE = "Liu & Talwar 2019, Theorem D.2: what any useful selection must lose"
_CHANCE = f"1/({1.0 / STOP:.3g}K)"
_LOOKS = {
    "algorithm-2": (
        f"LT Algorithm 2, γ = {_CHANCE}: exact", style.look("Geometric η = 1"),
    ),
    "algorithm-1": (
        f"LT Algorithm 1, γ = {_CHANCE}: exact",
        {"color": "#009e73", "linestyle": "-", "marker": "o"},
    ),
}  # fmt: skip


def chances(algorithm: str, candidates: float) -> tuple[float, float]:
    """Exact probabilities to choose j on D_0 and on D_j."""
    gamma = STOP / candidates
    first, last = (
        float(threshold_law(law, 2, gamma)[1])
        if algorithm == "algorithm-1"
        else float(stopping_law(law, gamma)[[1, 3]].sum())
        for law in base_laws(candidates)
    )
    return first, last


def implied(algorithm: str, candidates: float) -> float:
    """log(P[j on D_j]/P[j on D_0])/Delta, exactly, in epsilons of one mechanism."""
    first, last = chances(algorithm, candidates)
    return math.log(last / first) / _unit(candidates)


def implied_interval(
    chosen: np.ndarray, trials: int, candidates: float, confidence: float = 0.95
) -> np.ndarray:
    """The same from counts on D_0 and D_j, both above 0, and its limits."""
    low, high = clopper_pearson(chosen, trials, 0.5 + 0.5 * confidence)
    last = np.array([chosen[1] / trials, low[1], high[1]])
    first = np.array([chosen[0] / trials, high[0], low[0]])
    return np.log(last / first) / _unit(candidates)


def _unit(candidates: float) -> float:
    return packing_distance(EPSILON, candidates, ALPHA) * EPSILON


def draw() -> Canvas:
    """Lines: exact; points: simulated."""
    record = load("lt19-packing")
    values = record.values
    figure, (axes,) = style.panels(1, width=6.4, height=5.0)
    x = np.geomspace(10, 1e12, 120)
    for algorithm, (label, look) in _LOOKS.items():
        y = np.array([implied(algorithm, k) for k in x])
        useful = np.array([chances(algorithm, k)[1] >= k**-ALPHA for k in x])
        style.line(axes, x, y, look, linewidth=0.7)
        style.line(axes, x[useful], y[useful], look, label=label)
        row = values["algorithms"].index(algorithm)
        found = np.array(
            [
                implied_interval(chosen, int(values["trials"]), count)
                for chosen, count in zip(
                    record.arrays["chosen"][row], values["candidates"], strict=True
                )
            ]
        )
        mean, low, high = found.T
        style.points(axes, values["candidates"], mean, low, high, look)
    axes.plot(
        x, [smallest_exponential_epsilon(EPSILON, k, ALPHA) / EPSILON for k in x],
        color="#0072b2", linestyle=(0, (5, 1.2)),
        label="Exponential mechanism, least ε̂ that is useful",
    )  # fmt: skip
    axes.plot(
        x, [packing_bound(EPSILON, k, ALPHA) / EPSILON for k in x], color="#000000",
        label="Theorem D.2: no useful selection has less",
    )  # fmt: skip
    axes.axhline(
        2.0 - 6.0 * ALPHA, color="#000000", linestyle=":", linewidth=1.0,
        label="2 − 6α: its limit as stated",
    )  # fmt: skip
    for factor, theorem in ((2, "2ε, Theorem 3.1"), (3, "3ε, Theorem 3.2")):
        axes.axhline(factor, color="#999999", linewidth=0.8)
        axes.annotate(
            theorem, (1e12, factor), (0, 2), textcoords="offset points", ha="right",
            va="bottom", fontsize=7.0, color="#666666",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(1.0, 3.2)
    axes.set_xlabel("Number of mechanisms, K")
    axes.set_ylabel("Privacy loss a neighbour, in units of ε")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    style.note(
        figure,
        f"On D₀ all K mechanisms (ε = {EPSILON:g}) succeed with probability 1/(2√K); "
        "on Dⱼ, Δ = ⌈(1/2 + α) ln(K)/ε⌉ neighbours away, mechanism j nearly always and "
        f"the others hardly ever; α = {ALPHA:g}. Shown is ln(P[j on Dⱼ]/P[j on "
        "D₀])/(Δε); useful (thick lines): j is chosen on Dⱼ with probability K^−α at "
        "least. Ties go to the lowest index, and j is the highest. Points: "
        f"{int(values['trials']):,} selections a side, 95 % intervals.",
    )
    return figure
