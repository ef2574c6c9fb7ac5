"""The records of mechanisms, pairs and claims, under the name that user code imports."""

from jaxsel.language.base import *  # noqa: F403
