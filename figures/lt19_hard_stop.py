"""Liu & Talwar 2019, Theorem 3.5: what a hard stop adds to random stopping.

Random stopping with at most T draws is audited on one pair for each T. A pair has three
outcomes and is epsilon-DP: the better outcomes are likelier on the neighbour, and a rarer
outcome in the middle is likelier on the data. For each T the masses are those that an audit
with this many trials should tell apart best. A trial is one selection.
"""

import math
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.audited_bounds import audited
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.random_stopping import (
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from sims.cells import cells

TITLE = "Liu & Talwar 2019, Theorem 3.5: the price of a hard stop"
SECONDS = 18
TRIALS = 4_000_000
GAMMA = 0.03  # the gamma that is audited
_GAMMAS = {0.3: style.SKY, 0.03: style.ORANGE, 0.003: style.PURPLE, 0.0003: style.BLACK}
_SPREAD = 4.0  # standard deviations that the planned audit allows for


def planned_pair(steps: int, epsilon: float, trials: int) -> LawPair:
    """The three-outcome pair whose middle outcome an audit should see best.

    On the neighbour the mass of the better outcomes is as large as epsilon-DP allows.
    """
    law, odds = laws.capped(laws.geometric(GAMMA), steps), math.exp(epsilon)
    best = np.geomspace(1e-3 / steps, 0.7, 300)[:, None]
    other = np.minimum(best * odds, best / odds - math.expm1(-epsilon))
    # The mass that is left for the middle outcome on both sides; it must be epsilon-close, too.
    rest = 1.0 - best, 1.0 - other
    middle = np.minimum(rest[1], rest[0] / odds) * np.geomspace(1e-4, 0.5, 60)
    left = (rest[0] - middle * odds) / (rest[1] - middle)
    seen, rare = (
        law.pgf_gap(np.minimum(edge + mass, 1.0)) - law.pgf_gap(edge)
        for edge, mass in ((best, middle * odds), (other, middle))
    )
    spread = _SPREAD / math.sqrt(trials)
    low = np.maximum(seen - spread * np.sqrt(seen), 1e-300)
    loss = np.log(low / (rare + spread * np.sqrt(rare)))
    loss = np.where(np.abs(np.log(left)) <= epsilon, loss, -np.inf)
    i, j = np.unravel_index(np.argmax(loss), loss.shape)
    first = np.array([best[i, 0], middle[i, j] * odds])
    second = np.array([other[i, 0], middle[i, j]])
    return LawPair(np.append(first, 1.0 - first.sum()), np.append(second, 1 - second.sum()))


# Tables of K have T entries, so each T needs a program of its own.
@cells(measures=["counts", "frequency"])
def stopped(
    steps: Annotated[int, whole("T of the audited points", at_least=1)] = over(
        1, 2, 4, 8, 15, 30, 60, 120, 240
    ),
    side: int = over({"data": 0, "neighbour": 1}),
    epsilon: Annotated[float, positive("epsilon of one run")] = 0.5,
    planned: Annotated[int, whole("trials for which the pairs are made", at_least=2)] = TRIALS,
) -> Trial:
    """The best of K runs, where K is geometric but at most T."""
    mechanism = private_tuning(finite(), "capped", method="count")
    law = laws.capped(laws.geometric(GAMMA), steps)
    side_law = planned_pair(steps, epsilon, planned)[side]
    return Trial(mechanism, side_law, {"repetitions": law})


def worst(epsilon: float, gamma: float, steps) -> np.ndarray:
    """Exact worst pure epsilon over all epsilon-DP bases, for each T."""
    return np.array([hard_stop_worst(epsilon, gamma, int(n)) for n in steps])


def smallest_steps(epsilon: float, gamma: float, slack: float = 0.1) -> int:
    """The least T from which on the exact worst epsilon is at most 3 epsilon + 3 slack."""
    low, high = 1, hard_stop_steps_pure(gamma, slack)
    # The epsilon rises with T to a peak and then falls, so the search is beyond the peak.
    grid = np.unique(np.geomspace(1, high, 60).astype(int))
    above = worst(epsilon, gamma, grid) > 3.0 * (epsilon + slack)
    if not above.any():
        return 1
    low = int(grid[np.flatnonzero(above)[-1]])
    while high - low > 1:
        middle = (low + high) // 2
        if worst(epsilon, gamma, [middle])[0] > 3.0 * (epsilon + slack):
            low = middle
        else:
            high = middle
    return high


def _left(axes, lower: xr.DataArray, epsilon: float, slack: float) -> None:
    for gamma, color in _GAMMAS.items():
        last = hard_stop_steps_pure(gamma, slack)
        steps = np.unique(np.geomspace(1, 1.5 * last, 90).astype(int))
        y = worst(epsilon, gamma, steps) / epsilon
        axes.plot(steps * gamma, y, color=color, label=f"γ = {gamma:g}: exact, worst base")
        for count, marker in ((last, "|"), (hard_stop_steps_sharp(gamma, slack), "x")):
            height = worst(epsilon, gamma, [count])[0] / epsilon
            axes.plot(
                count * gamma,
                height,
                marker=marker,
                color=color,
                markersize=8.0,
                markeredgewidth=1.6,
            )
    marks = style.hollow(style.own(_GAMMAS[GAMMA], marker="s"), zorder=3)
    label = f"γ = {GAMMA:g}: {words.AUDITED}"
    axes.plot(lower["steps"] * GAMMA, lower / epsilon, **marks, label=label)
    axes.axhline(3.0, **style.NEUTRAL, label="3ε₁: no hard stop, Theorem 3.2")
    axes.axhline(
        3.0 * (1.0 + slack / epsilon),
        color=style.RED,
        linewidth=0.9,
        linestyle="--",
        label="3ε₁ + 3ε₀, Theorem 3.5",
    )
    marker = style.own(style.DIM, "none", markeredgewidth=1.6)
    axes.plot([], [], marker="|", markersize=8, **marker, label="T of Theorem 3.5")
    axes.plot([], [], marker="x", markersize=6, **marker, label="T of claim LT-Thm3.5-sharp")
    axes.set_xscale("log")
    axes.set_xlabel("Hard stop, in units of the expected number of draws: Tγ")
    axes.set(ylabel="Worst total pure ε, in units of the ε₁ of one run", ylim=(0, None))


def _right(axes, epsilon: float, slack: float) -> None:
    gammas = np.geomspace(3e-5, 0.3, 17)
    rows = {
        "Theorem 3.5: (ln X + ln ln X)/γ": (hard_stop_steps_pure, style.RED, "-"),
        "Claim LT-Thm3.5-sharp": (hard_stop_steps_sharp, style.BLUE, "--"),
        f"Exact need at ε₁ = {epsilon:g}": (
            lambda gamma, slack: smallest_steps(epsilon, gamma, slack),
            style.BLACK,
            ":",
        ),
    }
    for label, (steps, color, pattern) in rows.items():
        y = [steps(gamma, slack) * gamma for gamma in gammas]
        axes.plot(gammas, y, color=color, linestyle=pattern, label=label)
    axes.set(xscale="log", xlabel="Stopping probability γ")
    axes.set(ylabel="Hard stop that is enough for 3ε₁ + 3ε₀: Tγ", ylim=(0, None))


def draw(
    stopped: xr.Dataset,
    epsilon: Annotated[float, positive("epsilon of one run")] = 0.5,
    slack: Annotated[float, positive("epsilon_0 of Theorem 3.5")] = 0.1,
) -> Canvas:
    """Draws exact worst cases as lines and audited lower bounds as points."""
    figure, (left, right) = style.panels(2, width=9.4, height=5.2)
    _left(left, audited(stopped.counts.drop_sel(outcome="none")), epsilon, slack)
    _right(right, epsilon, slack)
    style.plain_ticks(left.xaxis)
    style.legend_above(figure, left, 3)
    right.legend(loc="upper right")
    return style.captioned(
        figure,
        "Random stopping with probability γ after each run, and at most T runs; one "
        f"run is ε₁-DP with ε₁ = {epsilon:g}; ε₀ = {slack:g}; X = 2(1 + γ)²/(ε₀γ²). "
        "Left: largest pure ε over all ε₁-DP runs, exact; a short hard stop is nearly "
        "a fixed number of runs, whose loss is Tε₁. Audited: on the three-outcome pair "
        f"that shows most at each T, {stopped.attrs['trials']:,} selections a side.",
    )
