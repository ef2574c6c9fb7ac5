"""Statistics of trials, under the name that user code imports."""

from jaxsel.kernel.statistics import *  # noqa: F403
