"""Koskela, Redberg & Wang 2024, Figure 6: tuning DP-SGD as on MNIST."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import krw24_dp_sgd as shared
from figures.common import krw24_dp_sgd_looks as looks
from figures.common import words
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import from_mean
from sims.cells import cells
from sims.common.dp_sgd_runs import RANKINGS, SIDES, DpSgd, tuned_trial

TITLE = "Koskela, Redberg & Wang 2024, Figure 6: tuning DP-SGD, q = 256/60000"
TRIALS = 4_000_000
SECONDS = 14

RUNS = (DpSgd(256 / 60_000, 1.1, 14_062),)  # 60 epochs
MEAN = 10  # E[K] in the upper panels and in the simulation
FAMILIES = {
    "geometric": "Geometric, η = 1",
    "logarithmic": "Logarithmic, η = 0",
    "poisson": "Poisson",
}
MEANS = {
    "geometric": np.geomspace(2.0, 1000.0, 9),
    "logarithmic": np.geomspace(2.0, 1000.0, 9),
    "poisson": np.geomspace(2.0, 40.0, 9),
}
SEARCHED = {  # means at which a ranking is searched, which takes long
    "geometric": (10.0, 100.0),
    "logarithmic": (10.0, 100.0),
    "poisson": (10.0, 30.0),
}
LARGEST_EPSILON, LOWEST, HIGHEST = 8.0, 2.0, 9.0


@cells(measures=["counts"])
def tuned(
    family: str = over(*FAMILIES), ranking: str = RANKINGS, side: str = over(*SIDES)
) -> Trial:
    """The best of K runs, under each ranking."""
    return tuned_trial(RUNS, f"{family}:mean={MEAN}", ranking, side)


def epsilons(family: str, mean: float) -> dict[str, float]:
    """Epsilon at delta = 1e-6 by each statement about a law of K."""
    law = from_mean(family, mean)
    return {
        name: shared.epsilon(name, shared.base(RUNS[0]), law) for name in shared.statements(law)
    }


def _profiles(axes: Axes, tuned: xr.Dataset, family: str) -> None:
    law = from_mean(family, MEAN)
    at = np.linspace(0.0, LARGEST_EPSILON, 161)
    guarantee = shared.base(RUNS[0])
    for name in ("single", *shared.statements(law)):
        delta = shared.profile(name, guarantee, law, at)
        axes.plot(at, delta, **looks.LOOKS[name])
    least = shared.adversarial_epsilon(RUNS, family, law.mean)
    looks.simulated_profile(axes, tuned, at, least)


def _by_mean(axes: Axes, family: str) -> None:
    means = MEANS[family]
    rows = [epsilons(family, mean) for mean in means]
    for name in rows[0]:
        looks.mean_curve(axes, means, [row[name] for row in rows], looks.LOOKS[name])
    alone = shared.single_epsilon(shared.base(RUNS[0]))
    axes.axhline(alone, **looks.LOOKS["single"])
    looks.searched_marks(axes, RUNS, family, SEARCHED[family])
    axes.set(xlim=(2.0, 1000.0), ylim=(LOWEST, HIGHEST))
    looks.mean_axis(axes, (3, 10, 30, 100, 300, 1000))


def draw(tuned: xr.Dataset) -> Canvas:
    """Draws profiles at m = 10 (above) and epsilon at 1e-6 against m (below), for each law."""
    figure, panels = style.panels(3, 2, width=10.4, height=7.6, sharey="row")
    for above, below, (family, title) in zip(panels[:3], panels[3:], FAMILIES.items(), strict=True):
        _profiles(above, tuned.sel(family=family), family)
        above.set_title(f"{title}, m = {MEAN}")
        _by_mean(below, family)
        below.set_title(title)
    panels[0].set_ylabel("δ(ε)")
    panels[3].set_ylabel(words.epsilon_at(shared.DELTA))
    names = ("single", "renyi", "profile", "renyi-profile", "envelope", "natural")
    labels = looks.LABELS | {
        "renyi": "RDP, Theorem 5.1 (Poisson: 5.6) (claim)",
        "profile": "Theorem 5.2 (Poisson: Corollary 5.8) (claim)",
    }
    entries = looks.keys([*names, "exact", "audited"], labels)
    style.legend_above(figure, entries, 3)
    return style.captioned(
        figure,
        "Base: DP-SGD with Poisson sampling, q = 256/60000, σ = 1.1, 14062 steps; "
        "privacy loss distribution and Rényi curve by dp-accounting, rounded upwards. "
        "Exact: the best of K runs of the pair of laws that this distribution "
        "describes, ranked by the loss (largest or smallest first, whichever costs "
        "more) or in the worst order found; no bound valid for every order lies below. "
        f"Audits: {tuned.attrs['trials']:,} trials a side, each run drawn from that "
        "pair, not from a trained network; limits on ε at the δ shown.",
    )
