"""Zhu & Wang 2022, Table 1: proportion of the true top k on check-ins."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as Canvas

from figures.common.figure import load
from jaxsel.host.intervals import mean_interval
from jaxsel.pictures import style

TITLE = "Zhu & Wang 2022, Table 1: proportion of the true top k on check-ins"
SECONDS = 38

# Carvalho, Wang, Gondara & Miao (UAI 2020), proportion of the true top k, 2,000 trials,
# as stored in the notebooks of github.com/ricardocarvalhods/diff-priv-top-k-stability
# (commit 41159b1c): (Top Stable, limited domain) by k = 3, 10, 50, at each epsilon. Zhu
# & Wang take these two columns from there.
PUBLISHED: dict[str, dict[float, tuple[tuple[float, float], ...]]] = {
    "foursquare": {
        0.4: ((1.0, 0.669), (0.647, 0.692), (0.108, 0.136)),
        0.8: ((1.0, 0.758), (0.9, 0.863), (0.181, 0.24)),
        1.0: ((1.0, 0.905), (0.901, 0.961), (0.183, 0.287)),
    },
    "gowalla": {
        0.4: ((0.973, 0.852), (1.0, 0.782), (0.203, 0.24)),
        0.8: ((1.0, 1.0), (1.0, 0.898), (0.401, 0.388)),
        1.0: ((1.0, 1.0), (1.0, 0.901), (0.444, 0.453)),
    },
}
_PUBLISHED_SIZES = (3, 10, 50)
_HEADS = {
    "StableTopK": "Stable-\nTopK",
    "EM-CDP": "EM-\nCDP",
    "LD, k̄ = 5k": "LD\n$\\bar{k} = 5k$",
    "LD, k̄ = k": "LD\n$\\bar{k} = k$",
    "TS": "TS",
    "TS as coded": "TS as\ncoded",
}
_PUBLISHED_HEADS = ("TS\n2020", "LD\n2020")
_TITLES = {"foursquare": "Foursquare", "gowalla": "Gowalla"}
_COLOURS = LinearSegmentedColormap.from_list(
    "share", ["#ffffff", "#e3eef6", "#a8cde6", "#5ba3d6"]
)


class Proportion(NamedTuple):
    """A mean proportion of the true top k and its confidence limits."""

    mean: float
    low: float
    high: float


def proportion(counts: np.ndarray, k: int, confidence: float = 0.95) -> Proportion:
    """Of tallies of the number of hits, 0 first."""
    hits = np.arange(counts.size)
    trials, total = int(counts.sum()), int((counts * hits).sum())
    squares = int((counts * hits**2).sum())
    low, high = mean_interval(trials, total, squares, confidence, 0.0, float(k))
    return Proportion(total / trials / k, float(low) / k, float(high) / k)


def _published(name: str, k: int, epsilon: float) -> tuple[float, float] | None:
    name = name.removeprefix("generated ")
    rows = PUBLISHED.get(name, {}).get(epsilon)
    if rows is None or k not in _PUBLISHED_SIZES:
        return None
    return rows[_PUBLISHED_SIZES.index(k)]


def _short(x: float) -> str:
    text = f"{x:.3f}"
    return text[1:] if text.startswith("0") else text


def _cell(axes: Axes, x: float, y: float, value: float, below: str, bold: bool) -> None:
    axes.add_patch(
        _rectangle(x, y, facecolor=_COLOURS(value), edgecolor="white", linewidth=1.2)
    )
    shift = 0.13 if below else 0.0
    axes.text(
        x, y - shift, _short(value), ha="center", va="center", fontsize=8.6,
        fontweight="bold" if bold else "normal",
    )  # fmt: skip
    if below:
        axes.text(x, y + 0.26, below, ha="center", va="center", fontsize=5.4)


def _rectangle(x: float, y: float, **settings):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1.0, 1.0, **settings)


def _panel(axes: Axes, record, place: int, *, labels: bool) -> None:
    values = record.values
    methods = [name for name in _HEADS if name in values["methods"]]
    rows = [(k, e) for k in values["sizes"] for e in values["epsilons"]]
    apart = len(methods) + 0.35  # the published columns stand apart
    gap = 0.3  # between the rows of two sizes
    at = [y + gap * values["sizes"].index(k) for y, (k, _) in enumerate(rows)]
    for y, (k, epsilon) in zip(at, rows, strict=True):
        cells = record.arrays["counts"][
            :, place, values["sizes"].index(k), values["epsilons"].index(epsilon)
        ]
        found = {
            name: proportion(cells[values["methods"].index(name)], k)
            for name in methods
        }
        best = max(each.mean for name, each in found.items() if name != "TS as coded")
        for x, (name, each) in enumerate(found.items()):
            # All that cannot be told from the best.
            bold = each.high >= best and name != "TS as coded"
            below = f"{_short(each.low)}–{_short(each.high)}"
            _cell(axes, x, y, each.mean, below, bold)
        for x, value in enumerate(_published(values["sets"][place], k, epsilon) or ()):
            _cell(axes, apart + x, y, value, "", False)
        if labels:
            axes.text(-0.62, y, f"ε = {epsilon:g}", ha="right", va="center")
    if labels:
        for number, k in enumerate(values["sizes"]):
            middle = at[number * len(values["epsilons"]) + len(values["epsilons"]) // 2]
            axes.text(-1.95, middle, f"k = {k}", ha="right", va="center", weight="bold")
    for x, name in enumerate(methods):
        axes.text(x, -0.62, _HEADS[name], ha="center", va="bottom", fontsize=7.6)
    for x, head in enumerate(_PUBLISHED_HEADS):
        axes.text(apart + x, -0.62, head, ha="center", va="bottom", fontsize=7.6,
                  style="italic")  # fmt: skip
    name = values["sets"][place]
    title = _TITLES[name.removeprefix("generated ")]
    places, users = values["candidates"][place], values["users"][place]
    title = f"{title}: {places:,} places, {users:,} users"
    if values["generated"][place]:
        title += "\nGENERATED DATA: a power law stands in"
    axes.set_title(
        title, pad=4.0, color="#b00020" if values["generated"][place] else "k"
    )
    axes.set(xlim=(-0.55, apart + 1.55), ylim=(at[-1] + 0.55, -1.5))
    axes.set_axis_off()


def draw() -> Canvas:
    """One table a data set, coloured by the proportion."""
    record = load("zw22-table1")
    values = record.values
    figure = Canvas(figsize=(11.2, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(figure.subplots(1, len(values["sets"]), squeeze=False)[0])
    for place, axes in enumerate(panels):
        _panel(axes, record, place, labels=place == 0)
    figure.get_layout_engine().set(w_pad=0.12, wspace=0.06)  # type: ignore[union-attr]
    sources = "; ".join(values["sources"])
    style.note(
        figure,
        "Mean proportion of the true top k that is released, (ε, 1/users)-DP; small: "
        f"95 % interval over {int(values['trials']):,} trials; bold: not to be told "
        "from the row's best. StableTopK: Algorithm 3, r = 0, half of δ for the test. "
        "LD, TS: limited domain and Top Stable; “as coded” reads each gap one place "
        "too low, as the authors' code does, which voids its guarantee. Italic: "
        f"published by Carvalho et al. 2020, on the full data. Data: {sources}.",
    )
    return figure
