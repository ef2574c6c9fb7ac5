"""Liu & Talwar 2019: what selection costs in utility at equal total epsilon.

The input is a synthetic landscape of 100 scores of sensitivity 1. One run of Algorithms 1 and
2 draws a candidate uniformly and adds Laplace noise of scale 1/epsilon_1 to its score. Every
selector has the same total epsilon, for pure DP. One trial is one selection. If Algorithm 1
gives up, a uniformly random candidate is taken.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.private_tuning.noised_bases import random_candidate
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import geometric
from sims.cells import cells

TITLE = "Liu & Talwar 2019: utility of private selection at equal total epsilon"
SECONDS = 12
TRIALS = 500_000


@dataclasses.dataclass(frozen=True)
class Landscape:
    """The scores, and the stopping probability of Algorithm 1."""

    candidates: Annotated[int, whole("how many scores", at_least=10)] = 100
    beta: Annotated[float, probability("of a failure")] = 0.1

    @property
    def tenths(self) -> np.ndarray:
        """The scores in tenths, best first: Int64["candidates"].

        Few scores are good: the share of candidates that lose less than x grows like x^2.
        """
        share = (np.arange(self.candidates) + 0.5) / self.candidates
        return np.round(1000.0 * (1.0 - np.sqrt(share))).astype(np.int64)

    @property
    def scores(self) -> np.ndarray:
        """The scores, best first: Float["candidates"]."""
        return self.tenths / 10.0

    @property
    def stop_probability(self) -> float:
        """Stopping probability for failure probability beta, as corrected in erratum LT-E18."""
        return self.beta / (2.0 * self.candidates)


class Selector(NamedTuple):
    """One way to choose a candidate.

    Attributes:
      mechanism: the mechanism.
      params: (landscape, total epsilon) -> the mechanism's parameters.
      label, look: label and look of its curves in the picture.
    """

    mechanism: Mechanism
    params: Callable[[Landscape, float], dict[str, Any]]
    label: str
    look: dict[str, Any]


def _threshold(behind: float, look: dict[str, Any]) -> Selector:
    def params(land: Landscape, epsilon: float) -> dict[str, Any]:
        return {
            # Theorem 3.1 without a last draw: 2 epsilon_1
            "noise_scale": 2.0 / epsilon,
            "threshold": land.scores[0] - behind,
            "stop_probability": land.stop_probability,
        }

    mechanism = threshold_selection(random_candidate("laplace"))
    label = f"Algorithm 1, threshold q* − {behind:g}: ε₁ = ε/2"
    return Selector(mechanism, params, label, look)


def _stopping(gamma: Callable[[Landscape], float], written: str, look: dict[str, Any]) -> Selector:
    def params(land: Landscape, epsilon: float) -> dict[str, Any]:
        law = geometric(gamma(land))
        return {"noise_scale": 3.0 / epsilon, "repetitions": law}  # 3 epsilon_1

    mechanism = private_tuning(random_candidate("laplace"))
    return Selector(mechanism, params, f"Algorithm 2, γ = {written}: ε₁ = ε/3", look)


SELECTORS = {
    "exponential mechanism": Selector(
        noisy_max("gumbel", method="race"),
        lambda land, epsilon: {"epsilon": epsilon},
        "Exponential mechanism, index only",
        style.own(style.BLACK, "-", "p"),
    ),
    "Algorithm 1, best - 10": _threshold(10.0, style.own(style.BLUE, "-", "<")),
    "Algorithm 1, best - 30": _threshold(30.0, style.own(style.SKY, style.DASHES, ">")),
    "Algorithm 2, beta/2K": _stopping(
        lambda land: land.stop_probability, "β/(2K)", style.own(style.ORANGE, "--", "s")
    ),
    "Algorithm 2, 1/K": _stopping(
        lambda land: 1.0 / land.candidates, "1/K", style.own(style.BROWN, style.DASH_DOTS, "d")
    ),
    "publish all": Selector(
        noisy_max("laplace"),
        # Every score is published at epsilon/K, and the best of them is taken.
        lambda land, epsilon: {"noise_scale": land.candidates / epsilon},
        "Naive composition, all scores published: ε₁ = ε/K",
        style.look("Naive repetition"),
    ),
}


@cells(measures=["counts", "frequency"])
def selected(
    selector: Selector = over(SELECTORS),
    epsilon: Annotated[float, positive("total epsilons")] = over(0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
    land: Landscape = Landscape(),
) -> Trial:
    """Selections among the candidates."""
    return Trial(selector.mechanism, land.scores, selector.params(land, epsilon))


def _losses(land: Landscape, large: float) -> tuple[np.ndarray, np.ndarray]:
    """For each outcome, K times the loss in tenths, and K times whether the loss is large.

    If nothing is released, the last outcome, a uniformly random candidate is taken. The
    factor K keeps its mean a whole number.
    """
    lost = land.tenths.max() - land.tenths
    excess = (lost > 10.0 * large).astype(np.int64)
    found = [np.append(land.candidates * v, v.sum()) for v in (lost, excess)]
    return found[0], found[1]


def lines(
    selector: Selector, epsilons: np.ndarray, land: Landscape = Landscape(), large: float = 15.0
) -> list[np.ndarray]:
    """Exact expected loss, and exact probability of a large loss, at each epsilon."""
    law, found = selector.mechanism.law, []
    assert law is not None
    for values, unit in zip(_losses(land, large), (10.0, 1.0), strict=True):
        probabilities = (law(land.scores, selector.params(land, e)).probabilities for e in epsilons)
        exact = [p @ values[: p.size] for p in probabilities]
        found.append(np.array(exact) / (unit * land.candidates))
    return found


def points(
    found: xr.Dataset, land: Landscape = Landscape(), large: float = 15.0, confidence: float = 0.95
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(mean, low, high) of the loss, and of the probability of a large loss.

    Args:
      found: cells of one selector of ``selected``.
      land: the landscape that was simulated.
      large: the loss above which a loss is large.
      confidence: confidence level of each interval.
    """
    outcomes = [*map(str, range(land.candidates)), "none"]
    counts, trials = found.counts.sel(outcome=outcomes).values, found.attrs["trials"]
    lost, excess = _losses(land, large)
    total, squares = counts @ lost, counts @ lost**2
    scale = 10.0 * land.candidates
    low, high = mean_interval(trials, total, squares, confidence, 0.0, float(lost.max()))
    result = [(total / trials / scale, low / scale, high / scale)]
    # A trial without release counts with the probability of a random candidate, so that the sum
    # is of bounded numbers and not binomial.
    total, squares = counts @ excess, counts @ excess**2
    if np.any(counts[:, -1]):
        limits = mean_interval(trials, total, squares, confidence, 0.0, float(excess.max()))
        low, high = (limit / land.candidates for limit in limits)
    else:
        low, high = clopper_pearson(total // land.candidates, trials, confidence)
    result.append((total / trials / land.candidates, low, high))
    return result


def draw(
    selected: xr.Dataset,
    land: Landscape = Landscape(),
    large: Annotated[float, positive("a loss above this is a failure")] = 15.0,
) -> Canvas:
    """Draws exact laws as lines and simulated values as points with 95 % intervals."""
    epsilons, scores = selected["epsilon"].values, land.scores
    dense = np.geomspace(epsilons[0], epsilons[-1], 33)
    figure, panels = style.panels(2, width=9.4, height=5.0)
    for name in selected["selector"].values:
        selector = SELECTORS[name]
        exact = lines(selector, dense, land, large)
        seen = points(selected.sel(selector=name), land, large)
        for axes, curve, (mean, low, high) in zip(panels, exact, seen, strict=True):
            style.line(axes, dense, curve, selector.look, label=selector.label)
            shown = mean > 0
            ends = low[shown], high[shown]
            style.points(axes, epsilons[shown], mean[shown], *ends, selector.look)
    loss, failure = panels
    for axes in panels:
        axes.set(xscale="log", xlabel="Total ε of what is released", yscale="log")
        axes.set_xlim(0.9 * epsilons[0], 1.1 * epsilons[-1])
        style.plain_ticks(axes.xaxis, [0.1, 0.2, 0.5, 1, 2, 5])
    loss.axhline(
        float(scores.max() - scores.mean()),
        color=style.RED,
        linewidth=1.0,
        linestyle=":",
        label="A random candidate",
    )
    loss.set_ylim(2e-2, 100.0)
    loss.set_ylabel("Expected loss q* − q of the selected candidate")
    failure.set(ylim=(1e-4, 1.5), ylabel=f"Chance of a loss above {large:g}")
    style.legend_above(figure, loss, 3)
    return style.captioned(
        figure,
        f"K = {land.candidates} scores of sensitivity 1 between {scores.min():g} and "
        f"{scores.max():g}, few of them good. A run of Algorithms 1 and 2 draws a "
        "candidate and adds Laplace noise of scale 1/ε₁; the candidate and its noisy "
        "score are released. Algorithm 1 stops with probability β/(2K), "
        f"β = {land.beta:g}, after each failure; if it gives up, a random candidate is "
        "taken. All are pure ε-DP. "
        f"{words.exact_and_seen(selected.attrs['trials'], 'selections')}",
    )
