"""What tuning really costs: profiles from audit to claim, one step of DP-SGD."""

import functools

from figures import krw24_profile
from figures.common.figure import Figure

FIGURE = Figure(
    id="krw24-profile-dp-sgd",
    title="What tuning really costs: one step of DP-SGD, from audits to claims",
    sims=("krw24-profile",),
    draw=functools.partial(krw24_profile.draw, "dp-sgd"),
)
