"""Liu & Talwar 2019, section 5.2: the number of clusters and the rank, chosen privately."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common.figure import load
from jaxsel.families.percentile.pipeline_laws import most_calls, pipeline
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.pictures import style
from sims.lt19_adaptive_choice import (
    BINS,
    CHOOSERS,
    ITERATIONS,
    MEAN_RUNS,
    SIZES,
    problems,
)

TITLE = "Liu & Talwar 2019, section 5.2: the number of clusters and the rank, privately"
SECONDS = 60

_LOOKS = {
    "algorithm-2": (
        f"Algorithm 2, {MEAN_RUNS} runs on average: 3ε₁",
        style.look("Geometric η = 1"),
    ),
    "composition": (
        f"Best of {SIZES} runs, composed: {SIZES}ε₁",
        style.look("Naive repetition"),
    ),
}
_NAMES = {
    "clusters": "Number of clusters (k-means)",
    "components": "Rank (principal components)",
}


def _log_runs_of_theorem_4_7(total: float) -> float:
    """log10 of the runs that Theorem 4.7 asks for, epsilon_1 = epsilon_0 = total/3."""
    third = min(1.0, total / 3.0)
    settings = pipeline(
        base_epsilon=third, slack=third, beta=0.1, thresholds=10, candidates=SIZES
    )
    return float(np.log10(most_calls(settings)))


def draw() -> Canvas:
    """Above: the true loss of what was released; below: how often the size is right."""
    record = load("lt19-adaptive-choice")
    totals = np.array(record.values["totals"])
    figure = Canvas(figsize=(7.2, 6.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(2, 2, sharex=True).ravel())
    # Losses as whole numbers of half bins: the middles of the bins.
    halves = 2 * np.arange(BINS) + 1
    for column, problem in enumerate(problems()):
        counts = record.arrays[problem.name]
        upper, lower = axes[column], axes[2 + column]
        for row, chooser in enumerate(CHOOSERS):
            label, look = _LOOKS[chooser.name]
            seen = counts[row]
            trials = seen.sum(axis=(1, 2))
            losses = seen.sum(axis=1)
            total, squares = losses @ halves, losses @ halves**2
            mean = total / trials / (2 * BINS)
            low, high = mean_interval(trials, total, squares, 0.95, 0.0, 2.0 * BINS)
            low, high = low / (2 * BINS), high / (2 * BINS)
            style.line(upper, totals, mean, look, label=label)
            style.points(upper, totals, mean, low, high, look)
            right = seen[:, problem.truth - 1].sum(axis=1)
            low, high = clopper_pearson(right, trials, 0.95)
            style.line(lower, totals, right / trials, look)
            style.points(lower, totals, right / trials, low, high, look)
        upper.set_title(f"{_NAMES[problem.name]}, truly {problem.truth}")
        upper.set_ylim(bottom=0)
        lower.set_ylim(0, 1.03)
        lower.axhline(1.0 / SIZES, color="#777777", linewidth=0.8, linestyle=":")
        lower.annotate(
            "size at random", (totals[-1], 1.0 / SIZES), xytext=(0, 3), ha="right",
            textcoords="offset points", fontsize=7.5, color="#555555",
        )  # fmt: skip
        for panel in (upper, lower):
            panel.set_xscale("log")
            panel.xaxis.set_ticks(totals)
            panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            panel.xaxis.set_minor_formatter(NullFormatter())
        lower.set_xlabel("Total ε of the choice and of what is released")
    axes[0].set_ylabel("Mean loss of the release")
    axes[2].set_ylabel("Chance of the right size")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"A run takes a random size from 1 to {SIZES} and is ε₁-DP for one replaced "
        f"point: {ITERATIONS} steps of Lloyd's algorithm on noisy counts and sums "
        "(Blum et al. 2005; 600 points), or eigenvectors of a noisy covariance matrix "
        "(1,000 points), 0.8 ε₁, and a noisy score, 0.2 ε₁. Synthetic data. Loss: mean "
        f"capped squared distance, or mean squared length missed. {trials:,} choices a "
        "point, 95 % intervals. Theorem 4.7, which the paper names here, would ask for "
        f"about 10^{_log_runs_of_theorem_4_7(3.0):.0f} runs at ε = 3; Algorithm 2 "
        "keeps its aim.",
    )
    return figure
