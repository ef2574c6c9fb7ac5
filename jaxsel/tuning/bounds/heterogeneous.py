"""Tuning of parameters that change the privacy of a run.

Candidates that differ in noise and length can be tuned together if each satisfies the same
two points of a privacy profile (Koskela, Redberg & Wang 2024, Section 6.2 and Corollary
6.2): the thresholds come from a Gaussian mechanism, and each DP-SGD candidate then runs
for as many steps as they allow.
"""

import functools
import math
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import scipy

from jaxsel.accounting.single_run.closed_forms import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_noise_multiplier,
)
from jaxsel.accounting.single_run.conversions import LEAST_DELTA, ApproximateGuarantee
from jaxsel.accounting.single_run.events import sampled_gaussian
from jaxsel.accounting.single_run.loss_distributions import many_times
from jaxsel.accounting.single_run.parameters import MOST_STEPS
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.profile_ratios import Profile, negative_binomial_ratio
from jaxsel.tuning.bounds.profiles import two_point_epsilon
from jaxsel.tuning.parameters import PositiveEpsilon, SamplingProbability, Steps, TrainingNoise

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import PLDPmf

# Its inverse is about the size of a table.
Interval = Annotated[float, number("of the discretised privacy loss", at_least=1e-6, below=0.1)]

_INTERVAL = 1e-4


class CandidateThresholds(NamedTuple):
    """The thresholds for every candidate, and the guarantee of the tuned algorithm.

    Attributes:
      noise_multiplier: of the Gaussian mechanism that the thresholds are taken from.
      first: (epsilon_1, delta_1), which bounds the ratio of slopes.
      second: (epsilon, delta/E[K]).
      tuned: (epsilon, delta) of the tuned algorithm.
    """

    noise_multiplier: float
    first: ApproximateGuarantee
    second: ApproximateGuarantee
    tuned: ApproximateGuarantee


@validated
def candidate_thresholds(
    epsilon: PositiveEpsilon,
    delta: Annotated[float, number("of one run", above=LEAST_DELTA, below=1.0)],
    repetitions: Repetitions,
) -> CandidateThresholds:
    """Two points that every candidate's profile must stay below, by Section 6.2.

    The Gaussian mechanism is calibrated to (epsilon, delta)-DP. Its profile then gives the
    epsilon_1 that minimises log(e^epsilon_1 + ((1 - gamma)/gamma) delta(epsilon_1)), and
    the epsilon at which it has delta/E[K].

    Args:
      epsilon, delta: of one run.
      repetitions: K ~ D(eta, gamma): geometric, logarithmic or any truncated negative
        binomial law with mean >= 1.

    Raises:
      InputError: if K has another law.
    """
    if repetitions.family != "truncated_negative_binomial":
        raise InputError(
            f"repetitions are {repetitions.family}; the thresholds need a truncated "
            "negative binomial law, such as geometric or logarithmic"
        )
    eta, gamma = repetitions.parameters["eta"], repetitions.parameters["gamma"]
    scale = gaussian_noise_multiplier(epsilon, delta)
    level = negative_binomial_ratio(lambda at: gaussian_delta(at, scale), eta, gamma).level
    first = ApproximateGuarantee(level, float(gaussian_delta(level, scale)))
    share = delta / repetitions.mean
    second = ApproximateGuarantee(gaussian_epsilon(share, scale), share)
    tuned = two_point_epsilon(second.epsilon, *first, eta, gamma)
    return CandidateThresholds(scale, first, second, ApproximateGuarantee(tuned, delta))


def _direction(distribution: "PLDPmf") -> Profile:
    """delta(epsilon) of one direction, exact for the discretised losses."""
    # With grid losses l_i, step h and S_i = sum over j > i of p_j e^(l_i - l_j),
    # delta(l_i) - delta(l_(i+1)) = (e^h - 1) S_i: sums of positive terms only.
    dense = distribution.to_dense_pmf()
    step, mass = float(dense._discretization), np.asarray(dense._probs, np.float64)
    mass = np.maximum(mass, 0.0)  # Fourier transforms leave rounding below 0
    losses = (dense._lower_loss - 1 + np.arange(mass.size + 1)) * step
    if max(-losses[0], losses[-1]) < 700.0:
        weights = np.append(np.cumsum((mass * np.exp(-losses[1:]))[::-1])[::-1], 0.0)
        falls = math.expm1(step) * np.exp(losses) * weights
    else:  # e^l_i is no float, but e^l_i S_i = e^-h (p_(i+1) + e^l_(i+1) S_(i+1)) is
        down = math.exp(-step)
        scaled = scipy.signal.lfilter([down], [1.0, -down], mass[::-1])[::-1]
        falls = math.expm1(step) * np.append(scaled, 0.0)
    infinite = float(dense._infinity_mass)
    delta = infinite + np.append(np.cumsum(falls[:-1][::-1])[::-1], 0.0)

    def profile(epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = np.clip(epsilon, losses[0], losses[-1])
        cell = np.clip(np.searchsorted(losses, inside, "right") - 1, 0, mass.size - 1)
        # Between losses of the grid, delta is linear in e^epsilon.
        part = np.expm1(inside - losses[cell]) / math.expm1(step)
        value = delta[cell] + (delta[cell + 1] - delta[cell]) * part
        below = -np.expm1(np.minimum(epsilon - losses[0], 0.0))
        return np.minimum(value + below * (1.0 - value), 1.0)[()]

    return profile


@validated
@functools.lru_cache(maxsize=8)
def subsampled_gaussian_profile(
    sampling_probability: SamplingProbability,
    noise_multiplier: TrainingNoise,
    steps: Steps,
    *,
    interval: Interval = _INTERVAL,
) -> Profile:
    """Profile of DP-SGD: composed Poisson-subsampled Gaussian mechanisms.

    Neighbours add or remove one record. By dp-accounting's pessimistic privacy loss
    distribution: an upper estimate, the larger of both directions.

    Args:
      sampling_probability: of each record in each step.
      noise_multiplier: standard deviation of the noise over the clipping norm.
      steps: how many.
      interval: of the discretised privacy loss.

    Returns:
      real epsilon -> delta, element by element, fast on large arrays.
    """
    try:
        one_step = sampled_gaussian(noise_multiplier, sampling_probability, interval)
        loss = many_times(one_step, steps)
        remove = _direction(loss._pmf_remove)
        add = remove if loss._symmetric else _direction(loss._pmf_add)
    except MemoryError:
        raise InputError(
            "the table of privacy losses is larger than memory; take more noise, fewer steps or "
            "a larger interval"
        ) from None

    def profile(epsilon: np.ndarray) -> np.ndarray:
        return np.maximum(remove(epsilon), add(epsilon))[()]

    return profile


@validated
def largest_steps(
    thresholds: CandidateThresholds,
    sampling_probability: SamplingProbability,
    noise_multiplier: TrainingNoise,
    *,
    interval: Interval = _INTERVAL,
) -> int:
    """Most steps of DP-SGD whose profile is below both thresholds.

    Poisson subsampling, neighbours that add or remove one record, both directions; by
    dp-accounting's pessimistic privacy loss distribution, so that the guarantee holds.

    Args:
      thresholds: from candidate_thresholds.
      sampling_probability: of each record in each step.
      noise_multiplier: standard deviation of the noise over the clipping norm.
      interval: of the discretised privacy loss; a smaller one allows more steps.

    Returns:
      The number of steps, found by bisection; 0 if even one is too many.

    Raises:
      InputError: if more than some 2^20 steps are allowed.
    """
    one_step = sampled_gaussian(noise_multiplier, sampling_probability, interval)

    def allowed(steps: int) -> bool:
        if steps == 0:
            return True
        loss = many_times(one_step, steps)
        return all(
            float(loss.get_delta_for_epsilon(epsilon)) <= delta
            for epsilon, delta in (thresholds.second, thresholds.first)
        )

    # T steps are close to a Gaussian of noise multiplier 1/(q sqrt(T (e^(1/s^2) - 1))).
    excess = math.expm1(min(noise_multiplier**-2.0, 700.0))
    spread = sampling_probability * math.sqrt(excess)
    guess = (thresholds.noise_multiplier * spread) ** -2.0
    too_many = InputError(
        f"more than {MOST_STEPS} steps are allowed; take less noise or a larger "
        "sampling_probability"
    )
    if guess > MOST_STEPS:
        raise too_many
    low = high = max(int(guess), 1)
    factor = 1.05
    if allowed(low):
        while allowed(high := math.ceil(high * factor)):
            low, factor = high, factor * factor
            if high > MOST_STEPS:
                raise too_many
    else:
        while not allowed(low := math.floor(low / factor)):
            high, factor = low, factor * factor
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
