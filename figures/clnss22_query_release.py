"""Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.query_release.laws import (
    corrected_gaussian_cap,
    gaussian_largest_error,
    query_release,
    released_error,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.clnss22_query_release import CAP_DELTA, DELTA, EPSILON, QUERIES

TITLE = (
    "Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded"
)
SECONDS = 17
_LOOKS: dict[str, dict[str, Any]] = {
    "corrected": {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    "sharp": {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    "plain": {"color": "#000000", "linestyle": "--", "marker": "^"},
    "repaired": {"color": "#aa4499", "linestyle": "none", "marker": "D"},
    "rate": {"color": "#7f7f7f", "linestyle": ":", "marker": "."},
}
_LABELS = {
    "corrected": "Theorem 5: inner ε/3",
    "sharp": "Theorem 5, sharper: inner ε",
    "plain": "Gaussian mechanism, corrected",
}
_QUERIES = np.unique(np.geomspace(1, 1e6, 37).astype(int))
_LOWEST = 1e-6


def tails(sharp: bool, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Exact P[released error > x] of Theorem 5's algorithm, and its cap."""
    settings = query_release(QUERIES, EPSILON, DELTA, sharp=sharp)
    return released_error(settings, x)[0], settings.cap


def _plain(x: np.ndarray) -> tuple[np.ndarray, float]:
    multiplier = gaussian_noise_multiplier(EPSILON, DELTA / 2.0)
    above = gaussian_largest_error(x, QUERIES, np.sqrt(QUERIES) * multiplier)
    cap = corrected_gaussian_cap(QUERIES, EPSILON, DELTA)
    # beyond the cap the true answers are released
    beyond = float(gaussian_largest_error(cap, QUERIES, np.sqrt(QUERIES) * multiplier))
    return np.where(x < cap, above - beyond, 0.0), cap


def points(record, name: str, confidence: float = 0.95) -> dict[str, np.ndarray]:
    """Simulated P[error > level] at the levels, with exact binomial limits."""
    trials = int(record.values["trials"])
    settings = query_release(QUERIES, EPSILON, DELTA, sharp=name == "sharp")
    counts = np.asarray(record.arrays[f"{name}_errors"])
    above = trials - np.cumsum(counts)[:-1]
    low, high = clopper_pearson(above, trials, confidence)
    x = np.asarray(record.arrays["levels"]) * settings.cap
    return {"x": x, "mean": above / trials, "low": low, "high": high, "above": above}


def caps() -> dict[str, np.ndarray]:
    """Largest possible errors by number of queries, at CAP_DELTA, and the paper's rate."""
    low = -np.log(CAP_DELTA)
    found = {
        name: [
            query_release(int(k), EPSILON, CAP_DELTA, sharp=name == "sharp").cap
            for k in _QUERIES
        ]
        for name in ("corrected", "sharp")
    }
    found["plain"] = [
        corrected_gaussian_cap(int(k), EPSILON, CAP_DELTA) for k in _QUERIES
    ]
    found["rate"] = (np.sqrt(_QUERIES * low) + low) / EPSILON
    return {name: np.asarray(values) for name, values in found.items()}


def _left(axes: Axes, record) -> None:
    for name in ("corrected", "sharp", "plain"):
        end = (
            _plain(np.zeros(1))[1]
            if name == "plain"
            else tails(name == "sharp", np.zeros(1))[1]
        )
        x = np.linspace(0.0, end * (1.0 - 1e-9), 161)
        above = _plain(x)[0] if name == "plain" else tails(name == "sharp", x)[0]
        style.line(axes, x, np.maximum(above, 1e-12), _LOOKS[name], label=_LABELS[name])
        color = _LOOKS[name]["color"]
        axes.axvline(end, color=color, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.text(
            end, 1.6, f"{end:.0f}", color=color, fontsize=7, ha="center", va="bottom"
        )
        if name == "plain":
            continue
        found = points(record, name)
        seen = (found["above"] > 0) & (found["mean"] < 0.999)
        style.points(
            axes,
            found["x"][seen],
            found["mean"][seen],
            found["low"][seen],
            found["high"][seen],
            _LOOKS[name],
        )
    axes.set(yscale="log", ylim=(_LOWEST, 1.5), xlim=(0.0, None))
    axes.set_xlabel("x")
    axes.set_ylabel("P[largest released error > x]")


def _right(axes: Axes, record) -> None:
    for name, values in caps().items():
        label = "(√(k log 1/δ) + log 1/δ)/ε" if name == "rate" else _LABELS[name]
        style.line(axes, _QUERIES, values, _LOOKS[name], label=label)
    axes.plot(
        record.arrays["repaired_queries"],
        record.arrays["repaired_caps"],
        **_LOOKS["repaired"],
        markerfacecolor="white",
        label="sharper, worst answers repaired",
    )
    axes.set(xscale="log", yscale="log", xlim=(0.8, 1.3e6))
    axes.set_xlabel("Number of queries k")
    axes.set_ylabel("Largest possible error")


def draw() -> Canvas:
    """The law of the error, and its cap against the number of queries."""
    record = load("clnss22-query-release")
    figure, (left, right) = style.panels(2, width=8.6, height=3.9)
    _left(left, record)
    _right(right, record)
    left.set_title(f"k = {QUERIES}, ε = {EPSILON:g}, δ = {DELTA:g}", pad=14)
    right.set_title(f"ε = {EPSILON:g}, δ = {words.power(CAP_DELTA)}", pad=14)
    style.legend(left, loc="upper right")
    style.legend(right, loc="upper left", fontsize=7)
    trials = int(record.values["trials"])
    style.note(
        figure,
        "The inner mechanism of the paper (Ghazi, Kumar & Manurangsi 2021) is replaced "
        "by the Gaussian mechanism. Lines: exact laws; vertical lines: caps, never "
        f"exceeded. Points: {trials:,} simulated releases with 95 % limits. Inner ε "
        "instead of ε/3: the error has one law on all data, so selecting by it costs "
        "no ε. Corrected Gaussian: one vector, and the true answers with chance "
        "(δ/2)/(1 + e^ε), where it errs most.",
    )
    return figure
