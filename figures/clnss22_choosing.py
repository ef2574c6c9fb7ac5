"""How often the best of m candidates is chosen: Cohen et al. 2022, Theorem 7.

One candidate leads m - 1 others, all equal. Each trial is one selection. The lead is the
exact one with which the best wins with probability 1 - beta, times a factor near 1. All
identical candidates form one group, so m may be 2^128. The rivals in the exponential
mechanism form one candidate, too: the largest of n Gumbel draws is distributed like one draw
plus log n.
"""

import dataclasses
import functools
import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy.interpolate import PchipInterpolator

from figures.common import words
from jaxsel.families.choosing.choosing import choosing_mechanism
from jaxsel.families.choosing.laws import NoisySelection, choosing_settings, needed_lead
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import positive, probability
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Theorem 7: choosing among exponentially many candidates"
TRIALS = 200_000

FACTORS = over(0.9, 0.94, 0.97, 1.0, 1.03, 1.06, 1.1)
BITS = over(4, 16, 32, 64, 128)  # log2 of the number of candidates
_BOUND_BITS = 64  # log2 of the number of candidates where k varies

_KNOTS = (2, 8, 16, 22, 26, 30, 34, 40, 64, 128)
_MANY = 10_000
_BOUNDS = (1, 100, 10_000, 100_000)
_EXPONENTIAL = style.own(style.BLACK, "-", "p")
_ONE = style.own(style.BLUE, "-", "o")
_OTHERS = style.own(style.ORANGE, "-", "s")


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What a selection must satisfy: (epsilon, delta)-DP, and failure probability beta."""

    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta in all")] = 1e-6
    beta: Annotated[float, probability("of a failure")] = 0.1

    def choosing(self, bound: int) -> NoisySelection:
        """Settings of the choosing mechanism that satisfy it, for the bound k."""
        return choosing_settings(self.epsilon, self.delta, self.beta, bound)

    def exponential_lead(self, bits: float, best: float = 1.0) -> float:
        """Exact lead of the ``best`` of 2^bits at which the exponential mechanism meets beta."""
        odds = (2.0**bits - best) / best * (1.0 - self.beta) / self.beta
        return max(2.0 / self.epsilon * math.log(odds), 0.0)


@functools.cache
def chosen_lead(bits: float, bound: int, required: Requirement = Requirement()) -> float:
    """Exact lead at which choosing the best of 2^bits candidates fails with probability beta."""
    settings = required.choosing(bound)
    return needed_lead(1.0, 2.0**bits - 1.0, settings, required.beta)


def _choosing(bits: int, bound: int, factor: float, required: Requirement) -> Trial:
    lead = chosen_lead(bits, bound, required)
    return Trial(
        choosing_mechanism(),
        {"scores": [factor * lead, 0.0], "counts": [1.0, 2.0**bits - 1.0]},
        {**dataclasses.asdict(required), "bound": bound},
        beside={"lead": lead},
    )


def exponential_trial(bits: int, best: float, factor: float, required: Requirement) -> Trial:
    """One exponential mechanism among 2^bits candidates, of which ``best`` lead."""
    shift = 2.0 / required.epsilon * math.log((2.0**bits - best) / best)
    lead = required.exponential_lead(bits, best)
    return Trial(
        noisy_max("gumbel"),
        [factor * lead, shift],
        {"epsilon": required.epsilon},
        beside={"lead": lead},
    )


@cells(measures=["counts"])
def by_candidates(
    bits: int = BITS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """The choosing mechanism for k = 1 and several numbers of candidates."""
    return _choosing(bits, 1, factor, required)


@cells(measures=["counts"])
def by_bound(
    bound: int = over(1, 100, _MANY), factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """The choosing mechanism for several k, the bound on how far all scores together move."""
    return _choosing(_BOUND_BITS, bound, factor, required)


@cells(measures=["counts"])
def exponential(
    bits: int = BITS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """The exponential mechanism for several numbers of candidates."""
    return exponential_trial(bits, 1.0, factor, required)


class Estimate(NamedTuple):
    """Where the success rate crosses 1 - beta, as a factor of the exact lead.

    Attributes:
      middle: the crossing of straight lines between the observed rates.
      low, high: the last factor that is surely too small and the first that is surely large
        enough, by exact intervals at each factor; the ends of the grid if there is none.
    """

    middle: float
    low: float
    high: float


def estimate(
    row: xr.Dataset, beta: float = 0.1, confidence: float = 0.95, won: str = "0"
) -> Estimate:
    """Estimates the crossing from tallies at increasing factors.

    Args:
      row: data set over "factor" and "outcome".
      beta: failure probability.
      confidence: confidence level of every interval.
      won: the outcome that is a success.
    """
    wanted, trials = 1.0 - beta, row.attrs["trials"]
    successes, factors = row.counts.sel(outcome=won).values, row["factor"].values
    below, above = clopper_pearson(successes, trials, confidence)
    low = factors[above < wanted].max(initial=factors[0])
    high = factors[below > wanted].min(initial=factors[-1])
    rate = np.maximum.accumulate(successes / trials)
    return Estimate(float(np.interp(wanted, rate, factors)), float(low), float(high))


def marks(
    axes: Axes, x, found: xr.Dataset, look: dict[str, Any], required: Requirement, won: str = "0"
) -> None:
    """Draws simulated leads at x: the exact leads times the estimated factors."""
    if found.lead.ndim == 1:
        found = found.expand_dims("place")
    name = found.lead.dims[0]
    rows = (found.isel({name: place}) for place in range(found.sizes[name]))
    leads = [estimate(row, required.beta, won=won) for row in rows]
    scale = found.lead.isel(factor=0).values[:, None]
    middle, low, high = (np.array(leads) * scale).T
    style.points(axes, x, middle, low, high, look)


def smooth(knots, values, x) -> np.ndarray:
    """Interpolates exact values at the knots by a curve that does not overshoot."""
    return PchipInterpolator(knots, values)(x)


def _candidates(
    axes: Axes,
    by_candidates: xr.Dataset,
    by_bound: xr.Dataset,
    exponential: xr.Dataset,
    required: Requirement,
) -> None:
    x = np.linspace(_KNOTS[0], _KNOTS[-1], 253)
    plain = [required.exponential_lead(bits) for bits in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for bound, look in ((1, _ONE), (_MANY, _OTHERS)):
        exact = [chosen_lead(bits, bound, required) for bits in _KNOTS]
        style.line(
            axes,
            x,
            smooth(_KNOTS, exact, x),
            look,
            label=f"Choosing mechanism, k = {bound:,}, exact",
        )
        axes.axhline(
            required.choosing(bound).support,
            color=look["color"],
            linestyle=":",
            linewidth=1.2,
            label=f"Loss at most (Theorem 7, claim), k = {bound:,}",
        )
    marks(axes, by_candidates["bits"], by_candidates, _ONE, required)
    # The same cell as in the other panel.
    many = by_bound.isel(bound=by_bound["bound"] == _MANY)
    marks(axes, [_BOUND_BITS], many, _OTHERS, required)
    marks(axes, exponential["bits"], exponential, _EXPONENTIAL, required)
    axes.set(
        xlabel="Candidates $m$, as $\\log_2 m$",
        ylabel=f"Lead at which the best wins with probability {1 - required.beta:g}",
    )
    axes.set(xticks=[0, 16, 32, 48, 64, 80, 96, 112, 128], xlim=(0, 130), ylim=(0, 190))
    axes.legend(loc="upper left", fontsize=7.2)


def _bounds(axes: Axes, by_bound: xr.Dataset, required: Requirement) -> None:
    for bits, place in ((32, (0, (1, 1))), (64, "--"), (128, "-")):
        axes.axhline(
            required.exponential_lead(bits),
            color=style.BLACK,
            linestyle=place,
            linewidth=1.3,
            label=f"Exponential mechanism, $m = 2^{{{bits}}}$",
        )
    x = np.geomspace(_BOUNDS[0], _BOUNDS[-1], 61)
    exact = [chosen_lead(_BOUND_BITS, bound, required) for bound in _BOUNDS]
    look = style.own(style.GREEN, "-", "D")
    style.line(
        axes,
        x,
        smooth(np.log(_BOUNDS), exact, np.log(x)),
        look,
        label=f"Choosing mechanism, $m = 2^{{{_BOUND_BITS}}}$, exact",
    )
    axes.plot(
        _BOUNDS,
        [required.choosing(bound).support for bound in _BOUNDS],
        color=style.GREEN,
        linestyle=":",
        label="Loss at most (Theorem 7, claim), any $m$",
    )
    marks(axes, by_bound["bound"], by_bound, look, required)
    axes.set_xscale("log")
    axes.set(xlabel="Bound $k$ on how far all scores together move", ylim=(0, 190))
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93), fontsize=7.2)


def draw(
    by_candidates: xr.Dataset,
    by_bound: xr.Dataset,
    exponential: xr.Dataset,
    required: Requirement = Requirement(),
) -> Canvas:
    """Draws leads against the number of candidates (left) and against the bound k (right)."""
    figure, (left, right) = style.panels(2, height=4.4)
    _candidates(left, by_candidates, by_bound, exponential, required)
    _bounds(right, by_bound, required)
    return style.captioned(
        figure,
        f"One candidate leads m − 1 equal ones; ε = {required.epsilon:g} in all, δ = "
        f"{words.power(required.delta)} for the choosing mechanism (noise TLap(ε/3, "
        f"δβ/(5k)), up to ⌈4/β⌉ runs of each candidate, β = {required.beta:g}), δ = 0 "
        "for the exponential mechanism. The truncated noise ends, so that beyond some m "
        "more candidates do not matter; before that the exponential mechanism needs "
        "less. Lines: exact laws. Points: simulated, identical candidates as one "
        "group; bars: between the last lead surely too small and the first surely "
        f"enough, on a grid, 95 % each, {by_bound.attrs['trials']:,} selections a "
        "lead.",
    )
