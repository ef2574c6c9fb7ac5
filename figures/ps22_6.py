"""Papernot & Steinke 2022, Figure 6: success probability against privacy."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from figures.common.tuned_curves import NAMES, curve, stored_laws
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.domains import number, positive
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, success_probability
from sims.common import tuned_laws
from sims.ps22_6 import BASE_SUCCESS

TITLE = "Papernot & Steinke 2022, Figure 6: success probability against privacy"

LOW, HIGH = 0.0, 8.0
SETTABLE = {
    "LOW": number("epsilon where curves begin", at_least=0.0),
    "HIGH": positive("epsilon where curves end"),
}
NAIVE = "naive"


def theory(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Epsilon and success probability along a family of laws of K."""
    if name == NAIVE:
        members = [tuned_laws.naive(count) for count in range(1, 11)]
        epsilons = np.array([tuned_laws.epsilon(law) for law in members])
    else:
        epsilons, members = curve(name, HIGH, LOW)
    return epsilons, _success(members)


def _success(members: list[Repetitions]) -> np.ndarray:
    return np.array([float(success_probability(k, BASE_SUCCESS)) for k in members])


def simulated(record, confidence: float = 0.95) -> list[dict[str, Any]]:
    """Epsilon, success probability, its estimate and interval, for each family."""
    arrays, values = record
    rows = [
        (name, stored_laws(name, parameters), successes)
        for name, parameters, successes in zip(
            values["families"], values["parameters"], arrays["successes"], strict=True
        )
    ]
    fixed = [tuned_laws.naive(int(count)) for count in values["counts"]]
    rows.append((NAIVE, fixed, arrays["naive_successes"]))
    found = []
    for name, members, successes in rows:
        low, high = clopper_pearson(successes, values["trials"], confidence)
        found.append(
            {
                "name": name,
                "epsilon": np.array([tuned_laws.epsilon(law) for law in members]),
                "theory": _success(members),
                "mean": successes / values["trials"],
                "low": low,
                "high": high,
            }
        )
    return found


def draw() -> Canvas:
    """Curves: the theorems as printed; points: simulated, with 95 % intervals."""
    record = load("ps22-6")
    found = simulated(record)
    names = {NAIVE: "Naive repetition"} | NAMES
    figure, (axes,) = style.panels(height=4.0)
    order = [NAIVE, *(name for name in NAMES if name in record.values["families"])]
    for name in order:
        style.line(axes, *theory(name), names[name])
    for each in found:
        style.points(
            axes, each["epsilon"], each["mean"], each["low"], each["high"],
            names[each["name"]],
        )  # fmt: skip
    axes.set(xlim=(LOW, HIGH), ylim=(-0.005, 1.01))
    axes.set_xlabel(
        f"Privacy loss bound ε for (ε, {words.scientific(tuned_laws.DELTA)})-DP"
    )
    share = words.fraction(BASE_SUCCESS)
    axes.set_ylabel(f"Success probability = 1 − f(1 − {share})")
    style.legend(axes, loc="upper left")
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Base {tuned_laws.RHO:g}-zCDP, succeeds with probability {share}. Lines: "
        "Corollary 4 (negative binomial), Theorem 6 with δ̂ by Lemma 14 (Poisson; "
        f"below E[K] = 1 corrected, E-PS-1), composition (naive). Points: {trials:,} "
        f"trials each, exact 95 % intervals. η = −0.5 saturates at √({share}). The "
        "paper's legend shows one of η\u00a0=\u00a0±0.5; both are drawn.",
    )
    return figure
