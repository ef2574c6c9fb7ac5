"""How often the true top k is released: Cohen et al. 2022, Theorem 6, against peeling.

The k best of m candidates lead all others by the same amount, the exact lead at which a
release is right with probability 1 - beta. Each trial is one release.
"""

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.clnss22_choosing import smooth
from figures.common import words
from jaxsel.families.top_k.baselines import advanced_composition_share
from jaxsel.families.top_k.confident_laws import (
    confident_gap_bound,
    confident_lead,
    confident_settings,
    peeling_lead,
)
from jaxsel.families.top_k.confident_top_k import confident_top_k
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Theorem 6: top-k selection with high confidence"
TRIALS = 20_000
SECONDS = 8

_PEELING = style.own(style.BLACK, "-", "p")
_CONFIDENT = style.own(style.BLUE, "-", "o")
LARGE_CANDIDATES, LARGE_K = 10_000, 100


@dataclasses.dataclass(frozen=True)
class Release:
    """The release of the k best of m candidates, and its total (epsilon, delta)."""

    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta in all")] = 1e-6
    candidates: Annotated[int, whole("m of the left panel", at_least=3)] = 20
    k: Annotated[int, whole("k of the left panel", at_least=1)] = 5

    @property
    def round_epsilon(self) -> float:
        """Epsilon of each of the k exponential mechanisms of peeling."""
        return advanced_composition_share(self.epsilon, self.k, self.delta)

    def scores(self, lead: float) -> np.ndarray:
        """Scores of which the k best lead all others by ``lead``."""
        return np.append(np.full(self.k, lead), np.zeros(self.candidates - self.k))


@functools.cache
def peeled(beta: float, release: Release = Release()) -> float:
    """Exact lead at which peeling picks the k best with probability 1 - beta."""
    return peeling_lead(release.candidates, release.k, release.round_epsilon, beta)


@functools.cache
def confident(beta: float, release: Release = Release()) -> float:
    """Exact lead at which Theorem 6, set up for this beta, fails with probability beta."""
    settings = confident_settings(release.epsilon, release.delta, beta, release.k)
    return confident_lead(release.candidates, settings, beta)


@cells(measures=["counts"], share=Fraction(16))
def peeling(
    beta: Annotated[float, probability("of a failure")] = over(0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4),
    release: Release = Release(),
) -> Trial:
    """Peeling at its exact leads."""
    lead = peeled(beta, release)
    return Trial(
        exponential_top_k(method="one_shot", relation="general"),
        release.scores(lead),
        {"k": release.k, "noise_scale": 2.0 / release.round_epsilon},
        beside={"lead": lead},
    )


@cells(measures=["counts"])
def boosted(
    confident_beta: Annotated[float, probability("of a failure")] = over(0.8, 0.4, 0.2, 0.1),
    release: Release = Release(),
) -> Trial:
    """Theorem 6 at its exact leads; at most 4/beta sets are drawn."""
    lead = confident(confident_beta, release)
    return Trial(
        confident_top_k(events="hits"),
        release.scores(lead),
        {
            "epsilon": release.epsilon,
            "delta": release.delta,
            "beta": confident_beta,
            "k": release.k,
        },
        beside={"lead": lead},
    )


@functools.cache
def certain_gap(release: Release) -> float:
    """A bound that the gap never exceeds, from Theorem 6 with beta < delta.

    The release is set up for delta/10 and beta = delta/10. Sets with a larger gap, and the
    outcome that none is released, are replaced by the true top k.
    """
    tenth = release.delta / 10.0
    settings = confident_settings(release.epsilon, tenth, tenth, release.k)
    return confident_gap_bound(release.candidates, settings)


def _lines(axes: Axes, release: Release, largest: float, knots: int) -> None:
    """Draws all curves against log(1/beta)."""
    x = np.linspace(0.2, largest, 41)
    exact = [peeled(math.exp(-t), release) for t in x]
    style.line(axes, x, exact, _PEELING, label="Peeling, exact")
    few = np.linspace(0.2, largest, knots)
    exact = [confident(math.exp(-t), release) for t in few]
    style.line(axes, x, smooth(few, exact, x), _CONFIDENT, label="Theorem 6 set up for β, exact")
    axes.set_title(f"the best {release.k} of {release.candidates:,} candidates")
    axes.set(xlabel="$\\log(1/\\beta)$", xlim=(0.0, largest))


def failures(found: xr.Dataset, right: str) -> np.ndarray:
    """How often another outcome than ``right`` was released: Int64["betas"]."""
    return found.counts.drop_sel(outcome=right).sum("outcome").values


def _marks(axes: Axes, found: xr.Dataset, right: str, look: dict[str, Any]) -> None:
    """Draws simulated failure probabilities at the exact leads, as horizontal bars."""
    failed, trials = failures(found, right), found.attrs["trials"]
    seen = failed > 0
    low, high = clopper_pearson(failed[seen], trials, 0.95)
    x = -np.log(failed[seen] / trials)
    reach = np.maximum(np.stack([x + np.log(high), -np.log(low) - x]), 0.0)
    axes.errorbar(x, found.lead[seen], xerr=reach, **style.bars(look))


def draw(peeling: xr.Dataset, boosted: xr.Dataset, release: Release = Release()) -> Canvas:
    """Draws few candidates, with simulations (left), and many (right)."""
    many = dataclasses.replace(release, candidates=LARGE_CANDIDATES, k=LARGE_K)
    figure, (small, large) = style.panels(2, height=4.4)
    _lines(small, release, 34.0, 41)
    _marks(small, peeling, f"{release.k} of {release.k} found", _PEELING)
    _marks(small, boosted, f"{release.k} hits", _CONFIDENT)
    small.set_ylabel("Lead at which a release fails with probability β")
    small.set_ylim(0.0)
    small.legend(loc="upper left")
    _lines(large, many, 300.0, 10)
    large.axhline(
        certain_gap(many),
        color=style.ORANGE,
        linestyle="--",
        label="Theorem 6, β < δ: gap never above (claim)",
    )
    large.set_ylim(0.0)
    large.legend(loc="lower right")
    slopes = [2.0 / each.round_epsilon for each in (release, many)]
    return style.captioned(
        figure,
        "The k best of m candidates lead all others by the same amount, and a release "
        f"fails unless it is just them; left m = {release.candidates}, k = "
        f"{release.k}, right m = {many.candidates:,}, k = {many.k}; ε = "
        f"{release.epsilon:g}, δ = {words.power(release.delta)} in all. Peeling: k "
        "exponential mechanisms, pure or advanced composition, whichever is better; its "
        f"lead grows by 2/ε_r = {slopes[0]:.3g} and {slopes[1]:.3g} for each unit of "
        "log(1/β). Theorem 6 (corrected constants) draws up to 4/β sets, each at a sixth "
        "of the budget, and releases the one of smallest noisy gap; for β < δ it may "
        "also replace bad sets. Lines: exact laws. Points: simulated chance of failure "
        f"at the exact lead, 95 % intervals; {peeling.attrs['trials']:,} and "
        f"{boosted.attrs['trials']:,} releases.",
    )
