"""Private ridge regression without tests: output perturbation and OPS-Balanced.

Both fix everything from public numbers (n, d, epsilon, delta) and then run once, with the
whole budget. Records, neighbours and data as in linear_regression.
"""

import math
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.base import Mechanism, factory
from jaxsel.errors import check_interval, check_params, check_positive
from jaxsel.families.ridge_regression import posterior_privacy as privacy
from jaxsel.families.ridge_regression.linear_regression import (
    SHARED_PARAMS,
    normals,
    prepare_error,
    released,
    ridge_of,
    selected,
)

_FAILURE = 0.05  # of Wang's high-probability error bound, which sets lambda
_LARGEST_DELTA = 2.0 * special.ndtr(-privacy.LEAST_TAIL)


def _budget(params: Mapping[str, Any]) -> tuple[float, float]:
    check_params(params, ("epsilon", "delta"), ("regularisation", *SHARED_PARAMS))
    epsilon = check_positive("epsilon", params["epsilon"])
    delta = check_interval("delta", params["delta"], 0.0, _LARGEST_DELTA)
    return epsilon, delta


def output_perturbation_regularisation(
    records: int, epsilon: float, delta: float
) -> float:
    """The lambda >= 1 of least n s^2 + lambda, s the noise of output perturbation.

    n s^2 bounds what the noise adds to the sum of squared errors for rows of norm 1,
    lambda what shrinking to |theta| <= 1 does; nothing depends on the data.

    Args:
      records: n >= 1, the public bound.
      epsilon, delta: the budget.
    """
    multiplier = gaussian_noise_multiplier(epsilon, delta)

    def cost(log_lambda):
        lam = np.exp(log_lambda)
        scale = multiplier * privacy.ridge_sensitivity(lam, records)
        return np.log(records * scale**2 + lam)

    return float(np.exp(minimise(cost, 0.0, math.log(1e4 * records))[0]))


def balanced_regularisation(
    records: int, dimension: int, epsilon: float, delta: float
) -> float:
    """The lambda of OPS-Balanced (Wang 2018), for our tail t in place of log(2/delta).

    max{(C n/2)^(1/3), t^2/epsilon} with C = (d/2 + sqrt(d l) + l) t^2/e^2, l = log 20 and
    e = min(epsilon/2, sqrt(epsilon/2)). Any lambda above t^2/(2 epsilon) is private; this
    one balances shrinking and noise for |theta| <= 1.

    Args:
      records: n, the public bound.
      dimension: d.
      epsilon, delta: the budget.
    """
    tail = privacy.tail_of(delta)
    slope = min(0.5 * epsilon, math.sqrt(0.5 * epsilon))
    log_failure = -math.log(_FAILURE)
    spread = 0.5 * dimension + math.sqrt(dimension * log_failure) + log_failure
    balance = (0.5 * records * spread * tail**2 / slope**2) ** (1.0 / 3.0)
    return max(balance, tail**2 / epsilon)


def _noised(choose) -> Mechanism:
    """Ridge regression plus Gaussian noise, independent along the eigenvectors.

    choose: (problem, params) -> (regularisation, variances in the eigenbasis).
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

    After Chaudhuri, Monteleoni & Sarwate (2011), with the sensitivity of ridge regression
    (ridge_sensitivity) and Gaussian noise calibrated exactly (Balle & Wang 2018).

    Data: as for ridge.
    Params: "epsilon" > 0, "delta", and "regularisation" (by default
      output_perturbation_regularisation).
    Outcome: RegressionRelease.

    Formal guarantees: (epsilon, delta)-DP (claim OUT-PERT).
    """

    def choose(problem, params):
        epsilon, delta = _budget(params)
        lam = params.get("regularisation")
        if lam is None:
            lam = output_perturbation_regularisation(problem.records, epsilon, delta)
        lam = check_positive("regularisation", lam)
        scale = gaussian_noise_multiplier(epsilon, delta) * privacy.ridge_sensitivity(
            lam, problem.records
        )
        return lam, np.full_like(problem.eigenvalues, scale**2)

    return _noised(choose)


@factory
def balanced_posterior_sampling() -> Mechanism:
    """One posterior sample, its parameters set for the worst data: OPS-Balanced.

    Wang (2018) with the proved constants of posterior_privacy: of all data sets the
    leverage is at most 1/lambda and the residual at most 1 + ridge_norm_bound.

    Data: as for ridge.
    Params: "epsilon" > 0, "delta", and "regularisation" (by default
      balanced_regularisation).
    Outcome: RegressionRelease.

    Formal guarantees: (epsilon, delta)-DP (claim OPS-Balanced).
    Raises: InputError (in prepare) if the regularisation is too small for any precision.
    """

    def choose(problem, params):
        epsilon, delta = _budget(params)
        lam = params.get("regularisation")
        if lam is None:
            d = problem.eigenvalues.size
            lam = balanced_regularisation(problem.records, d, epsilon, delta)
        lam = check_positive("regularisation", lam)
        precision = balanced_precision(lam, problem.records, epsilon, delta)
        return lam, 1.0 / (precision * (problem.eigenvalues + lam))

    return _noised(choose)


def balanced_precision(
    regularisation: float, records: int, epsilon: float, delta: float
) -> float:
    """Largest precision for which posterior sampling is private on every data set.

    posterior_shift at leverage 1/lambda, with the residual 1 + ridge_norm_bound on the
    smaller set of each pair.

    Raises:
      InputError: if no precision is: lambda is below about t^2/(2 epsilon).
    """
    leverage = 1.0 / check_positive("regularisation", regularisation)
    tail = privacy.tail_of(delta)
    shift = float(privacy.posterior_shift(epsilon, tail, leverage))
    if shift <= 0.0:
        check_interval(
            "regularisation", regularisation, 0.5 * tail**2 / epsilon, math.inf
        )
    residual = 1.0 + float(privacy.ridge_norm_bound(regularisation, records))
    return (shift / residual) ** 2 / leverage


def expected_error(mechanism: Mechanism, data: Any, params: Any) -> float:
    """Exact expectation of the test error, for these two mechanisms or for ridge.

    Args:
      mechanism: output_perturbation, balanced_posterior_sampling or ridge.
      data, params: as the mechanism takes them, with test records.
    """
    prepared, _ = mechanism.prepare(data, params)
    w, moments = prepared["solution"], prepared["error"]
    bias = w @ moments["square"] @ w - 2.0 * moments["cross"] @ w + moments["constant"]
    deviation = prepared.get("deviation", np.zeros_like(w))
    return float(bias + np.diag(moments["square"]) @ deviation**2)
