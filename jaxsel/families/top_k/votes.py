"""Votes of teachers on many labels (PATE, Papernot et al. 2018)."""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import number
from jaxsel.language.signature import validated

Most = Annotated[float, number("tau, votes of one teacher in all", above=0.0, at_most=math.inf)]


@validated
def scaled_votes(votes: npt.ArrayLike, most: Most) -> np.ndarray:
    """The total votes per label, after the votes of each teacher are scaled to sum to ``most``.

    Votes that sum to less are left as they are.

    Args:
      votes: Float["teachers labels"], 0 or 1 each.
      most: tau; inf leaves the votes as they are.

    Returns:
      Float["labels"].

    Raises:
      InputError: for votes other than 0 and 1.
    """
    table = check_finite("votes", votes)
    if table.ndim != 2 or not np.all((table == 0.0) | (table == 1.0)):
        raise InputError("votes must be 0 or 1, one row a teacher, one column a label")
    total = table.sum(axis=1, keepdims=True)
    return (table * np.minimum(1.0, most / np.maximum(total, 1.0))).sum(axis=0)
