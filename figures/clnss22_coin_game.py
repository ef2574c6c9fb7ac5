"""Cohen et al. 2022, Lemmas 1 and 2: divergences of the coin game, both directions."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy import special

from figures.common.figure import load
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.selection_and_test.coin_game_laws import (
    coin_renyi,
    favoured_rate,
    game_law,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.clnss22_coin_game import BIAS, COINS, EPSILON, REVERSE_EPSILON
from sims.registry import Result

TITLE = "Cohen et al. 2022, Lemmas 1 and 2: the coin game in both directions"
_ORDERS = 1.0 + np.geomspace(0.01, 1000.0, 121)
_POINTS = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0)
_PRINTED: dict[str, Any] = {"color": "#000000", "linestyle": "--"}
_PURE: dict[str, Any] = {"color": "#7f7f7f", "linestyle": ":"}
_EXACT: dict[str, Any] = {"color": "#d55e00", "linestyle": "-", "marker": "s"}
_SMALL: dict[str, Any] = {"color": "#0072b2", "linestyle": "-."}
_BACK: dict[str, Any] = {"color": "#aa4499", "linestyle": "-", "marker": "o"}
_BACK_TWO: dict[str, Any] = {
    "color": "#009e73",
    "linestyle": (0, (5, 1.5)),
    "marker": "^",
}


def binary_renyi(first, second, order: float) -> np.ndarray:
    """Renyi divergence of two coins; inf order: of the outcome 1 alone."""
    first, second = np.asarray(first), np.asarray(second)
    with np.errstate(divide="ignore"):
        if math.isinf(order):
            return np.log(first) - np.log(second)
        up = order * np.log(first) + (1.0 - order) * np.log(second)
        down = order * np.log1p(-first) + (1.0 - order) * np.log1p(-second)
    return np.logaddexp(up, down) / (order - 1.0)


def audited_renyi(
    counts: np.ndarray, other: np.ndarray, trials: int, order: float
) -> np.ndarray:
    """Lower bounds (95 %) on D_order from one event each, by data processing.

    Args:
      counts, other: Int["events"], how often each event happened on the two sides; it
        must be the likelier on the first.
      trials: a side.
      order: > 1, inf for the max-divergence.
    """
    low, _ = clopper_pearson(counts, trials, 0.95)
    _, high = clopper_pearson(other, trials, 0.95)
    return np.where(low > high, binary_renyi(low, np.minimum(high, low), order), 0.0)


def reverse(numbers, order: float, *, forward: bool = False) -> np.ndarray:
    """Exact D_order(Q || P), or D_order(P || Q), of games with n small coins."""
    found = []
    for n in numbers:
        first = game_law(np.full(int(n), BIAS))
        second = game_law(np.full(int(n), BIAS * math.exp(-REVERSE_EPSILON)))
        sides = (first, second) if forward else (second, first)
        found.append(float(renyi_divergence(*sides, order)))
    return np.array(found)


def _favoured(axes: Axes, record: Result) -> None:
    style.line(
        axes, _ORDERS, 3.0 * _ORDERS * EPSILON**2, _PRINTED,
        label="Lemma 2 (claim): 3aε²",
    )  # fmt: skip
    axes.plot(
        _ORDERS, np.full(_ORDERS.size, EPSILON), **_PURE, label="Lemma 1 (claim): ε"
    )
    style.line(
        axes, _ORDERS, favoured_rate(_ORDERS, EPSILON), _EXACT,
        label="exact supremum, attained by\nrandomised response (this project)",
    )  # fmt: skip
    small = [float(coin_renyi(BIAS, BIAS * math.exp(-EPSILON), a)) for a in _ORDERS]
    style.line(axes, _ORDERS, small, _SMALL, label=f"exact, coins of p = {BIAS:g}")
    tallies, trials = record.arrays["response"], int(record.values["trials"])
    # The event "over after the first coin", chosen beforehand for every order.
    found = [
        float(audited_renyi(tallies[0, :1], tallies[1, :1], trials, a)[0])
        for a in _POINTS
    ]
    axes.plot(
        _POINTS, found, linestyle="none", marker="s", color=_EXACT["color"],
        markerfacecolor="white", markersize=4.6, label="audited lower bound (95 %)",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(1.0, 1000.0), ylim=(0.05, 3.0))
    axes.set_xlabel("Rényi order a")
    axes.set_ylabel("Rényi divergence of P from Q, for each 1")
    axes.legend(loc="upper left", bbox_to_anchor=(0.28, 0.99))


def _directions(axes: Axes, record: Result) -> None:
    numbers = np.unique(np.round(np.linspace(1, 140, 70)).astype(int))
    style.line(
        axes, numbers, reverse(numbers, np.inf), _BACK, label="reverse, order ∞: exact"
    )
    style.line(
        axes, numbers, reverse(numbers, 4.0), _BACK_TWO, label="reverse, order 4: exact"
    )
    axes.plot(
        numbers, reverse(numbers, np.inf, forward=True), color="#d55e00",
        linestyle="-", label="favoured, order ∞: exact",
    )  # fmt: skip
    axes.axhline(REVERSE_EPSILON, **_PURE, label="Lemma 1 (claim): ε")
    points = np.array(record.values["numbers"])
    small, trials = record.arrays["small"], int(record.values["trials"])
    still = small[:, :, 1]  # no 1 yet, on P and on Q
    for order, look in ((math.inf, _BACK), (4.0, _BACK_TWO)):
        found = audited_renyi(still[:, 1], still[:, 0], trials, order)
        axes.plot(
            points, found, linestyle="none", marker=look["marker"],
            color=look["color"], markerfacecolor="white", markersize=4.6,
        )  # fmt: skip
    axes.plot(
        [], [], linestyle="none", marker="o", color="#555555", markerfacecolor="white",
        label="audited lower bound (95 %)",
    )  # fmt: skip
    axes.set(xlim=(0.0, 143.0), ylim=(0.0, 3.2))
    axes.set_xlabel("n, coins shown at most")
    axes.set_ylabel("Divergence of the game")
    axes.legend(loc="upper left")


def draw() -> Canvas:
    """Left: the favoured direction against the order; right: both against coins."""
    record = load("clnss22-coin-game")
    figure, (favoured, directions) = style.panels(2, width=9.0, height=4.3)
    _favoured(favoured, record)
    _directions(directions, record)
    trials, share = int(record.values["trials"]), float(special.expit(EPSILON))
    style.note(
        figure,
        "The 0-favored coin game of Cohen et al. 2022 until the first 1: q ≤ p ≤ e^ε q "
        f"and 1 − q ≤ e^ε (1 − p), ε = {EPSILON:g}; k ones cost k times as much. Left: "
        f"points are from games of coins {share:.3g} against {1 - share:.3g} (at most "
        f"{COINS}), by the event that the first coin shows 1. Right: coins of p = "
        f"{BIAS:g} against p e^(−{REVERSE_EPSILON:g}), by the event that no coin shows "
        "1; the divergence of Q from P grows with n, which is why p has to be random. "
        f"{trials:,} games a side.",
    )
    return figure
