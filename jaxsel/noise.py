"""Noise laws: the name that one's own mechanisms import."""

from jaxsel.kernel.noise import *  # noqa: F403
