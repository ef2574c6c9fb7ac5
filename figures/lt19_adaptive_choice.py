"""Liu & Talwar 2019, section 5.2: the number of clusters and the rank, chosen privately.

One run takes a random size, runs private k-means (Lloyd on noisy counts and sums) or private
principal components (a noisy covariance matrix), and scores the result with noise; it is
epsilon_1-DP. Two ways to choose are compared at equal total epsilon: Algorithm 2 at epsilon_1
= epsilon/3, and the best of as many runs as there are sizes, which costs the sum of their
epsilons. One trial is one choice. It is tallied by the chosen size and, for the measurement
alone, by the true loss of what was released with it.
"""

import dataclasses
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from jaxsel import Performance
from jaxsel import repetitions as laws
from jaxsel.families.percentile.pipeline_laws import most_calls, pipeline
from jaxsel.families.private_tuning.bases import Base
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.score_selection.analysis_settings import composed_epsilon, selected_epsilon
from jaxsel.families.score_selection.private_analyses import private_clusters, private_components
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Liu & Talwar 2019, section 5.2: the number of clusters and the rank, privately"
SECONDS = 29
TRIALS = 400
BINS = 100
ITERATIONS = 3
CLUSTERS, RANK = 3, 2  # the true sizes


class Problem(NamedTuple):
    """One intermediate step with a size to choose.

    Attributes:
      base: the private algorithm that one run executes.
      points: Float[np.ndarray, "n d"].
      params: parameters of the base, beside those that are common to both problems.
      truth: the right size.
      title: description for the picture.
    """

    base: Base
    points: np.ndarray
    params: dict[str, Any]
    truth: int
    title: str


def blobs() -> np.ndarray:
    """600 points in the square [-1, 1]^2, three round clusters."""
    generator = np.random.default_rng(2019)
    centres = np.array([[-0.6, -0.5], [0.6, -0.5], [0.0, 0.6]])
    points = centres[np.arange(600) % CLUSTERS] + generator.normal(0.0, 0.1, (600, 2))
    return np.clip(points, -1.0, 1.0)


def flat() -> np.ndarray:
    """1,000 points of length at most 1 near a plane in six dimensions."""
    generator = np.random.default_rng(52)
    axes = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    spread = np.array([0.55, 0.45, 0.06, 0.06, 0.06, 0.06])
    points = generator.normal(size=(1000, 6)) * spread @ axes.T
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))


PROBLEMS = {
    "clusters": Problem(
        private_clusters(),
        blobs(),
        {"iterations": ITERATIONS},
        CLUSTERS,
        "Number of clusters (k-means)",
    ),
    "components": Problem(private_components(), flat(), {}, RANK, "Rank (principal components)"),
}
_LOOKS = {
    "algorithm-2": ("Algorithm 2, {runs} runs on average: 3ε₁", style.look("Geometric η = 1")),
    "composition": ("Best of {sizes} runs, composed: {sizes}ε₁", style.look("Naive repetition")),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """The sizes to choose from, the mean number of runs, and the price of size in the score."""

    sizes: Annotated[int, whole("how many there are to choose from", at_least=3)] = 6
    mean_runs: Annotated[int, whole("of Algorithm 2, on average", at_least=1)] = 12
    price: Annotated[float, positive("of a cluster or a component, in the score")] = 0.02


# A block takes as long as its slowest trial, so blocks are small.
@cells(measures=["counts"], performance=Performance(block_size=32))
def chosen(
    problem: Problem = over(PROBLEMS),
    chooser: str = over("algorithm-2", "composition"),
    total: Annotated[float, positive("total epsilons")] = over(0.3, 1.0, 3.0, 10.0, 30.0),
    choice: Choice = Choice(),
) -> Trial:
    """The chosen size, and the loss of what the run with it releases."""
    if chooser == "algorithm-2":
        share, law = selected_epsilon(1.0), laws.geometric(1.0 / choice.mean_runs)
    else:
        share = composed_epsilon(1.0, choice.sizes)
        law = laws.point_mass(choice.sizes)
    params = {
        "sizes": choice.sizes,
        "price": choice.price,
        "bins": BINS,
        "run_epsilon": total / share,
        "repetitions": law,
    }
    mechanism = private_tuning(problem.base, law.family, method="literal")
    return Trial(mechanism, problem.points, problem.params | params)


def _log_runs_of_theorem_4_7(total: float, sizes: int) -> float:
    """log10 of the number of runs in Theorem 4.7, at epsilon_1 = epsilon_0 = total/3."""
    third = min(1.0, total / 3.0)
    settings = pipeline(base_epsilon=third, slack=third, beta=0.1, thresholds=10, candidates=sizes)
    return float(np.log10(most_calls(settings)))


def draw(chosen: xr.Dataset, choice: Choice = Choice()) -> Canvas:
    """Draws the true loss of the release (above), and how often the size is right (below)."""
    totals, trials = chosen["total"].values, chosen.attrs["trials"]
    sizes, runs = choice.sizes, choice.mean_runs
    figure, axes = style.panels(2, 2, width=7.2, height=6.2, sharex=True)
    # Losses are taken at the middles of their bins, in units of half a bin.
    halves = 2 * np.arange(BINS) + 1
    outcomes = [
        f"size {size} loss {loss}/{BINS}" for size in range(1, sizes + 1) for loss in range(BINS)
    ]
    for column, name in enumerate(chosen["problem"].values):
        problem = PROBLEMS[name]
        upper, lower = axes[column], axes[2 + column]
        for chooser, (label, look) in _LOOKS.items():
            seen = chosen.counts.sel(problem=name, chooser=chooser, outcome=outcomes)
            seen = seen.values.reshape(totals.size, sizes, BINS)
            losses = seen.sum(axis=1)
            total, squares = losses @ halves, losses @ halves**2
            mean = total / trials / (2 * BINS)
            low, high = mean_interval(trials, total, squares, 0.95, 0.0, 2.0 * BINS)
            low, high = low / (2 * BINS), high / (2 * BINS)
            style.line(upper, totals, mean, look, label=label.format(runs=runs, sizes=sizes))
            style.points(upper, totals, mean, low, high, look)
            right = seen[:, problem.truth - 1].sum(axis=1)
            low, high = clopper_pearson(right, trials, 0.95)
            style.line(lower, totals, right / trials, look)
            style.points(lower, totals, right / trials, low, high, look)
        upper.set(title=f"{problem.title}, truly {problem.truth}", ylim=(0, None))
        lower.set_ylim(0, 1.03)
        lower.axhline(1.0 / sizes, color="#777777", linewidth=0.8, linestyle=":")
        lower.annotate(
            "size at random",
            (totals[-1], 1.0 / sizes),
            xytext=(0, 3),
            ha="right",
            textcoords="offset points",
            fontsize=7.5,
            color=style.DIM,
        )
        for panel in (upper, lower):
            panel.set(xscale="log", xticks=totals)
            style.plain_ticks(panel.xaxis)
        lower.set_xlabel("Total ε of the choice and of what is released")
    axes[0].set_ylabel("Mean loss of the release")
    axes[2].set_ylabel("Chance of the right size")
    style.legend_above(figure, axes[0], 2)
    return style.captioned(
        figure,
        f"A run takes a random size from 1 to {sizes} and is ε₁-DP for one replaced "
        f"point: {ITERATIONS} steps of Lloyd's algorithm on noisy counts and sums "
        "(Blum et al. 2005; 600 points), or eigenvectors of a noisy covariance matrix "
        "(1,000 points), 0.8 ε₁, and a noisy score, 0.2 ε₁. Synthetic data. Loss: mean "
        f"capped squared distance, or mean squared length missed. {trials:,} choices a "
        "point, 95 % intervals. Theorem 4.7, which the paper names here, would ask for "
        f"about 10^{_log_runs_of_theorem_4_7(3.0, sizes):.0f} runs at ε = 3; Algorithm 2 "
        "keeps its aim.",
    )
