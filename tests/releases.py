"""A single release as a record, which is what functions below the questions take."""

from typing import Any

import jaxsel
from jaxsel.tuning.composing_searches import Release


def one_release(*given: Any, **more: Any) -> Release:
    """Like ``jaxsel.release``, of a single release."""
    (one,) = jaxsel.release(*given, **more)
    return one
