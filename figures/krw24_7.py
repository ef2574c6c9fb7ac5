"""Koskela, Redberg & Wang 2024, Figure 7: tuning DP-SGD with large batches."""

import functools

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy.interpolate import PchipInterpolator

from figures.common import krw24_dp_sgd as shared
from figures.common import krw24_dp_sgd_looks as looks
from figures.common import words
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import from_mean
from sims.cells import cells
from sims.common.dp_sgd_runs import RANKINGS, SIDES, DpSgd, tuned_trial

TITLE = "Koskela, Redberg & Wang 2024, Figure 7: tuning DP-SGD, q = 16384/50000"
TRIALS = 4_000_000
SECONDS = 8

RUNS = (DpSgd(16_384 / 50_000, 21.1, 250),)
MEAN = 10  # E[K] in the left panel and in the simulation
STATEMENTS = ("renyi", "profile", "envelope")
MEANS = np.geomspace(2.0, 1e5, 13)
RDP_MEANS = np.geomspace(2.0, 300.0, 9)
SEARCHED = (10.0, 100.0, 1000.0)  # means at which a ranking is searched, which takes long
COMPARED = (10.0, 100.0)  # E[K] that the Renyi bound allows, in the comparison of bounds
TOP = 3.5
LARGEST_EPSILON = 3.5


@cells(measures=["counts"])
def tuned(ranking: str = RANKINGS, side: str = over(*SIDES)) -> Trial:
    """The best of K runs, under each ranking."""
    return tuned_trial(RUNS, f"geometric:mean={MEAN}", ranking, side)


def epsilon(name: str, family: str, mean: float) -> float:
    """Epsilon at delta = 1e-6 by a statement, for K of that family and mean."""
    return shared.epsilon(name, shared.base(RUNS[0]), from_mean(family, mean))


@functools.cache
def epsilons(family: str, name: str) -> np.ndarray:
    """Epsilon at delta = 1e-6 at each of MEANS."""
    return np.array([epsilon(name, family, mean) for mean in MEANS])


@functools.cache
def affordable(name: str, family: str, mean: float) -> float:
    """E[K] that a statement allows at the epsilon that the Renyi bound has for ``mean``."""
    target = epsilon("renyi", family, mean)
    guarantee = shared.base(RUNS[0])
    return shared.mean_at(name, guarantee, family, target)


def gains(name: str, family: str) -> np.ndarray:
    """``affordable`` divided by the mean at each of RDP_MEANS, read off a smooth curve."""
    targets = [epsilon("renyi", family, mean) for mean in RDP_MEANS]
    log_mean = PchipInterpolator(epsilons(family, name), np.log(MEANS))(targets)
    return np.exp(log_mean) / RDP_MEANS


def _profiles(axes: Axes, tuned: xr.Dataset) -> None:
    law = from_mean("geometric", MEAN)
    guarantee = shared.base(RUNS[0])
    at = np.linspace(0.0, LARGEST_EPSILON, 141)
    for name in ("single", *STATEMENTS):
        delta = shared.profile(name, guarantee, law, at)
        axes.plot(at, delta, **looks.LOOKS[name])
    least = shared.adversarial_epsilon(RUNS, "geometric", law.mean)
    looks.simulated_profile(axes, tuned, at, least)
    axes.set(ylabel="δ(ε)", title=f"Geometric, η = 1, m = {law.mean:g}")


def _by_mean(axes: Axes) -> None:
    for name in STATEMENTS:
        values = epsilons("geometric", name)
        looks.mean_curve(axes, MEANS, values, looks.LOOKS[name])
    alone = shared.single_epsilon(shared.base(RUNS[0]))
    axes.axhline(alone, **looks.LOOKS["single"])
    looks.searched_marks(axes, RUNS, "geometric", SEARCHED)
    for mean in COMPARED:
        level = epsilon("renyi", "geometric", mean)
        reached = [affordable(name, "geometric", mean) for name in STATEMENTS[1:]]
        axes.plot([mean, reached[-1]], [level, level], color="black", linewidth=0.8)
        for name, at in zip(STATEMENTS[1:], reached, strict=True):
            axes.plot(at, level, ">", color="black", markersize=4.0)
            axes.annotate(
                f"×{at / mean:.2g}",
                (at, level),
                xytext=(4, -9),
                textcoords="offset points",
                fontsize=8.0,
                color=looks.LOOKS[name]["color"],
            )
    axes.set(xlim=(MEANS[0], MEANS[-1]), ylim=(0.9, TOP))
    looks.mean_axis(axes, (10, 100, 1000, 10_000, 100_000))
    axes.set(ylabel=words.epsilon_at(shared.DELTA), title="Geometric, η = 1")


def _gains(axes: Axes) -> None:
    for family, title, width in (("geometric", "η = 1", 1.6), ("logarithmic", "η = 0", 1.0)):
        for name in STATEMENTS[1:]:
            values = gains(name, family)
            looks.mean_curve(axes, RDP_MEANS, values, looks.LOOKS[name], linewidth=width)
            axes.annotate(
                title,
                (RDP_MEANS[-1], values[-1]),
                xytext=(3, 5 if (family, name) == ("logarithmic", "profile") else -1),
                va="center",
                textcoords="offset points",
                fontsize=8.0,
                color=looks.LOOKS[name]["color"],
                annotation_clip=False,
            )
    axes.set(yscale="log", xlim=(RDP_MEANS[0], RDP_MEANS[-1]), ylim=(1.0, 200.0))
    axes.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    looks.mean_axis(axes, (2, 10, 30, 100, 300))
    axes.set_xlabel("m that the RDP bound affords")
    axes.set_ylabel("m at the same ε, divided by that m")
    axes.set_title("How many more runs at equal privacy")


def draw(tuned: xr.Dataset) -> Canvas:
    """Draws profiles, epsilon against m, and how many times more runs each bound allows."""
    figure, (left, middle, right) = style.panels(3, width=10.8, height=4.6)
    _profiles(left, tuned)
    _by_mean(middle)
    _gains(right)
    names = ("single", *STATEMENTS, "natural", "exact", "audited")
    style.legend_above(figure, looks.keys(names), 3)
    return style.captioned(
        figure,
        "Base: DP-SGD with Poisson sampling, q = 16384/50000, σ = 21.1, 250 steps; "
        "privacy loss distribution and Rényi curve by dp-accounting, rounded upwards. "
        "Arrows: as many times more runs at the ε of the RDP bound with m = 10 and m = "
        "100. Exact: the best of K runs of the pair of laws that the distribution "
        "describes, ranked by the loss or in the worst order found; no bound valid for "
        f"every order lies below it. Audits: {tuned.attrs['trials']:,} trials a side, "
        "each run drawn from that pair, not from a trained network; limits on ε at the "
        "δ shown.",
    )
