"""What functions below the questions take: one release as their record."""

from typing import Any

import jaxsel
from jaxsel.families.tuning.composing_searches import Release


def one_release(*given: Any, **more: Any) -> Release:
    """As ``jaxsel.release``, of one thing."""
    (one,) = jaxsel.release(*given, **more)
    return one
