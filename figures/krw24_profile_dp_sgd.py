"""What tuning really costs: profiles from audit to claim, for one step of DP-SGD."""

import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures import krw24_profile
from figures.common import words
from figures.common.krw24_shared import DELTA, Delta
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from sims.cells import cells
from sims.common.line_rankings import LAWS, RANKINGS, StepBase, planned_trial
from sims.common.worst_rankings import SIDES

TITLE = "What tuning really costs: one step of DP-SGD, from audits to claims"
TRIALS = 1_500_000
SECONDS = 15


@cells(measures=["counts", "frequency"])
def released(
    law: str = over(*LAWS),
    ranking: str = over(*RANKINGS),
    side: str = over(*SIDES),
    base: StepBase = StepBase(),
) -> Trial:
    """The released interval, under the natural ranking and under the worst ones."""
    return planned_trial(base, law, ranking, side)


def draw(released: xr.Dataset, delta: Delta = DELTA, base: StepBase = StepBase()) -> Canvas:
    """Draws the panels of krw24-profile, for this base."""
    noise, q = base.step_noise, base.sampling_rate
    told = (
        f"one step of DP-SGD, q = {q:g}, noise multiplier {noise:g}: {1.0 - q:g} N(0, 1) "
        f"+ {q:g} N({words.fraction(1.0 / noise)}, 1) against N(0, 1)"
    )
    return krw24_profile.picture(released, base, delta, told, 1e-8)
