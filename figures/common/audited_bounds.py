"""Audited lower bounds on epsilon, from tallies on two sides."""

from typing import Any

import xarray as xr

from jaxsel.auditing.audit_bounds import epsilon_lower_bound


def audited(counts: xr.DataArray, confidence: float = 0.95) -> Any:
    """Audited lower bound on pure epsilon, by single outcomes.

    Args:
      counts: Int64["... side outcome"], dimensions in any order.
      confidence: confidence level of each bound.

    Returns:
      A ``DataArray`` over the other dimensions.
    """

    def lower(sides) -> float:
        first, second = sides
        bound = epsilon_lower_bound(first, second, 0.0, confidence, ["singletons"])
        return bound.lower

    inner = [["side", "outcome"]]
    return xr.apply_ufunc(lower, counts, input_core_dims=inner, vectorize=True)
