"""What tuning really costs: profiles from audit to claim, Laplace base."""

import functools

from figures import krw24_profile
from figures.common.figure import Figure

FIGURE = Figure(
    id="krw24-profile-laplace",
    title="What tuning really costs: Laplace base, from audits to claims",
    sims=("krw24-profile",),
    draw=functools.partial(krw24_profile.draw, "laplace"),
)
