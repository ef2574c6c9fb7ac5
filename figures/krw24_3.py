"""Koskela, Redberg & Wang 2024, Figure 3: how epsilon grows with the mean of K."""

import functools

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common import words
from figures.krw24_2 import geometric, natural, ranked
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.pictures import style
from jaxsel.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.tuning.bounds.profiles import (
    gaussian_negative_binomial_epsilon,
    negative_binomial_profile,
    tradeoff_profile,
)
from sims.common.worst_rankings import GaussianBase

TITLE = "Koskela, Redberg & Wang 2024, Figure 3: epsilon against the mean of K"
LOW, HIGH = 3.0, 1e5
ETA = 1.0
_FINE = np.geomspace(LOW, HIGH, 49)
_COARSE = np.geomspace(LOW, HIGH, 17)  # for curves that take long and are nearly straight
# Means at which the worst order is found, by one search each.
SEARCHED = (3, 30, 300, 3000, 100_000)

CLAIMS = {
    "corollary": "Corollary 5.5 corrected, η + 2",
    "printed": "Corollary 5.5 as printed, η + 1 (false: E-KRW-2)",
    "RDP": shared.LABELS["RDP"],
    "profile": shared.LABELS["profile"],
    "ratio": "uniform ratio bound (this project)",
    "envelope": shared.LABELS["envelope"],
}
"""Legend of each claim, the largest first."""

_LOOKS = {
    "corollary": style.own(style.PURPLE, "-", linewidth=1.2),
    "printed": style.own(style.PURPLE, (0, (4, 2)), linewidth=1.2),
    "ratio": style.own(style.BROWN, style.DASHES, linewidth=1.3),
}


@functools.cache
def claim(
    name: str, mean: float, base: GaussianBase = GaussianBase(), delta: float = shared.DELTA
) -> float:
    """Epsilon at delta by one of CLAIMS, for K of this mean."""
    law, guarantee = geometric(mean), shared.guarantee(base)
    gamma = law.parameters["gamma"]
    match name:
        case "corollary" | "printed":
            return gaussian_negative_binomial_epsilon(
                delta, base.noise_multiplier, law.mean, ETA, corrected=name == "corollary"
            )
        case "RDP":
            curve = negative_binomial_renyi(guarantee.renyi, ETA, gamma)
            return renyi_to_epsilon(curve, delta).epsilon
        case "profile":
            bound = negative_binomial_profile(shared.profile(base), ETA, gamma)
            return bound.epsilon(delta)
        case "ratio":
            assert guarantee.tradeoff is not None
            bound = tradeoff_profile(shared.profile(base), guarantee.tradeoff, law)
            return bound.epsilon(delta)
    return shared.envelope_at(base, law.name, delta)


def draw(
    ranked: xr.Dataset,
    natural: xr.Dataset,
    delta: shared.Delta = shared.DELTA,
    base: GaussianBase = GaussianBase(),
) -> Canvas:
    """Draws claims against the mean, with exact and audited values of a Gaussian pair."""
    figure, (axes,) = style.panels(width=7.4, height=4.9)
    for name, label in CLAIMS.items():
        look = _LOOKS.get(name) or shared.KINDS[name]
        means = _COARSE if name == "envelope" else _FINE
        epsilons = [claim(name, mean, base, delta) for mean in means]
        axes.plot(means, epsilons, label=label, **look)
    for name, exact, means, marks in (
        ("adversarial", shared.adversarial, SEARCHED, {"marker": ".", "markersize": 4.0}),
        ("natural", shared.natural_epsilon, _COARSE, {}),
    ):
        epsilons = [exact(base, geometric(m).name, delta) for m in means]
        axes.plot(means, epsilons, **shared.kind(name), **marks)
    rows = [
        audits.rankings(ranked.sel(means=mean), natural.sel(means=mean)) for mean in ranked["means"]
    ]
    for ranking in rows[0]:
        lower = [audits.audited_epsilon(row[ranking], delta) for row in rows]
        audits.arrows(
            axes, ranked["means"], lower, ranking, f"{words.AUDITED}, {ranking} order", yerr=0.14
        )
    high = 22.4 / base.noise_multiplier
    axes.set(xscale="log", xlim=(LOW, HIGH), ylim=(0.0, high))
    axes.set(xlabel="Expected number of runs m = 𝔼[K]", ylabel=words.epsilon_at(delta))
    style.legend_above(figure, axes, 2, fontsize=7.6)
    law = (
        "geometric (η = 1). The false corollary is refuted at σ = 1 and m = 10⁷, not by this base."
    )
    return style.captioned(
        figure,
        f"{shared.told(base, law)}; "
        "adversarial order: the worst ranking that a search found at each dot. "
        f"Audited: {ranked.attrs['trials']:,} trials a side cannot see δ = "
        f"{words.power(delta)} itself, the bound comes from a likelier event; ranking "
        "and event planned on exact laws.",
    )
