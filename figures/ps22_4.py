"""Papernot & Steinke 2022, Figure 4: privacy against the mean number of runs.

The best of K Gaussian runs is audited in the two-block order (see
``sims.common.gaussian_orders``). For each law of K the cut, and one event "released <= end",
are planned on exact laws. They are those whose audited lower bound on epsilon at delta = 1e-6
is largest if every tally equals its expectation. Only three outcomes of a run are then told
apart: above the cut, up to the end, and between them. One trial is one execution of the tuned
algorithm.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas
from scipy import special

from figures.common import words
from figures.common.renyi_overlay import grey_keys
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions
from sims.cells import cells
from sims.common.gaussian_orders import SIDES, GaussianPair, law_of
from sims.common.tuned_laws import Price

TITLE = "Papernot & Steinke 2022, Figure 4: privacy against the mean number of runs"
TRIALS = 4_000_000
NAMES = {
    "naive": "Naive repetition",
    "eta=0": "Logarithmic η = 0",
    "eta=1": "Geometric η = 1",
    "eta=5": "η = 5",
    "poisson": "Poisson",
}
MEANS = {
    "naive": (1, 2, 4, 6, 9),
    "eta=0": (10, 100, 1000, 10_000, 100_000, 1_000_000),
    "eta=1": (10, 100, 1000, 10_000, 100_000, 1_000_000),
    "eta=5": (3, 10, 30, 100, 300),
    "poisson": (2, 5, 10, 20),
}
LAWS = {f"{name} of mean {n}": (name, n) for name in MEANS for n in MEANS[name]}
CONFIDENCE = 0.95  # for which audits are planned
EVENT = "1"  # the outcome "up to the end"
RIGHT, TOP = 8.0, 1e6


class Plan(NamedTuple):
    """How a law of K is audited.

    Attributes:
      cut: the best outputs of a run are those above it.
      end: the event is "released <= end".
    """

    cut: float
    end: float

    def run_law(self, shift: float) -> np.ndarray:
        """Law of the outcome of one run, best first: above the cut, up to the end, rest."""
        up_to = special.ndtr(self.end - shift)
        first = special.ndtr(shift - self.cut)
        rest = max(special.ndtr(self.cut - shift) - up_to, 0.0)
        return np.array([first, up_to, rest])


def plan(law: Repetitions, trials: int, pair: GaussianPair, delta: float) -> Plan:
    """The plan whose audit is expected to give the largest lower bound."""
    # The error is divided as in epsilon_lower_bound: one event and its complement, both directions.
    error = (1.0 - CONFIDENCE) / 4.0

    def bound(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        seen = np.floor(trials * np.clip(first, 0.0, 1.0))
        other = np.ceil(trials * np.clip(second, 0.0, 1.0))
        low = clopper_pearson_lower(seen, trials, error=error) - delta
        high = clopper_pearson_upper(other, trials, error=error)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low, 0.0)) - np.log(high)

    return Plan(*pair.best_block(law, bound)[1:])


@cells(measures=["counts"])
def audits(
    trials: int,
    law: tuple[str, int] = over(LAWS),
    side: int = over(SIDES),
    pair: GaussianPair = GaussianPair(),
    price: Price = Price(),
) -> Trial:
    """Outcomes of the best run on either side, with the plan of their audit."""
    repetitions = law_of(*law)
    planned = plan(repetitions, trials, pair, price.delta)
    return Trial(
        private_tuning(finite(), repetitions.family),
        planned.run_law(pair.sides[side]),
        {"repetitions": repetitions},
        beside={**planned._asdict(), "exact": pair.two_block_epsilon(repetitions, price.delta)},
    )


def _means(name: str) -> np.ndarray:
    match name:
        case "naive":
            return np.arange(1, 23)
        case "poisson":
            return np.geomspace(1.0, 100.0, 41)
    return 1.0 + np.geomspace(1e-3, TOP - 1.0, 61)


def audited(
    audits: xr.Dataset, confidence: float = 0.95, price: Price = Price()
) -> dict[str, float]:
    """The audited lower bound on epsilon of each law."""
    event = (audits["outcome"] == EVENT).values[None, :]
    return {
        law: epsilon_lower_bound(
            *audits.counts.sel(law=law).values,
            delta=price.delta,
            confidence=confidence,
            events=event,
        ).lower
        for law in audits["law"].values
    }


def draw(audits: xr.Dataset, pair: GaussianPair = GaussianPair(), price: Price = Price()) -> Canvas:
    """Draws claims as in the paper, with exact and audited epsilons of Gaussian pairs."""
    figure, (axes,) = style.panels(width=6.4, height=4.9)
    for name, legend in NAMES.items():
        means = _means(name)
        laws = [law_of(name, mean) for mean in means]
        look = {"linestyle": "-"} if name == "naive" else {}
        style.line(axes, [price.epsilon(law) for law in laws], means, legend, **look)
        axes.plot(
            [pair.two_block_epsilon(law, price.delta) for law in laws],
            means,
            color=style.LAWS[legend]["color"],
            linestyle=style.DOTS,
            linewidth=1.1,
        )
    for law, lower in audited(audits, price=price).items():
        name, mean = LAWS[law]
        bars = style.bars(NAMES[name], elinewidth=1.0, capsize=1.8, clip_on=False)
        # A lower bound: the arrow points to where the truth may be.
        axes.errorbar(lower, mean, xerr=0.13, xlolims=True, **bars)
    axes.set(xlim=(0.0, RIGHT), ylim=(1.0, TOP), yscale="log")
    axes.set_xlabel(f"ε for (ε, {words.scientific(price.delta)})-DP")
    axes.set_ylabel("Expected number of repetitions 𝔼[K]")
    handles, _ = axes.get_legend_handles_labels()
    keys = grey_keys("theorems (claim)", "audited lower bound")
    axes.legend(handles=[*handles, *keys], loc="upper left")
    return style.captioned(
        figure,
        f"Base {price.rho:g}-zCDP. Claims: Corollary 4, Theorem 6 with δ̂ by "
        "Lemma 14 (Poisson), composition (naive). Exact and audited: N(0, 1) against "
        f"N(√{2.0 * price.rho:g}, 1), the score "
        "prefers outputs above a cut, then small ones; cut and event planned on exact "
        f"laws, {audits.attrs['trials']:,} trials a side, each bound at 95 %.",
    )
