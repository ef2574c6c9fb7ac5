"""The coin game of Cohen et al. 2022, Algorithm 2, in both directions (Lemmas 1 and 2).

A game ends with the first 1, and one trial is one game. There are two series. In the first,
the coins are those of randomised response, and the favoured side is likelier to show 1; this
maximises the divergence in the favoured direction. In the second, numbers of small coins show
1 with probability bias against bias e^-epsilon; their divergence in the reverse direction
grows with the number of coins.
"""

import math
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy import special

from figures.common import words
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.selection_and_test.coin_game import coin_game
from jaxsel.families.selection_and_test.coin_game_laws import coin_renyi, favoured_rate, game_law
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Lemmas 1 and 2: the coin game in both directions"
TRIALS = 1_000_000

COINS = 12  # after which a game of randomised response is nearly certain to be over
NUMBERS = np.array([1, 3, 10, 20, 40, 60, 80, 100, 120, 140])
SIDES = over("P", "Q")
EPSILON = Annotated[float, positive("of the favoured direction")]
REVERSE_EPSILON = Annotated[float, positive("of the small coins")]
BIAS = Annotated[float, probability("that a small coin shows 1")]

_ORDERS = 1.0 + np.geomspace(0.01, 1000.0, 121)
_POINTS = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0)
_PRINTED = style.own(style.BLACK, "--")
_PURE = style.own(style.GREY, ":")
_EXACT = style.own(style.ORANGE, "-", "s")
_SMALL = style.own(style.BLUE, "-.")
_BACK = style.own(style.PURPLE, "-", "o")
_BACK_TWO = style.own(style.GREEN, (0, (5, 1.5)), "^")


@cells(measures=["counts"])
def response(side: str = SIDES, epsilon: EPSILON = 0.5) -> Trial:
    """A game with coins of randomised response."""
    share = float(special.expit(epsilon))
    biases = np.full(COINS, share if side == "P" else 1.0 - share)
    return Trial(coin_game(), biases, {"ones": 1})


@cells(measures=["counts"])
def small(side: str = SIDES, reverse_epsilon: REVERSE_EPSILON = 0.5, bias: BIAS = 0.05) -> Trial:
    """The longest game with small coins; it determines how all shorter ones would have ended."""
    here = bias if side == "P" else bias * math.exp(-reverse_epsilon)
    return Trial(coin_game(), np.full(NUMBERS[-1], here), {"ones": 1})


def binary_renyi(first, second, order: float) -> np.ndarray:
    """Renyi divergence between two coins; at order inf, the log-ratio of the outcome 1 alone."""
    first, second = np.asarray(first), np.asarray(second)
    with np.errstate(divide="ignore"):
        if math.isinf(order):
            return np.log(first) - np.log(second)
        up = order * np.log(first) + (1.0 - order) * np.log(second)
        down = order * np.log1p(-first) + (1.0 - order) * np.log1p(-second)
    return np.logaddexp(up, down) / (order - 1.0)


def audited_renyi(
    counts: xr.DataArray, other: xr.DataArray, trials: int, order: float
) -> np.ndarray:
    """Lower bounds (95 %) on D_order from one event each, by data processing.

    Args:
      counts, other: Int["..."], how often each event happened on the two sides; it must be
        the likelier on the first.
      trials: number of trials on each side.
      order: > 1; inf for the max-divergence.
    """
    low, _ = clopper_pearson(counts.values, trials, 0.95)
    _, high = clopper_pearson(other.values, trials, 0.95)
    return np.where(low > high, binary_renyi(low, np.minimum(high, low), order), 0.0)


def reverse(
    numbers, order: float, bias: float = 0.05, epsilon: float = 0.5, *, forward: bool = False
) -> np.ndarray:
    """Exact D_order(Q || P), or D_order(P || Q) if ``forward``, of games with n small coins."""
    found = []
    for n in numbers:
        first = game_law(np.full(int(n), bias))
        second = game_law(np.full(int(n), bias * math.exp(-epsilon)))
        sides = (first, second) if forward else (second, first)
        found.append(float(renyi_divergence(*sides, order)))
    return np.array(found)


def first_coin(response: xr.Dataset, order: float) -> float:
    """Audited D_order(P || Q), from the event that the first coin ends the game.

    This event was fixed beforehand for every order.
    """
    over = response.counts.sel(outcome="0")
    trials = response.attrs["trials"]
    return float(audited_renyi(over.sel(side="P"), over.sel(side="Q"), trials, order))


def _favoured(axes: Axes, response: xr.Dataset, epsilon: float, bias: float) -> None:
    style.line(axes, _ORDERS, 3.0 * _ORDERS * epsilon**2, _PRINTED, label="Lemma 2 (claim): 3aε²")
    axes.plot(_ORDERS, np.full(_ORDERS.size, epsilon), **_PURE, label="Lemma 1 (claim): ε")
    style.line(
        axes,
        _ORDERS,
        favoured_rate(_ORDERS, epsilon),
        _EXACT,
        label="exact supremum, attained by\nrandomised response (this project)",
    )
    exact = [float(coin_renyi(bias, bias * math.exp(-epsilon), a)) for a in _ORDERS]
    style.line(axes, _ORDERS, exact, _SMALL, label=f"exact, coins of p = {bias:g}")
    axes.plot(
        _POINTS,
        [first_coin(response, order) for order in _POINTS],
        **style.hollow(_EXACT, markersize=4.6),
        label=words.AUDITED,
    )
    axes.set(xscale="log", yscale="log", xlim=(1.0, 1000.0), ylim=(0.05, 3.0))
    axes.set(xlabel="Rényi order a", ylabel="Rényi divergence of P from Q, for each 1")
    axes.legend(loc="upper left", bbox_to_anchor=(0.28, 0.99))


def _directions(axes: Axes, small: xr.Dataset, epsilon: float, bias: float) -> None:
    numbers = np.unique(np.round(np.linspace(1, 140, 70)).astype(int))
    series = ((math.inf, "∞", _BACK), (4.0, "4", _BACK_TWO))
    for order, name, look in series:
        exact = reverse(numbers, order, bias, epsilon)
        style.line(axes, numbers, exact, look, label=f"reverse, order {name}: exact")
    axes.plot(
        numbers,
        reverse(numbers, np.inf, bias, epsilon, forward=True),
        color=style.ORANGE,
        linestyle="-",
        label="favoured, order ∞: exact",
    )
    axes.axhline(epsilon, **_PURE, label="Lemma 1 (claim): ε")
    trials = small.attrs["trials"]
    over = small.counts.cumsum("outcome").sel(outcome=(NUMBERS - 1).astype(str))
    still = trials - over  # no 1 yet
    for order, _, look in series:
        axes.plot(
            NUMBERS,
            audited_renyi(still.sel(side="Q"), still.sel(side="P"), trials, order),
            **style.hollow(look, markersize=4.6),
        )
    axes.plot([], [], **style.hollow(style.ANY), label=words.AUDITED)
    axes.set(xlim=(0.0, 143.0), ylim=(0.0, 3.2))
    axes.set(xlabel="n, coins shown at most", ylabel="Divergence of the game")
    axes.legend(loc="upper left")


def draw(
    response: xr.Dataset,
    small: xr.Dataset,
    epsilon: EPSILON = 0.5,
    reverse_epsilon: REVERSE_EPSILON = 0.5,
    bias: BIAS = 0.05,
) -> Canvas:
    """Draws the favoured direction against the order (left), both against coins (right)."""
    figure, (favoured, directions) = style.panels(2, width=9.0, height=4.3)
    _favoured(favoured, response, epsilon, bias)
    _directions(directions, small, reverse_epsilon, bias)
    share = float(special.expit(epsilon))
    return style.captioned(
        figure,
        "The 0-favored coin game of Cohen et al. 2022 until the first 1: q ≤ p ≤ e^ε q "
        f"and 1 − q ≤ e^ε (1 − p), ε = {epsilon:g}; k ones cost k times as much. Left: "
        f"points are from games of coins {share:.3g} against {1 - share:.3g} (at most "
        f"{COINS}), by the event that the first coin shows 1. Right: coins of p = "
        f"{bias:g} against p e^(−{reverse_epsilon:g}), by the event that no coin shows "
        "1; the divergence of Q from P grows with n, which is why p has to be random. "
        f"{response.attrs['trials']:,} games a side.",
    )
