"""Koskela, Redberg & Wang 2024, Figure 2: profiles of tuning with a geometric K."""

import functools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common import words
from figures.common.figure import load
from jaxsel.families.tuning.bounds.envelope import envelope_profile
from jaxsel.families.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.families.tuning.bounds.profiles import negative_binomial_profile
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from sims.common.worst_rankings import NOISE_MULTIPLIER
from sims.krw24_2 import MEANS
from sims.registry import Result

TITLE = "Koskela, Redberg & Wang 2024, Figure 2: profiles, geometric K"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "figures.common.krw24_shared.DELTA",
)
SECONDS = 14
EPSILONS = np.linspace(0.0, 16.8 / NOISE_MULTIPLIER, 211)
LOW, HIGH = 1e-10, 2.0


def theorem_claim(law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.2, at its best epsilon_1."""
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    return negative_binomial_profile(shared.profile, eta, gamma).delta(epsilon)


def renyi_claim(law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.1, the Renyi bound of Papernot & Steinke."""
    eta, gamma = law.parameters["eta"], law.parameters["gamma"]
    curve = negative_binomial_renyi(shared.BASE.renyi, eta, gamma, monotonised=False)
    return shared.renyi_delta(curve, epsilon)


@functools.cache
def _curves(text: str) -> dict[str, np.ndarray]:
    law = parse(text)
    return {
        "RDP": renyi_claim(law, EPSILONS),
        "profile": theorem_claim(law, EPSILONS),
        "envelope": envelope_profile(shared.BASE, law)(EPSILONS),
        "natural": shared.natural_delta(law, EPSILONS),
    }


def _as_printed(axes: Axes, record: Result) -> None:
    """The two bounds of the paper for all three means; looks as in the other panels."""
    for mean, text in zip(MEANS, record.values["laws"], strict=True):
        curves = _curves(text)
        for name, theorem, height in (
            ("profile", "Theorem 5.2", 1e-8),
            ("RDP", "RDP, Theorem 5.1", 1e-4),
        ):
            look = shared.kind(name, f"{theorem}, m = {mean}")
            axes.plot(EPSILONS, curves[name], **look)
            place = float(np.interp(-np.log(height), -np.log(curves[name]), EPSILONS))
            axes.text(
                place, height, f"{mean}", color=look["color"], fontsize=6.8,
                ha="center", va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )  # fmt: skip
    axes.set_title(f"Both bounds as printed, m = {', '.join(map(str, MEANS))}")


def _one_mean(axes: Axes, record: Result, row: int) -> None:
    """Bounds, exact profiles and audited points for one mean."""
    curves = _curves(record.values["laws"][row])
    labels = {"RDP": "RDP, Theorem 5.1 (claim)", "profile": "Theorem 5.2 (claim)"}
    for name in ("RDP", "profile", "envelope"):
        axes.plot(EPSILONS, curves[name], **shared.kind(name, labels.get(name)))
    found = shared.adversarial_curve(record.values["laws"][row], EPSILONS[-1])
    axes.plot(*found, **shared.kind("adversarial"))
    axes.plot(EPSILONS, curves["natural"], **shared.kind("natural"))
    audits.audited_points(axes, record, row)
    axes.set_title(f"m = 𝔼[K] = {MEANS[row]}")


def draw() -> Canvas:
    """The paper's panel, and one panel a mean with what is true of a Gaussian pair."""
    record = load("krw24-2")
    figure = Canvas(figsize=(7.6, 6.9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    _as_printed(panels[0], record)
    for row, axes in enumerate(panels[1:]):
        _one_mean(axes, record, row)
    for axes in panels:
        axes.set(yscale="log", xlim=(0.0, EPSILONS[-1]), ylim=(LOW, HIGH))
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
    for axes in panels[2:]:
        axes.set_xlabel("ε")
    for axes in panels[::2]:
        axes.set_ylabel("δ(ε)")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Base: Gaussian mechanism, sensitivity 1, σ = {NOISE_MULTIPLIER:g}; K "
        "geometric (η = 1). Exact and audited: N(0, 1) against "
        f"N({words.fraction(1.0 / NOISE_MULTIPLIER)}, 1), the worse direction. Natural "
        "order: larger outputs are better. Adversarial order: at each ε the worst "
        f"ranking that a search found. Audited: {trials:,} trials a side and ranking, "
        "at epsilons with exact δ near 0.1 to 0.001; events planned on exact laws, "
        "each bound at 95 %.",
    )
    return figure
