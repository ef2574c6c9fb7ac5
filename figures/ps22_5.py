"""Papernot & Steinke 2022, Figure 5: expected quantile against privacy."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from figures.common.tuned_curves import NAMES, curve, stored_laws
from jaxsel.host.intervals import mean_interval
from jaxsel.language.domains import number, positive
from jaxsel.pictures import style
from jaxsel.repetitions import expected_quantile
from sims.common import tuned_laws

TITLE = "Papernot & Steinke 2022, Figure 5: expected quantile against privacy"

LOW, HIGH = 3.0, 7.0
SETTABLE = {
    "LOW": number("epsilon where curves begin", at_least=0.0),
    "HIGH": positive("epsilon where curves end"),
}
_UNIT = 2**30  # the fixed point of the stored sums


def theory(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Epsilon and expected quantile along a family of laws of K."""
    epsilons, members = curve(name, HIGH, LOW)
    return epsilons, np.array([expected_quantile(law) for law in members])


def simulated(row: int, record, confidence: float = 0.95) -> dict[str, Any]:
    """Epsilon, expected quantile, its estimate and interval, for one family."""
    arrays, values = record
    name, count = values["families"][row], int(values["trials"])
    members = stored_laws(name, values["parameters"][row])
    total = [int(x) for x in arrays["sum"][row]]
    parts = zip(arrays["square_high"][row], arrays["square_low"][row], strict=True)
    squares = [int(high) * _UNIT + int(low) for high, low in parts]
    low, high = mean_interval(count, total, squares, confidence, 0.0, float(_UNIT))
    return {
        "name": name,
        "epsilon": np.array([tuned_laws.epsilon(law) for law in members]),
        "theory": np.array([expected_quantile(law) for law in members]),
        "mean": np.array([x / count / _UNIT for x in total]),
        "low": low / _UNIT,
        "high": high / _UNIT,
    }


def draw() -> Canvas:
    """Curves: the theorems as printed; points: simulated, with 95 % intervals."""
    record = load("ps22-5")
    figure, (axes,) = style.panels(height=4.0)
    for name, legend in NAMES.items():
        style.line(axes, *theory(name), legend)
    for row in range(len(record.values["families"])):
        found = simulated(row, record)
        style.points(
            axes, found["epsilon"], found["mean"], found["low"], found["high"],
            NAMES[found["name"]],
        )  # fmt: skip
    axes.set(xlim=(LOW, HIGH), ylim=(0.5, 1.005))
    axes.set_xlabel(f"Privacy ε for (ε, {words.scientific(tuned_laws.DELTA)})-DP")
    axes.set_ylabel("Expected quantile = 1 − 𝔼[1/(K+1)]")
    style.legend(axes, loc="lower right", ncols=2)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Base {tuned_laws.RHO:g}-zCDP. Lines: Corollary 4 (negative binomial), "
        f"Theorem 6 with δ̂ by Lemma 14 (Poisson), as printed. Points: {trials:,} "
        "trials each, 95 % intervals. The paper's legend shows one of "
        "η\u00a0=\u00a0±0.5; both are drawn.",
    )
    return figure
