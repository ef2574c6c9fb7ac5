"""The privacy cost of one Selection of Cohen et al. 2022: their Theorem 1 and exact values.

This is in none of the papers: Koskela, Redberg & Wang 2024 leave this law of K open. Up to
tau runs are made, each with probability p, where p = U^(1/gamma) is drawn once. There are two
bases:

  gaussian: N(0, 1) on the data and N(1/4, 1) on the neighbour, ranked in the order found
    worst at some epsilons (see ``sims.common.line_rankings``);
  pure: three outcomes of an epsilon-DP run, epsilon = 1. The best is e^epsilon times likelier
    on the neighbour, the next on the data. This costs most if the next is rare, but then it
    is rarely seen, so the laws are those of the audit that should find most.

One trial is one execution of the tuned algorithm.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import krw24_shared as shared
from figures.common import words
from figures.common.krw24_audits import arrows, audited_epsilon
from figures.common.krw24_shared import DELTA, KINDS, Delta, kind
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, beta_binomial
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import tuned_profile
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.bounds.generic import generic_renyi
from sims.cells import cells
from sims.common.line_rankings import planned_trial, worst_rankings
from sims.common.worst_rankings import SIDES, GaussianBase

TITLE = "Cohen et al. 2022, Theorem 1, against the envelope: beta-binomial K"
TRIALS = 2_000_000
SECONDS = 15

GAMMAS = over(0.5, 1.0, 2.0)
MOST = over(3, 30, 300, 3000)  # tau
PURE = 1.0  # epsilon of the pure base
RUNS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)  # tau of the curves
PURE_RUNS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 100, 10_000)
_SPREAD = 4.0  # standard deviations that the planned audit allows for
_COHEN = style.own(style.PURPLE, (0, (6, 1.5)), linewidth=1.6)
_TITLES = ("γ = ½, 𝔼[K] = τ/3", "γ = 1, 𝔼[K] = τ/2", "γ = 2, 𝔼[K] = 2τ/3")


# --- What is simulated ----------------------------------------------------------------


@cells(measures=["counts", "frequency"])
def ranked(
    gamma: float = GAMMAS,
    most: int = MOST,
    ranking: str = over("0.01", "0.001"),
    side: str = over(*SIDES),
    base: GaussianBase = GaussianBase(),
) -> Trial:
    """The released interval, under the ranking that is worst at a delta."""
    return planned_trial(base, beta_binomial(most, gamma).name, ranking, side)


def three_outcomes(best: float, share: float) -> np.ndarray:
    """Laws of one PURE-DP run: Float64["2 3"], best outcome first.

    Args:
      best: mass of the best outcome on the data, at most 1/(1 + e^epsilon).
      share: mass of the next outcome on the neighbour, less than 1/(1 + e^epsilon) and at
        most 1 - e^epsilon best.
    """
    odds = math.exp(PURE)
    first, second = (best, share * odds), (best * odds, share)
    return np.array([[*side, max(0.0, 1.0 - sum(side))] for side in (first, second)])


def planned_outcomes(law: Repetitions, trials: int) -> np.ndarray:
    """The three-outcome laws that an audit with this many trials should tell apart best."""
    odds = math.exp(PURE)
    best = np.geomspace(1e-5, 0.999 / (1.0 + odds), 240)[:, None]
    share = best * np.geomspace(1e-4, 0.3, 60)
    seen, other = (
        law.pgf_gap(np.minimum(low + mass, 1.0)) - law.pgf_gap(low)
        for low, mass in ((best, share * odds), (odds * best, share))
    )
    spread = _SPREAD / np.sqrt(trials)
    low = np.maximum(seen - spread * np.sqrt(seen), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(low) - np.log(other + spread * np.sqrt(other))
    loss = np.where(odds * best + share < 1.0, loss, -np.inf)
    row, column = np.unravel_index(np.argmax(loss), loss.shape)
    return three_outcomes(float(best[row, 0]), float(share[row, column]))


@cells(measures=["counts", "frequency"])
def pure(trials: int, gamma: float = GAMMAS, most: int = MOST, side: str = over(*SIDES)) -> Trial:
    """The released outcome of the best of K runs of the pure base."""
    law = beta_binomial(most, gamma)
    outcomes = planned_outcomes(law, trials)[SIDES.index(side)]
    return Trial(private_tuning(finite(), law.family), outcomes, {"repetitions": law})


# --- Theory ---------------------------------------------------------------------------


@functools.cache
def gaussian_rungs(
    count: int, gamma: float, base: GaussianBase = GaussianBase(), delta: float = DELTA
) -> dict[str, float]:
    """Epsilon at delta of the best of K runs of the Gaussian base, by name.

    "adversarial" is exact under the worst ranking found; "envelope" is that bound; "RDP" is
    Lemma 7 of Papernot & Steinke 2022; "Cohen" is Theorem 1, from the base at delta/tau.
    """
    law, known = beta_binomial(count, gamma), shared.guarantee(base)
    envelope = envelope_epsilon(base_envelopes(known, law), delta)
    # a ranking that is bad at the envelope's epsilon is bad at its own epsilon, too
    (worst,) = worst_rankings(base.pair, law, [envelope], base.directions)
    return {
        "adversarial": tuned_profile(base.pair, law, worst.order).epsilon(delta),
        "envelope": envelope,
        "RDP": renyi_to_epsilon(generic_renyi(known, law), delta).epsilon,
        "Cohen": (2.0 + gamma) * known.epsilon(delta / count),
    }


@functools.cache
def pure_rungs(count: int, gamma: float) -> dict[str, float]:
    """Epsilon at delta = 0 of the best of K runs of the pure base, by the same names.

    "adversarial" is exact for three outcomes, where the outcome that tells the sides apart is
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


# --- Drawing --------------------------------------------------------------------------


def _lines(axes: Axes, runs: Sequence[int], found: list[dict[str, float]], labelled: bool) -> None:
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


def lower_bounds(found: xr.Dataset, delta: float, confidence: float = 0.95) -> list[float]:
    """Audited lower bounds on epsilon for each tau.

    Ranking and event are planned on exact laws, before tallies are looked at.

    Args:
      found: counts and exact laws of one gamma, in one ranking or several.
      delta: 0 for the pure base.
      confidence: confidence level of each bound.
    """
    seen = [found]
    if "ranking" in found.dims:
        seen = [found.sel(ranking=ranking) for ranking in found["ranking"]]
    return [
        audited_epsilon([each.sel(most=most) for each in seen], delta, confidence)
        for most in found["most"]
    ]


def _points(axes: Axes, found: xr.Dataset, delta: float, label: str | None) -> None:
    lower = lower_bounds(found, delta)
    arrows(axes, found["most"], lower, "adversarial", label, yerr=0.22)


def _gaussian(
    axes: Axes, ranked: xr.Dataset, base: GaussianBase, delta: float, labelled: bool
) -> None:
    gamma = float(ranked["gamma"])
    found = [gaussian_rungs(count, gamma, base, delta) for count in RUNS]
    lower, upper = ([e[name] for e in found] for name in ("envelope", "Cohen"))
    axes.fill_between(RUNS, lower, upper, color=_COHEN["color"], alpha=0.07, lw=0.0)
    _lines(axes, RUNS, found, labelled)
    _points(axes, ranked, delta, words.AUDITED if labelled else None)
    last = found[-1]
    for name, shift in (("Cohen", 0.17), ("RDP", 0.2), ("envelope", -0.3)):
        color = _COHEN["color"] if name == "Cohen" else KINDS[name]["color"]
        axes.annotate(
            f"{last[name]:.2f}",
            (RUNS[-1], last[name] + shift),
            ha="right",
            fontsize=7,
            color=color,
            va="center",
        )


def _pure(axes: Axes, pure: xr.Dataset) -> None:
    gammas = pure["gamma"].values.tolist()
    for gamma, written in zip(gammas, ("½", "1", "2"), strict=True):
        found = [pure_rungs(count, gamma) for count in PURE_RUNS]
        _lines(axes, PURE_RUNS, found, labelled=False)
        _points(axes, pure.sel(gamma=gamma), 0.0, None)
        axes.text(
            95.0,
            (2.0 + gamma) * PURE + 0.16,
            f"γ = {written}",
            fontsize=7.4,
            ha="center",
            va="center",
        )
    axes.text(
        1.0,
        (2.0 + gammas[-1]) * PURE + 0.2,
        "Theorem 1: (2 + γ)ε",
        fontsize=7.4,
        color=_COHEN["color"],
        va="center",
    )
    axes.set_title(f"Pure base, ε = {PURE:g}, δ = 0")


def draw(
    ranked: xr.Dataset, pure: xr.Dataset, delta: Delta = DELTA, base: GaussianBase = GaussianBase()
) -> Canvas:
    """Draws epsilon against tau: a panel per gamma for the Gaussian base, one for the pure base."""
    figure, panels = style.panels(2, 2, width=7.6, height=6.7, sharex=True, sharey=True)
    setting = f"σ = {base.noise_multiplier:g}, δ = {words.power(delta)}"
    for axes, gamma, title in zip(panels[:3], ranked["gamma"], _TITLES, strict=True):
        first = axes is panels[0]
        _gaussian(axes, ranked.sel(gamma=gamma), base, delta, labelled=first)
        axes.set_title(f"Gaussian, {setting}: {title}")
    _pure(panels[3], pure)
    for axes in panels:
        axes.set(xscale="log", xlim=(0.8, 1.3e4), ylim=(0.0, 6.4))
    for axes in panels[2:]:
        axes.set_xlabel("τ, the most runs that may be made")
    for axes in panels[::2]:
        axes.set_ylabel("ε of the release")
    style.legend_above(figure, panels[0], 3)
    return style.captioned(
        figure,
        "One selection of Cohen et al. 2022: the best of K runs, K ~ Bin(τ, p) and "
        "p = U^(1/γ). Gaussian base: Theorem 1 is (2 + γ) times the base's ε at δ/τ; "
        "exact values are for N(0, 1) against N(1/4, 1) in the worst ranking found on "
        "300 cells; shaded: what the envelope bound saves. Pure base: exact values are "
        "for three outcomes, the middle one nearly impossible; they reach Theorem 1 as "
        f"τ grows. Audited: {ranked.attrs['trials']:,} trials a side and ranking, events "
        "planned on exact laws; rankings and outcomes are those that such audits see best.",
    )
