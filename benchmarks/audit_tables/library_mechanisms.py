"""Mechanisms of other libraries as a stranger's functions of data, each with its defaults.

A library is imported when its mechanism is called first; each process makes it once.
"""

import functools
import math
from typing import Any

from benchmarks.peers import diffprivlib_mechanisms, imported

EPSILON, DELTA = 1.0, 1e-2
"""What the mechanisms of diffprivlib are asked for."""

STOP = 0.5
_THRESHOLD = 1.0


@functools.cache
def opendp() -> Any:
    """The prelude of OpenDP."""
    prelude = imported("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


@functools.cache
def _scores() -> Any:
    dp = opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return domain, dp.linf_distance(T=float)


@functools.cache
def _number() -> Any:
    dp = opendp()
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


@functools.cache
def noisy_max_pure() -> Any:
    """Permute-and-flip, as the place of the largest score with exponential noise of scale 1."""
    dp = opendp()
    return dp.m.make_noisy_max(*_scores(), dp.max_divergence(), scale=1.0)


@functools.cache
def noisy_max_zero_concentrated() -> Any:
    """The place of the largest score with Gumbel noise of scale 1."""
    dp = opendp()
    return dp.m.make_noisy_max(*_scores(), dp.zero_concentrated_divergence(), scale=1.0)


@functools.cache
def noisy_top_two() -> Any:
    """The places of the two largest scores with noise of scale 1."""
    dp = opendp()
    return dp.m.make_noisy_top_k(*_scores(), dp.max_divergence(), k=2, scale=1.0)


@functools.cache
def laplace() -> Any:
    """One number with Laplace noise of scale 1."""
    return opendp().m.make_laplace(*_number(), scale=1.0)


@functools.cache
def gaussian() -> Any:
    """One number with Gaussian noise of scale 1."""
    return opendp().m.make_gaussian(*_number(), scale=1.0)


@functools.cache
def discrete_laplace() -> Any:
    """One whole number with discrete Laplace noise of scale 1."""
    dp = opendp()
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


@functools.cache
def selection() -> Any:
    """Private selection from runs whose score is one number with Laplace noise of scale 1."""
    dp, noisy = opendp(), laplace()
    run = dp.m.make_user_measurement(
        *_number(),
        dp.max_divergence(),
        lambda data: (noisy(data), "a candidate"),
        lambda moved: noisy.map(moved),
        TO="(f64, ExtrinsicObject)",
    )
    return dp.c.make_select_private_candidate(run, stop_probability=STOP, threshold=_THRESHOLD)


def runs_of_selection(stop_probability: float, selections: int) -> list[int]:
    """The numbers of runs of private selections in which no score reaches the threshold."""
    dp, counted = opendp(), []

    def score(data: float) -> tuple[float, str]:
        counted[-1] += 1
        return data, "a candidate"

    run = dp.m.make_user_measurement(
        *_number(), dp.max_divergence(), score, lambda moved: moved, TO="(f64, ExtrinsicObject)"
    )
    select = dp.c.make_select_private_candidate(
        run, stop_probability=stop_probability, threshold=_THRESHOLD
    )
    for _ in range(selections):
        counted.append(0)
        select(_THRESHOLD - 1.0)
    return counted


def opendp_laplace(data):
    return laplace()(data)


def opendp_laplace_low_bits(data):
    return has_low_bits(laplace()(data))


def opendp_gaussian(data):
    return gaussian()(data)


def opendp_discrete_laplace(data):
    return discrete_laplace()(data)


def opendp_noisy_max_pure(data):
    return noisy_max_pure()(data)


def opendp_noisy_max_zero_concentrated(data):
    return noisy_max_zero_concentrated()(data)


def opendp_noisy_top_two(data):
    return noisy_top_two()(data)


def opendp_selection(data):
    return selection()(data)


def has_low_bits(value):
    """Whether a number is no multiple of 2^-53."""
    return not math.ldexp(value, 53).is_integer()


@functools.cache
def _diffprivlib(name: str, **settings: Any) -> Any:
    mechanisms, _ = diffprivlib_mechanisms()
    return getattr(mechanisms, name)(epsilon=EPSILON, **settings)


_BOUNDS = {"lower": -2.0, "upper": 3.0}


def diffprivlib_laplace(data):
    return _diffprivlib("Laplace", sensitivity=1.0).randomise(data)


def diffprivlib_laplace_low_bits(data):
    return has_low_bits(diffprivlib_laplace(data))


def diffprivlib_snapping(data):
    return _diffprivlib("Snapping", sensitivity=1.0, **_BOUNDS).randomise(data)


def diffprivlib_snapping_low_bits(data):
    return has_low_bits(diffprivlib_snapping(data))


def diffprivlib_laplace_truncated(data):
    return _diffprivlib("LaplaceTruncated", sensitivity=1.0, **_BOUNDS).randomise(data)


def diffprivlib_laplace_folded(data):
    return _diffprivlib("LaplaceFolded", sensitivity=1.0, **_BOUNDS).randomise(data)


def diffprivlib_laplace_bounded_domain(data):
    return _diffprivlib("LaplaceBoundedDomain", sensitivity=1.0, **_BOUNDS).randomise(data)


def diffprivlib_laplace_bounded_noise(data):
    return _diffprivlib("LaplaceBoundedNoise", delta=DELTA, sensitivity=1.0).randomise(data)


def diffprivlib_staircase(data):
    return _diffprivlib("Staircase", sensitivity=1.0).randomise(data)


def diffprivlib_gaussian(data):
    return _diffprivlib("Gaussian", delta=DELTA, sensitivity=1.0).randomise(data)


def diffprivlib_gaussian_analytic(data):
    return _diffprivlib("GaussianAnalytic", delta=DELTA, sensitivity=1.0).randomise(data)


def diffprivlib_gaussian_discrete(data):
    return _diffprivlib("GaussianDiscrete", delta=DELTA).randomise(data)


def diffprivlib_geometric(data):
    return _diffprivlib("Geometric").randomise(data)


def _chosen(name, data):
    # The scores are no argument of the choice: each data set has a mechanism of its own.
    mechanisms, _ = diffprivlib_mechanisms()
    return getattr(mechanisms, name)(
        epsilon=EPSILON, sensitivity=1.0, utility=list(data)
    ).randomise()


def diffprivlib_exponential(data):
    return _chosen("Exponential", data)


def diffprivlib_permute_and_flip(data):
    return _chosen("PermuteAndFlip", data)
