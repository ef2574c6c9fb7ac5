"""Liu & Talwar 2019, Theorem 3.5: what a hard stop adds to random stopping."""

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common.figure import load
from figures.lt19_privacy_cost import audited
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from jaxsel.language.domains import positive
from jaxsel.pictures import style

TITLE = "Liu & Talwar 2019, Theorem 3.5: the price of a hard stop"
NO_EFFECT = ("sims.lt19_privacy_cost",)
SECONDS = 18
SLACK = 0.1  # epsilon_0 of Theorem 3.5
SETTABLE = {
    "SLACK": positive("epsilon_0 of Theorem 3.5"),
}
_GAMMAS = {0.3: "#3aa0dd", 0.03: "#d55e00", 0.003: "#aa4499", 0.0003: "#000000"}


def worst(epsilon: float, gamma: float, steps) -> np.ndarray:
    """Exact worst pure epsilon over all epsilon-DP bases, for each T."""
    return np.array([hard_stop_worst(epsilon, gamma, int(n)) for n in steps])


def smallest_steps(epsilon: float, gamma: float, slack: float = SLACK) -> int:
    """Least T from which on the exact worst epsilon is at most 3 epsilon + 3 slack."""
    low, high = 1, hard_stop_steps_pure(gamma, slack)
    # It rises with T, passes its peak and falls: look beyond the peak.
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


def _left(axes, record) -> None:
    values = record.values
    epsilon = values["epsilon"]
    for gamma, color in _GAMMAS.items():
        last = hard_stop_steps_pure(gamma, SLACK)
        steps = np.unique(np.geomspace(1, 1.5 * last, 90).astype(int))
        y = worst(epsilon, gamma, steps) / epsilon
        axes.plot(
            steps * gamma, y, color=color, label=f"γ = {gamma:g}: exact, worst base"
        )
        for count, marker in ((last, "|"), (hard_stop_steps_sharp(gamma, SLACK), "x")):
            height = worst(epsilon, gamma, [count])[0] / epsilon
            axes.plot(
                count * gamma, height, marker=marker, color=color, markersize=8.0,
                markeredgewidth=1.6,
            )  # fmt: skip
    lower = audited(record.arrays["counts"][..., :3]) / epsilon
    steps = np.array(values["steps"])
    axes.plot(
        steps * values["gamma"], lower, linestyle="none", marker="s",
        color=_GAMMAS[values["gamma"]], markerfacecolor="white", zorder=3,
        label=f"γ = {values['gamma']:g}: audited lower bound (95 %)",
    )  # fmt: skip
    axes.axhline(3.0, **style.NEUTRAL, label="3ε₁: no hard stop, Theorem 3.2")
    axes.axhline(
        3.0 * (1.0 + SLACK / epsilon), color="#b00020", linewidth=0.9, linestyle="--",
        label="3ε₁ + 3ε₀, Theorem 3.5",
    )  # fmt: skip
    marker = {"color": "#555555", "linestyle": "none", "markeredgewidth": 1.6}
    axes.plot([], [], marker="|", markersize=8, **marker, label="T of Theorem 3.5")
    axes.plot(
        [], [], marker="x", markersize=6, **marker, label="T of claim LT-Thm3.5-sharp"
    )
    axes.set_xscale("log")
    axes.set_xlabel("Hard stop, in units of the expected number of draws: Tγ")
    axes.set_ylabel("Worst total pure ε, in units of the ε₁ of one run")
    axes.set_ylim(0, None)


def _right(axes, epsilon: float) -> None:
    gammas = np.geomspace(3e-5, 0.3, 17)
    rows = {
        "Theorem 3.5: (ln X + ln ln X)/γ": (hard_stop_steps_pure, "#b00020", "-"),
        "Claim LT-Thm3.5-sharp": (hard_stop_steps_sharp, "#0072b2", "--"),
        f"Exact need at ε₁ = {epsilon:g}": (
            lambda gamma, slack: smallest_steps(epsilon, gamma, slack), "#000000", ":",
        ),
    }  # fmt: skip
    for label, (steps, color, pattern) in rows.items():
        y = [steps(gamma, SLACK) * gamma for gamma in gammas]
        axes.plot(gammas, y, color=color, linestyle=pattern, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("Stopping probability γ")
    axes.set_ylabel("Hard stop that is enough for 3ε₁ + 3ε₀: Tγ")
    axes.set_ylim(0, None)


def draw() -> Canvas:
    """Lines: exact worst cases; points: audited from simulations."""
    record = load("lt19-hard-stop")
    epsilon = record.values["epsilon"]
    figure, (left, right) = style.panels(2, width=9.4, height=5.2)
    _left(left, record)
    _right(right, epsilon)
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    left.xaxis.set_minor_formatter(NullFormatter())
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    style.legend(right, loc="upper right")
    style.note(
        figure,
        "Random stopping with probability γ after each run, and at most T runs; one "
        f"run is ε₁-DP with ε₁ = {epsilon:g}; ε₀ = {SLACK:g}; X = 2(1 + γ)²/(ε₀γ²). "
        "Left: largest pure ε over all ε₁-DP runs, exact; a short hard stop is nearly "
        "a fixed number of runs, whose loss is Tε₁. Audited: on the three-outcome pair "
        f"that shows most at each T, {int(record.values['trials']):,} selections a "
        "side.",
    )
    return figure
