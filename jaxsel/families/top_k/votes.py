"""Votes of teachers on many labels (PATE, Papernot et al. 2018)."""

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_finite


def scaled_votes(votes: npt.ArrayLike, most: float) -> np.ndarray:
    """Total votes per label after each teacher's are scaled to a sum of at most ``most``.

    Args:
      votes: Float["teachers labels"], 0 or 1 each.
      most: tau, > 0; inf leaves the votes as they are.

    Returns:
      Float["labels"].

    Raises:
      InputError: for votes other than 0 and 1, or a bad tau.
    """
    table = check_finite("votes", votes)
    if table.ndim != 2 or not np.all((table == 0.0) | (table == 1.0)):
        raise InputError("votes must be 0 or 1, one row a teacher, one column a label")
    if not most > 0.0:
        raise InputError(f"tau is {most}; it must be > 0")
    total = table.sum(axis=1, keepdims=True)
    return (table * np.minimum(1.0, most / np.maximum(total, 1.0))).sum(axis=0)
