"""Zhu & Wang 2022, Table 2: multi-label PATE, accuracy and privacy."""

import numpy as np
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from figures.common import multi_label_numbers as numbers
from figures.common import words
from jaxsel.pictures import style
from sims.cells import computed
from sims.common.multi_label_exact import Labelling
from sims.common.multi_label_releases import labelled_and_released

TITLE = "Zhu & Wang 2022, Table 2: multi-label PATE, accuracy and privacy"
SECONDS = 38
TRIALS = 1000
LOOKS = {
    "PATE": style.own(style.BLUE, "-", "o"),
    "PATE-tau": style.own(style.GREEN, style.DASHES, "^"),
    "StableTopK": style.own(style.ORANGE, "-", "s"),
    "Gaussian, gaps released": style.own(style.PURPLE, "-.", "D"),
    "Gaussian, corollaries": style.own(style.BLACK, "--", "v"),
}
_LABELS = {
    "PATE": "PATE, {labels} labels",
    "PATE-tau": "PATE-τ, τ = {tau}",
    "StableTopK": "StableTopK, Gumbel (Algorithm 2)",
    "Gaussian, gaps released": "StableTopK, Gaussian: gaps released",
    "Gaussian, corollaries": "StableTopK, Gaussian: Corollaries 9, 19",
}
_HEADS = ("accuracy", "answered", "precision", "recall")
# Right ends of the table's columns, on an axis from 0 to _WIDTH.
_NOISE, _EPSILON = 0.33, (0.43, 0.505)
_COLUMNS = ((0.59, 0.665, 0.74, 0.80), (0.88, 0.955, 1.03, 1.09))
_WIDTH = 1.1


@computed
def labelled(
    *, trials: int, seed: int, progress: bool | None, asked: Labelling = Labelling()
) -> xr.Dataset:
    """The votes, and the releases summed over trials, by scenario."""
    return labelled_and_released(asked, trials, seed, progress)


def _value(estimate) -> str:
    """A value as text, with three digits; a dash if nothing was released."""
    value = estimate if isinstance(estimate, float) else estimate.value
    return "–" if np.isnan(value) else f"{value:.3f}"


def _table(axes, labelled: xr.Dataset, asked: Labelling) -> None:
    """Draws the table: rows as text, between horizontal rules."""
    found = numbers.rows(labelled, asked)
    height = len(found) + 2.4
    axes.set(xlim=(0.0, _WIDTH), ylim=(-height, 0.3))
    axes.axis("off")
    size = {"fontsize": 7.6, "va": "center"}

    def rule(y: float, width: float, low: float = 0.0, high: float = _WIDTH) -> None:
        axes.plot([low, high], [y, y], color="black", linewidth=width)

    for letter, ends in zip(labelled["scenario"].values, _COLUMNS, strict=False):
        about = labelled.sel(scenario=letter)
        kind = "Teachers" if about.simulated else "Real teachers"
        text = f"{letter}: {kind} right on {100 * float(about.accuracy):.1f} %"
        middle = (ends[0] - 0.06 + ends[-1]) / 2.0
        axes.text(middle, -0.1, text, ha="center", weight="bold", **size)
        rule(-0.6, 0.5, ends[0] - 0.06, ends[-1])
        for head, end in zip(_HEADS, ends, strict=True):
            axes.text(end, -1.1, head, ha="right", **size)
    middle = (_NOISE + _EPSILON[1]) / 2.0 + 0.015
    axes.text(
        middle,
        -0.1,
        f"ε at δ = {words.scientific(asked.delta)}",
        ha="center",
        weight="bold",
        **size,
    )
    rule(-0.6, 0.5, _NOISE + 0.02, _EPSILON[1])
    axes.text(0.0, -1.1, "Mechanism", **size)
    axes.text(_NOISE, -1.1, "noise scale", ha="right", **size)
    for head, end in zip(("Lemma 17", "tight"), _EPSILON, strict=True):
        axes.text(end, -1.1, head, ha="right", **size)
    rule(0.3, 1.0)
    rule(-1.6, 0.6)
    for number, row in enumerate(found):
        y = -2.2 - number
        axes.text(0.0 if row.title[0] != " " else 0.012, y, row.title.strip(), **size)
        axes.text(_NOISE, y, row.noise, ha="right", **size)
        if row.epsilon is not None:
            for value, end in zip(row.epsilon, _EPSILON, strict=True):
                text = f"{value:.1f}" if value >= 10.0 else f"{value:.2f}"
                axes.text(end, y, text if value else "0", ha="right", **size)
        for each, ends in zip(row.found, _COLUMNS, strict=False):
            if each is None:
                continue
            values = (each.accuracy, each.answered, each.precision, each.recall)
            for value, end in zip(values, ends, strict=True):
                axes.text(end, y, _value(value), ha="right", **size)
    rule(-height, 1.0)


def _curves(axes, row: xr.Dataset, asked: Labelling) -> None:
    scenario = numbers.scenario_of(row)
    known = {"tau": asked.tau, "labels": scenario.truth.shape[1]}
    none, majority = numbers.references(scenario)
    small = {"fontsize": 7.0, "color": "#666666"}
    for value in (majority.accuracy, none.accuracy):
        axes.axhline(value, zorder=1, linewidth=1.0, **style.NEUTRAL)
    axes.text(0.54, majority.accuracy + 0.003, "majority of the teachers", **small)
    axes.text(103.0, none.accuracy - 0.006, "no label at all", ha="right", va="top", **small)
    for name, look in LOOKS.items():
        label = _LABELS[name].format(**known)
        x, y = numbers.curve(scenario, name, asked)
        style.line(axes, x, y, look, label=label)
        found = numbers.points(row, name, asked)
        if found:
            epsilon, estimates = zip(*found, strict=True)
            value, low, high = zip(*estimates, strict=True)
            style.points(axes, epsilon, value, low, high, look)
    axes.set(xscale="log", xlim=(0.47, 107.0), ylim=(0.57, 1.015))
    style.plain_ticks(axes.xaxis, [0.5, 1, 2, 5, 10, 20, 50, 100])
    axes.set_xlabel(
        f"ε of {scenario.truth.shape[0]} queries at δ = {words.scientific(asked.delta)}"
    )
    wrong = [100.0 * scenario.false_positive, 100.0 * scenario.false_negative]
    axes.set_title(
        f"{row['scenario'].values}: teachers err on {wrong[0]:.1f} % of absent, "
        f"{wrong[1]:.1f} % of present labels"
    )


def _widest(labelled: xr.Dataset) -> float:
    """Half of the widest interval of an accuracy."""
    rows = [labelled.sel(scenario=letter) for letter in labelled["scenario"].values]
    found = [
        numbers.simulated(row, cell).accuracy
        for row in rows
        for cell in numbers.simulated_cells(row)
    ]
    return max((each.high - each.low) / 2.0 for each in found)


def draw(labelled: xr.Dataset, asked: Labelling = Labelling()) -> Canvas:
    """Draws the table (above), and a panel for each kind of teachers (below)."""
    letters = labelled["scenario"].values
    figure = Canvas(figsize=(9.2, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, len(letters), height_ratios=(0.9, 1.0))
    _table(figure.add_subplot(grid[0, :]), labelled, asked)
    panels = [figure.add_subplot(grid[1, place]) for place in range(len(letters))]
    for axes, letter in zip(panels, letters, strict=True):
        _curves(axes, labelled.sel(scenario=letter), asked)
    panels[0].set_ylabel("Share of labels that are right")
    panels[0].legend(loc="lower right", fontsize=7.3)
    return style.captioned(figure, _caption(labelled, asked))


def _caption(labelled: xr.Dataset, asked: Labelling = Labelling()) -> str:
    scenario = numbers.scenario_of(labelled.isel(scenario=0))
    queries, labels = scenario.truth.shape
    made = "GENERATED ATTRIBUTES, CelebA is not at hand. " if scenario.generated else ""
    kinds = "A: votes of the user's teachers; B: votes SIMULATED from the true attributes"
    if labelled.simulated.all():
        kinds = (
            "No images here: votes are SIMULATED from the true attributes, at the error rates above"
        )
    return (
        f"{made}{scenario.source.split(',')[0]}: {queries} queries, {labels} labels, "
        f"{scenario.teachers} teachers. {kinds}; half of a score's variance is shared "
        "by all teachers, a tenth by all queries. Accuracy is that of the labels, not "
        "of a student. A set that StableTopK keeps back counts as no label; “answered” "
        "is the share of queries with a set released. First row: the paper's noise and "
        f"δ_t = {words.scientific(asked.delta_t)}; Gumbel noise of equal "
        "Rényi slope; PATE with as much noise as leaves it as accurate as the first "
        "row. Curves: exact accuracy, ε by tight conversion. Points and table: "
        f"{labelled.attrs['trials']:,} trials, 95 % intervals of accuracies at most "
        f"±{_widest(labelled):.4f}. The numbers of the paper's Table 2 are not in the "
        "text at hand."
    )
