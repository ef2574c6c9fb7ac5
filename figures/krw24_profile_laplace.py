"""What tuning really costs: profiles from audit to claim, for a Laplace base."""

import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures import krw24_profile
from figures.common import words
from figures.common.krw24_shared import DELTA, Delta
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from sims.cells import cells
from sims.common.line_rankings import LAWS, RANKINGS, LaplaceBase, planned_trial
from sims.common.worst_rankings import SIDES

TITLE = "What tuning really costs: Laplace base, from audits to claims"
TRIALS = 1_500_000
SECONDS = 18


@cells(measures=["counts", "frequency"])
def released(
    law: str = over(*LAWS),
    ranking: str = over(*RANKINGS),
    side: str = over(*SIDES),
    base: LaplaceBase = LaplaceBase(),
) -> Trial:
    """The released interval, under the natural ranking and under the worst ones."""
    return planned_trial(base, law, ranking, side)


def draw(released: xr.Dataset, delta: Delta = DELTA, base: LaplaceBase = LaplaceBase()) -> Canvas:
    """Draws the panels of krw24-profile, for this base."""
    loss = words.fraction(1.0 / base.laplace_scale)
    told = f"Laplace mechanism, ε = {loss}: Laplace(1) around 0 and around {loss}"
    return krw24_profile.picture(released, base, delta, told, 1e-4)
