"""Errors of query release: Theorem 5 of Cohen et al. 2022, as corrected and sharper.

One trial is one release; its largest error is counted above levels, in units of the cap.
The repaired Gaussian mechanism's median error comes from its data-independent calibration.
"""

import dataclasses
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.query_release.laws import (
    QueryRelease,
    corrected_gaussian_cap,
    gaussian_largest_error,
    query_release,
    released_error,
)
from jaxsel.families.query_release.query_release import query_release_mechanism
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.statistics import histogram
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells, computed

TITLE = "Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded"
TRIALS = 100_000
SECONDS = 17

LEVELS = np.linspace(0.05, 1.0, 20)  # levels of the error, as shares of its cap
REPAIRED = (1, 3, 10, 30, 100, 300, 1000, 3000)  # numbers of queries
CAP_DELTA = Annotated[float, probability("delta of the right panel")]

_LOOKS = {
    "corrected": style.own(style.ORANGE, "-", "s"),
    "sharp": style.own(style.BLUE, "-", "o"),
    "plain": style.own(style.BLACK, "--", "^"),
    "repaired": style.own(style.PURPLE, "none", "D"),
    "rate": style.own(style.GREY, ":", "."),
}
_LABELS = {
    "corrected": "Theorem 5: inner ε/3",
    "sharp": "Theorem 5, sharper: inner ε",
    "plain": "Gaussian mechanism, corrected",
}
_QUERIES = np.unique(np.geomspace(1, 1e6, 37).astype(int))
_LOWEST = 1e-6


@dataclasses.dataclass(frozen=True)
class Release:
    """The number of queries, and the (epsilon, delta) of all their answers together."""

    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta of the left panel")] = 0.05
    queries: Annotated[int, whole("of the left panel", at_least=1)] = 10

    def settings(self, name: str) -> QueryRelease:
        """Settings of Theorem 5's algorithm, which is "corrected" or "sharp"."""
        return query_release(self.queries, self.epsilon, self.delta, sharp=name == "sharp")

    def cap(self, name: str) -> float:
        """Largest possible error, also of the "plain" Gaussian mechanism."""
        if name == "plain":
            return corrected_gaussian_cap(self.queries, self.epsilon, self.delta)
        return self.settings(name).cap

    def tails(self, name: str, x: np.ndarray) -> np.ndarray:
        """Exact P[released error > x]."""
        if name != "plain":
            return released_error(self.settings(name), x)[0]
        multiplier = gaussian_noise_multiplier(self.epsilon, self.delta / 2.0)
        scale, cap = np.sqrt(self.queries) * multiplier, self.cap(name)
        above = gaussian_largest_error(x, self.queries, scale)
        # beyond the cap the true answers are released
        beyond = float(gaussian_largest_error(cap, self.queries, scale))
        return np.where(x < cap, above - beyond, 0.0)


def _error(outcome):
    return outcome.error


@cells()
def errors(name: str = over("corrected", "sharp"), release: Release = Release()) -> Trial:
    """Counts of errors between levels, of which the last is the cap."""
    levels = LEVELS * release.cap(name)
    return Trial(
        query_release_mechanism(method="largest", event="correction"),
        np.zeros(release.queries),
        {"epsilon": release.epsilon, "delta": release.delta, "sharp": name == "sharp"},
        statistic=histogram(_error, levels),
        beside={"level": levels},
    )


@computed
def repaired(
    *,
    trials: int,
    seed: int,
    progress: bool | None,
    epsilon: float = 1.0,
    cap_delta: CAP_DELTA = 1e-6,
) -> xr.Dataset:
    """Caps of the sharper algorithm whose worst answers are repaired, by number of queries."""
    del trials, seed, progress
    found = [
        query_release(k, epsilon, cap_delta, sharp=True, inner="repaired").cap for k in REPAIRED
    ]
    return xr.Dataset({"cap": ("queries", found)}, {"queries": list(REPAIRED)})


def points(row: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """How often the error was above each level, with exact binomial limits.

    Args:
      row: the data set of one algorithm.
      confidence: confidence level of every interval.
    """
    trials = row.attrs["trials"]
    above = trials - np.cumsum(row.tally.values)[:-1]
    low, high = clopper_pearson(above, trials, confidence)
    values = {"above": above, "mean_above": above / trials, "low": low, "high": high}
    return xr.Dataset(
        {name: ("level", value) for name, value in values.items()}, {"level": row.level.values}
    )


def caps(epsilon: float = 1.0, cap_delta: float = 1e-6) -> dict[str, np.ndarray]:
    """Largest possible errors by number of queries, and the paper's rate."""
    low = -np.log(cap_delta)
    found = {
        name: np.array([Release(epsilon, cap_delta, int(k)).cap(name) for k in _QUERIES])
        for name in _LABELS
    }
    return found | {"rate": (np.sqrt(_QUERIES * low) + low) / epsilon}


def _left(axes: Axes, errors: xr.Dataset, release: Release) -> None:
    for name, label in _LABELS.items():
        end, look = release.cap(name), _LOOKS[name]
        x = np.linspace(0.0, end * (1.0 - 1e-9), 161)
        above = release.tails(name, x)
        style.line(axes, x, np.maximum(above, 1e-12), look, label=label)
        color = look["color"]
        axes.axvline(end, color=color, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.text(end, 1.6, f"{end:.0f}", color=color, fontsize=7, ha="center", va="bottom")
        if name in errors["name"]:
            found = points(errors.sel(name=name))
            seen = found.isel(level=(found.above > 0) & (found.mean_above < 0.999))
            ends = seen.low, seen.high
            style.points(axes, seen["level"], seen.mean_above, *ends, look)
    axes.set(yscale="log", ylim=(_LOWEST, 1.5), xlim=(0.0, None))
    axes.set(xlabel="x", ylabel="P[largest released error > x]")


def _right(axes: Axes, repaired: xr.Dataset, epsilon: float, cap_delta: float) -> None:
    labels = _LABELS | {"rate": "(√(k log 1/δ) + log 1/δ)/ε"}
    for name, values in caps(epsilon, cap_delta).items():
        style.line(axes, _QUERIES, values, _LOOKS[name], label=labels[name])
    axes.plot(
        repaired["queries"],
        repaired.cap,
        **_LOOKS["repaired"],
        markerfacecolor="white",
        label="sharper, worst answers repaired",
    )
    axes.set(xscale="log", yscale="log", xlim=(0.8, 1.3e6))
    axes.set(xlabel="Number of queries k", ylabel="Largest possible error")


def draw(
    errors: xr.Dataset,
    repaired: xr.Dataset,
    release: Release = Release(),
    cap_delta: CAP_DELTA = 1e-6,
) -> Canvas:
    """Draws the law of the error (left), and its cap against the number of queries (right)."""
    figure, (left, right) = style.panels(2, width=8.6, height=3.9)
    _left(left, errors, release)
    _right(right, repaired, release.epsilon, cap_delta)
    left.set_title(f"k = {release.queries}, ε = {release.epsilon:g}, δ = {release.delta:g}", pad=14)
    right.set_title(f"ε = {release.epsilon:g}, δ = {words.power(cap_delta)}", pad=14)
    left.legend(loc="upper right")
    right.legend(loc="upper left", fontsize=7)
    return style.captioned(
        figure,
        "The inner mechanism of the paper (Ghazi, Kumar & Manurangsi 2021) is replaced "
        "by the Gaussian mechanism. Lines: exact laws; vertical lines: caps, never "
        f"exceeded. Points: {errors.attrs['trials']:,} simulated releases with 95 % "
        "limits. Inner ε instead of ε/3: the error has one law on all data, so selecting "
        "by it costs no ε. Corrected Gaussian: one vector, and the true answers with "
        "chance (δ/2)/(1 + e^ε), where it errs most.",
    )
