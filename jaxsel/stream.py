"""Random streams, under the name that user-defined mechanisms import."""

from jaxsel.kernel.stream import *  # noqa: F403
