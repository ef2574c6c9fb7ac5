"""Zhu & Wang 2022, Theorem 20 and noises of report noisy max: which gap is enough."""

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.families.top_k.gaps import gap_for_success_printed
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims import zw22_gaps as sim
from sims.common import top_k_gap_needs as needs

TITLE = "Zhu & Wang 2022, Theorem 20 and noises of report noisy max: gaps needed"
SECONDS = 60

_BLUE, _ORANGE, _GREEN, _PURPLE = "#0072b2", "#d55e00", "#009e73", "#aa4499"
_TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "gaussian": ("Gaussian test, σ = √(2 log(1.25/δ))/ε", {"color": _PURPLE}),
    "laplace": ("Laplace test, scale 1/ε", {"color": _ORANGE}),
    "aligned": ("Gaussian test, σ = 1/ε (same zCDP as Laplace)", {"color": _BLUE}),
}
_SELECTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "gumbel": ("Gumbel, Proposition 7", {"color": _BLUE, "linestyle": "-"}),
    "exponential": ("Exponential, pure DP", {"color": _GREEN, "linestyle": "-."}),
    "laplace": ("Laplace, pure DP", {"color": _ORANGE, "linestyle": "-"}),
    "laplace-Thm8": (
        "Laplace, Theorem 8 alone", {"color": _ORANGE, "linestyle": "--"}
    ),
    "gaussian-Cor9": ("Gaussian, Corollary 9", {"color": _PURPLE, "linestyle": "--"}),
    "gaussian-profile": (
        "Gaussian, composed profile (this project)",
        {"color": _PURPLE, "linestyle": "-"},
    ),
}  # fmt: skip
_MARKS = {"gaussian": "s", "laplace": "^", "aligned": "o"}
_MANY = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
_FEW = (1, 3, 10, 30, 100, 300, 1000)


class Estimate(NamedTuple):
    """Where the success probability crosses 1 - FAILURE, as a factor of the exact gap.

    Attributes:
      middle: by straight lines between the observed rates.
      low, high: the last factor surely too small, the first one surely large enough, by
        exact intervals at each; -inf and inf if there is none.
    """

    middle: float
    low: float
    high: float


def estimate(
    successes: np.ndarray, trials: int, factors: np.ndarray, confidence: float = 0.95
) -> Estimate:
    """From tallies at increasing factors; every interval has this confidence."""
    wanted = 1.0 - needs.FAILURE
    below, above = clopper_pearson(successes, trials, confidence)
    low = factors[above < wanted].max(initial=-math.inf)
    high = factors[below > wanted].min(initial=math.inf)
    rate = np.maximum.accumulate(successes / trials)
    return Estimate(float(np.interp(wanted, rate, factors)), float(low), float(high))


def leads(name: str, candidates: int, releases) -> np.ndarray:
    """Needed lead at each number of releases; NaN where no noise suffices."""
    found = []
    for count in releases:
        try:
            found.append(needs.selection_lead(name, candidates, count))
        except InputError:
            found.append(math.nan)
    return np.array(found)


def _marks(axes: Axes, record, x, exact, tallies, look: dict[str, Any], marker) -> None:
    trials, factors = int(record.values["trials"]), record.arrays["factors"]
    found = [estimate(row, trials, factors) for row in tallies]
    middle, low, high = np.array(found).T
    # An end that no factor reaches is drawn at the last one tried.
    low, high = np.maximum(low, factors[0]), np.minimum(high, factors[-1])
    exact = np.asarray(exact)
    style.points(
        axes, x, middle * exact, low * exact, high * exact, look | {"marker": marker}
    )


def _one_test(axes: Axes, record) -> None:
    x = np.geomspace(0.1, 1.0, 41)
    tallies = {
        "gaussian": record.arrays["tests_gaussian"][: len(sim.EPSILONS)],
        "aligned": record.arrays["tests_gaussian"][len(sim.EPSILONS) :],
        "laplace": record.arrays["tests_laplace"],
    }
    for kind, (label, look) in _TESTS.items():
        if kind != "aligned":
            printed = [
                gap_for_success_printed(e, needs.DELTA, needs.FAILURE, kind) for e in x
            ]
            style.line(
                axes, x, printed, look | {"linestyle": "--"}, linewidth=1.3,
                label=f"Theorem 20 (claim), {label.split(' ', 1)[0]}",
            )  # fmt: skip
        exact = [needs.one_release_gap(kind, e) for e in x]
        style.line(axes, x, exact, look | {"linestyle": "-"}, label=f"exact: {label}")
        at = [needs.one_release_gap(kind, e) for e in sim.EPSILONS]
        rows = tallies[kind][: len(sim.EPSILONS)]
        _marks(axes, record, sim.EPSILONS, at, rows, look, _MARKS[kind])
    axes.set(xscale="log", yscale="log", xlabel="privacy ε of the test")
    axes.set_ylabel("gap needed, votes")
    axes.set_title(f"one test, δ = {words.power(needs.DELTA)}")
    axes.legend(loc="upper right", fontsize=7.0)
    axes.set_ylim(top=axes.get_ylim()[1] * 6.0)
    _ticks(axes, sim.EPSILONS)


def _many_tests(axes: Axes, record) -> None:
    names = {"gaussian": "Gaussian test", "laplace": "Laplace test"}
    for noise, label in names.items():
        look = _TESTS[noise][1] | {"linestyle": "-"}
        exact = [needs.tested_gap(noise, count) for count in _MANY]
        style.line(axes, _MANY, exact, look, label=f"exact: {label}")
        at = [needs.tested_gap(noise, count) for count in sim.RELEASES]
        rows = record.arrays[f"tests_{noise}"][-len(sim.RELEASES) :]
        _marks(axes, record, sim.RELEASES, at, rows, look, _MARKS[noise])
    axes.set(xscale="log", yscale="log", xlabel="number of tests")
    axes.set_ylabel("gap needed, votes")
    axes.set_title(f"many tests, {_total()} in total")
    axes.legend(loc="upper left", fontsize=7.5)
    _ticks(axes, (1, 10, 100, 1000))


def _selections(axes: Axes, record, candidates: int) -> None:
    place = record.values["candidates"].index(candidates)
    names = record.values["names"]
    for name, (label, look) in _SELECTIONS.items():
        style.line(
            axes, _FEW, leads(name, candidates, _FEW), look, label=label, linewidth=1.3
        )
        if name not in names:
            continue
        at = leads(name, candidates, sim.RELEASES)
        rows = record.arrays["selections"][names.index(name), place]
        _marks(axes, record, sim.RELEASES, at, rows, look, "o")
    axes.set(xscale="log", yscale="log", xlabel="number of selections")
    axes.set_title(f"selecting k among m − 1 gaps, m = {candidates:,}")
    axes.set_ylabel("lead needed over gaps of 0, votes")
    _ticks(axes, (1, 10, 100, 1000))


def _where_curves_end() -> str:
    """Told if a curve does end before the panel does."""
    drawn = [leads(name, m, _FEW) for name in _SELECTIONS for m in sim.CANDIDATES]
    if not np.isnan(drawn).any():
        return ""
    return "; a curve ends where Renyi orders up to 8,000 do not suffice"


def _total() -> str:
    return f"({needs.EPSILON:g}, {words.power(needs.DELTA)})-DP"


def _ticks(axes: Axes, values) -> None:
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xticks([], minor=True)


def draw() -> Canvas:
    """Gaps of one and of many tests; leads of the noises of report noisy max."""
    record = load("zw22-gaps")
    figure = Canvas(figsize=(9.6, 8.4), layout="constrained")
    FigureCanvasAgg(figure)
    (one, many), (small, large) = figure.subplots(2, 2)
    _one_test(one, record)
    _many_tests(many, record)
    for axes, candidates in zip((small, large), sim.CANDIDATES, strict=True):
        _selections(axes, record, candidates)
    small.legend(loc="upper left", fontsize=7.5)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Success is with probability {1.0 - needs.FAILURE:g}. Top: the set is "
        "released (Algorithms 4 and 5); the printed Gaussian noise is known to be (ε, "
        "δ)-DP for ε < 1; in total means all tests together, half of δ for their "
        "failures, best conversion of the Renyi curves. Bottom: one gap exceeds all "
        f"others, {_total()} in total{_where_curves_end()}. Composed profile: Theorem "
        "3.2 of Koskela, Redberg & Wang 2024, sharpened. Curves are exact at the stated "
        f"noise; points with 95 % intervals: from {trials:,} trials at each of "
        f"{len(record.arrays['factors'])} gaps around.",
    )
    return figure
