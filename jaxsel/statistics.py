"""What is kept of trials: the name that one's own code imports."""

from jaxsel.kernel.statistics import *  # noqa: F403
