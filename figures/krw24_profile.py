"""What tuning really costs: from audit to claim, for one base and six laws of K.

Not in any of the papers. Drawn for three bases; this file's own figure is the Gaussian.
"""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import words
from figures.common.figure import load
from figures.common.krw24_audits import Audited, arrows, planned_event
from figures.common.krw24_ladder import LOOKS, Ladder, ladder
from figures.common.krw24_shared import DELTA
from jaxsel.auditing.audit_bounds import delta_lower_bound
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from sims.common.worst_rankings import NOISE_MULTIPLIER
from sims.krw24_profile import LAPLACE_SCALE, LAWS, SAMPLING_RATE, STEP_NOISE, TARGETS
from sims.registry import Result

TITLE = "What tuning really costs: Gaussian base, from audits to claims"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "sims.krw24_profile",
)
SECONDS = 35
_TITLES = (
    "K geometric, 𝔼[K] = 10",
    "K geometric, 𝔼[K] = 300",
    "K logarithmic, 𝔼[K] = 10",
    "K Poisson, 𝔼[K] = 10",
    "K binomial, n = 20, 𝔼[K] = 10",
    "K beta-binomial, τ = 20, γ = 1, 𝔼[K] = 10",
)
_CLAIMS = {
    "KRW-Thm5.2": "KRW, Thm 5.2",
    "KRW-Thm5.7": "KRW, Thm 5.7",
    "KRW-Cor5.8": "KRW, Cor. 5.8",
    "KRW-N2": "uniform ratio*",
    "PS-Thm2": "RDP, PS Thm 2",
    "PS-Thm6-profile": "RDP, PS Thm 6",
    "PS-Lem7": "RDP, PS Lem. 7",
}
_RUNGS = {
    "envelope": "envelope*",
    "adversarial": "adversarial order",
    "aligned": "score = loss",
    "anti-aligned": "score = −loss",
    "independent": "score = noise",
}
_SHIFT, _LOSS = (words.fraction(1.0 / x) for x in (NOISE_MULTIPLIER, LAPLACE_SCALE))
_BASES = {
    "gaussian": f"Gaussian mechanism, sensitivity 1, σ = {NOISE_MULTIPLIER:g}: N(0, 1) "
    f"against N({_SHIFT}, 1)",
    "laplace": f"Laplace mechanism, ε = {_LOSS}: Laplace(1) around 0 and around {_LOSS}",
    "dp-sgd": f"one step of DP-SGD, q = {SAMPLING_RATE:g}, noise multiplier "
    f"{STEP_NOISE:g}: {1.0 - SAMPLING_RATE:g} N(0, 1) + {SAMPLING_RATE:g} "
    f"N({words.fraction(1.0 / STEP_NOISE)}, 1) against N(0, 1)",
}
_LOWEST = {"gaussian": 1e-8, "laplace": 1e-4, "dp-sgd": 1e-8}  # delta that is shown


# --- Audits ---------------------------------------------------------------------------


def _natural_points(found: Ladder) -> list[float]:
    """About where the larger of two natural profiles is one of TARGETS."""
    natural = np.maximum(found.deltas["aligned"], found.deltas["anti-aligned"])
    seen = natural > 1e-6
    targets = np.array([target for target in TARGETS if target < natural[0]])
    logs = -np.log(natural[seen])
    return np.interp(-np.log(targets), logs, found.epsilons[seen]).tolist()


def _tuned(run_laws: np.ndarray, law: Repetitions) -> np.ndarray:
    return np.stack([tuned_law(side, law) for side in run_laws])


def audited(
    record: Result, base: str, row: int, confidence: float = 0.95
) -> dict[str, list[Audited]]:
    """Audited lower bounds on delta, each at an epsilon fixed beforehand.

    Args:
      record: tallies (see ``sims.krw24_profile``).
      base: name of the base.
      row: of the law of K.
      confidence: of each bound.

    Returns:
      "adversarial" and "natural" (larger outputs are better); ``exact`` is that of the
      cells told apart.
    """
    law, place = parse(record.values["laws"][row]), record.values["bases"].index(base)
    trials, error = int(record.values["trials"]), (1.0 - confidence) / 4.0
    runs, counts = (record.arrays[n][place, row] for n in ("run_laws", "counts"))
    plans = [("natural", 0, e) for e in _natural_points(ladder(base, LAWS[row]))]
    sought = record.arrays["epsilons"][place, row].tolist()
    plans += [("adversarial", i, e) for i, e in enumerate(sought) if not math.isnan(e)]
    found: dict[str, list[Audited]] = {"natural": [], "adversarial": []}
    laws = [_tuned(each, law) for each in runs]
    for kind, ranking, epsilon in plans:
        scale = math.exp(epsilon)
        event, _ = planned_event(
            laws[ranking], trials, error, lambda low, high, s=scale: low - s * high
        )
        first, second = counts[ranking]
        bound = delta_lower_bound(first, second, epsilon, confidence, event[None, :])
        exact = max(
            float(np.sum(np.maximum(p - scale * q, 0.0)))
            for p, q in (laws[ranking], laws[ranking][::-1])
        )
        found[kind].append(Audited(epsilon, bound.lower, exact))
    return found


# --- Drawing --------------------------------------------------------------------------


def _rungs(axes: Axes, found: Ladder) -> None:
    names = _RUNGS | {name: _CLAIMS[id] for name, id in found.theorems.items()}
    floor = axes.get_ylim()[0] / 10.0
    axes.fill_between(
        found.epsilons,
        np.maximum(found.deltas["adversarial"], floor),
        np.maximum(found.deltas["envelope"], floor),
        color=LOOKS["envelope"]["color"], alpha=0.13, linewidth=0.0,
    )  # fmt: skip
    for name in LOOKS:
        axes.plot(
            found.epsilons, np.maximum(found.deltas[name], floor), **LOOKS[name],
            label=f"{names[name]}  {found.at[name]:.3f}",
        )  # fmt: skip


def _name_the_gap(axes: Axes, found: Ladder) -> None:
    """Puts words in the middle of the shaded part, if it is wide enough for them."""
    names = ("adversarial", "envelope")
    low, high = (np.log(np.maximum(found.deltas[name], 1e-3)) for name in names)
    width = high - low
    if np.mean(width > 1.0) * found.epsilons[-1] < 0.2 * axes.get_xlim()[1]:
        return
    place = int(np.searchsorted(np.cumsum(width), 0.42 * width.sum()))
    axes.text(
        found.epsilons[place], math.exp(0.5 * (low[place] + high[place])),
        "not settled", fontsize=6.4, color="#2f5d7c", ha="center", va="center",
    )  # fmt: skip


def _panel(axes: Axes, record: Result, base: str, row: int) -> None:
    found, low = ladder(base, LAWS[row]), _LOWEST[base]
    # Every panel ends where its last curve does.
    ends = [found.epsilons[curve > low].max() for curve in found.deltas.values()]
    axes.set(yscale="log", xlim=(0.0, 1.02 * max(ends)), ylim=(low, 2.0))
    _rungs(axes, found)
    if row == 1:
        _name_the_gap(axes, found)
    legend = axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=7.0,
        title=f"ε at δ = {words.power(DELTA)}", title_fontsize=7.4,
        
        handlelength=1.7, labelspacing=0.3, borderaxespad=0.0, borderpad=0.2,
        alignment="left", frameon=False,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), LOOKS, strict=True):
        text.set_color(LOOKS[name]["color"])
    for kind, points in audited(record, base, row).items():
        shown = [each for each in points if each.delta > 0.0]
        delta = np.array([each.delta for each in shown])
        arrows(
            axes, [each.epsilon for each in shown], delta, kind, None, yerr=1.1 * delta,
            markersize=3.6,
        )  # fmt: skip
    axes.set_title(_TITLES[row])
    axes.yaxis.set_major_locator(LogLocator(numticks=12))


def draw(base: str = "gaussian") -> Canvas:
    """One panel a law of K: every rung from audit to claim, with epsilon at 10^-6."""
    record = load("krw24-profile")
    figure = Canvas(figsize=(9.8, 9.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(3, 2, sharey=True)
    for row, axes in enumerate(panels.ravel()):
        _panel(axes, record, base, row)
    for axes in panels[-1]:
        axes.set_xlabel("ε")
    for axes in panels[:, 0]:
        axes.set_ylabel("δ(ε)")
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"What tuning really costs. Base: {_BASES[base]}. Claims, for every ranking of "
        "the outputs: RDP (PS: Papernot & Steinke 2022; Theorem 6 with the exact δ̂), "
        "profile (KRW: Koskela, Redberg & Wang 2024), envelope. *This project's; KRW "
        "have no theorem for the beta-binomial law. Exact values, for this pair: in "
        "the adversarial order, the worst ranking that a search found at each ε, and "
        "when the score is the privacy loss, less it, or pure noise (then the release "
        "is that of one run, if any). All: the larger of both directions. Shaded: not "
        "settled between the worst ranking found and the envelope bound. Audited "
        f"lower bounds (95 % each, {trials:,} trials a side and ranking): circles, "
        "adversarial order; squares, larger outputs are better. Each panel has its own "
        "range of ε.",
    )
    return figure
