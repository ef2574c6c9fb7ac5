"""Koskela, Redberg & Wang 2024, Figure 4: binomial numbers of runs of mean 10."""

import functools

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common import words
from figures.common.figure import load
from jaxsel.families.tuning.bounds.envelope import envelope_profile
from jaxsel.families.tuning.bounds.poisson import poisson_renyi
from jaxsel.families.tuning.bounds.profiles import binomial_profile, poisson_profile
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from sims.common.worst_rankings import NOISE_MULTIPLIER
from sims.krw24_4 import COUNTS, MEAN
from sims.registry import Result

TITLE = "Koskela, Redberg & Wang 2024, Figure 4: binomial K"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "figures.common.krw24_shared.DELTA",
    "sims.krw24_2.MEANS",
)
SECONDS = 18
EPSILONS = np.linspace(0.0, 14.4 / NOISE_MULTIPLIER, 181)
LOW, HIGH = 1e-10, 2.0
LARGEST_SHOWN = 24
_SOURCES = {"renyi": "δ̂ by Lemma 14", "profile": "exact δ̂ (R-KRW-5)"}
_RDP = "RDP, Theorem 5.6, δ̂ by Lemma 14 (claim)"
_THEOREM = "Theorem 5.7, for Poisson Corollary 5.8 (claim)"
# Grey for Renyi bounds and orange for Theorem 5.7, as in the other panels.
_RDP_LOOKS = {
    "renyi": {"color": "#7f7f7f", "linestyle": "--"},
    "profile": {"color": "#7f7f7f", "linestyle": (0, (5, 1.5, 1, 1.5))},
}
_MARKERS = ("v", "D", "o", "s", "^", "P")


def _look(row: int) -> dict:
    """Look of the row-th law: orange, the darker the larger n; Poisson black."""
    if row == len(COUNTS):
        return {"color": "#000000", "linestyle": "-."}
    return {"color": colormaps["Oranges"](0.4 + 0.6 * row / (len(COUNTS) - 1))}


def _name(row: int) -> str:
    return f"Poisson({MEAN})" if row == len(COUNTS) else f"Bin({COUNTS[row]}, {MEAN}/n)"


def theorem_claim(law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.7; for Poisson by Corollary 5.8."""
    if law.family == "poisson":
        return poisson_profile(shared.profile, law.mean).delta(epsilon)
    count, chance = int(law.parameters["count"]), law.parameters["probability"]
    return binomial_profile(shared.profile, count, chance).delta(epsilon)


def renyi_claim(source: str, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.6 for Poisson, its delta_hat from one of _SOURCES."""
    curve = poisson_renyi(shared.BASE, MEAN, delta_from=source, monotonised=False)
    return shared.renyi_delta(curve, epsilon)


@functools.cache
def _curves(text: str) -> dict[str, np.ndarray]:
    law = parse(text)
    return {
        "profile": theorem_claim(law, EPSILONS),
        "envelope": envelope_profile(shared.BASE, law)(EPSILONS),
        "natural": shared.natural_delta(law, EPSILONS),
    }


@functools.cache
def _renyi_curve(source: str) -> np.ndarray:
    return renyi_claim(source, EPSILONS)


def _as_printed(axes: Axes, laws: list[Repetitions]) -> None:
    for row, law in enumerate(laws[:-1]):
        axes.plot(
            EPSILONS, theorem_claim(law, EPSILONS), **_look(row),
            label=f"Thm 5.7, n = {COUNTS[row]}",
        )  # fmt: skip
    for source, label in _SOURCES.items():
        axes.plot(
            EPSILONS, _renyi_curve(source), **_RDP_LOOKS[source],
            label=f"RDP, {label}",
        )  # fmt: skip
    axes.set_title("Theorem 5.7; RDP for Poisson: Theorem 5.6")


def _truth(axes: Axes, record: Result, row: int) -> None:
    """Bounds, exact profiles and audited points for one law of K."""
    text = record.values["laws"][row]
    if text.startswith("poisson"):
        axes.plot(EPSILONS, _renyi_curve("renyi"), **shared.kind("RDP", _RDP))
    curves = _curves(text)
    axes.plot(EPSILONS, curves["profile"], **shared.kind("profile", _THEOREM))
    axes.plot(EPSILONS, curves["envelope"], **shared.kind("envelope"))
    found = shared.adversarial_curve(text, EPSILONS[-1])
    axes.plot(*found, **shared.kind("adversarial"))
    axes.plot(EPSILONS, curves["natural"], **shared.kind("natural"))
    audits.audited_points(axes, record, row)


def simulated_cdf(record: Result, row: int, confidence: float = 0.95):
    """P[K <= k], k = 0, 1, ...: frequencies and their exact confidence limits."""
    counts = np.cumsum(record.arrays["numbers_of_runs"][row])[:-1]
    trials = int(record.values["trials"])
    return counts / trials, *clopper_pearson(counts, trials, confidence)


def _numbers(axes: Axes, record: Result) -> None:
    """Distribution functions of K, and simulated frequencies on them."""
    k = np.arange(LARGEST_SHOWN + 1)
    for row, text in enumerate(record.values["number_laws"]):
        look = _look(row)
        axes.step(
            k, parse(text).cdf(k), where="post", **look, linewidth=1.2,
            label=_name(row),
        )  # fmt: skip
        cdf, low, high = (found[k] for found in simulated_cdf(record, row))
        # The points of one law and the next are moved apart; so few are rarely seen.
        shown = (k % 3 == row % 3) & (cdf > 0.0)
        style.points(
            axes, k[shown] + 0.5, cdf[shown], low[shown], high[shown],
            {"color": look["color"], "marker": _MARKERS[row]}, markersize=3.4,
        )  # fmt: skip
    axes.set_xlabel("Number of runs k")


def draw() -> Canvas:
    """The paper's two panels; and what is true of a Gaussian pair for three laws."""
    record = load("krw24-4")
    figure = Canvas(figsize=(7.6, 9.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(3, 2)
    (printed, *others), (linear, small) = panels[:2].ravel(), panels[2]
    _as_printed(printed, [parse(text) for text in record.values["number_laws"]])
    printed.legend(loc="lower left", fontsize=7.0)
    for row, axes in enumerate(others):
        _truth(axes, record, row)
        law = parse(record.values["laws"][row])
        n = int(law.parameters.get("count", 0))
        axes.set_title(f"K binomial, n = {n}" if n else "K Poisson")
    for axes in (printed, *others):
        axes.set(yscale="log", xlim=(0.0, EPSILONS[-1]), ylim=(LOW, HIGH))
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
        axes.set_xlabel("ε")
    for axes in panels[:2, 0]:
        axes.set_ylabel("δ(ε)")
    for axes in (linear, small):
        _numbers(axes, record)
    linear.set(xlim=(0.0, LARGEST_SHOWN), ylim=(0.0, 1.02), title="Law of K")
    linear.set_ylabel("P[K ≤ k]")
    linear.legend(loc="lower right", fontsize=7.4)
    small.set(xlim=(0.0, 10.0), ylim=(1e-6, 1.0), yscale="log", title="Few runs")
    handles, labels = others[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Base: Gaussian mechanism, sensitivity 1, σ = {NOISE_MULTIPLIER:g}; "
        f"K ~ Bin(n, {MEAN}/n) or Poisson({MEAN}). Exact and audited: N(0, 1) against "
        f"N({words.fraction(1.0 / NOISE_MULTIPLIER)}, 1), the worse "
        "direction. Natural order: larger outputs are better. Adversarial order: at "
        f"each ε the worst ranking that a search found. Audited: {trials:,} trials a "
        "side and ranking, events planned on exact laws, each bound at 95 %. Last row: "
        f"lines are exact, marks are frequencies in {trials:,} draws of K with exact "
        "95 % intervals.",
    )
    return figure
