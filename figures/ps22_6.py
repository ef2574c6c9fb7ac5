"""Papernot & Steinke 2022, Figure 6: success probability against privacy.

One run succeeds with probability 1/100, and a success is better than a failure. One trial
is one execution of the tuned algorithm.
"""

from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.tuned_curves import NAMES, curve
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, point_mass, success_probability
from sims.cells import cells
from sims.common.tuned_laws import FAMILIES, Price

TITLE = "Papernot & Steinke 2022, Figure 6: success probability against privacy"
TRIALS = 1_000_000

DRAWN = [name for name in FAMILIES if name != "eta=2"]
SUCCESS = Annotated[float, probability("chance that one run succeeds")]
NAIVE = "Naive repetition"


def _trial(law: Repetitions, base_success: float, price: Price) -> Trial:
    return Trial(
        private_tuning(finite(), law.family),
        [base_success, 1.0 - base_success],
        {"repetitions": law},
        beside={
            "price": price.epsilon(law),
            "theory": float(success_probability(law, base_success)),
        },
    )


@cells(measures=["frequency"])
def tuned(
    family: str = over(*DRAWN),
    epsilon: Annotated[float, positive("epsilons of the simulated points")] = over(
        2.5, 3.25, 4.0, 4.75, 5.5, 6.25, 7.0, 7.75
    ),
    base_success: SUCCESS = 0.01,
    price: Price = Price(),
) -> Trial:
    """A family's law of K that has this epsilon by the paper's theorems."""
    return _trial(price.law_at(FAMILIES[family], epsilon), base_success, price)


@cells(measures=["frequency"])
def naive(
    count: Annotated[int, whole("fixed numbers of runs", at_least=1)] = over(*range(1, 11)),
    base_success: SUCCESS = 0.01,
    price: Price = Price(),
) -> Trial:
    """A fixed number of runs, whose epsilon is that of composition."""
    return _trial(point_mass(count), base_success, price)


def theory(
    name: str,
    low: float = 0.0,
    high: float = 8.0,
    base_success: float = 0.01,
    price: Price = Price(),
) -> tuple[np.ndarray, np.ndarray]:
    """Epsilon and success probability along a family of laws of K."""
    if name == NAIVE:
        members = [point_mass(count) for count in range(1, 11)]
        epsilons = np.array([price.epsilon(law) for law in members])
    else:
        epsilons, members = curve(name, high, low, price)
    return epsilons, np.array([float(success_probability(law, base_success)) for law in members])


def draw(
    tuned: xr.Dataset,
    naive: xr.Dataset,
    low: Annotated[float, number("epsilon where curves begin", at_least=0.0)] = 0.0,
    high: Annotated[float, positive("epsilon where curves end")] = 8.0,
    base_success: SUCCESS = 0.01,
    price: Price = Price(),
) -> Canvas:
    """Draws the theorems as printed as curves, simulated values as points with 95 % intervals."""
    figure, (axes,) = style.panels(height=4.0)
    for name in (NAIVE, *(name for name in NAMES if name in DRAWN)):
        found = theory(name, low, high, base_success, price)
        style.line(axes, *found, NAMES.get(name, NAIVE))
    points = [(NAMES[name], tuned.sel(family=name)) for name in tuned["family"].values]
    for name, row in [*points, (NAIVE, naive)]:
        seen = row.isel(outcome=0)
        ends = seen.frequency_low, seen.frequency_high
        style.points(axes, seen.price, seen.frequency, *ends, name)
    axes.set(xlim=(low, high), ylim=(-0.005, 1.01))
    axes.set_xlabel(f"Privacy loss bound ε for (ε, {words.scientific(price.delta)})-DP")
    share = words.fraction(base_success)
    axes.set_ylabel(f"Success probability = 1 − f(1 − {share})")
    axes.legend(loc="upper left")
    return style.captioned(
        figure,
        f"Base {price.rho:g}-zCDP, succeeds with probability {share}. Lines: "
        "Corollary 4 (negative binomial), Theorem 6 with δ̂ by Lemma 14 (Poisson; "
        "below E[K] = 1 corrected, E-PS-1), composition (naive). Points: "
        f"{tuned.attrs['trials']:,} trials each, exact 95 % intervals. η = −0.5 "
        f"saturates at √({share}). The paper's legend shows one of η\u00a0=\u00a0±0.5; "
        "both are drawn.",
    )
