"""Koskela, Redberg & Wang 2024, Figure 4: binomial numbers of runs of mean 10."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common import words
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel import repetition_sampling as sampling
from jaxsel.language.base import FiniteLaw, Mechanism
from jaxsel.language.domains import whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, binomial, poisson
from jaxsel.tuning.bounds.poisson import poisson_renyi
from jaxsel.tuning.bounds.profiles import binomial_profile, poisson_profile
from sims.cells import cells
from sims.common.worst_rankings import SIDES, TARGETS, GaussianBase, natural_trial, ranked_trial

TITLE = "Koskela, Redberg & Wang 2024, Figure 4: binomial K"
TRIALS = 4_000_000
SECONDS = 18

LAWS = ("n = 12", "n = 15", "n = 20", "n = 50", "n = 1000", "Poisson")
PROFILED = over("n = 12", "n = 20", "Poisson")  # laws whose privacy is simulated
Mean = Annotated[int, whole("E[K] of all laws", at_least=2, at_most=11)]
LARGEST = 40  # numbers of runs from here on are counted together
LOW, HIGH = 1e-10, 2.0
LARGEST_SHOWN = 24
_TABLE = 128  # entries of the look-up tables, more than any law here needs
_SOURCES = {"renyi": "δ̂ by Lemma 14", "profile": "exact δ̂ (R-KRW-5)"}
# Orange for Theorem 5.7, the darker the larger n, and grey for Renyi bounds, as in the
# other panels.
_LOOKS = {
    **{
        name: {"color": colormaps["Oranges"](0.4 + 0.15 * row)}
        for row, name in enumerate(LAWS[:-1])
    },
    "Poisson": style.own(style.BLACK, "-."),
    "renyi": style.own(style.GREY, "--"),
    "profile": style.own(style.GREY, (0, (5, 1.5, 1, 1.5))),
}
_MARKERS = dict(zip(LAWS, "vDos^P", strict=True))


def law_of(name: str, mean: int = 10) -> Repetitions:
    """Bin(n, mean/n), or Poisson(mean)."""
    if name == "Poisson":
        return poisson(mean)
    count = int(name.removeprefix("n = "))
    return binomial(count, mean / count)


# --- What is simulated ----------------------------------------------------------------


def _prepare(law: Repetitions, params):
    """The table of ``sample_count``, padded so that all laws share one compiled program."""
    table = sampling.prepare_count(law)
    cdf = np.pad(table["cdf"], (0, _TABLE - table["cdf"].size), mode="edge")
    return table | {"cdf": cdf}, params


def _law(law: Repetitions, params) -> FiniteLaw:
    masses = np.append(law.pmf(np.arange(LARGEST)), law.survival(LARGEST - 1))
    return FiniteLaw(masses, _labels(law, params))


def _labels(law: Repetitions, params) -> tuple[str, ...]:
    del law, params
    return (*(str(k) for k in range(LARGEST)), f">={LARGEST}")


NUMBER_OF_RUNS = Mechanism(
    name="number_of_runs",
    prepare=_prepare,
    sample=lambda key, table, params: sampling.sample_count(key, table),
    event=lambda count: jnp.minimum(count, LARGEST),
    labels=_labels,
    law=_law,
    resolution=2.0**-53,
)
"""A mechanism whose outcome is K itself. Its data are the law of K; it has no parameters."""


@cells(measures=["counts", "frequency"])
def runs(law: str = over(*LAWS), mean: Mean = 10) -> Trial:
    """The number of runs K itself."""
    return Trial(NUMBER_OF_RUNS, law_of(law, mean), ())


@cells(measures=["counts", "frequency"])
def ranked(
    profiled: str = PROFILED,
    target: float = over(*TARGETS),
    side: str = over(*SIDES),
    mean: Mean = 10,
    base: GaussianBase = GaussianBase(),
) -> Trial:
    """The released interval, under an adversarial ranking for each target delta."""
    return ranked_trial(base, law_of(profiled, mean), target, side)


@cells(measures=["counts", "frequency"])
def natural(
    profiled: str = PROFILED,
    side: str = over(*SIDES),
    mean: Mean = 10,
    base: GaussianBase = GaussianBase(),
) -> Trial:
    """The bin of the released number, under the natural ranking."""
    return natural_trial(base, law_of(profiled, mean), side)


# --- Claims ---------------------------------------------------------------------------


def theorem_claim(base: GaussianBase, law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) by Theorem 5.7; for Poisson by Corollary 5.8."""
    if law.family == "poisson":
        return poisson_profile(shared.profile(base), law.mean).delta(epsilon)
    count, chance = int(law.parameters["count"]), law.parameters["probability"]
    return binomial_profile(shared.profile(base), count, chance).delta(epsilon)


def renyi_claim(base: GaussianBase, mean: float, source: str, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) for Poisson K by Theorem 5.6, with delta_hat from one of _SOURCES."""
    guarantee = shared.guarantee(base)
    curve = poisson_renyi(guarantee, mean, delta_from=source, monotonised=False)
    return shared.renyi_delta(curve, epsilon)


# --- Drawing --------------------------------------------------------------------------


def _as_printed(
    axes: Axes, base: GaussianBase, mean: int, at: np.ndarray, renyi: np.ndarray
) -> None:
    for name in LAWS[:-1]:
        claim = theorem_claim(base, law_of(name, mean), at)
        axes.plot(at, claim, **_LOOKS[name], label=f"Thm 5.7, {name}")
    exact = renyi_claim(base, mean, "profile", at)
    for (source, label), curve in zip(_SOURCES.items(), (renyi, exact), strict=True):
        axes.plot(at, curve, **_LOOKS[source], label=f"RDP, {label}")
    axes.set_title("Theorem 5.7; RDP for Poisson: Theorem 5.6")
    axes.legend(loc="lower left", fontsize=7.0)


def simulated_cdf(row: xr.Dataset, confidence: float = 0.95):
    """Frequencies of K <= k for k = 0, 1, ..., with their exact confidence limits."""
    counts, trials = np.cumsum(row.counts.values)[:-1], row.attrs["trials"]
    return counts / trials, *clopper_pearson(counts, trials, confidence)


def _numbers(axes: Axes, runs: xr.Dataset, mean: int) -> None:
    """Draws distribution functions of K, with simulated frequencies on them."""
    k = np.arange(LARGEST_SHOWN + 1)
    for row, name in enumerate(LAWS):
        label = f"Poisson({mean})" if name == "Poisson" else f"Bin({name[4:]}, {mean}/n)"
        axes.step(
            k, law_of(name, mean).cdf(k), where="post", **_LOOKS[name], linewidth=1.2, label=label
        )
        cdf, low, high = (found[k] for found in simulated_cdf(runs.sel(law=name)))
        # Each law shows every third point, and successive laws different ones, since points that
        # overlap are hard to tell apart.
        shown = (k % 3 == row % 3) & (cdf > 0.0)
        style.points(
            axes,
            k[shown] + 0.5,
            cdf[shown],
            low[shown],
            high[shown],
            {"color": _LOOKS[name]["color"], "marker": _MARKERS[name]},
            markersize=3.4,
        )
    axes.set_xlabel("Number of runs k")


def draw(
    runs: xr.Dataset,
    ranked: xr.Dataset,
    natural: xr.Dataset,
    mean: Mean = 10,
    base: GaussianBase = GaussianBase(),
) -> Canvas:
    """Draws the paper's two panels, and what is true of a Gaussian pair for three laws."""
    figure, panels = style.panels(2, 3, width=7.6, height=9.6)
    printed, *others, linear, small = panels
    at = np.linspace(0.0, 14.4 / base.noise_multiplier, 181)
    renyi = renyi_claim(base, mean, "renyi", at)
    _as_printed(printed, base, mean, at, renyi)
    theorem = "Theorem 5.7, for Poisson Corollary 5.8 (claim)"
    for name, axes in zip(ranked["profiled"].values.tolist(), others, strict=True):
        law = law_of(name, mean)
        if name == "Poisson":
            label = "RDP, Theorem 5.6, δ̂ by Lemma 14 (claim)"
            axes.plot(at, renyi, **shared.kind("RDP", label))
        claim = theorem_claim(base, law, at)
        axes.plot(at, claim, **shared.kind("profile", theorem))
        shared.exact_curves(axes, base, law, at)
        seen = ranked.sel(profiled=name), natural.sel(profiled=name)
        audits.audited_points(axes, audits.audited_deltas(*seen, base, law))
        axes.set_title("K Poisson" if name == "Poisson" else f"K binomial, {name}")
    for axes in (printed, *others):
        axes.set(yscale="log", xlim=(0.0, at[-1]), ylim=(LOW, HIGH))
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
        axes.set_xlabel("ε")
    for axes in panels[:4:2]:
        axes.set_ylabel("δ(ε)")
    for axes in (linear, small):
        _numbers(axes, runs, mean)
    linear.set(xlim=(0.0, LARGEST_SHOWN), ylim=(0.0, 1.02), title="Law of K")
    linear.set_ylabel("P[K ≤ k]")
    linear.legend(loc="lower right", fontsize=7.4)
    small.set(xlim=(0.0, 10.0), ylim=(1e-6, 1.0), yscale="log", title="Few runs")
    style.legend_above(figure, others[-1], 2)
    trials = runs.attrs["trials"]
    return style.captioned(
        figure,
        f"{shared.told(base, f'~ Bin(n, {mean}/n) or Poisson({mean}).')}. "
        "Natural order: larger outputs are better. Adversarial order: at "
        f"each ε the worst ranking that a search found. Audited: {trials:,} trials a "
        "side and ranking, events planned on exact laws, each bound at 95 %. Last row: "
        f"lines are exact, marks are frequencies in {trials:,} draws of K with exact "
        "95 % intervals.",
    )
