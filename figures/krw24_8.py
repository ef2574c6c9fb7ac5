"""Koskela, Redberg & Wang 2024, Figure 8: tuning the noise of DP-SGD."""

import functools

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from figures.common import krw24_dp_sgd as shared
from figures.common import krw24_dp_sgd_looks as looks
from figures.common import words
from jaxsel.accounting.single_run.curves import BaseGuarantee, from_profile
from jaxsel.accounting.single_run.dominating import pair_delta
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import from_mean, geometric
from jaxsel.tuning.bounds.heterogeneous import (
    CandidateThresholds,
    candidate_thresholds,
    largest_steps,
)
from sims.cells import cells
from sims.common.dp_sgd_runs import RANKINGS, SIDES, DpSgd, tuned_trial

TITLE = "Koskela, Redberg & Wang 2024, Figure 8: tuning the noise of DP-SGD"
TRIALS = 4_000_000
SECONDS = 10

RATE, NOISE_MULTIPLIERS = 0.01, (2.0, 3.0, 4.0)  # sampling rate and noise of the candidates
_RUN_EPSILON, _RUN_DELTA = 1.5, 1e-6
LARGEST_MEAN = 300.0
MEAN = 30  # E[K] in the left panel and in the simulation
STATEMENTS = ("profile", "envelope")
MEANS = np.geomspace(2.0, LARGEST_MEAN, 8)
SEARCHED = (30.0, LARGEST_MEAN)  # means at which a ranking is searched, which takes long
LARGEST_EPSILON = 4.0
_PATTERNS = ("-", "--", "-.")
_CORNER = style.own(style.PURPLE, (0, (7, 1.5)), linewidth=1.6)
_BAND = {"color": style.BLUE, "linewidth": 5.0, "alpha": 0.25}


def _look(name: str, pattern: str) -> dict:
    return looks.LOOKS[name] | {"linestyle": pattern, "linewidth": 1.2}


def thresholds(mean: float) -> CandidateThresholds:
    """The thresholds that the candidates must meet if K is geometric with this mean."""
    return candidate_thresholds(_RUN_EPSILON, _RUN_DELTA, geometric(1.0 / mean))


@functools.cache
def candidates() -> tuple[DpSgd, ...]:
    """The candidates, with as many steps as the thresholds at LARGEST_MEAN allow.

    They meet the thresholds of every smaller mean, too.
    """
    limits = thresholds(LARGEST_MEAN)
    return tuple(
        DpSgd(RATE, noise, largest_steps(limits, RATE, noise)) for noise in NOISE_MULTIPLIERS
    )


@cells(measures=["counts"])
def tuned(ranking: str = RANKINGS, side: str = over(*SIDES)) -> Trial:
    """The best of K runs, under each ranking."""
    return tuned_trial(candidates(), f"geometric:mean={MEAN}", ranking, side)


@functools.cache
def mixture(runs: tuple[DpSgd, ...]) -> BaseGuarantee:
    """The guarantee of a run that first draws one of the candidates, with any probabilities.

    The candidate is part of what the run returns. The divergence of the run is therefore the
    mean of the candidates' divergences, which is at most their maximum, in either direction.
    Hence the pairs made from the maximum dominate the run.
    """
    pairs = [shared.base(each).pairs for each in runs]

    def worst(direction: int, epsilon: np.ndarray) -> np.ndarray:
        deltas = [pair_delta(build()[direction], epsilon) for build in pairs if build is not None]
        return np.max(deltas, axis=0)

    return from_profile("candidates", functools.partial(worst, 0), functools.partial(worst, 1))


def epsilons(runs: tuple[DpSgd, ...], mean: float) -> dict[str, np.ndarray]:
    """Epsilon at delta = 1e-6 by Corollary 6.2, and by other statements.

    K is geometric with that mean. The other statements have one epsilon for each candidate,
    and then one for any mixture of them.
    """
    law = from_mean("geometric", mean)
    bases = [*(shared.base(each) for each in runs), mixture(runs)]
    found = {
        name: np.array([shared.epsilon(name, each, law) for each in bases]) for name in STATEMENTS
    }
    return {"corollary": np.array(thresholds(mean).tuned.epsilon)} | found


def _profiles(axes: Axes, tuned: xr.Dataset) -> None:
    law, runs = from_mean("geometric", MEAN), candidates()
    at = np.linspace(0.0, LARGEST_EPSILON, 161)
    for run, pattern in zip(runs, _PATTERNS, strict=True):
        for name in ("single", *STATEMENTS):
            delta = shared.profile(name, shared.base(run), law, at)
            axes.plot(at, delta, **_look(name, pattern))
    least = shared.adversarial_epsilon(runs, "geometric", law.mean)
    looks.simulated_profile(axes, tuned, at, least)
    point = thresholds(law.mean).tuned
    axes.plot(*point, "*", color=_CORNER["color"], markersize=8.0, zorder=4)
    axes.set(ylabel="δ(ε)", title=f"Geometric, η = 1, m = {law.mean:g}")


def _by_mean(axes: Axes, runs: tuple[DpSgd, ...], rows: list[dict]) -> None:
    for name in STATEMENTS:
        for place, pattern in enumerate(_PATTERNS):
            values = [row[name][place] for row in rows]
            looks.mean_curve(axes, MEANS, values, _look(name, pattern))
    looks.mean_curve(axes, MEANS, [row["corollary"] for row in rows], _CORNER)
    looks.mean_curve(axes, MEANS, [row["envelope"][-1] for row in rows], _BAND)
    looks.searched_marks(axes, runs, "geometric", SEARCHED)
    axes.set(xlim=(MEANS[0], MEANS[-1]), ylim=(1.5, 4.0))
    looks.mean_axis(axes, (2, 10, 30, 100, 300))
    axes.set(ylabel=words.epsilon_at(shared.DELTA), title="Geometric, η = 1")


def _gaps(axes: Axes, rows: list[dict]) -> None:
    corollary = np.array([row["corollary"] for row in rows])
    for place, pattern in enumerate(_PATTERNS):
        gap = corollary - [row["profile"][place] for row in rows]
        looks.mean_curve(axes, MEANS, gap, _look("profile", pattern))
    axes.set(xlim=(MEANS[0], MEANS[-1]), ylim=(0.0, 0.03))
    axes.set_ylabel("ε of Corollary 6.2 − ε of Theorem 5.2")
    looks.mean_axis(axes, (2, 10, 30, 100, 300))
    axes.set_title("Corollary 6.2 against Theorem 5.2")


def _keys(runs: tuple[DpSgd, ...]) -> list[Line2D]:
    first = [
        Line2D([], [], color=looks.LOOKS[name]["color"], label=label)
        for name, label in (
            ("single", "one run, not tuned"),
            ("profile", "Theorem 5.2, one candidate (claim)"),
            ("envelope", "envelope bound, one candidate (this project)"),
        )
    ]
    band = Line2D([], [], label="envelope bound, any mixture of candidates", **_BAND)
    corollary = Line2D([], [], label="Corollary 6.2 (claim)", **_CORNER, marker="*", markersize=7.0)
    patterns = [
        Line2D(
            [],
            [],
            color=style.DARK,
            linestyle=pattern,
            linewidth=1.2,
            label=f"σ = {run.noise_multiplier:g}, {run.steps} steps",
        )
        for run, pattern in zip(runs, _PATTERNS, strict=True)
    ]
    exact = looks.keys(("natural", "exact", "audited"))
    return [*first, band, corollary, *patterns, *exact]


def draw(tuned: xr.Dataset) -> Canvas:
    """Draws profiles at m = 30, epsilon against m, and the gap between the two statements."""
    runs = candidates()
    rows = [epsilons(runs, mean) for mean in MEANS]
    figure, (left, middle, right) = style.panels(3, width=10.8, height=5.0)
    _profiles(left, tuned)
    _by_mean(middle, runs, rows)
    _gaps(right, rows)
    style.legend_above(figure, _keys(runs), 3)
    return style.captioned(
        figure,
        "Candidates: DP-SGD with Poisson sampling, q = 0.01, and as many steps as the "
        "two thresholds of a (1.5, 10⁻⁶)-DP Gaussian mechanism allow for "
        f"m = {LARGEST_MEAN:g}, hence for every smaller m. Mixture: a run draws its "
        "candidate; the bound is for the pointwise largest profile. Exact and audited: "
        "the best of K runs, each of a uniformly drawn candidate, drawn from the "
        "dominating pair of its privacy loss distribution, not from a trained network, "
        f"and released with the candidate. Audits: {tuned.attrs['trials']:,} trials a "
        "side, limits on ε at the δ shown.",
    )
