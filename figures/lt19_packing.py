"""Liu & Talwar 2019, Theorem D.2: selection has to lose nearly a factor of two.

The figure shows how often j is selected on the data sets of the theorem. One run executes a
random one of K mechanisms that answer 0 or 1. Ties go to the lowest index, and j is the
highest. Algorithm 1 has the threshold 1. A trial is one selection. It is tallied, on D_0 and
on D_j, by the answer and by whether it is that of j.
"""

import dataclasses
import math
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from jaxsel import repetitions as laws
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.laws import threshold_law
from jaxsel.families.thresholds.packing_laws import (
    packing_bound,
    packing_distance,
    packing_law,
    packing_successes,
    smallest_exponential_epsilon,
)
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import number, positive
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.random_stopping import stopping_law
from sims.cells import cells

TITLE = "Liu & Talwar 2019, Theorem D.2: what any useful selection must lose"
TRIALS = 4_000_000
_LOOKS = {
    "algorithm-2": ("LT Algorithm 2", style.look("Geometric η = 1")),
    "algorithm-1": ("LT Algorithm 1", style.own(style.GREEN, "-", "o")),
}


@dataclasses.dataclass(frozen=True)
class Packing:
    """The data sets of the theorem, and the stopping probability of a selection."""

    epsilon: Annotated[float, positive("epsilon of one mechanism")] = 0.01
    alpha: Annotated[float, number("of Theorem D.2", above=0.0, below=0.5)] = 0.1
    # 10 K runs on average
    stop: Annotated[float, number("K times the stopping probability", above=0.0, below=1.0)] = 0.1

    def laws(self, candidates: float) -> tuple[np.ndarray, np.ndarray]:
        """Laws of one run on D_0 and on D_j.

        The outcomes are success of another mechanism and of j, then failure of another and of
        j.
        """
        start, winner, loser, _ = packing_successes(candidates, self.alpha)
        return (packing_law(start, start, candidates), packing_law(winner, loser, candidates))

    def unit(self, candidates: float) -> float:
        """Delta times epsilon, the unit of the loss that is implied."""
        return packing_distance(self.epsilon, candidates, self.alpha) * self.epsilon


@cells(measures=["counts", "frequency"])
def selected(
    algorithm: str = over("algorithm-1", "algorithm-2"),
    candidates: int = over(10, 30, 100, 300, 1000),
    side: int = over({"D0": 0, "Dj": 1}),
    packing: Packing = Packing(),
) -> Trial:
    """The selection among K mechanisms."""
    law, gamma = packing.laws(candidates)[side], packing.stop / candidates
    data = {"probabilities": law, "scores": [1.0, 1.0, 0.0, 0.0]}
    if algorithm == "algorithm-1":
        params = {"threshold": 1.0, "stop_probability": gamma}
        return Trial(threshold_selection(finite()), data, params)
    repetitions = laws.geometric(gamma)
    return Trial(private_tuning(finite()), data, {"repetitions": repetitions})


def chances(algorithm: str, candidates: float, packing: Packing = Packing()) -> tuple[float, float]:
    """Exact probabilities of selecting j on D_0 and on D_j."""
    gamma = packing.stop / candidates
    first, last = (
        float(threshold_law(law, 2, gamma)[1])
        if algorithm == "algorithm-1"
        else float(stopping_law(law, gamma)[[1, 3]].sum())
        for law in packing.laws(candidates)
    )
    return first, last


def implied(algorithm: str, candidates: float, packing: Packing = Packing()) -> float:
    """Exact log(P[j on D_j]/P[j on D_0])/Delta, in units of one mechanism's epsilon."""
    first, last = chances(algorithm, candidates, packing)
    return math.log(last / first) / packing.unit(candidates)


def implied_interval(
    found: xr.Dataset, packing: Packing = Packing(), confidence: float = 0.95
) -> np.ndarray:
    """Simulated ``implied`` with its confidence limits, for each number of candidates.

    Args:
      found: cells of one algorithm of ``selected``; j must have been chosen on both sides.
      packing: the one that was simulated.
      confidence: confidence level of each interval.

    Returns:
      Float64["3 candidates"]: estimate, lower and upper limit.
    """
    chosen, trials = of_j(found), found.attrs["trials"]
    low, high = clopper_pearson(chosen, trials, 0.5 + 0.5 * confidence)
    last = np.array([chosen[:, 1] / trials, low[:, 1], high[:, 1]])
    first = np.array([chosen[:, 0] / trials, high[:, 0], low[:, 0]])
    units = [packing.unit(count) for count in found["candidates"].values]
    return np.log(last / first) / units


def of_j(found: xr.Dataset) -> np.ndarray:
    """How often j was chosen: Int64["... candidates side"]."""
    return found.counts.sel(outcome=["1", "3"]).sum("outcome").values


def draw(selected: xr.Dataset, packing: Packing = Packing()) -> Canvas:
    """Draws exact values as lines and simulated ones as points."""
    epsilon, alpha = packing.epsilon, packing.alpha
    figure, (axes,) = style.panels(1, width=6.4, height=5.0)
    x = np.geomspace(10, 1e12, 120)
    for algorithm, (name, look) in _LOOKS.items():
        y = np.array([implied(algorithm, k, packing) for k in x])
        useful = np.array([chances(algorithm, k, packing)[1] >= k**-alpha for k in x])
        label = f"{name}, γ = 1/({1.0 / packing.stop:.3g}K): exact"
        style.line(axes, x, y, look, linewidth=0.7)
        style.line(axes, x[useful], y[useful], look, label=label)
        found = selected.sel(algorithm=algorithm)
        mean, low, high = implied_interval(found, packing)
        style.points(axes, found["candidates"], mean, low, high, look)
    axes.plot(
        x,
        [smallest_exponential_epsilon(epsilon, k, alpha) / epsilon for k in x],
        color=style.BLUE,
        linestyle=style.DASHES,
        label="Exponential mechanism, least ε̂ that is useful",
    )
    axes.plot(
        x,
        [packing_bound(epsilon, k, alpha) / epsilon for k in x],
        color=style.BLACK,
        label="Theorem D.2: no useful selection has less",
    )
    axes.axhline(
        2.0 - 6.0 * alpha,
        color=style.BLACK,
        linestyle=":",
        linewidth=1.0,
        label="2 − 6α: its limit as stated",
    )
    for factor, theorem in ((2, "2ε, Theorem 3.1"), (3, "3ε, Theorem 3.2")):
        axes.axhline(factor, color="#999999", linewidth=0.8)
        axes.annotate(
            theorem,
            (1e12, factor),
            (0, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=7.0,
            color="#666666",
        )
    axes.set(xscale="log", ylim=(1.0, 3.2), xlabel="Number of mechanisms, K")
    axes.set_ylabel("Privacy loss a neighbour, in units of ε")
    style.legend_above(figure, axes, 2)
    return style.captioned(
        figure,
        f"On D₀ all K mechanisms (ε = {epsilon:g}) succeed with probability 1/(2√K); "
        "on Dⱼ, Δ = ⌈(1/2 + α) ln(K)/ε⌉ neighbours away, mechanism j nearly always and "
        f"the others hardly ever; α = {alpha:g}. Shown is ln(P[j on Dⱼ]/P[j on "
        "D₀])/(Δε); useful (thick lines): j is chosen on Dⱼ with probability K^−α at "
        "least. Ties go to the lowest index, and j is the highest. Points: "
        f"{selected.attrs['trials']:,} selections a side, 95 % intervals.",
    )
