"""What tuning really costs: profiles from audit to claim, Laplace base."""

from matplotlib.figure import Figure as Canvas

from figures import krw24_profile

TITLE = "What tuning really costs: Laplace base, from audits to claims"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "sims.common.worst_rankings",
    "sims.krw24_profile.STEP_NOISE",
    "sims.krw24_profile.SAMPLING_RATE",
)
SIMS = ("krw24-profile",)
SECONDS = 13


def draw() -> Canvas:
    """The panels of krw24-profile, for this base."""
    return krw24_profile.draw("laplace")
