"""What Selection and Test with one p lose: Cohen et al. 2022, Theorems 1 and 2.

There are three series of epsilon-DP mechanisms, on pairs that are tight in the limit:

  selection: one call, for several tau; a run has three outcomes, the best e^epsilon times
    likelier on the neighbour, the middle one e^epsilon times likelier on the data;
  tests: n Tests that answer top with probability ``quiet`` (e^epsilon quiet on the
    neighbour), then one that is e^epsilon times likelier to answer top on the data; the first
    top ends the interaction;
  calls: c Selections with one p, of ``call_rounds`` potential runs each, gamma = 1.

One trial is one interaction.
"""

import functools
import math
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.pairs import LawPair
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.laws import repeated_selection_law, top_after_bottoms
from jaxsel.families.selection_and_test.program import Select, Tests, program
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Theorems 1 and 2: Selection and Test with one p"
TRIALS = 1_000_000
SECONDS = 14

GAMMAS = {"½": 0.5, "1": 1.0, "2": 2.0}
SIDES = over("first", "second")
EPSILON = Annotated[float, positive("epsilon of one run")]
QUIET = Annotated[float, probability("of top in the first Tests")]
CALL_ROUNDS = Annotated[int, whole("tau of the simulated calls", at_least=1)]
WIDE = Annotated[float, probability("of the middle outcome in the calls series")]

_LOOKS = {
    "½": style.own(style.BLUE, "-", "o"),
    "1": style.own(style.ORANGE, "-", "s"),
    "2": style.own(style.GREEN, "-", "^"),
}
_SHARED = style.own(style.PURPLE, "-", "D")
_SIMULATED = style.own(style.SKY, "-.", "D")
_APART = style.own(style.GREY, "--", "v")
_COUNTS = np.unique(np.geomspace(1, 3000, 60).astype(int))
_MANY = np.arange(1, 13)
_MARKS = {"markersize": 4.6, "markeredgewidth": 1.1}


def candidate(epsilon: float, middle: float = 0.005) -> LawPair:
    """The candidate's law on both sides, best outcome first."""
    return pairs.three_outcome(epsilon, 0.2, middle)


def top_chances(side: str, epsilon: float, quiet: float) -> tuple[float, float]:
    """Probabilities of top in the first Tests and in the last one, on a side."""
    loud = 1.0 / (1.0 + math.exp(epsilon))
    if side == "first":
        return quiet, loud * math.exp(epsilon)
    return quiet * math.exp(epsilon), loud


@cells(measures=["counts"])
def selection(
    gamma: float = over(GAMMAS),
    rounds: Annotated[int, whole("tau", at_least=1)] = over(1, 3, 10, 20, 40, 80),
    side: str = SIDES,
    epsilon: EPSILON = 0.5,
) -> Trial:
    """One Selection, whose outcomes are the best, the middle and the rest, and none."""
    return Trial(
        program((Select(),)),
        ([getattr(candidate(epsilon), side)],),
        {"gamma": gamma, "rounds": (rounds,)},
    )


@cells(measures=["counts"])
def noisy_tests(
    gamma: float = over(GAMMAS),
    bottoms: Annotated[int, whole("n", at_least=1)] = over(1, 3, 10, 20, 40, 80),
    side: str = SIDES,
    epsilon: EPSILON = 0.5,
    quiet: QUIET = 0.2,
) -> Trial:
    """Tallies the tops among the first Tests and in the last one."""
    return Trial(
        program((Tests(1), Tests(1)), limit=1),
        top_chances(side, epsilon, quiet),
        {"gamma": gamma, "rounds": (bottoms, 1)},
    )


@cells(measures=["counts"])
def calls(
    selections: Annotated[int, whole("c", at_least=1)] = over(1, 2, 3),
    side: str = SIDES,
    epsilon: EPSILON = 0.5,
    call_rounds: CALL_ROUNDS = 30,
    wide: WIDE = 0.1,
) -> Trial:
    """The outcome of each of c Selections."""
    return Trial(
        program((Select(),) * selections),
        ([getattr(candidate(epsilon, wide), side)],) * selections,
        {"gamma": 1.0, "rounds": (call_rounds,) * selections},
    )


def selection_loss(rounds: int, gamma: float, epsilon: float = 0.5) -> float:
    """Exact epsilon of one Selection on the pair that is simulated."""
    sides = candidate(epsilon)
    laws = [repeated_selection_law(side, rounds, gamma, 1) for side in sides]
    return exact_epsilon(*laws)


def answers_loss(bottoms: int, gamma: float, epsilon: float = 0.5, quiet: float = 0.2) -> float:
    """Exact privacy loss of n bottoms and then a top, on the pair that is simulated."""
    sides = (top_chances(side, epsilon, quiet) for side in ("first", "second"))
    first, second = (top_after_bottoms(gamma, bottoms, low, 1, loud) for low, loud in sides)
    return first - second


@functools.cache
def calls_loss(calls: int, middle: float, rounds: int, epsilon: float = 0.5) -> float:
    """Exact epsilon of c Selections with one p, gamma = 1."""
    sides = candidate(epsilon, middle)
    laws = [repeated_selection_law(side, rounds, 1.0, calls) for side in sides]
    return exact_epsilon(*laws)


def audited(counts: xr.DataArray, event: str, confidence: float = 0.95) -> float:
    """The audited lower bound on epsilon from one event.

    Args:
      counts: over "side" and "outcome".
      event: the outcome that is the event.
      confidence: confidence level of the bound.
    """
    first, second = (counts.sel(side=side).values for side in ("first", "second"))
    events = counts["outcome"].values[None] == event
    return epsilon_lower_bound(first, second, 0.0, confidence, events).lower


def _series(axes: Axes, found: xr.Dataset, loss, event: str, epsilon: float) -> None:
    """Draws one series against its numbers, the axis between "gamma" and "side"."""
    for name in found["gamma"].values:
        row, gamma, look = found.counts.sel(gamma=name), GAMMAS[name], _LOOKS[name]
        total = interaction_epsilon(epsilon, gamma, 1)
        axes.axhline(total, color=look["color"], linewidth=0.9, linestyle=":")
        style.line(
            axes, _COUNTS, [loss(int(n), gamma) for n in _COUNTS], look, label=f"exact, γ = {name}"
        )
        lower = [audited(each, event) for each in row]
        axes.plot(row[row.dims[0]], lower, **style.hollow(look, **_MARKS))
        axes.annotate(
            f"(2 + γ)ε = {total:g}",
            (3000, total),
            textcoords="offset points",
            xytext=(0, 2.5),
            fontsize=7.2,
            color=look["color"],
            ha="right",
        )
    axes.set(xscale="log", xlim=(0.8, 3300))
    style.plain_ticks(axes.xaxis)
    axes.set_ylim(0.0, 2.2)


def _per_call(axes: Axes, found: xr.Dataset, epsilon: float, call_rounds: int, wide: float) -> None:
    shared = [interaction_epsilon(epsilon, 1.0, int(c)) / c for c in _MANY]
    axes.plot(
        _MANY,
        np.full(_MANY.size, 3.0 * epsilon),
        **style.law(_APART),
        label="c runs of LT Algorithm 2: 3ε each",
    )
    style.line(axes, _MANY, shared, _SHARED, label="one p: (2c + γ)ε/c, γ = 1 (claim)")
    rare = [calls_loss(int(c), 1e-7, 3000, epsilon) / c for c in _MANY]
    axes.plot(
        _MANY,
        rare,
        linestyle="none",
        marker=".",
        color="black",
        markersize=4.0,
        label="exact, a rare middle outcome, τ = 3000",
    )
    exact = [calls_loss(int(c), wide, call_rounds, epsilon) / c for c in _MANY]
    label = f"exact, simulated candidate, τ = {call_rounds}"
    style.line(axes, _MANY, exact, _SIMULATED, label=label)
    numbers = found["selections"].values
    lower = [audited(found.counts.sel(selections=c), " ".join("1" * c)) / c for c in numbers]
    axes.plot(numbers, lower, **style.hollow(_SIMULATED, **_MARKS))
    axes.axhline(2.0 * epsilon, color=style.PURPLE, linewidth=0.8, linestyle=":")
    axes.annotate(
        "2ε",
        (12.2, 2.0 * epsilon),
        textcoords="offset points",
        xytext=(0, -9),
        fontsize=7.2,
        color=style.PURPLE,
        ha="right",
    )
    axes.set(ylim=(0.4, 2.2), xlim=(0.5, 12.4), xticks=[1, 2, 4, 6, 8, 10, 12])


def draw(
    selection: xr.Dataset,
    noisy_tests: xr.Dataset,
    calls: xr.Dataset,
    epsilon: EPSILON = 0.5,
    quiet: QUIET = 0.2,
    call_rounds: CALL_ROUNDS = 30,
    wide: WIDE = 0.1,
) -> Canvas:
    """Draws exact and claimed epsilons as lines and audited lower bounds as marks."""
    figure, (left, middle, right) = style.panels(3, width=10.6, height=4.0)
    losses = functools.partial(selection_loss, epsilon=epsilon)
    _series(left, selection, losses, "1", epsilon)
    losses = functools.partial(answers_loss, epsilon=epsilon, quiet=quiet)
    _series(middle, noisy_tests, losses, "0 1", epsilon)
    _per_call(right, calls, epsilon, call_rounds, wide)
    left.plot([], [], **style.hollow(style.ANY), label=words.AUDITED)
    left.set(xlabel="τ, potential runs of one Selection", ylabel="ε of the release")
    middle.set_xlabel("n, Tests that answered ⊥ before the ⊤")
    middle.set_ylabel("ε of the transcript ⊥ⁿ⊤")
    right.set(xlabel="c, Selections of one interaction", ylabel="ε for each Selection")
    left.legend(loc="lower right")
    right.legend(loc="upper right", fontsize=7.4)
    three, rare = candidate(epsilon), 1.0 / (1.0 + math.exp(epsilon))
    return style.captioned(
        figure,
        f"Cohen et al. 2022, Algorithm 1, on ε-DP mechanisms with ε = {epsilon:g}. "
        "Left: one candidate, best outcome "
        f"{three.first[0]:.3g} against {three.second[0]:.3g}, middle "
        f"{three.first[1]:.2g} against {three.second[1]:.2g}; dotted: Theorem 1. "
        f"Middle: Tests with chance {quiet:g} against "
        f"{quiet * math.exp(epsilon):.2g} of ⊤, then one with "
        f"{rare * math.exp(epsilon):.2g} "
        f"against {rare:.2g}; dotted: Theorem 2. Right: what sharing p saves over "
        "independent private selections, each of which costs 3ε at worst. "
        f"{selection.attrs['trials']:,} "
        "interactions a side and point; audits weaken where the event becomes rare.",
    )
