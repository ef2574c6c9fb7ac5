"""Gaussian answers, the worst of which are measured again, after Steinke & Ullman 2016.

All k answers get Gaussian noise. Then exponential mechanisms pick the r = ceil(k/log^2 k) answers
with the largest errors; given the noisy answers, these errors have sensitivity 1. The picked ones
are measured again, with less noise since they are few. Asymptotically the largest error is
sqrt(log log k) times that of one answer, instead of sqrt(log k) times.
"""

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.accounting.single_run.conversions import zcdp_rho
from jaxsel.families.query_release.parameters import AnyDelta, AnyEpsilon, Queries
from jaxsel.families.top_k.baselines import exponential_top_k_scale
from jaxsel.language.base import Relation
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated


class RepairedAnswers(NamedTuple):
    """Settings of the repaired Gaussian mechanism.

    Attributes:
      queries: k.
      repairs: r, how many answers are measured again.
      noise_scale: standard deviation of the first noise on each answer, which takes half of
        epsilon and delta.
      pick_scale: scale of the Gumbel noise with which errors are picked; this takes a quarter.
      repair_scale: standard deviation of the second noise, which takes the last quarter.
    """

    queries: int
    repairs: int
    noise_scale: float
    pick_scale: float
    repair_scale: float


@validated
def repaired_answers(queries: Queries, epsilon: AnyEpsilon, delta: AnyDelta) -> RepairedAnswers:
    """The settings that make the repaired mechanism (epsilon, delta)-DP.

    Args:
      queries: k, of sensitivity 1 each.
      epsilon, delta: of the noise, the picks and the second noise together.
    """
    k = queries
    repairs = min(k, math.ceil(k / max(1.0, math.log(k)) ** 2))
    first = gaussian_noise_multiplier(epsilon / 2.0, delta / 2.0)
    second = gaussian_noise_multiplier(epsilon / 4.0, delta / 4.0)
    rho = zcdp_rho(epsilon / 4.0, delta / 4.0)
    return RepairedAnswers(
        queries=k,
        repairs=repairs,
        noise_scale=math.sqrt(k) * first,
        pick_scale=exponential_top_k_scale(rho, repairs, Relation.GENERAL),
        repair_scale=math.sqrt(repairs) * second,
    )


def repaired_error(
    settings: RepairedAnswers, generator: np.random.Generator, samples: int
) -> np.ndarray:
    """The largest error of each of some simulated vectors of answers, Float["samples"].

    Args:
      settings: of the mechanism.
      generator: of the noises.
      samples: how many vectors.
    """
    k, r = settings.queries, settings.repairs
    errors = np.empty(samples)
    block = max(1, 2**20 // k)
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        error = np.abs(generator.normal(size=(rows, k))) * settings.noise_scale
        noisy = error + settings.pick_scale * generator.gumbel(size=(rows, k))
        picked = np.argpartition(-noisy, r - 1, axis=1)[:, :r]
        again = np.abs(generator.normal(size=(rows, r))) * settings.repair_scale
        np.put_along_axis(error, picked, again, axis=1)
        errors[start : start + rows] = error.max(axis=1)
    return errors


@validated
@functools.cache
def calibrated_median(
    settings: RepairedAnswers,
    samples: Annotated[int, whole("simulated vectors", at_least=10, at_most=1e6)] = 4000,
) -> float:
    """A bound that the largest error of a vector of answers keeps with probability 1/2 or more.

    It is an upper confidence limit, at confidence 99 %, of the median of simulated largest errors.
    Their law does not depend on the data, so that a fixed seed reveals nothing.

    Args:
      settings: of the mechanism.
      samples: how many vectors are simulated.
    """
    errors = repaired_error(settings, np.random.default_rng(0), samples)
    # The j-th smallest error is below the median with chance P[Bin(samples, 1/2) >= j].
    rank = int(scipy.stats.binom.isf(0.01, samples, 0.5)) + 1
    return float(np.sort(errors)[min(rank, samples) - 1])
