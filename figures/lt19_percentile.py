"""Liu & Talwar 2019, section 4: where the percentile sparse vectors halt."""

import functools
import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from jaxsel.families.percentile.laws import (
    extended_law,
    found_threshold_law,
    oracle_law,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from sims.lt19_percentile import (
    BASE,
    BETA,
    DELTA,
    EQUAL,
    LADDER,
    MECHANISMS,
    ORACLE,
    QUERIES,
    SLACK,
    settings,
)

TITLE = "Liu & Talwar 2019, section 4: where the percentile sparse vectors halt"
SECONDS = 44
_LOOKS: dict[str, dict[str, Any]] = {
    "Algorithm 3": {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    "Algorithm 4": {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    "Algorithm 5": {"color": "#009e73", "linestyle": "-", "marker": "^"},
}
_NAMES = {
    "Algorithm 3": "Algorithm 3: the chance is known",
    "Algorithm 4": "Algorithm 4: N fresh runs a query",
    "Algorithm 5": "Algorithm 5: the same N runs, bar lowered by Λ",
}
_DENSE = np.linspace(EQUAL[0], EQUAL[-1], 41)


def law(name: str, log_odds: np.ndarray) -> np.ndarray:
    """Exact halting law of an algorithm on queries with these log-odds."""
    shares = 1.0 / (1.0 + np.exp(-log_odds))
    if name == "Algorithm 3":
        return oracle_law(shares, **ORACLE)
    test = settings(name, shares.size)
    return (extended_law if name == "Algorithm 4" else found_threshold_law)(
        shares, test
    )


@functools.cache
def equal_laws(name: str, dense: bool) -> np.ndarray:
    """Exact laws on streams of equal shares, Float["shares queries+1"]."""
    log_odds = _DENSE if dense else EQUAL
    return np.stack([law(name, np.full(QUERIES, x)) for x in log_odds])


def bounds(name: str, log_odds: np.ndarray) -> dict[str, np.ndarray]:
    """Theorem 4.1 or 4.4 solved for the failure probability at equal shares.

    "early" bounds halting within the stream, (b): beta with R the last query; "late"
    passing over one query and halting at the next, (c) at R = 2; "far" passing over
    one, (d) before its correction to a smaller one.
    """
    shares = 1.0 / (1.0 + np.exp(-log_odds))
    if name == "Algorithm 3":
        above, power, loss, delta = log_odds, 12.0 * BASE, 0.0, 0.0
    else:
        test = settings(name, QUERIES)
        added = test.shift / test.samples
        # log Phi(p) - log Phi(p*), p* = 1/2
        above = np.log((shares + added) / (1.0 - shares + added))
        power, loss, delta = test.exponent, SLACK, DELTA
    ratio = {
        "early": np.exp((above + loss) / power),
        "far": np.exp((loss - above) / power),
    }
    return {
        "early": (QUERIES + 1.0) * ratio["early"] + delta / 2.0,
        "late": 3.0 * ratio["far"] + delta / 2.0,
        "far": ratio["far"] + delta / (2.0 * QUERIES),
    }


def _percent(axes: Axes) -> None:
    """An axis of log-odds, labelled by shares."""
    shares = [1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99]
    names = ["10⁻⁴", "10⁻³", "0.01", "0.1", "0.5", "0.9", "0.99"]
    axes.set_xticks([math.log(p / (1.0 - p)) for p in shares], names)


def _power(number: float) -> str:
    """As 4.8·10⁹."""
    mantissa, exponent = f"{number:.1e}".split("e")
    digits = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}·10{digits}"


def _points(axes: Axes, x, counts, trials: int, name: str) -> None:
    low, high = clopper_pearson(counts, trials, 0.95)
    seen = counts > 0  # nothing seen cannot be drawn on a logarithmic axis
    look = _LOOKS[name]
    style.points(axes, x[seen], (counts / trials)[seen], low[seen], high[seen], look)


def draw() -> Canvas:
    """Lines: exact laws and bounds; points: simulated, with 95 % intervals."""
    record = load("lt19-percentile")
    trials = int(record.values["trials"])
    figure, (ladder, early, late) = style.panels(3, width=10.4, height=4.6)
    for name in MECHANISMS:
        short, look = name.replace("Algorithm ", "algorithm_"), _LOOKS[name]
        exact = law(name, LADDER)[:-1]
        style.line(ladder, LADDER, exact, look, label=_NAMES[name])
        _points(ladder, LADDER, record.arrays[f"ladder_{short}"][0, :-1], trials, name)
        dense, counts = equal_laws(name, True), record.arrays[f"equal_{short}"]
        style.line(early, _DENSE, 1.0 - dense[:, -1], look)
        _points(early, EQUAL, counts[:, :-1].sum(axis=1), trials, name)
        style.line(late, _DENSE, 1.0 - dense[:, 0], look)
        _points(late, EQUAL, counts[:, 1:].sum(axis=1), trials, name)
        if name == "Algorithm 5":
            continue
        found = bounds(name, _DENSE)
        theorem = "4.1" if name == "Algorithm 3" else "4.4"
        dashed = {"color": look["color"], "linewidth": 1.1}
        early.plot(_DENSE, found["early"], linestyle=(0, (5, 2)), **dashed,
                   label=f"Theorem {theorem} (b)")  # fmt: skip
        late.plot(_DENSE, found["late"], linestyle=(0, (5, 2)), **dashed,
                  label=f"Theorem {theorem} (c)")  # fmt: skip
        late.plot(_DENSE, found["far"], linestyle=":", **dashed,
                  label=f"Theorem {theorem} (d)")  # fmt: skip
    for axes in (ladder, early, late):
        _percent(axes)
        axes.axvline(0.0, color="#7f7f7f", linewidth=0.8, linestyle=":")
    ladder.set_xlim(LADDER[0] - 0.4, LADDER[-1] + 0.4)
    ladder.set_ylim(0.0, None)
    ladder.set_xlabel("Share p of the query, on a rising ladder")
    ladder.set_ylabel("Chance to halt at that query")
    for axes in (early, late):
        axes.set_yscale("log")
        axes.set_ylim(3e-6, 2.0)
        axes.set_xlim(EQUAL[0] - 0.4, EQUAL[-1] + 0.4)
    early.set_xlabel("Share p of every query")
    early.set_ylabel(f"Chance to halt within {QUERIES} such queries")
    early.legend(loc="lower right")
    late.set_xlabel("Share p of the query")
    late.set_ylabel("Chance to pass over it")
    late.legend(loc="lower left")
    handles, labels = ladder.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    four, five = (settings(f"Algorithm {n}", QUERIES).samples for n in (4, 5))
    style.note(
        figure,
        f"All are (1, {words.power(DELTA)})-DP, Algorithm 3 purely, over bases with "
        f"ε₁ = {BASE:g}; target p* = 1/2 (dotted), ε₀ = {SLACK:g}, β = {BETA:g}. "
        f"N = {_power(four)} (Algorithm 4) and {_power(five)} (Algorithm 5) at "
        f"{QUERIES} queries, Λ and Δ as corrected (LT-E4 to LT-E9); a count of N runs "
        "is one binomial draw. Theorems are read jointly with halting (LT-E1 to "
        f"LT-E3). Lines: exact laws. Points: {trials:,} simulated runs each, 95 % "
        "intervals.",
    )
    return figure
