"""Cohen et al. 2022: what one selection costs, against their Theorem 1 and the exact.

Not in any of the papers: Koskela, Redberg & Wang 2024 leave this law of K open.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from figures.common.krw24_audits import arrows, planned_event
from figures.common.krw24_shared import BASE, DELTA, KINDS, kind
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.attained.exact_profile import tuned_profile
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.families.tuning.bounds.generic import generic_renyi
from jaxsel.pictures import style
from jaxsel.repetitions import beta_binomial
from sims.common.line_rankings import worst_rankings
from sims.common.worst_rankings import NOISE_MULTIPLIER
from sims.krw24_beta_binomial import GAMMAS, PURE, three_outcomes
from sims.krw24_profile import BASES
from sims.registry import Result

TITLE = "Cohen et al. 2022, Theorem 1, against the envelope: beta-binomial K"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "sims.krw24_profile",
)
SECONDS = 26
RUNS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)  # tau of the curves
PURE_RUNS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 100, 10_000)
_COHEN = {"color": "#aa4499", "linestyle": (0, (6, 1.5)), "linewidth": 1.6}
_TITLES = ("γ = ½, 𝔼[K] = τ/3", "γ = 1, 𝔼[K] = τ/2", "γ = 2, 𝔼[K] = 2τ/3")


@functools.cache
def gaussian_rungs(count: int, gamma: float) -> dict[str, float]:
    """Epsilon at DELTA, for the Gaussian base with noise multiplier 4.

    "adversarial", exact under a ranking found; "envelope"; "RDP", Lemma 7 of Papernot &
    Steinke 2022; "Cohen", Theorem 1 from the base at delta/tau.
    """
    law = beta_binomial(count, gamma)
    envelope = envelope_epsilon(base_envelopes(BASE, law), DELTA)
    pair, directions, _ = BASES["gaussian"]
    # a ranking that is bad at the envelope's epsilon is bad at its own
    (worst,) = worst_rankings(pair, law, [envelope], directions)
    return {
        "adversarial": tuned_profile(pair, law, worst.order).epsilon(DELTA),
        "envelope": envelope,
        "RDP": renyi_to_epsilon(generic_renyi(BASE, law), DELTA).epsilon,
        "Cohen": (2.0 + gamma) * BASE.epsilon(DELTA / count),
    }


@functools.cache
def pure_rungs(count: int, gamma: float) -> dict[str, float]:
    """Epsilon at delta 0 of an epsilon-DP base, epsilon = PURE; names as above.

    "adversarial" is exact for three outcomes, the one that tells the sides apart being
    nearly impossible.
    """
    law, odds = beta_binomial(count, gamma), math.exp(PURE)
    best = np.geomspace(1e-7, 1.0 / (1.0 + odds), 2000)
    slope = law.log_pgf_derivative_tail
    place = int(np.argmax(slope(best) - slope(np.minimum(odds * best, 1.0))))
    mass = float(best[place]) * (1.0 - 1e-9)
    sides = three_outcomes(mass, 1e-10 * mass)
    envelope = base_envelopes(curves.pure(PURE), law)
    return {
        "adversarial": exact_epsilon(*(tuned_law(side, law) for side in sides)),
        "envelope": envelope_epsilon(envelope, 0.0),
        "Cohen": (2.0 + gamma) * PURE,
    }


def audited(
    record: Result, row: int, column: int, *, pure: bool, confidence: float = 0.95
) -> tuple[float, float]:
    """The audited lower bound on epsilon, and the exact value that it is below.

    Args:
      record: tallies (see ``sims.krw24_beta_binomial``).
      row, column: of gamma and tau.
      pure: of the pure base at delta 0, or of the Gaussian one at DELTA.
      confidence: of the bound.

    Returns:
      The bound, its event planned on exact laws; and the "adversarial" rung.
    """
    law = beta_binomial(record.values["counts"][column], record.values["gammas"][row])
    runs, tallies = (record.arrays[n][row, column] for n in ("run_laws", "tallies"))
    chosen = slice(-1, None) if pure else slice(None, -1)
    trials, error = int(record.values["trials"]), (1.0 - confidence) / 4.0
    delta = 0.0 if pure else DELTA

    def loss(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low - delta, 0.0)) - np.log(high)

    laws = [np.stack([tuned_law(side, law) for side in each]) for each in runs[chosen]]
    plans = [planned_event(each, trials, error, loss) for each in laws]
    best = max(range(len(plans)), key=lambda cell: plans[cell][1])
    first, second = tallies[chosen][best]
    event = plans[best][0][None, :]
    bound = epsilon_lower_bound(first, second, delta, confidence, event)
    rungs = pure_rungs if pure else gaussian_rungs
    return bound.lower, rungs(record.values["counts"][column], law.parameters["gamma"])[
        "adversarial"
    ]


# --- Drawing --------------------------------------------------------------------------


def _lines(
    axes: Axes, runs: Sequence[int], found: list[dict[str, float]], labelled: bool
) -> None:
    looks = {
        "Cohen": _COHEN | {"label": "Cohen et al., Theorem 1 (claim)"},
        "RDP": kind("RDP", "RDP, PS Lemma 7 (claim)"),
        "envelope": kind("envelope"),
        "adversarial": kind("adversarial"),
    }
    for name, look in looks.items():
        if name in found[0]:
            label = look.pop("label")
            values = [each[name] for each in found]
            axes.plot(runs, values, **look, label=label if labelled else None)


def _points(
    axes: Axes, record: Result, row: int, *, pure: bool, labelled: bool
) -> None:
    counts = record.values["counts"]
    found = [audited(record, row, i, pure=pure)[0] for i in range(len(counts))]
    label = "audited lower bound (95 %)" if labelled else None
    arrows(axes, counts, found, "adversarial", label, yerr=0.22)


def _gaussian(axes: Axes, record: Result, row: int) -> None:
    found = [gaussian_rungs(count, GAMMAS[row]) for count in RUNS]
    lower, upper = ([e[name] for e in found] for name in ("envelope", "Cohen"))
    axes.fill_between(RUNS, lower, upper, color=_COHEN["color"], alpha=0.07, lw=0.0)
    _lines(axes, RUNS, found, labelled=row == 0)
    _points(axes, record, row, pure=False, labelled=row == 0)
    last = found[-1]
    for name, shift in (("Cohen", 0.17), ("RDP", 0.2), ("envelope", -0.3)):
        color = _COHEN["color"] if name == "Cohen" else KINDS[name]["color"]
        axes.annotate(
            f"{last[name]:.2f}", (RUNS[-1], last[name] + shift), ha="right", fontsize=7,
            color=color, va="center",
        )  # fmt: skip
    axes.set_title(
        f"Gaussian, σ = {NOISE_MULTIPLIER:g}, δ = {words.power(DELTA)}: {_TITLES[row]}"
    )


def _pure(axes: Axes, record: Result) -> None:
    for row, gamma in enumerate(GAMMAS):
        found = [pure_rungs(count, gamma) for count in PURE_RUNS]
        _lines(axes, PURE_RUNS, found, labelled=False)
        _points(axes, record, row, pure=True, labelled=False)
        axes.text(
            95.0, (2.0 + gamma) * PURE + 0.16, f"γ = {('½', '1', '2')[row]}",
            fontsize=7.4, ha="center", va="center",
        )  # fmt: skip
    axes.text(
        1.0, (2.0 + GAMMAS[-1]) * PURE + 0.2, "Theorem 1: (2 + γ)ε", fontsize=7.4,
        color=_COHEN["color"], va="center",
    )  # fmt: skip
    axes.set_title(f"Pure base, ε = {PURE:g}, δ = 0")


def draw() -> Canvas:
    """Epsilon against tau: a panel a gamma for a Gaussian base, one for a pure base."""
    record = load("krw24-beta-binomial")
    figure = Canvas(figsize=(7.6, 6.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for row in range(len(GAMMAS)):
        _gaussian(panels[row], record, row)
    _pure(panels[3], record)
    for axes in panels:
        axes.set(xscale="log", xlim=(0.8, 1.3e4), ylim=(0.0, 6.4))
    for axes in panels[2:]:
        axes.set_xlabel("τ, the most runs that may be made")
    for axes in panels[::2]:
        axes.set_ylabel("ε of the release")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    trials = int(record.values["trials"])
    style.note(
        figure,
        "One selection of Cohen et al. 2022: the best of K runs, K ~ Bin(τ, p) and "
        "p = U^(1/γ). Gaussian base: Theorem 1 is (2 + γ) times the base's ε at δ/τ; "
        "exact values are for N(0, 1) against N(1/4, 1) in the worst ranking found on "
        "300 cells; shaded: what the envelope bound saves. Pure base: exact values are "
        "for three outcomes, the middle one nearly impossible; they reach Theorem 1 as "
        f"τ grows. Audited: {trials:,} trials a side and ranking, events planned on "
        "exact laws; rankings and outcomes are those that such audits see best.",
    )
    return figure
