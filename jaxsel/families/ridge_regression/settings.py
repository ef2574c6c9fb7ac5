"""Generalised propose-test-release, and one run of it around a posterior sample.

Redberg, Zhu & Wang (2023) propose parameters of a mechanism, test privately whether its privacy
loss with these parameters is small on the data at hand, and run it only if so. Koskela, Redberg &
Wang (2024, Section 6.1) tune this: the mechanism is one posterior sample of ridge regression (OPS,
see ``posterior_privacy``), and the proposal is its regularisation lambda.

One run releases, in turn,
  1. a lower bound on the least eigenvalue of X'X: the eigenvalue plus s Z minus c s;
  2. an upper bound on log(1 + |theta|): its value plus a s Z' plus c a s, where
     a = log(1 + leverage_bound) is computed from the first bound;
  3. nothing, or the sample with the ``posterior_precision`` of these two bounds (whether to
     release nothing may depend on the bounds in any way).
Z and Z' are standard normal, so that each bound is wrong with probability Phi(-c). Steps 1 and 2
are Gaussian mechanisms of noise multiplier s each, hence together one of s/sqrt(2). Where both
bounds hold, step 3 is private by ``posterior_privacy``. Neighbours differ by one record, added or
removed.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from jaxsel.accounting.single_run.closed_forms import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise_multiplier,
)
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.families.ridge_regression import posterior_privacy as ridge_posterior
from jaxsel.families.ridge_regression.parameters import (
    LARGEST_RUN_DELTA,
    Delta,
    Failure,
    RunDelta,
    RunEpsilon,
)
from jaxsel.host.errors import check_interval
from jaxsel.language.signature import validated

# The split of epsilon between the two bounds and the sample, and of delta between the
# bounds, the sample, and the failure of either bound.
_TEST_SHARE = 0.5
_DELTA_SHARES = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
# A quadrature over a standard normal; the profile, which has a kink, is accurate to 1e-5.
_NODES, _STEP = np.linspace(-9.0, 9.0, 241, retstep=True)
_WEIGHTS = _STEP * np.exp(-0.5 * _NODES**2) / math.sqrt(2.0 * math.pi)


@validated
def propose_test_release(
    release: ApproximateGuarantee, test: ApproximateGuarantee, failure: Failure
) -> ApproximateGuarantee:
    """The guarantee of a mechanism that runs only if a private test passes.

    This is generalised propose-test-release: Koskela, Redberg & Wang (2024), Theorem 6.1, after
    Redberg, Zhu & Wang (2023).

    Args:
      release: (epsilon, delta) of the mechanism on data that should pass.
      test: (epsilon, delta) of the test.
      failure: largest probability that the test passes on other data.

    Returns:
      (epsilon + epsilon_test, delta + delta_test + failure).
    """
    return ApproximateGuarantee(
        release.epsilon + test.epsilon, min(1.0, release.delta + test.delta + failure)
    )


# --- One run --------------------------------------------------------------------------


class RunCalibration(NamedTuple):
    """The settings with which a run is (epsilon, delta)-DP.

    Attributes:
      epsilon, delta: the guarantee of one run.
      noise_multiplier: s of each of the two bounds.
      margin: c; each bound is valid with probability Phi(c).
      sample_epsilon: epsilon of the sample, at delta = 2 Phi(-tail).
      tail: t of posterior_epsilon.
    """

    epsilon: float
    delta: float
    noise_multiplier: float
    margin: float
    sample_epsilon: float
    tail: float


@validated
def calibrate_run(epsilon: RunEpsilon, delta: RunDelta) -> RunCalibration:
    """The settings with which a run is (epsilon, delta)-DP, split over its steps as in the papers.

    The two bounds get half of epsilon, and the sample the other half. The bounds, the sample and
    the failure of a bound get a third of delta each.
    """
    test, sample, failure = (share * delta for share in _DELTA_SHARES)
    joint = gaussian_noise_multiplier(_TEST_SHARE * epsilon, test)
    return RunCalibration(
        epsilon=epsilon,
        delta=delta,
        noise_multiplier=math.sqrt(2.0) * joint,
        margin=-float(special.ndtri(0.5 * failure)),
        sample_epsilon=(1.0 - _TEST_SHARE) * epsilon,
        tail=ridge_posterior.tail_of(sample),
    )


@validated
def run_guarantee(
    calibration: RunCalibration, test_delta: Delta, sample_tail: float
) -> ApproximateGuarantee:
    """The guarantee of one run by Theorem 6.1, at any split of delta over its parts.

    At the calibrated precision the sample's epsilon is at most u^2/2 + u t for every tail t <=
    calibration.tail, where u is ``posterior_shift`` at leverage 0. It is so at positive leverage,
    too, where the epsilon at calibration.tail is the same, and falls faster as t decreases.

    Args:
      calibration: of the run.
      test_delta: delta of the two bounds together.
      sample_tail: t in [sqrt(2), calibration.tail]; the sample's delta is 2 Phi(-t).

    Raises:
      InputError: for a tail outside this interval.
    """
    scale = calibration.noise_multiplier / math.sqrt(2.0)
    tail = check_interval(
        "sample_tail",
        sample_tail,
        ridge_posterior.LEAST_TAIL,
        calibration.tail,
        low_open=False,
        high_open=False,
    )
    test = ApproximateGuarantee(gaussian_epsilon(test_delta, scale), test_delta)
    shift = ridge_posterior.posterior_shift(calibration.sample_epsilon, calibration.tail, 0.0)
    sample = ApproximateGuarantee(
        float(ridge_posterior.posterior_epsilon(tail, 0.0, shift)), 2.0 * float(special.ndtr(-tail))
    )
    failure = 2.0 * float(special.ndtr(-calibration.margin))
    return propose_test_release(sample, test, failure)


def run_epsilon(calibration: RunCalibration, delta: float) -> float:
    """The epsilon of one run at a delta larger than the calibrated one, by the best split of it.

    Args:
      calibration: of the run.
      delta: in [calibration.delta, 0.1].

    Returns:
      An epsilon at which the run is (epsilon, delta)-DP, at most calibration.epsilon.
    """
    delta = check_interval(
        "delta", delta, calibration.delta, LARGEST_RUN_DELTA, low_open=False, high_open=False
    )
    if delta == calibration.delta:
        return calibration.epsilon
    spare = delta - 2.0 * float(special.ndtr(-calibration.margin))
    least = 2.0 * float(special.ndtr(-calibration.tail))

    def at(logit: float) -> float:
        sample = least + (spare - least) * float(special.expit(logit))
        tail = min(ridge_posterior.tail_of(sample), calibration.tail)
        found = run_guarantee(calibration, spare - sample, tail)
        # Rounding must not make the parts sum to more than delta.
        return found.epsilon if found.delta <= delta * (1.0 + 1e-12) else math.inf

    found = optimize.minimize_scalar(
        at, bounds=(-4.0, 4.0), method="bounded", options={"xatol": 1e-3}
    )
    return min(float(found.fun), calibration.epsilon)  # type: ignore[attr-defined]


def _tail_profile(epsilon: np.ndarray, shift: float) -> np.ndarray:
    """E[(1 - e^(epsilon - l))_+ 1{|Z| > sqrt(2)}] with the privacy loss l = u^2/2 + u |Z|.

    It is the part of the sample's profile that comes from |Z| > sqrt(2), at any real epsilon; u is
    the shift.
    """
    least = ridge_posterior.LEAST_TAIL
    edge = 0.5 * shift**2 + least * shift
    # For Z > sqrt(2), and for Z < -sqrt(2), l is the privacy loss of N(0, 1) against N(u, 1).
    low = np.exp(np.minimum(epsilon, edge)) * special.ndtr(-least - shift)
    high = gaussian_delta(np.maximum(epsilon, edge), 1.0 / shift)
    return 2.0 * np.where(epsilon < edge, special.ndtr(-least) - low, high)


def run_profile(calibration: RunCalibration) -> Callable[[np.ndarray], np.ndarray]:
    """A privacy profile of one run, sharper than Theorem 6.1.

    The steps compose: the profile at epsilon is the mean of the sample's profile at epsilon - l,
    where l is the privacy loss of the bounds, which is Gaussian. With probability at most
    2 Phi(-tail), |Z| exceeds the tail; else the sample's loss is at most u^2/2 + u max(|Z|,
    sqrt(2)), where u is the shift at leverage 0 (see ``run_guarantee``). To this mean the
    probabilities that |Z| exceeds the tail, and that a bound is wrong, are added.

    Args:
      calibration: of the run.

    Returns:
      The function from real epsilons, an array, to bounds on delta that hold in both directions.
    """
    scale = math.sqrt(2.0) / calibration.noise_multiplier
    shift = float(
        ridge_posterior.posterior_shift(calibration.sample_epsilon, calibration.tail, 0.0)
    )
    failing = 2.0 * float(special.ndtr(-calibration.margin))
    failing += 2.0 * float(special.ndtr(-calibration.tail))
    loss = 0.5 * scale**2 + scale * _NODES

    least = ridge_posterior.LEAST_TAIL
    edge = 0.5 * shift**2 + least * shift
    middle = 1.0 - 2.0 * float(special.ndtr(-least))

    def profile(epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        levels = epsilon[..., None] - loss
        tails = np.sum(_WEIGHTS * _tail_profile(levels, shift), axis=-1)
        # For |Z| <= sqrt(2) the loss of the sample is constant, and the mean has a closed form.
        inside = middle * gaussian_delta(epsilon - edge, 1.0 / scale)
        return np.minimum(failing + inside + tails, 1.0)[()]

    return profile
