"""The law of K that costs least: what it saves over the named ones, and what it is.

A result of this project; docs/optimal-law.md has the derivation.
"""

import functools
import math
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.accounting.single_run import curves
from jaxsel.language.domains import probability
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, expected_quantile, geometric, point_mass
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.planning.named_laws import fitted, fitted_negative_binomial
from jaxsel.tuning.planning.optimal_law import Effort, Found, optimal_law
from jaxsel.tuning.planning.wishes import Wishes

TITLE = "The law of K of least envelope, against negative binomial and Poisson K"
SIMS = ()
SECONDS = 25
NOISE = 4.0
MEANS = (3.0, 5.0, 10.0, 30.0, 100.0, 300.0)
SHOWN = (5.0, 30.0, 200.0)
NOISES = (0.7, 1.4, 4.0, 16.0)
SHAPES = (0.0, 0.5, 1.0, 1.2, 1.5, 2.0, 2.5, 3.5, 5.0)  # values of eta that are tried
_EFFORT = Effort(coarse=60, fine=150, points=1500)
_LOOKS = {
    "best": style.own(style.BLACK, "-"),
    "lower": style.own(style.ORANGE, "none", "v"),
    "tnb": style.own(style.BLUE, style.DASHES),
    "poisson": style.own(style.GREEN, "-."),
    "one": style.own(style.GREY, ":"),
}
_MEAN_LOOKS = {
    5.0: style.own(style.SKY, "-", "^"),
    30.0: style.own(style.BLACK, "-", "o"),
    200.0: style.own(style.PURPLE, "-", "s"),
}


def wishes(mean: float) -> Wishes:
    """The wish for a winner as good as with geometric K of that mean, and no more runs."""
    rank = (1.0 - expected_quantile(geometric(1.0 / mean))) * (1.0 + 1e-9)
    return Wishes(runs=mean, rank=rank)


@functools.lru_cache(maxsize=4)
def _base(noise: float) -> curves.BaseGuarantee:
    return curves.gaussian(noise)


def cost(law: Repetitions, noise: float, delta: float) -> float:
    """Epsilon at delta of a search with that law, by the envelope bound."""
    return envelope_epsilon(base_envelopes(_base(noise), law, count=8192), delta)


@functools.cache
def optimum(noise: float, mean: float, delta: float) -> Found:
    """The law that costs least, and its certificate."""
    return optimal_law(_base(noise), delta, wishes(mean), effort=_EFFORT)


@functools.cache
def best_negative_binomial(noise: float, mean: float, delta: float) -> float:
    """The least epsilon, over several shapes, of negative binomial laws that meet the wish."""
    laws = [fitted_negative_binomial(eta, wishes(mean)) for eta in SHAPES]
    return min(cost(each.law, noise, delta) for each in laws if each is not None)


def poisson(noise: float, mean: float, delta: float) -> float:
    """Epsilon of the Poisson law that meets the wish; NaN if none does."""
    law = fitted("poisson", wishes(mean))
    return math.nan if law is None else cost(law.law, noise, delta)


def gain(noise: float, mean: float, delta: float) -> float:
    """The share of epsilon that the optimal law saves over the best of the other two families."""
    others = best_negative_binomial(noise, mean, delta), poisson(noise, mean, delta)
    return 1.0 - optimum(noise, mean, delta).epsilon / np.nanmin(others)


def _costs(axes: Axes, delta: float) -> None:
    best = [optimum(NOISE, mean, delta) for mean in MEANS]
    others = [best_negative_binomial(NOISE, mean, delta) for mean in MEANS]
    for name, label, found in (
        ("poisson", "Poisson", [poisson(NOISE, mean, delta) for mean in MEANS]),
        ("tnb", "best negative binomial, η ≥ 0", others),
        ("best", "least envelope of all laws", [each.epsilon for each in best]),
    ):
        style.line(axes, MEANS, found, _LOOKS[name], label=label)
    lower = [each.lower for each in best]
    axes.plot(MEANS, lower, label="no envelope is below", **_LOOKS["lower"])
    one = envelope_epsilon(base_envelopes(_base(NOISE), point_mass(1)), delta)
    axes.axhline(one, label="one run", **_LOOKS["one"])
    axes.set(xscale="log", ylim=(0.9 * one, 1.2 * best[-1].epsilon))
    axes.set(xlabel="m", ylabel="ε of the envelope")
    axes.set_title(f"as good as geometric K of mean m, E[K] ≤ m; σ = {NOISE:g}")
    axes.legend(loc="upper left")


def _gains(axes: Axes, delta: float) -> None:
    for mean in SHOWN:
        found = [100.0 * gain(noise, mean, delta) for noise in NOISES]
        look = _MEAN_LOOKS[mean]
        axes.plot(NOISES, found, label=f"m = {mean:g}", **look)
    axes.set(xscale="log", ylim=(0.0, None), xlabel="noise multiplier σ of one run")
    axes.set_ylabel("saved of the envelope's ε, per cent")
    axes.set_title("against the best negative binomial or Poisson")
    style.plain_ticks(axes.xaxis, NOISES)
    axes.legend()


def _laws(axes: Axes, delta: float) -> None:
    for mean in SHOWN:
        law = optimum(NOISE, mean, delta).law
        counts = np.array([float(k) for k in law.parameters])
        below = np.cumsum(list(law.parameters.values()))
        color = _MEAN_LOOKS[mean]["color"]
        axes.step(
            np.append(1.0, counts),
            np.append(0.0, below),
            where="post",
            label=f"m = {mean:g}",
            color=color,
        )
        k = np.unique(np.geomspace(1.0, 3000.0, 300).round())
        axes.plot(
            k, np.asarray(geometric(1.0 / mean).cdf(k)), linestyle=":", linewidth=1.2, color=color
        )
    axes.plot([], [], color=style.GREY, linestyle=":", label="geometric, mean m")
    axes.set(xscale="log", xlim=(1.0, 3000.0), ylim=(0.0, 1.02), xlabel="k")
    axes.set(ylabel="P[K ≤ k]", title=f"the best laws, σ = {NOISE:g}")
    axes.legend(loc="lower right")


def draw(delta: Annotated[float, probability("delta of the search")] = 1e-6) -> Canvas:
    """Draws costs against runs, savings against noise, and the laws."""
    figure, axes = style.panels(3, width=12.0, height=4.0)
    _costs(axes[0], delta)
    _gains(axes[1], delta)
    _laws(axes[2], delta)
    best = [optimum(NOISE, mean, delta) for mean in MEANS]
    worst = max(each.epsilon / each.lower - 1 for each in best)
    return style.captioned(
        figure,
        f"Gaussian base, δ = {words.power(delta)}, envelopes. Among all laws of K with "
        "E[K] ≤ m whose winner has at most the expected rank that geometric K of mean m "
        "gives, the linear program's has the least envelope; triangles: the certificate "
        f"that no law has a smaller one, at most {100.0 * worst:.1g} per cent below. "
        "Negative binomial laws "
        f"with η in {{{', '.join(f'{eta:g}' for eta in SHAPES)}}} and the mean that is "
        "as good.",
    )
