"""Cohen et al. 2022, section 1.5.1: adaptive analysis with and without protection."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from scipy import stats

from figures.common.figure import load
from jaxsel.catalogue import find_claim
from jaxsel.kernel.statistics import read_moments
from jaxsel.pictures import style
from sims import clnss22_adaptive as sim
from sims.clnss22_adaptive import RANGE, SETTINGS

TITLE = "Cohen et al. 2022, section 1.5.1: an analyst who overfits, and what protects"
SECONDS = 14
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": (
        "Exact answers",
        {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    ),
    "laplace": (
        f"Laplace noise, scale {SETTINGS['laplace']['noise_scale']:g}",
        {"color": "#7f7f7f", "linestyle": "-.", "marker": "D"},
    ),
    "gaussian": (
        f"Gaussian noise, scale {SETTINGS['gaussian']['noise_scale']:g}",
        {"color": "#aa4499", "linestyle": "--", "marker": "^"},
    ),
    "weights": (
        "Multiplicative weights (Theorem 9)",
        {"color": "#009e73", "linestyle": "--", "marker": "v"},
    ),
    "repetitive": (
        "With the repetitive sparse vector (Theorem 11)",
        {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    ),
}


def spent() -> tuple[float, float]:
    """epsilon of the two mechanisms with respect to the rows, as their claims give it."""
    standard = find_claim("CL-Thm9-budget").evaluate(
        updates=sim.ANSWERS, test=sim.VECTOR, answer=sim.ANSWER
    )
    improved = find_claim("CL-Thm11-budget").evaluate(
        failures=sim.FAILURES, gamma=sim.GAMMA, test=sim.TEST, answers=sim.ANSWERS,
        answer=sim.ANSWER,
    )  # fmt: skip
    return standard, improved


def means(record, protection: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a value at each number of queries, and half its 95 % normal interval."""
    row = record.values["protections"].index(protection)
    column = list(record.values["values"]).index(value)
    found = [
        read_moments(
            dict(zip(record.values["parts"], cell[column], strict=True)), *RANGE
        )
        for cell in record.arrays["sums"][row]
    ]
    spread = [np.sqrt(m.variance / m.count) for m in found]
    return np.array([m.mean for m in found]), stats.norm.ppf(0.975) * np.array(spread)


def draw() -> Canvas:
    """Everything is simulated; the asymptote is exact."""
    record = load("clnss22-adaptive")
    values = record.values
    queries = np.array(values["queries"])
    figure, (bare, protected, errors) = style.panels(3, width=11.4, height=4.2)
    panels = (
        (bare, "none", "exact answers"),
        (protected, "repetitive", "Theorem 11"),
    )
    for axes, protection, name in panels:
        look = LOOKS[protection][1]
        for value, label, line, face in (
            ("answer", "As answered", "-", look["color"]),
            ("population", "In the population", ":", "white"),
        ):
            mean, half = means(record, protection, value)
            axes.plot(queries, mean, color=look["color"], linestyle=line, label=label)
            style.points(
                axes, queries, mean, mean - half, mean + half, look,
                markerfacecolor=face,
            )  # fmt: skip
        axes.set_ylabel(f"Mean of the last query, {name}")
        axes.set_ylim(0.2, 0.8)
        style.legend(axes, loc="upper left")
    for protection, (label, look) in LOOKS.items():
        mean, half = means(record, protection, "gap")
        errors.plot(
            queries, mean, color=look["color"], linestyle=look["linestyle"], label=label
        )
        style.points(errors, queries, mean, mean - half, mean + half, look)
    distance = float(values["distance"])
    errors.axhline(
        distance, color="#b00020", linewidth=1.0, linestyle=":",
        label="All of the sample's error",
    )  # fmt: skip
    errors.set_ylim(-0.1 * distance, 1.9 * distance)
    errors.set_ylabel("Last answer minus population value")
    style.legend(errors, loc="upper left")
    for axes in (bare, protected, errors):
        axes.set_xscale("log")
        axes.set_xlabel("Number of queries m before the last")
    standard, improved = spent()
    style.note(
        figure,
        f"Population: {values['source']}, {int(values['cells'])} cells; "
        f"{int(values['rows'])} rows are drawn from it. The analyst asks m random "
        "queries, weighs each by how far its answer lies from the population's, and "
        "asks last for the cells with a positive vote. Multiplicative weights: ε = "
        f"{standard:g} (Theorem 9) and {improved:g} (Theorem 11) with respect to the "
        f"rows, δ = 0, threshold {sim.THRESHOLD:g}, at most {sim.ANSWERS} answers from "
        f"the rows; Theorem 11's halts after {sim.FAILURES} failed batches, and then "
        "answers from its hypothesis, right or wrong; "
        "for so few rows no epsilon of use leaves answers of use, and what Theorems 10 "
        "and 12 prove is empty: what is seen is the algorithm, not the theorem. Red: "
        "exact mean total variation distance of the rows from the population, which "
        f"exact answers reveal as m grows. {int(values['trials']):,} analyses a point, "
        "95 % intervals.",
    )
    return figure
