"""Noise laws, under the name that user-defined mechanisms import."""

from jaxsel.kernel.noise import *  # noqa: F403
