"""Koskela, Redberg & Wang 2024, Figure 2: profiles of tuning with a geometric K."""

from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common import words
from jaxsel.host.errors import InputError
from jaxsel.language.domains import whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, from_mean
from jaxsel.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.tuning.bounds.profiles import negative_binomial_profile
from sims.cells import cells
from sims.common.worst_rankings import SIDES, TARGETS, GaussianBase, natural_trial, ranked_trial

TITLE = "Koskela, Redberg & Wang 2024, Figure 2: profiles, geometric K"
TRIALS = 4_000_000
SECONDS = 14

MEANS = over(30, 300, 3000)
Mean = Annotated[int, whole("E[K] of the geometric laws", at_least=2)]
LOW, HIGH = 1e-10, 2.0


def geometric(mean: float) -> Repetitions:
    """The geometric law of K with this mean."""
    return from_mean("truncated_negative_binomial", mean, eta=1.0)


@cells(measures=["counts", "frequency"])
def ranked(
    means: Mean = MEANS,
    target: float = over(*TARGETS),
    side: str = over(*SIDES),
    base: GaussianBase = GaussianBase(),
) -> Trial:
    """The released interval, under an adversarial ranking for each target delta."""
    return ranked_trial(base, geometric(means), target, side)


@cells(measures=["counts", "frequency"])
def natural(
    means: Mean = MEANS, side: str = over(*SIDES), base: GaussianBase = GaussianBase()
) -> Trial:
    """The bin of the released number, under the natural ranking."""
    return natural_trial(base, geometric(means), side)


def theorem_claim(base: GaussianBase, law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.2, at the best epsilon_1."""
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    return negative_binomial_profile(shared.profile(base), eta, gamma).delta(epsilon)


def renyi_claim(base: GaussianBase, law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.1, the Renyi bound of Papernot & Steinke."""
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    renyi = shared.guarantee(base).renyi
    curve = negative_binomial_renyi(renyi, eta, gamma, monotonised=False)
    return shared.renyi_delta(curve, epsilon)


def _as_printed(
    axes: Axes, mean: int, at: np.ndarray, theorem: np.ndarray, renyi: np.ndarray
) -> None:
    """Draws the two bounds of the paper, in the same style as in the other panels."""
    for kind, name, curve, height in (
        ("profile", "Theorem 5.2", theorem, 1e-8),
        ("RDP", "RDP, Theorem 5.1", renyi, 1e-4),
    ):
        look = shared.kind(kind, f"{name}, m = {mean}")
        axes.plot(at, curve, **look)
        place = float(np.interp(-np.log(height), -np.log(curve), at))
        axes.text(
            place,
            height,
            f"{mean}",
            color=look["color"],
            fontsize=6.8,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )


def draw(ranked: xr.Dataset, natural: xr.Dataset, base: GaussianBase = GaussianBase()) -> Canvas:
    """Draws the paper's panel, and for each mean a panel with what is true of a Gaussian pair."""
    means = ranked["means"].values.tolist()
    if len(means) != 3:
        raise InputError(f"krw24-2 has a panel for each of 3 means, not {len(means)}")
    figure, (printed, *panels) = style.panels(2, 2, width=7.6, height=6.9, sharex=True, sharey=True)
    at = np.linspace(0.0, 16.8 / base.noise_multiplier, 211)
    for mean, axes in zip(means, panels, strict=True):
        law = geometric(mean)
        theorem, renyi = theorem_claim(base, law, at), renyi_claim(base, law, at)
        _as_printed(printed, mean, at, theorem, renyi)
        axes.plot(at, renyi, **shared.kind("RDP"))
        axes.plot(at, theorem, **shared.kind("profile"))
        shared.exact_curves(axes, base, law, at)
        seen = ranked.sel(means=mean), natural.sel(means=mean)
        audits.audited_points(axes, audits.audited_deltas(*seen, base, law))
        axes.set_title(f"m = 𝔼[K] = {mean}")
    printed.set_title(f"Both bounds as printed, m = {', '.join(map(str, means))}")
    for axes in (printed, *panels):
        axes.set(yscale="log", xlim=(0.0, at[-1]), ylim=(LOW, HIGH))
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
    for axes in panels[1:]:
        axes.set_xlabel("ε")
    for axes in (printed, panels[1]):
        axes.set_ylabel("δ(ε)")
    style.legend_above(figure, panels[0], 2)
    return style.captioned(
        figure,
        f"{shared.told(base, 'geometric (η = 1).')}. Natural "
        "order: larger outputs are better. Adversarial order: at each ε the worst "
        f"ranking that a search found. Audited: {ranked.attrs['trials']:,} trials a "
        "side and ranking, at epsilons with exact δ near 0.1 to 0.001; events planned "
        "on exact laws, each bound at 95 %.",
    )
