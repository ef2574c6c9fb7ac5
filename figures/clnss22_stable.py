"""How often a leading group is selected: Cohen et al. 2022, Theorem 8.

k candidates share the best score and lead all others, which are equal. Each trial is one
selection. The lead is the exact one with which one of the k wins with probability 1 - beta,
times a factor near 1. Stable selection is compared with a noisy test of the gap between the
best and the second score (for k = 1 alone), and with the exponential mechanism.
"""

import dataclasses
import functools

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.clnss22_choosing import FACTORS, Requirement, exponential_trial, marks, smooth
from figures.common import words
from jaxsel.families.choosing.laws import needed_lead, stable_settings
from jaxsel.families.choosing.stable_selection import stable_selection
from jaxsel.families.top_k.gaps import gap_for_success
from jaxsel.families.top_k.stable import propose_test_release
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Theorem 8: a lead that is enough, whatever m"
TRIALS = 200_000
SECONDS = 9

BITS = over(4, 16, 32, 64, 128, 192)  # log2 of the number of candidates
RANKS = over(1, 10, 100, 1000)
_RANK_BITS = 192  # log2 of the number of candidates where k varies

_KNOTS = (2, 8, 16, 22, 28, 34, 44, 192)
_KNOT_RANKS = (1, 100, 10_000)
_STABLE = style.own(style.BLUE, "-", "o")
_PRINTED = style.own(style.ORANGE, "--")
_EXPONENTIAL = style.own(style.BLACK, "-", "p")
_TESTED = style.own(style.GREEN, "-.", "^")
_SHARES = {
    6: ("Stable selection, noise at ε/6, exact", _STABLE),
    3: ("Stable selection, noise at ε/3 as printed: not (ε, δ)-DP", _PRINTED),
}


@functools.cache
def stable_lead(
    bits: float, rank: int, required: Requirement = Requirement(), shares: int = 6
) -> float:
    """Exact lead at which one of the ``rank`` best is selected except with probability beta."""
    settings = stable_settings(required.epsilon, required.delta, required.beta, rank, shares=shares)
    return needed_lead(float(rank), 2.0**bits - rank, settings, required.beta)


def gap_test_lead(required: Requirement = Requirement()) -> float:
    """Exact lead at which a test of the gap passes with probability 1 - beta.

    Half the gap has sensitivity 1, and is at most 1 wherever the best candidate may change.
    It is tested with Laplace noise of scale 1/epsilon.
    """
    return 2.0 * gap_for_success(
        1.0 / required.epsilon, required.delta, required.beta, "laplace", quantile=True
    )


def _stable(bits: int, rank: int, factor: float, required: Requirement) -> Trial:
    lead = stable_lead(bits, rank, required)
    return Trial(
        stable_selection(),
        {"scores": [factor * lead, 0.0], "counts": [float(rank), 2.0**bits - rank]},
        {**dataclasses.asdict(required), "rank": rank},
        beside={"lead": lead},
    )


@cells(measures=["counts"])
def stable_by_candidates(
    bits: int = BITS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """Stable selection for k = 1 and several numbers of candidates."""
    return _stable(bits, 1, factor, required)


@cells(measures=["counts"])
def stable_by_rank(
    rank: int = RANKS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """Stable selection for several k."""
    return _stable(_RANK_BITS, rank, factor, required)


@cells(measures=["counts"])
def exponential_by_candidates(
    bits: int = BITS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """The exponential mechanism for k = 1 and several numbers of candidates."""
    return exponential_trial(bits, 1.0, factor, required)


@cells(measures=["counts"])
def exponential_by_rank(
    rank: int = RANKS, factor: float = FACTORS, required: Requirement = Requirement()
) -> Trial:
    """The exponential mechanism for several k."""
    return exponential_trial(_RANK_BITS, float(rank), factor, required)


@cells(measures=["counts"])
def gap_test(factor: float = FACTORS, required: Requirement = Requirement()) -> Trial:
    """The test of the gap, which applies to k = 1 alone."""
    lead = gap_test_lead(required)
    return Trial(
        propose_test_release("laplace", threshold="quantile"),
        [factor * lead / 2.0, 0.0],
        {"k": 1, "noise_scale": 1.0 / required.epsilon, "delta_t": required.delta},
        beside={"lead": lead},
    )


def _candidates(
    axes: Axes,
    stable: xr.Dataset,
    exponential: xr.Dataset,
    gap_test: xr.Dataset,
    required: Requirement,
) -> None:
    x = np.linspace(_KNOTS[0], _KNOTS[-1], 381)
    plain = [required.exponential_lead(bits) for bits in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for shares, (label, look) in _SHARES.items():
        exact = [stable_lead(bits, 1, required, shares) for bits in _KNOTS]
        style.line(axes, x, smooth(_KNOTS, exact, x), look, label=label)
    axes.axhline(
        stable_settings(required.epsilon, required.delta, required.beta, 1).support,
        color=style.BLUE,
        linestyle=":",
        linewidth=1.2,
        label="Gap that is enough (Theorem 8)",
    )
    level = np.full(x.size, gap_test_lead(required))
    style.line(axes, x, level, _TESTED, label="Test of the gap, exact")
    marks(axes, stable["bits"], stable, _STABLE, required)
    marks(axes, exponential["bits"], exponential, _EXPONENTIAL, required)
    marks(axes, [128], gap_test, _TESTED, required, won="1 of 1 found")
    axes.set(
        xlabel="Candidates $m$, as $\\log_2 m$ (one leads: $k = 1$)",
        ylabel=f"Lead at which a best one wins with probability {1 - required.beta:g}",
    )
    axes.set(xticks=[0, 32, 64, 96, 128, 160, 192], xlim=(0, 196), ylim=(0, 330))
    axes.legend(loc="upper left", fontsize=7.2)


def _ranks(
    axes: Axes,
    stable: xr.Dataset,
    exponential: xr.Dataset,
    gap_test: xr.Dataset,
    required: Requirement,
) -> None:
    x = np.geomspace(_KNOT_RANKS[0], _KNOT_RANKS[-1], 61)
    plain = [required.exponential_lead(_RANK_BITS, rank) for rank in x]
    style.line(axes, x, plain, _EXPONENTIAL, label="Exponential mechanism, exact")
    for shares, (label, look) in _SHARES.items():
        exact = [stable_lead(_RANK_BITS, k, required, shares) for k in _KNOT_RANKS]
        line = smooth(np.log(_KNOT_RANKS), exact, np.log(x))
        style.line(axes, x, line, look, label=label)
    axes.plot(
        _KNOT_RANKS,
        [
            stable_settings(required.epsilon, required.delta, required.beta, k).support
            for k in _KNOT_RANKS
        ],
        color=style.BLUE,
        linestyle=":",
        label="Gap that is enough (Theorem 8)",
    )
    marks(axes, stable["rank"], stable, _STABLE, required)
    marks(axes, exponential["rank"], exponential, _EXPONENTIAL, required)
    marks(axes, [1], gap_test, _TESTED, required, won="1 of 1 found")
    lead = gap_test_lead(required)
    axes.annotate(
        "test of the gap: $k = 1$ alone",
        (1, lead),
        (1.35, lead - 4.0),
        fontsize=7.2,
        color=style.GREEN,
    )
    axes.set_xscale("log")
    axes.set_xlabel(f"Candidates $k$ that share the lead, $m = 2^{{{_RANK_BITS}}}$")
    axes.set_ylim(0, 330)
    axes.legend(loc="upper right", fontsize=7.2, bbox_to_anchor=(1.0, 0.75))


def draw(
    stable_by_candidates: xr.Dataset,
    stable_by_rank: xr.Dataset,
    exponential_by_candidates: xr.Dataset,
    exponential_by_rank: xr.Dataset,
    gap_test: xr.Dataset,
    required: Requirement = Requirement(),
) -> Canvas:
    """Draws leads against the number of candidates (left) and against k (right)."""
    figure, (left, right) = style.panels(2, height=4.6)
    _candidates(left, stable_by_candidates, exponential_by_candidates, gap_test, required)
    _ranks(right, stable_by_rank, exponential_by_rank, gap_test, required)
    return style.captioned(
        figure,
        f"k candidates share the best score and lead m − k equal ones; ε = "
        f"{required.epsilon:g} and δ = {words.power(required.delta)} in all, β = "
        f"{required.beta:g}. Stable selection clips "
        "scores at the (k+1)-th largest and adds truncated Laplace noise; a lead may "
        "shrink by 2, hence rate ε/6 (at ε/3, as printed, it is not (ε, δ)-DP: "
        "CL-Thm8-index-printed). The test releases the best if half its lead over the "
        "second passes with Laplace noise 1/ε, and needs k = 1. Exponential mechanism: "
        "δ = 0. Lines: exact laws. Points: simulated; bars: between the last lead "
        "surely too small and the first surely enough, on a grid, 95 % each, "
        f"{gap_test.attrs['trials']:,} selections a lead.",
    )
