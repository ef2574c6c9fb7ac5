"""Liu & Talwar 2019, section 5.1: private choice among 56 real models of digits."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter
from scipy.interpolate import PchipInterpolator

from figures.common import words
from figures.common.figure import load
from jaxsel.host.intervals import mean_interval
from jaxsel.pictures import style
from sims.lt19_selection import DELTA, MEAN_RUNS, SELECTORS, Selector, candidates

TITLE = "Liu & Talwar 2019, section 5.1: private choice among 56 real models"
SECONDS = 23

LOW, HIGH = 0.05, 10.0
_KNOTS = 41
_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "exponential mechanism": (
        "Exponential mechanism, index only: ε",
        {"color": "#000000", "linestyle": "-", "marker": "p"},
    ),
    "threshold=0.9": (
        "LT Algorithm 1, threshold 0.90: 2ε₁",
        {"color": "#7f7f7f", "linestyle": "--", "marker": "<"},
    ),
    "threshold=0.95": (
        "LT Algorithm 1, threshold 0.95: 2ε₁",
        {"color": "#7f7f7f", "linestyle": "-", "marker": ">"},
    ),
    "eta=1": (
        "LT Algorithm 2 = Geometric η = 1: 3ε₁",
        style.look("Geometric η = 1"),
    ),
    "eta=2": ("η = 2: 4ε₁", style.look("η = 2")),
    "eta=0": ("Logarithmic η = 0: 2ε₁", style.look("Logarithmic η = 0")),
    "eta=-0.5": ("η = −0.5: 1.5ε₁", style.look("η = −0.5")),
    "poisson": (
        f"Poisson: (ε, {words.power(DELTA)}), Theorem 6",
        style.look("Poisson"),
    ),
    "binomial": (
        f"Binomial: (ε, {words.power(DELTA)}), Lemma 7",
        style.look("Binomial"),
    ),
    "naive": (f"Naive repetition: {MEAN_RUNS}ε₁", style.look("Naive repetition")),
}


def measures() -> dict[str, tuple[np.ndarray, int]]:
    """Whole numbers of each outcome, and what to divide by: accuracy, regret.

    With nothing released a uniformly random candidate is taken, so its numbers are
    sums over candidates; all others are multiplied by the number of candidates.
    """
    models = candidates()
    test, validation = models["test"], models["validation"]
    behind = validation.max() - validation
    count = test.size

    def with_fallback(values: np.ndarray) -> np.ndarray:
        return np.append(count * values, values.sum())

    return {
        "test_accuracy": (with_fallback(test), count * int(models["n_test"])),
        "regret": (with_fallback(behind), count * int(models["n_validation"])),
    }


def _expected(selector: Selector, base_epsilons) -> dict[str, np.ndarray]:
    """Exact expectation of each measure, from the exact law of the selector."""
    scores = candidates()["validation"].astype(np.float64)
    law = selector.mechanism.law
    assert law is not None
    found = [law(scores, selector.params(e)).probabilities for e in base_epsilons]
    return {
        name: np.array([p @ values[: p.size] / unit for p in found])
        for name, (values, unit) in measures().items()
    }


def lines(selector: Selector) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Total epsilon and exact expectations, densely."""
    base = np.asarray(selector.base_epsilons)
    knots = np.array([selector.total(e) for e in base])
    # Totals of approximate bounds are costly: smooth between those of the points.
    total = PchipInterpolator(np.log(base), np.log(knots))
    dense = np.geomspace(base[0], base[-1], _KNOTS)
    return np.exp(total(np.log(dense))), _expected(selector, dense)


def points(
    selector: Selector, counts: np.ndarray, base_epsilons, confidence: float = 0.95
) -> dict[str, Any]:
    """Total epsilon, and (mean, low, high, exact) of each measure at the points."""
    exact = _expected(selector, base_epsilons)
    found: dict[str, Any] = {
        "epsilon": np.array([selector.total(e) for e in base_epsilons])
    }
    for name, (values, unit) in measures().items():
        trials = [int(row.sum()) for row in counts]
        total = [int(row @ values) for row in counts]
        squares = [sum(int(c) * int(v) ** 2 for c, v in zip(row, values, strict=True))
                   for row in counts]  # fmt: skip
        low, high = mean_interval(
            trials, total, squares, confidence,
            float(values.min()), float(values.max()),
        )  # fmt: skip
        mean = np.array([s / n for s, n in zip(total, trials, strict=True)])
        found[name] = (mean / unit, low / unit, high / unit, exact[name])
    return found


def _axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.92 * LOW, 1.09 * HIGH)
    axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("Total privacy budget ε for the validation set")


def draw() -> Canvas:
    """Lines: exact laws; points: simulated, with 95 % intervals."""
    record = load("lt19-selection")
    values = record.values
    models = candidates()
    figure, (accuracy, regret) = style.panels(2, width=9.4, height=5.6)
    for name, (label, look) in _LOOKS.items():
        selector = SELECTORS[name]
        row = values["selectors"].index(name)
        x, exact = lines(selector)
        found = points(
            selector, record.arrays["counts"][row], values["base_epsilons"][row]
        )
        for axes, measure in ((accuracy, "test_accuracy"), (regret, "regret")):
            mean, low, high, _ = found[measure]
            style.line(axes, x, exact[measure], look, label=label)
            style.points(axes, found["epsilon"], mean, low, high, look)
    best = models["test"][models["validation"].argmax()] / models["n_test"]
    accuracy.axhline(
        best, color="#b00020", linewidth=1.0, label="Not private: best on validation"
    )
    accuracy.axhline(
        models["test"].mean() / models["n_test"],
        color="#b00020", linewidth=1.0, linestyle=":", label="A random candidate",
    )  # fmt: skip
    for axes in (accuracy, regret):
        _axis(axes)
    accuracy.set_ylim(0.72, 0.985)
    accuracy.set_ylabel("Expected test accuracy of the selected model")
    regret.set_yscale("log")
    regret.set_ylim(1e-4, 0.3)
    regret.set_ylabel("Expected shortfall of its validation accuracy")
    handles, labels = accuracy.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    mean_runs, trials = values["mean_runs"], int(values["trials"])
    style.note(
        figure,
        f"{models['test'].size} models of scikit-learn's digits; one run draws a model "
        f"and adds Laplace noise of scale 1/(nε₁) to its accuracy on n = "
        f"{models['n_validation']} validation examples (Lemma 5.1). All laws of K have "
        f"mean {mean_runs}; Algorithm 1 stops with probability 1/{mean_runs} after "
        "each failure, and its thresholds are fixed beforehand. The model and its "
        "noisy score are released; if nothing is, a random model is taken. Pure ε-DP "
        f"unless marked. Lines: exact laws. Points: {trials:,} selections each, 95 % "
        "intervals.",
    )
    return figure
