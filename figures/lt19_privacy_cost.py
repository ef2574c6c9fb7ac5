"""Liu & Talwar 2019: what selection costs, against how many runs it makes.

A run has three outcomes and is 1-DP: the best outcome is e times as likely on the neighbour,
and a rare one in the middle e times as rare. This is nearly the worst case for naive
best-of-K, for Algorithms 1 and 2, and for Selection of Cohen et al. 2022 at once. A trial is
one selection; its outcome is tallied on both sides.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.audited_bounds import audited
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.pairs import LawPair, three_outcome
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Liu & Talwar 2019: privacy cost of selection against the number of runs"
TRIALS = 1_500_000


@dataclasses.dataclass(frozen=True)
class Run:
    """The laws of one run on the data and on the neighbour."""

    epsilon: Annotated[float, positive("epsilon of one run")] = 1.0
    middle: Annotated[float, probability("of the middle outcome where it is rare")] = 0.006

    @property
    def pair(self) -> LawPair:
        """Its laws, best outcome first."""
        return three_outcome(self.epsilon, 1.0 / (1.0 + math.exp(self.epsilon)), self.middle)


class Selector(NamedTuple):
    """One way to select.

    Attributes:
      mechanism: the mechanism, on the laws of ``Run`` with scores 1, 1 and 0.
      params: expected number of calls -> the mechanism's parameters.
      factor: expected number of calls -> proven total epsilon over the epsilon of one run.
      label, look: label and look of its curves in the picture.
    """

    mechanism: Mechanism
    params: Callable[[float], dict[str, Any]]
    factor: Callable[[float], float]
    label: str
    look: style.Look


def _selection(gamma: float, label: str, look: style.Look) -> Selector:
    def params(calls: float) -> dict[str, Any]:
        # Each of tau runs is made with probability gamma/(1 + gamma) on average.
        largest = round(calls * (1.0 + gamma) / gamma)
        return {"repetitions": laws.beta_binomial(largest, gamma)}

    mechanism = private_tuning(finite(), "beta_binomial")
    return Selector(mechanism, params, lambda calls: 2.0 + gamma, label, look)


SELECTORS = {
    "naive": Selector(
        private_tuning(finite(), "point_mass"),
        lambda calls: {"repetitions": laws.point_mass(int(calls))},
        lambda calls: calls,
        "Best of K (B.1): Kε₁",
        style.own(style.BLACK, "-", "X"),
    ),
    "algorithm-2": Selector(
        private_tuning(finite()),
        lambda calls: {"repetitions": laws.geometric(1.0 / calls)},
        lambda calls: 3.0,
        "LT Algorithm 2: 3ε₁, Theorem 3.2",
        "Geometric η = 1",
    ),
    "selection-0.5": _selection(
        0.5, "Selection, γ = 1/2: 2.5ε₁, CL Theorem 1", style.own(style.PURPLE, "-.", "D")
    ),
    "selection-0.1": _selection(
        0.1, "Selection, γ = 1/10: 2.1ε₁, CL Theorem 1", style.own(style.BLUE, style.DASHES, "v")
    ),
    "algorithm-1": Selector(
        threshold_selection(finite()),
        lambda calls: {"threshold": 1.0, "stop_probability": 1.0 / calls},
        lambda calls: 2.0,
        "LT Algorithm 1: 2ε₁, Theorem 3.1",
        style.own(style.GREEN, "-", "o"),
    ),
}


@cells(measures=["counts", "frequency"])
def selected(
    selector: Selector = over(SELECTORS),
    calls: Annotated[float, positive("expected number of runs; of Algorithm 1, at most")] = over(
        2, 4, 8, 16, 32, 64
    ),
    side: int = over({"data": 0, "neighbour": 1}),
    run: Run = Run(),
) -> Trial:
    """Selections among the three outcomes."""
    data = {"probabilities": run.pair[side], "scores": [1.0, 1.0, 0.0]}
    return Trial(selector.mechanism, data, selector.params(calls))


def exact(selector: Selector, calls: float, run: Run = Run()) -> float:
    """Exact epsilon on the simulated pair, at this expected number of calls."""
    found = [selected(selector, calls, side, run) for side in (0, 1)]
    law = selector.mechanism.law
    assert law is not None
    return exact_epsilon(*(law(t.data, t.params).probabilities for t in found))


def _runs(name: str, calls: float) -> float:
    """Expected number of runs; Selection attains it only approximately."""
    if name.startswith("selection"):
        return SELECTORS[name].params(calls)["repetitions"].mean
    return calls


def draw(selected: xr.Dataset, run: Run = Run()) -> Canvas:
    """Draws exact laws as lines, theorems as dashes, and audited lower bounds as points."""
    calls, epsilon = selected["calls"].values, run.epsilon
    lower = audited(selected.counts) / epsilon
    figure, (axes,) = style.panels(1, width=6.4, height=5.0)
    last = int(calls[-1])
    claimed: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 1.5))}
    for name in selected["selector"].values:
        selector = SELECTORS[name]
        look = style.look(selector.look)
        if name == "naive":
            x = np.arange(2, last + 1, dtype=np.float64)
        else:
            x = np.geomspace(2, last, 31)
        y = np.array([exact(selector, count, run) for count in x])
        style.line(axes, [_runs(name, n) for n in x], y / epsilon, look, label=selector.label)
        axes.plot(x, [selector.factor(count) for count in x], color=look["color"], **claimed)
        marks = style.hollow(look, markersize=5.4, zorder=5)
        axes.plot(calls, lower.sel(selector=name), **marks)
    axes.plot([], [], color=style.DIM, label="Exact, on one pair")
    axes.plot([], [], color=style.DIM, **claimed, label="Claim: for every ε₁-DP run")
    axes.plot([], [], **style.hollow(style.ANY), label=words.AUDITED.capitalize())
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xlim=(1.9, 68), ylim=(0.9, 20))
    style.plain_ticks(axes.xaxis, calls)
    style.plain_ticks(axes.yaxis, (1, 1.5, 2, 2.5, 3, 5, 10, 20))
    axes.set_xlabel("Expected number of runs (Algorithm 1: largest expected number)")
    axes.set_ylabel("Total pure ε, in units of the ε₁ of one run")
    style.legend_above(figure, axes, 2)
    odds = "e" if epsilon == 1.0 else f"{math.exp(epsilon):.3g}"
    return style.captioned(
        figure,
        f"One run has three outcomes and ε₁ = {epsilon:g}: the best is {odds} times as "
        f"likely on the neighbour, the middle one (probability {run.middle:g} there) "
        f"{odds} times as rare; Algorithm 1 accepts both and has no last draw. Selection "
        f"is that of Cohen et al. (CL). Points: {selected.attrs['trials']:,} selections a "
        "side; losses on events too rare to be seen escape them.",
    )
