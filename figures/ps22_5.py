"""Papernot & Steinke 2022, Figure 5: expected quantile against privacy.

A run is represented by its quantile, which is uniform. The best of K runs is drawn through
the generating function of K, and its quantile is averaged (0 if K = 0). One trial is one
execution of the tuned algorithm.
"""

import functools
from typing import Annotated

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.tuned_curves import NAMES, curve
from jaxsel.families.private_tuning.bases import Base, Draw
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.intervals import mean_interval
from jaxsel.kernel import noise
from jaxsel.kernel.statistics import moments
from jaxsel.language.domains import number, positive
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import expected_quantile
from sims.cells import cells
from sims.common.tuned_laws import FAMILIES, Price

TITLE = "Papernot & Steinke 2022, Figure 5: expected quantile against privacy"
TRIALS = 1_000_000

_UNIT = 2**30  # sums are in fixed point, in units of its inverse


@functools.cache
def uniform_quantile() -> Base:
    """A base whose score is its own quantile, uniform on (0, 1); it has a single label."""

    def at_rank(key, rank, data, params):
        del key, data, params
        return Draw(-rank, 1.0 - rank, jnp.int32(0))

    def draw(key, data, params):
        precision = "float64" if jnp.asarray(1.0).dtype == jnp.float64 else "tail"
        rank = noise.uniform(noise.ends(key, 0, precision)[0])
        return at_rank(key, rank, data, params)

    def best_law(data, params, repetitions):
        del data, params
        none = repetitions.probability_zero
        return np.array([1.0 - none, none])

    return Base(
        name="uniform_quantile",
        prepare=lambda data, params: ((), ()),
        draw=draw,
        at_rank=at_rank,
        labels=lambda data, params: ("run",),
        law_above=lambda data, params, threshold: np.array([np.clip(1.0 - threshold, 0.0, 1.0)]),
        best_law=best_law,
    )


def released_quantile(selection):
    """The quantile of the released run; 0 if nothing is released."""
    return jnp.where(jnp.isnan(selection.score), 0.0, selection.score)


@cells()
def tuned(
    family: str = over(*FAMILIES),
    epsilon: Annotated[float, positive("epsilons of the simulated points")] = over(
        3.25, 3.75, 4.25, 4.75, 5.25, 5.75, 6.25, 6.75
    ),
    price: Price = Price(),
) -> Trial:
    """A family's law of K that has this epsilon by the paper's theorems."""
    law = price.law_at(FAMILIES[family], epsilon)
    return Trial(
        private_tuning(uniform_quantile(), law.family),
        params={"repetitions": law},
        statistic=moments(released_quantile, 0.0, 1.0),
        beside={"price": price.epsilon(law), "theory": expected_quantile(law)},
    )


def theory(
    name: str, low: float = 3.0, high: float = 7.0, price: Price = Price()
) -> tuple[np.ndarray, np.ndarray]:
    """Epsilon and expected quantile along a family of laws of K."""
    epsilons, members = curve(name, high, low, price)
    return epsilons, np.array([expected_quantile(law) for law in members])


def simulated(row: xr.Dataset, confidence: float = 0.95) -> tuple[np.ndarray, ...]:
    """The mean quantile of a family at each epsilon, and its confidence limits."""
    count = row.attrs["trials"]
    total = [int(each) for each in row["sum"].values]
    parts = zip(row["square_high"].values, row["square_low"].values, strict=True)
    squares = [int(high) * _UNIT + int(low) for high, low in parts]
    low, high = mean_interval(count, total, squares, confidence, 0.0, float(_UNIT))
    return np.array([each / count / _UNIT for each in total]), low / _UNIT, high / _UNIT


def draw(
    tuned: xr.Dataset,
    low: Annotated[float, number("epsilon where curves begin", at_least=0.0)] = 3.0,
    high: Annotated[float, positive("epsilon where curves end")] = 7.0,
    price: Price = Price(),
) -> Canvas:
    """Draws the theorems as printed as curves, simulated values as points with 95 % intervals."""
    figure, (axes,) = style.panels(height=4.0)
    for name, legend in NAMES.items():
        style.line(axes, *theory(name, low, high, price), legend)
    for name in tuned["family"].values:
        row = tuned.sel(family=name)
        mean, *ends = simulated(row)
        style.points(axes, row.price, mean, ends[0], ends[1], NAMES[name])
    axes.set(xlim=(low, high), ylim=(0.5, 1.005))
    axes.set_xlabel(f"Privacy ε for (ε, {words.scientific(price.delta)})-DP")
    axes.set_ylabel("Expected quantile = 1 − 𝔼[1/(K+1)]")
    axes.legend(loc="lower right", ncols=2)
    return style.captioned(
        figure,
        f"Base {price.rho:g}-zCDP. Lines: Corollary 4 (negative binomial), Theorem 6 with "
        "δ̂ by Lemma 14 (Poisson), as printed. Points: "
        f"{tuned.attrs['trials']:,} trials each, 95 % intervals. The paper's legend shows "
        "one of η\u00a0=\u00a0±0.5; both are drawn.",
    )
