"""Ridge regression: the non-private form, and what all forms share.

Records (x, y) have |x| <= 1 and |y| <= 1. Neighbours differ by one record, added or removed. No
data set has more than a public number of records, which is params["records"], or by default the
number of records given.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel.families.ridge_regression.parameters import Records, Regularisation
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise, stream
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.domains import positive
from jaxsel.language.signature import read_params

_ROUNDING = 1e-9
# Parameters common to all forms, with their domains; see ridge_of and prepare_error.
SHARED_PARAMS = {"records": Records, "error_unit": positive()}


class RegressionRelease(NamedTuple):
    """The release of a regression, and its error.

    Attributes:
      coefficients: Float[Array, " d"], of the features; 0 where nothing is released.
      label: Int[Array, ""], index of the regularisation; their number if nothing is
        released.
      count: Int[Array, ""], number of runs. Not released.
      error: Float[Array, ""], mean squared error on data["test_features"], in units of
        params["error_unit"]; NaN without test records. Not released.
    """

    coefficients: Float[Array, " d"]
    label: Int[Array, ""]
    count: Int[Array, ""]
    error: Float[Array, ""]


class Ridge(NamedTuple):
    """A data set in the eigenbasis of X'X, in float64 on the host.

    Attributes:
      basis: Float64["d d"], eigenvectors in columns.
      eigenvalues: Float64["d"], of X'X, not below 0, increasing.
      moment: Float64["d"], X'y in that basis.
      records: public bound on the number of records.
    """

    basis: np.ndarray
    eigenvalues: np.ndarray
    moment: np.ndarray
    records: int

    def solution(self, regularisation: float) -> np.ndarray:
        """The coefficients (X'X + lambda I)^-1 X'y, in the eigenbasis."""
        return self.moment / (self.eigenvalues + regularisation)


def records_of(data: Mapping[str, Any], prefix: str = "") -> tuple[np.ndarray, np.ndarray]:
    """The checked features and targets of one part of the data, whose names begin with ``prefix``.

    Raises:
      InputError: if they are missing, differ in length or leave the unit ball.
    """
    names = f"{prefix}features", f"{prefix}targets"
    for name in names:
        if name not in data:
            raise InputError(f'data["{name}"] is missing; give one row a record')
    features, targets = (check_finite(name, data[name]) for name in names)
    if features.ndim != 2 or targets.shape != features.shape[:1]:
        raise InputError(
            f"{names[0]} must be a table and {names[1]} one number for each of its rows"
        )
    if np.linalg.norm(features, axis=1).max() > 1.0 + _ROUNDING:
        raise InputError(f"{names[0]} has a row of norm > 1; scale rows to norm <= 1")
    if np.abs(targets).max() > 1.0 + _ROUNDING:
        raise InputError(f"{names[1]} leaves [-1, 1]; scale the targets")
    return features, targets


def _shared(params: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the given ones of the parameters that all forms share."""
    given = {name: params[name] for name in SHARED_PARAMS if name in params}
    return read_params(given, optional=SHARED_PARAMS)


def ridge_of(data: Mapping[str, Any], params: Mapping[str, Any]) -> Ridge:
    """The checked training records in their eigenbasis.

    Raises:
      InputError: for bad records, or more of them than params["records"].
    """
    features, targets = records_of(data)
    count = len(targets)
    records = _shared(params).get("records", count)
    if records < count:
        raise InputError(f"records is {records}; there are {count}, so give at least that")
    eigenvalues, basis = np.linalg.eigh(features.T @ features)
    moment = basis.T @ (features.T @ targets)
    return Ridge(basis, np.maximum(eigenvalues, 0.0), moment, records)


def prepare_error(
    data: Mapping[str, Any], params: Mapping[str, Any], basis: np.ndarray
) -> dict[str, Any]:
    """Second moments of the test records, from which ``_error_of`` computes the error.

    Without test records the error is NaN.

    Args:
      data: with "test_features" and "test_targets", or without.
      params: "error_unit", the unit of the error (default 1); others are ignored.
      basis: Float64["d d"], the eigenvectors in whose coordinates the moments are.
    """
    d = basis.shape[0]
    unit = _shared(params).get("error_unit", 1.0)
    if "test_features" not in data:
        nothing = np.float64("nan")
        return {"square": np.zeros((d, d)), "cross": np.zeros(d), "constant": nothing}
    features, targets = records_of(data, "test_")
    if features.shape[1] != d:
        raise InputError(f"test_features has {features.shape[1]} columns, not {d}")
    rotated = features @ basis
    scale = 1.0 / (unit * len(targets))
    return {
        "square": scale * (rotated.T @ rotated),
        "cross": scale * (rotated.T @ targets),
        "constant": np.float64(scale * (targets @ targets)),
    }


def _error_of(coefficients: Array, moments: Mapping[str, Any]) -> Array:
    """Mean squared test error of coefficients in the basis that ``prepare_error`` was given."""
    w = coefficients
    square, cross = jnp.asarray(moments["square"]), jnp.asarray(moments["cross"])
    return w @ (square @ w) - 2.0 * (cross @ w) + moments["constant"]


def normals(key: stream.Key, first: int, count: int) -> Float[Array, " count"]:
    """The standard normal variates with numbers first to first + count - 1 of a stream, float64."""
    draws = jnp.arange(first, first + count, dtype=jnp.uint32)
    return noise.each_variate("gaussian", key, draws).astype(jnp.float64)


def released(
    coefficients: Array,
    data: Mapping[str, Any],
    *,
    label: Any = 0,
    none: Any = False,
    count: Any = 1,
) -> RegressionRelease:
    """The release of coefficients given in the eigenbasis, or of nothing.

    Args:
      coefficients: Float[Array, " d"].
      data: as prepared, with "basis" and "error".
      label: index of the regularisation.
      none: whether nothing is released.
      count: number of runs.
    """
    kept = jnp.where(none, 0.0, coefficients)
    return RegressionRelease(
        jnp.asarray(data["basis"]) @ kept,
        jnp.asarray(label, dtype=jnp.int32),
        jnp.asarray(count, dtype=jnp.int64),
        _error_of(kept, data["error"]),
    )


def selected(release: RegressionRelease) -> Array:
    """The event tallied by default: the index of the regularisation."""
    return release.label


@factory
def ridge() -> Mechanism:
    """Ridge regression without privacy, the reference of the private forms.

    Data: mapping with "features" Float["n d"] and "targets" Float["n"]; also
      "test_features" and "test_targets", on which the error is measured.
    Params: ``{"regularisation": lambda}``.
    Outcome: RegressionRelease, the same in every trial.
    """

    def prepare(data, params):
        read = read_params(params, {"regularisation": Regularisation}, SHARED_PARAMS)
        problem = ridge_of(data, params)
        return {
            "basis": problem.basis,
            "solution": problem.solution(read["regularisation"]),
            "error": prepare_error(data, params, problem.basis),
        }, ()

    def sample(key, data, params):
        del key, params
        return released(jnp.asarray(data["solution"]), data)

    def labels(data, params):
        del data
        return (f"lambda={params['regularisation']:g}", "nothing")

    return Mechanism(prepare, sample, selected, labels, None, 0.0)
