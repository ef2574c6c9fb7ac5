"""Cohen et al. 2022, Algorithm 3: what repetition does to an answer, and its cost."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from jaxsel.families.repetitive_sparse_vector.laws import query_law, top_chances
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.pictures import style
from sims.clnss22_repetitions import BETA, QUERIES, WANTED, margins, settings

TITLE = "Cohen et al. 2022, Algorithm 3: how repeated Tests answer one query"

LOW, HIGH, FLOOR = -50.0, 10.0, 1e-9
LEAST = 1  # number of the margin in the left panel
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#999999", "linestyle": "-", "marker": "p"},
    {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    {"color": "#009e73", "linestyle": "--", "marker": "s"},
    {"color": "#d55e00", "linestyle": "-.", "marker": "^"},
)
_TOP: dict[str, Any] = {"color": "#0072b2", "linestyle": "-", "marker": "o"}
_BOTTOM: dict[str, Any] = {"color": "#d55e00", "linestyle": "--", "marker": "s"}
_ONE: dict[str, Any] = {"color": "#7f7f7f", "linestyle": ":", "marker": "."}


def curves(margin: float) -> tuple[np.ndarray, Any]:
    """Levels, and the exact law of a query at each of them."""
    levels = np.linspace(LOW, HIGH, 481)
    return levels, query_law(levels, settings(margin))


def points(arrays, values, number: int) -> dict[str, Any]:
    """(mean, low, high) of answers and of failed batches at margin ``number``."""
    trials = int(values["trials"])
    found: dict[str, Any] = {"levels": np.asarray(values["levels"])}
    for outcome, name in enumerate(("halted", "bottom", "top")):
        count = arrays["answers"][number, :, outcome]
        low, high = clopper_pearson(count, trials, 0.95)
        found[name] = (count / trials, low, high)
    total, squares = arrays["failures"][number], arrays["squares"][number]
    low, high = mean_interval(
        [trials] * total.size,
        [int(each) for each in total],
        [int(each) for each in squares],
        0.95,
        0.0,
        float(values["settings"]["failures"]),
    )
    found["failures"] = (total / trials, low, high)
    return found


def _axis(axes: Axes) -> None:
    axes.set_xlim(LOW, HIGH)
    axes.set_xlabel(r"Level $f-t$ of the query, in units of the noise $1/\epsilon'$")


def draw() -> Canvas:
    """Lines: exact laws; points: simulated, with 95 % intervals."""
    record = load("clnss22-repetitions")
    figure, (answers, costs) = style.panels(2, width=9.4, height=4.9)

    margin = margins()[LEAST]
    levels, law = curves(margin)
    found = points(record.arrays, record.values, LEAST)
    single, _ = top_chances(levels, settings(margin))
    style.line(answers, levels, single, _ONE, label="One comparison")
    shown = (("top", "Answer ⊤", _TOP), ("bottom", "Answer ⊥", _BOTTOM))
    for name, label, look in shown:
        style.line(answers, levels, getattr(law, name), look, label=label)
        mean, low, high = found[name]
        seen = mean > 0
        style.points(
            answers, found["levels"][seen], mean[seen], low[seen], high[seen], look
        )
    answers.set_yscale("log")
    answers.set_ylim(FLOOR, 4.0)
    answers.set_ylabel("Probability")
    answers.axvline(0.0, color="#7f7f7f", linewidth=0.8)
    answers.axvline(-margin, color="#7f7f7f", linewidth=0.8)
    for place, text in ((0.0, "t"), (-margin, "t − d")):
        answers.annotate(
            text, (place, 1.6 * FLOOR), (3, 0), textcoords="offset points", fontsize=8
        )
    answers.legend(
        loc="center left", frameon=True, framealpha=1.0, edgecolor="none", borderpad=0.2
    )

    names = ("as printed", "least for Lemma 4", "3/4 of that", "half of it")
    for number, (d, name) in enumerate(zip(margins(), names, strict=True)):
        levels, law = curves(d)
        look = _LOOKS[number]
        label = rf"$d={d:.1f}/\epsilon'$, {name}"
        width = 1.6 if number else 4.0  # two of the curves nearly coincide
        style.line(costs, levels, law.failures, look, label=label, linewidth=width)
        found = points(record.arrays, record.values, number)
        mean, low, high = found["failures"]
        seen = low > 0
        style.points(
            costs, found["levels"][seen], mean[seen], low[seen], high[seen], look
        )
    costs.set_yscale("log")
    costs.set_ylim(1e-3, 1e3)
    costs.set_ylabel("Expected number of failed batches")
    costs.axhline(1.0, color="#7f7f7f", linewidth=0.8)
    costs.legend(loc="upper left")

    for axes in (answers, costs):
        _axis(axes)
    chosen, trials = settings(), int(record.values["trials"])
    style.note(
        figure,
        f"Section 4.2 for m = {QUERIES:,} queries, k = {WANTED} answers ⊤ and β = "
        f"{BETA:g}: γ = {chosen.gamma:.3f}, batches of τ = 5m² = "
        f"{chosen.repetitions:,} Tests, k′ = {chosen.failures} (corrected); "
        "averaged over p. Left: the margin d is the least at which the bound on "
        f"the failure probability (any {QUERIES:,} queries) is β. Right: every ⊤ "
        "costs one failed batch; what exceeds that is wasted, and at k′ the "
        "algorithm halts. The pseudocode is reconstructed from the proof of Lemma "
        f"4. Lines: exact. Points: {trials:,} simulated queries each, 95 % "
        "intervals; none is drawn that reaches down to 0.",
    )
    return figure
