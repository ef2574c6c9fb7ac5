"""The records that everything is made of: the name that one's own code imports."""

from jaxsel.language.base import *  # noqa: F403
