"""How often a gap is enough for private top-k selection (Zhu & Wang 2022).

The figure shows Theorem 20 and the noises of report noisy max. Each trial is one test of
Algorithm 4 or 5, or one selection by report noisy max. Its gap is the exact answer of
``top_k_gap_needs`` times a factor near 1, and successes are counted.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.families.top_k.gaps import gap_for_success_printed
from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.stable import propose_test_release
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.statistics import sums
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells
from sims.common import top_k_gap_needs as exact
from sims.common.top_k_gap_needs import SELECTIONS, Needs

TITLE = "Zhu & Wang 2022, Theorem 20 and noises of report noisy max: gaps needed"
TRIALS = 50_000
SECONDS = 26

FACTORS = over(0.96, 0.98, 0.99, 1.0, 1.01, 1.02, 1.04)
RELEASES = over(1, 10, 100)

_TESTS = {
    "gaussian": ("Gaussian test, σ = √(2 log(1.25/δ))/ε", {"color": style.PURPLE}),
    "laplace": ("Laplace test, scale 1/ε", {"color": style.ORANGE}),
    "aligned": ("Gaussian test, σ = 1/ε (same zCDP as Laplace)", {"color": style.BLUE}),
}
_SELECTIONS = {
    "gumbel": ("Gumbel, Proposition 7", style.own(style.BLUE, "-")),
    "exponential": ("Exponential, pure DP", style.own(style.GREEN, "-.")),
    "laplace": ("Laplace, pure DP", style.own(style.ORANGE, "-")),
    "laplace-Thm8": ("Laplace, Theorem 8 alone", style.own(style.ORANGE, "--")),
    "gaussian-Cor9": ("Gaussian, Corollary 9", style.own(style.PURPLE, "--")),
    "gaussian-profile": ("Gaussian, composed profile (this project)", style.own(style.PURPLE, "-")),
}
_MARKS = {"gaussian": "s", "laplace": "^", "aligned": "o"}
_MANY = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
_FEW = (1, 3, 10, 30, 100, 300, 1000)


def _passed(release):
    return release.passed


def _first(size):
    return size == 1


def _test(noise: str, gap: float, factor: float, scale: float, delta_t: float) -> Trial:
    return Trial(
        propose_test_release(noise),
        np.array([gap * factor, 0.0]),
        {"k": 1, "noise_scale": scale, "delta_t": delta_t},
        statistic=sums(_passed),
        beside={"gap": gap},
    )


@cells()
def one_test(
    kind: str = over("gaussian", "aligned", "laplace"),
    test_epsilon: Annotated[float, positive("of one test")] = over(0.1, 0.2, 0.5, 1.0),
    factor: float = FACTORS,
    needs: Needs = Needs(),
) -> Trial:
    """Counts how often one test passes."""
    gap = exact.one_release_gap(kind, test_epsilon, needs)
    scale = exact.one_release_scale(kind, test_epsilon, needs)
    noise = "laplace" if kind == "laplace" else "gaussian"
    return _test(noise, gap, factor, scale, needs.delta)


@cells()
def many_tests(
    noise: str = over("gaussian", "laplace"),
    releases: Annotated[int, whole("in all", at_least=1)] = RELEASES,
    factor: float = FACTORS,
    needs: Needs = Needs(),
) -> Trial:
    """Counts how often each of many tests passes."""
    gap = exact.gap_of_test(noise, releases, needs)
    scale = exact.scale_of_test(noise, releases, needs)
    return _test(noise, gap, factor, scale, needs.delta / 2.0 / releases)


@cells()
def selected(
    name: str = over(*SELECTIONS),
    candidates: Annotated[int, whole("m", at_least=3)] = over(20, 10_000),
    releases: Annotated[int, whole("in all", at_least=1)] = RELEASES,
    factor: float = FACTORS,
    needs: Needs = Needs(),
) -> Trial:
    """Counts how often the leading gap is selected."""
    gap = exact.selection_lead(name, candidates, releases, needs)
    return Trial(
        largest_gap(SELECTIONS[name]),
        {"head": [factor * gap], "candidates": candidates},
        {"noise_scale": exact.selection_scale(name, candidates, releases, needs)},
        statistic=sums(_first),
        beside={"gap": gap},
    )


class Estimate(NamedTuple):
    """Where the success probability crosses the wanted one, as a factor of the exact gap.

    Attributes:
      middle: the crossing of straight lines between the observed rates.
      low, high: the last factor that is surely too small and the first that is surely large
        enough, by exact intervals at each factor; -inf and inf if there is none.
    """

    middle: float
    low: float
    high: float


def estimate(
    successes: xr.DataArray, trials: int, failure: float = 0.05, confidence: float = 0.95
) -> Estimate:
    """Estimates the crossing from tallies at increasing factors, the axis "factor".

    Args:
      successes: Int["factor"], numbers of successes.
      trials: number of trials at each factor.
      failure: the wanted failure probability.
      confidence: confidence level of each interval.
    """
    factors = successes["factor"].values
    wanted = 1.0 - failure
    below, above = clopper_pearson(successes.values, trials, confidence)
    low = factors[above < wanted].max(initial=-math.inf)
    high = factors[below > wanted].min(initial=math.inf)
    rate = np.maximum.accumulate(successes.values / trials)
    return Estimate(float(np.interp(wanted, rate, factors)), float(low), float(high))


def leads(name: str, candidates: int, releases, needs: Needs = Needs()) -> np.ndarray:
    """The lead that is needed at each number of releases; NaN if no noise suffices."""
    found = []
    for count in releases:
        try:
            found.append(exact.selection_lead(name, candidates, count, needs))
        except InputError:
            found.append(math.nan)
    return np.array(found)


def _marks(axes: Axes, row: xr.Dataset, failure: float, look: dict[str, Any], marker: str) -> None:
    """Draws the estimated gaps of a data set, over its axis beside "factor"."""
    gap, factors = row.gap.isel(factor=0), row["factor"].values
    found = [estimate(each, row.attrs["trials"], failure) for each in row.tally]
    middle, low, high = np.array(found).T * gap.values
    # An end that no factor reaches is drawn at the last one tried.
    low, high = np.maximum(low, factors[0] * gap), np.minimum(high, factors[-1] * gap)
    x = row[gap.dims[0]]
    style.points(axes, x, middle, low, high, look | {"marker": marker})


def _one_test(axes: Axes, found: xr.Dataset, needs: Needs) -> None:
    x = np.geomspace(0.1, 1.0, 41)
    for kind, (label, look) in _TESTS.items():
        if kind != "aligned":
            printed = [gap_for_success_printed(e, needs.delta, needs.failure, kind) for e in x]
            style.line(
                axes,
                x,
                printed,
                look | {"linestyle": "--"},
                linewidth=1.3,
                label=f"Theorem 20 (claim), {label.split(' ', 1)[0]}",
            )
        gap = [exact.one_release_gap(kind, e, needs) for e in x]
        style.line(axes, x, gap, look | {"linestyle": "-"}, label=f"exact: {label}")
        _marks(axes, found.sel(kind=kind), needs.failure, look, _MARKS[kind])
    axes.set(xscale="log", yscale="log", xlabel="privacy ε of the test")
    axes.set_ylabel("gap needed, votes")
    axes.set_title(f"one test, δ = {words.power(needs.delta)}")
    axes.legend(loc="upper right", fontsize=7.0)
    axes.set_ylim(top=axes.get_ylim()[1] * 6.0)
    style.plain_ticks(axes.xaxis, found["test_epsilon"].values)


def _many_tests(axes: Axes, found: xr.Dataset, needs: Needs) -> None:
    for noise in found["noise"].values:
        look = _TESTS[noise][1] | {"linestyle": "-"}
        gap = [exact.gap_of_test(noise, count, needs) for count in _MANY]
        style.line(axes, _MANY, gap, look, label=f"exact: {noise.capitalize()} test")
        _marks(axes, found.sel(noise=noise), needs.failure, look, _MARKS[noise])
    axes.set(xscale="log", yscale="log", xlabel="number of tests")
    axes.set(ylabel="gap needed, votes", title=f"many tests, {_total(needs)} in total")
    axes.legend(loc="upper left", fontsize=7.5)
    style.plain_ticks(axes.xaxis, (1, 10, 100, 1000))


def _selections(axes: Axes, found: xr.Dataset, needs: Needs) -> None:
    candidates = int(found["candidates"])
    for name, (label, look) in _SELECTIONS.items():
        lead = leads(name, candidates, _FEW, needs)
        style.line(axes, _FEW, lead, look, label=label, linewidth=1.3)
        if name in found["name"]:
            _marks(axes, found.sel(name=name), needs.failure, look, "o")
    axes.set(xscale="log", yscale="log", xlabel="number of selections")
    axes.set_title(f"selecting k among m − 1 gaps, m = {candidates:,}")
    axes.set_ylabel("lead needed over gaps of 0, votes")
    style.plain_ticks(axes.xaxis, (1, 10, 100, 1000))


def _where_curves_end(candidates, needs: Needs = Needs()) -> str:
    """The caption's words on curves that end before the panel does; "" if none does."""
    drawn = [leads(name, m, _FEW, needs) for name in _SELECTIONS for m in candidates]
    if not np.isnan(drawn).any():
        return ""
    return "; a curve ends where Renyi orders up to 8,000 do not suffice"


def _total(needs: Needs) -> str:
    return f"({needs.epsilon:g}, {words.power(needs.delta)})-DP"


def draw(
    one_test: xr.Dataset, many_tests: xr.Dataset, selected: xr.Dataset, needs: Needs = Needs()
) -> Canvas:
    """Draws gaps of one and of many tests, and leads of the noises of report noisy max."""
    sizes = selected["candidates"].values.tolist()
    if len(sizes) != 2:
        raise InputError("the picture has a panel for each of two numbers of candidates")
    figure, (one, many, *below) = style.panels(2, 2, width=9.6, height=8.4)
    _one_test(one, one_test, needs)
    _many_tests(many, many_tests, needs)
    for axes, candidates in zip(below, sizes, strict=True):
        _selections(axes, selected.sel(candidates=candidates), needs)
    below[0].legend(loc="upper left", fontsize=7.5)
    return style.captioned(
        figure,
        f"Success is with probability {1.0 - needs.failure:g}. Top: the set is "
        "released (Algorithms 4 and 5); the printed Gaussian noise is known to be (ε, "
        "δ)-DP for ε < 1; in total means all tests together, half of δ for their "
        "failures, best conversion of the Renyi curves. Bottom: one gap exceeds all "
        f"others, {_total(needs)} in total{_where_curves_end(sizes, needs)}. "
        "Composed profile: Theorem 3.2 of Koskela, Redberg & Wang 2024, sharpened. "
        "Curves are exact at the stated noise; points with 95 % intervals: from "
        f"{one_test.attrs['trials']:,} trials at each of {one_test.sizes['factor']} gaps "
        "around.",
    )
