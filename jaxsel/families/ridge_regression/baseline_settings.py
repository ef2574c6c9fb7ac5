"""Settings of the two forms of private ridge regression that make no test: see ``baselines``."""

import math

import numpy as np

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.ridge_regression import posterior_privacy as privacy
from jaxsel.families.ridge_regression.parameters import (
    Delta,
    Epsilon,
    Records,
    Regularisation,
    TailDelta,
)
from jaxsel.host.errors import check_interval
from jaxsel.language.signature import validated

_FAILURE = 0.05  # of Wang's high-probability error bound, which sets lambda


@validated
def output_perturbation_scale(
    regularisation: Regularisation, records: Records, epsilon: Epsilon, delta: Delta
) -> float:
    """The standard deviation of the noise on each coefficient in output perturbation.

    It is the exact Gaussian noise multiplier times ``ridge_sensitivity``.

    Args:
      regularisation: lambda.
      records: n, the public bound on their number.
      epsilon, delta: the budget.
    """
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    return multiplier * float(privacy.ridge_sensitivity(regularisation, records))


@validated
def output_perturbation_regularisation(records: Records, epsilon: Epsilon, delta: Delta) -> float:
    """The lambda >= 1 that minimises n s^2 + lambda, s being ``output_perturbation_scale``.

    For rows of norm 1, n s^2 is what the noise adds to the sum of squared errors; for coefficients
    of norm at most 1, lambda bounds what shrinkage adds. Nothing depends on the data.

    Args:
      records: n, the public bound.
      epsilon, delta: the budget.
    """
    multiplier = gaussian_noise_multiplier(epsilon, delta)

    def cost(log_lambda):
        lam = np.exp(log_lambda)
        scale = multiplier * privacy.ridge_sensitivity(lam, records)
        return np.log(records * scale**2 + lam)

    return float(np.exp(minimise(cost, 0.0, math.log(1e4 * records))[0]))


@validated
def balanced_regularisation(
    records: Records, dimension: int, epsilon: Epsilon, delta: TailDelta
) -> float:
    """The regularisation of OPS-Balanced (Wang 2018), with the tail t in place of log(2/delta).

    It is max{(C n/2)^(1/3), t^2/epsilon} with C = (d/2 + sqrt(d l) + l) t^2/e^2, l = log 20 and
    e = min(epsilon/2, sqrt(epsilon/2)), where t is ``tail_of(delta)``. Any lambda above
    t^2/(2 epsilon) is private; this one balances shrinkage and noise for |theta| <= 1.

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


@validated
def balanced_precision(
    regularisation: Regularisation, records: Records, epsilon: Epsilon, delta: TailDelta
) -> float:
    """The largest precision at which a posterior sample is (epsilon, delta)-DP on all data.

    On the smaller set of any pair the leverage of the record is at most 1/lambda, and its residual
    at most 1 + ``ridge_norm_bound``. The precision is the one whose shift at these bounds is
    ``posterior_shift``.

    Args:
      regularisation, records, epsilon, delta: as in ``output_perturbation_scale``.

    Raises:
      InputError: if there is none, because lambda is below about t^2/(2 epsilon).
    """
    leverage = 1.0 / regularisation
    tail = privacy.tail_of(delta)
    shift = float(privacy.posterior_shift(epsilon, tail, leverage))
    if shift <= 0.0:
        check_interval("regularisation", regularisation, 0.5 * tail**2 / epsilon, math.inf)
    residual = 1.0 + float(privacy.ridge_norm_bound(regularisation, records))
    return (shift / residual) ** 2 / leverage
