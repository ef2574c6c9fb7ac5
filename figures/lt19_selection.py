"""Liu & Talwar 2019, section 5.1: private choice among 56 real models of digits.

Each run draws a candidate uniformly and adds Laplace(1/(n epsilon_1)) noise to its validation
accuracy. By Lemma 5.1 the pair (candidate, noisy score) is epsilon_1-DP for the validation
set. What a selector releases of these runs costs the total epsilon that is stated with it.
Scores here are counts of correct labels, whose sensitivity is 1. One trial is one selection.
If nothing is released (Algorithm 1 gave up, or K = 0) the user takes a uniformly random
candidate, which costs nothing.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas
from scipy.interpolate import PchipInterpolator

from figures.common import words
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.private_tuning.noised_bases import random_candidate
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.laws import threshold_pure
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.intervals import mean_interval
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.tuning.bounds.negative_binomial import pure_negative_binomial_epsilon
from jaxsel.tuning.bounds.renyi import tuned_epsilon
from sims.cells import cells
from sims.data import digits_candidates

TITLE = "Liu & Talwar 2019, section 5.1: private choice among 56 real models"
SECONDS = 23
TRIALS = 1_000_000
LOW, HIGH = 0.05, 10.0
_TOTALS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_KNOTS = 41


class Selector(NamedTuple):
    """One way to choose a candidate.

    Attributes:
      mechanism: the mechanism.
      params: epsilon of one run -> the mechanism's parameters.
      total: epsilon of one run -> total epsilon of what is released.
      base_epsilons: epsilons of one run at the simulated points.
    """

    mechanism: Mechanism
    params: Callable[[float], dict[str, Any]]
    total: Callable[[float], float]
    base_epsilons: tuple[float, ...]


@functools.cache
def candidates() -> dict[str, np.ndarray]:
    """Numbers of correct labels on the validation and on the test set, Int64["56"]."""
    record = digits_candidates.load()
    models = record["candidates"]
    test = [round(m["test_accuracy"] * record["n_test"]) for m in models]
    return {
        "validation": np.array([m["validation_correct"] for m in models]),
        "test": np.array(test),
        "n_validation": np.array(record["n_validation"]),
        "n_test": np.array(record["n_test"]),
    }


def _tuning(law: laws.Repetitions, total, base_epsilons) -> Selector:
    return Selector(
        mechanism=private_tuning(random_candidate("laplace"), law.family),
        params=lambda epsilon: {"noise_scale": 1.0 / epsilon, "repetitions": law},
        total=total,
        base_epsilons=base_epsilons,
    )


@dataclasses.dataclass(frozen=True)
class Search:
    """The expected number of runs of every selector, and delta for those that need one."""

    mean_runs: Annotated[int, whole("E[K] of all laws of K", at_least=2)] = 56
    delta: Annotated[float, probability("of the laws that need one")] = 1e-6

    @functools.cache  # noqa: B019  (totals are costly, and asked for again and again)
    def selectors(self) -> dict[str, Selector]:
        """All selectors by name; those with a delta span the same range of total epsilons."""
        runs = self.mean_runs
        return {
            "threshold=0.9": self._threshold(0.9),
            "threshold=0.95": self._threshold(0.95),
            **{f"eta={eta:g}": self._negative_binomial(eta) for eta in (-0.5, 0.0, 1.0, 2.0)},
            "poisson": self._approximate(
                laws.poisson(runs),
                "PS-Thm6-profile",
                (0.0043, 0.008, 0.0155, 0.036, 0.066, 0.124, 0.275, 0.47),
            ),
            "binomial": self._approximate(
                laws.binomial(2 * runs, 0.5),
                "PS-Lem7",
                (0.00366, 0.0069, 0.0131, 0.0304, 0.0573, 0.107, 0.235, 0.427),
            ),
            "naive": _tuning(
                laws.point_mass(runs),
                lambda epsilon: runs * epsilon,  # composition
                tuple(total / runs for total in _TOTALS),
            ),
            "exponential mechanism": Selector(
                mechanism=noisy_max("gumbel"),
                params=lambda epsilon: {"epsilon": epsilon},
                total=lambda epsilon: epsilon,
                base_epsilons=_TOTALS,
            ),
        }

    def _negative_binomial(self, eta: float) -> Selector:
        return _tuning(
            laws.from_mean("truncated_negative_binomial", self.mean_runs, eta=eta),
            lambda epsilon: pure_negative_binomial_epsilon(epsilon, eta),  # Corollary 3
            tuple(total / (2.0 + eta) for total in _TOTALS),
        )

    def _approximate(self, law: laws.Repetitions, theorem: str, grid) -> Selector:
        @functools.cache
        def total(epsilon: float) -> float:
            base = curves.laplace(1.0 / epsilon)
            return tuned_epsilon(base, law, self.delta, theorems=[theorem]).epsilon

        return _tuning(law, total, grid)

    def _threshold(self, accuracy: float) -> Selector:
        count = accuracy * int(candidates()["n_validation"])

        def params(epsilon: float) -> dict[str, Any]:
            return {
                "noise_scale": 1.0 / epsilon,
                "threshold": count,
                # at most mean_runs runs on average
                "stop_probability": 1.0 / self.mean_runs,
            }

        return Selector(
            mechanism=threshold_selection(random_candidate("laplace")),
            params=params,
            total=threshold_pure,  # Theorem 3.1 (b) without a last draw
            base_epsilons=tuple(total / 2.0 for total in _TOTALS),
        )


_SELECTORS = Search().selectors()


@cells(measures=["counts", "frequency"])
def selected(
    selector: str = over(*_SELECTORS),
    point: int = over(*range(len(_TOTALS))),
    search: Search = Search(),
) -> Trial:
    """Selections of a model, at rising budgets."""
    chosen = search.selectors()[selector]
    epsilon = chosen.base_epsilons[point]
    scores = candidates()["validation"].astype(np.float64)
    total = chosen.total(epsilon)
    return Trial(chosen.mechanism, scores, chosen.params(epsilon), beside={"total": total})


_LOOKS = {
    "exponential mechanism": (
        "Exponential mechanism, index only: ε",
        style.own(style.BLACK, "-", "p"),
    ),
    "threshold=0.9": ("LT Algorithm 1, threshold 0.90: 2ε₁", style.own(style.GREY, "--", "<")),
    "threshold=0.95": ("LT Algorithm 1, threshold 0.95: 2ε₁", style.own(style.GREY, "-", ">")),
    "eta=1": ("LT Algorithm 2 = Geometric η = 1: 3ε₁", style.look("Geometric η = 1")),
    "eta=2": ("η = 2: 4ε₁", style.look("η = 2")),
    "eta=0": ("Logarithmic η = 0: 2ε₁", style.look("Logarithmic η = 0")),
    "eta=-0.5": ("η = −0.5: 1.5ε₁", style.look("η = −0.5")),
    "poisson": ("Poisson: (ε, {delta}), Theorem 6", style.look("Poisson")),
    "binomial": ("Binomial: (ε, {delta}), Lemma 7", style.look("Binomial")),
    "naive": ("Naive repetition: {runs}ε₁", style.look("Naive repetition")),
}


def measures() -> dict[str, tuple[np.ndarray, int]]:
    """Accuracy and regret as whole numbers for each outcome, and the divisor of each.

    If nothing is released a uniformly random candidate is taken. The numbers of that outcome
    are therefore sums over candidates, and all others are multiplied by the number of
    candidates.
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


def expected(selector: Selector, base_epsilons) -> dict[str, np.ndarray]:
    """Exact expectation of each measure, from the exact law of the selector."""
    scores = candidates()["validation"].astype(np.float64)
    law = selector.mechanism.law
    assert law is not None
    found = [law(scores, selector.params(e)).probabilities for e in base_epsilons]
    return {
        name: np.array([p @ values[: p.size] / unit for p in found])
        for name, (values, unit) in measures().items()
    }


def lines(selector: Selector, totals) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Total epsilon and exact expectations, densely along a selector's range.

    Args:
      selector: the selector.
      totals: total epsilons at its simulated points. Between them total epsilon is
        interpolated, because approximate bounds are costly, and smooth.
    """
    base = np.asarray(selector.base_epsilons)
    total = PchipInterpolator(np.log(base), np.log(totals))
    dense = np.geomspace(base[0], base[-1], _KNOTS)
    return np.exp(total(np.log(dense))), expected(selector, dense)


def points(found: xr.Dataset, confidence: float = 0.95) -> dict[str, tuple[np.ndarray, ...]]:
    """(mean, low, high) of each measure, at the points of one selector of ``selected``."""
    trials = found.attrs["trials"]
    outcomes = [*map(str, range(candidates()["test"].size)), "none"]
    counts = found.counts.sel(outcome=outcomes).values
    result = {}
    for name, (values, unit) in measures().items():
        total = [int(row @ values) for row in counts]
        squares = [
            sum(int(c) * int(v) ** 2 for c, v in zip(row, values, strict=True)) for row in counts
        ]
        low, high = mean_interval(
            trials, total, squares, confidence, float(values.min()), float(values.max())
        )
        mean = np.array([each / trials for each in total])
        result[name] = (mean / unit, low / unit, high / unit)
    return result


def draw(selected: xr.Dataset, search: Search = Search()) -> Canvas:
    """Draws exact laws as lines and simulated values as points with 95 % intervals."""
    models, trials = candidates(), selected.attrs["trials"]
    runs, delta = search.mean_runs, words.power(search.delta)
    figure, (accuracy, regret) = style.panels(2, width=9.4, height=5.6)
    for name, (label, look) in _LOOKS.items():
        found = selected.sel(selector=name)
        x, exact = lines(search.selectors()[name], found.total)
        seen = points(found)
        for axes, measure in ((accuracy, "test_accuracy"), (regret, "regret")):
            style.line(axes, x, exact[measure], look, label=label.format(runs=runs, delta=delta))
            mean, low, high = seen[measure]
            style.points(axes, found.total, mean, low, high, look)
    best = models["test"][models["validation"].argmax()] / models["n_test"]
    accuracy.axhline(best, color=style.RED, linewidth=1.0, label="Not private: best on validation")
    accuracy.axhline(
        models["test"].mean() / models["n_test"],
        color=style.RED,
        linewidth=1.0,
        linestyle=":",
        label="A random candidate",
    )
    for axes in (accuracy, regret):
        axes.set(xscale="log", xlim=(0.92 * LOW, 1.09 * HIGH))
        axes.set_xlabel("Total privacy budget ε for the validation set")
        style.plain_ticks(axes.xaxis, _TOTALS)
    accuracy.set_ylim(0.72, 0.985)
    accuracy.set_ylabel("Expected test accuracy of the selected model")
    regret.set_yscale("log")
    regret.set(ylim=(1e-4, 0.3), ylabel="Expected shortfall of its validation accuracy")
    style.legend_above(figure, accuracy, 3)
    return style.captioned(
        figure,
        f"{models['test'].size} models of scikit-learn's digits; one run draws a model "
        f"and adds Laplace noise of scale 1/(nε₁) to its accuracy on n = "
        f"{models['n_validation']} validation examples (Lemma 5.1). All laws of K have "
        f"mean {runs}; Algorithm 1 stops with probability 1/{runs} after "
        "each failure, and its thresholds are fixed beforehand. The model and its "
        "noisy score are released; if nothing is, a random model is taken. Pure ε-DP "
        f"unless marked. {words.exact_and_seen(trials, 'selections')}",
    )
