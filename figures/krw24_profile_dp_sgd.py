"""What tuning really costs: profiles from audit to claim, one step of DP-SGD."""

from matplotlib.figure import Figure as Canvas

from figures import krw24_profile

TITLE = "What tuning really costs: one step of DP-SGD, from audits to claims"
NO_EFFECT = (
    "sims.common.tuned_laws",
    "sims.common.worst_rankings",
    "sims.krw24_profile.LAPLACE_SCALE",
)
SIMS = ("krw24-profile",)
SECONDS = 15


def draw() -> Canvas:
    """The panels of krw24-profile, for this base."""
    return krw24_profile.draw("dp-sgd")
