"""Private ridge regression without tests: output perturbation and OPS-Balanced.

Both choose their settings from public numbers (n, d, epsilon, delta) and then run once,
with the whole budget. Records, neighbours and data are those of ``linear_regression``.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsel.families.ridge_regression.baseline_settings import (
    balanced_precision,
    balanced_regularisation,
    output_perturbation_regularisation,
    output_perturbation_scale,
)
from jaxsel.families.ridge_regression.linear_regression import (
    SHARED_PARAMS,
    normals,
    prepare_error,
    released,
    ridge_of,
    selected,
)
from jaxsel.families.ridge_regression.parameters import Delta, Epsilon, Regularisation, TailDelta
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params

_OPTIONAL = {"regularisation": Regularisation, **SHARED_PARAMS}


def _noised(choose) -> Mechanism:
    """Ridge regression plus Gaussian noise that is independent along the eigenvectors of X'X.

    ``choose`` is (problem, params) -> (regularisation, variances in the eigenbasis).
    """

    def prepare(data, params):
        problem = ridge_of(data, params)
        lam, variances = choose(problem, params)
        return {
            "basis": problem.basis,
            "solution": problem.solution(lam),
            "deviation": np.sqrt(variances),
            "error": prepare_error(data, params, problem.basis),
        }, ()

    def sample(key, data, params):
        del params
        solution = jnp.asarray(data["solution"])
        z = normals(key, 0, solution.shape[-1])
        return released(solution + jnp.asarray(data["deviation"]) * z, data)

    def labels(data, params):
        lam, _ = choose(ridge_of(data, params), params)
        return (f"lambda={lam:g}", "nothing")

    return Mechanism(prepare, sample, selected, labels, None, 2.0**-65)


@factory
def output_perturbation() -> Mechanism:
    """Ridge regression plus Gaussian noise on its coefficients.

    This is after Chaudhuri, Monteleoni & Sarwate (2011), with the sensitivity of ridge regression
    (``ridge_sensitivity``) and Gaussian noise that is calibrated exactly (Balle & Wang 2018).

    Data: as for ridge.
    Params: "epsilon", "delta", and "regularisation" (by default
      output_perturbation_regularisation).
    Outcome: RegressionRelease.

    Formal guarantees: (epsilon, delta)-DP (claim OUT-PERT).
    """

    def choose(problem, params):
        read = read_params(params, {"epsilon": Epsilon, "delta": Delta}, _OPTIONAL)
        budget = read["epsilon"], read["delta"]
        lam = read.get("regularisation")
        lam = lam or output_perturbation_regularisation(problem.records, *budget)
        scale = output_perturbation_scale(lam, problem.records, *budget)
        return lam, np.full_like(problem.eigenvalues, scale**2)

    return _noised(choose)


@factory
def balanced_posterior_sampling() -> Mechanism:
    """One posterior sample that is private on all data: OPS-Balanced (Wang 2018).

    The constants are the proved ones of ``posterior_privacy``, not the printed ones. On all data
    the leverage of a record is at most 1/lambda, and its residual at most 1 + ``ridge_norm_bound``;
    the precision is ``balanced_precision``.

    Data: as for ridge.
    Params: "epsilon", "delta", and "regularisation" (by default
      balanced_regularisation).
    Outcome: RegressionRelease.

    Formal guarantees: (epsilon, delta)-DP (claim OPS-Balanced).
    Raises: InputError (in prepare) if the regularisation is too small for any precision.
    """

    def choose(problem, params):
        read = read_params(params, {"epsilon": Epsilon, "delta": TailDelta}, _OPTIONAL)
        budget = read["epsilon"], read["delta"]
        lam, d = read.get("regularisation"), problem.eigenvalues.size
        lam = lam or balanced_regularisation(problem.records, d, *budget)
        precision = balanced_precision(lam, problem.records, *budget)
        return lam, 1.0 / (precision * (problem.eigenvalues + lam))

    return _noised(choose)


def expected_error(mechanism: Mechanism, data: Any, params: Any) -> float:
    """The exact mean of the test error, over the Gaussian noise of the mechanism, if it has any.

    Args:
      mechanism: output_perturbation, balanced_posterior_sampling or ridge.
      data, params: as the mechanism takes them, with test records.

    Returns:
      The mean squared error, in units of params["error_unit"].
    """
    prepared, _ = mechanism.prepare(data, params)
    w, moments = prepared["solution"], prepared["error"]
    bias = w @ moments["square"] @ w - 2.0 * moments["cross"] @ w + moments["constant"]
    deviation = prepared.get("deviation", np.zeros_like(w))
    return float(bias + np.diag(moments["square"]) @ deviation**2)
