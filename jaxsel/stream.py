"""Random words at addresses: the name that one's own mechanisms import."""

from jaxsel.kernel.stream import *  # noqa: F403
