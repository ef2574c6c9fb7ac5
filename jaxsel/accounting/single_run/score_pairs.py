"""Pairs of laws on the real line: outputs of one base run on two neighbouring inputs.

A base run releases a real number z and a tuned algorithm ranks its runs by z alone, so that
the two laws of z and the ranking determine the laws of the tuned algorithm.
All logarithms are computed without cancellation, far into both tails.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy import special

from jaxsel.language.domains import number, probability
from jaxsel.language.signature import validated

Function = Callable[[np.ndarray], np.ndarray]

# Beyond these distances from the centre a tail is below 1e-298.
_GAUSSIAN_REACH = 37.0
_LAPLACE_REACH = 686.0
_Noise = Annotated[float, number("standard deviation over sensitivity", at_least=0.02, at_most=1e6)]


class LineLaw(NamedTuple):
    """A law on the real line with a density.

    Attributes:
      log_density: z -> log of the density.
      log_lower: z -> log P[Z < z].
      log_upper: z -> log P[Z > z].
    """

    log_density: Function
    log_lower: Function
    log_upper: Function


class ScorePair(NamedTuple):
    """The laws of one base run's output z on two neighbouring inputs.

    Attributes:
      name: the pair with its parameters.
      first, second: the two laws.
      loss: z -> log of the ratio of the first density to the second, the privacy loss.
      kinks: where a density is not smooth, ascending.
      reach: interval outside of which both laws have mass below 1e-290.
      width: length over which, away from kinks, the logarithms of both densities and of
        their ratio are smooth enough for Gauss-Legendre quadrature on one panel.
    """

    name: str
    first: LineLaw
    second: LineLaw
    loss: Function
    kinks: tuple[float, ...]
    reach: tuple[float, float]
    width: float


def _normal(mean: float) -> LineLaw:
    """N(mean, 1)."""
    return LineLaw(
        log_density=lambda z: -0.5 * (z - mean) ** 2 - 0.5 * math.log(2.0 * math.pi),
        log_lower=lambda z: special.log_ndtr(z - mean),
        log_upper=lambda z: special.log_ndtr(mean - z),
    )


@validated
def gaussian_pair(noise_multiplier: _Noise) -> ScorePair:
    """N(0, 1) against N(1/noise_multiplier, 1): the Gaussian mechanism, standardised.

    The second law favours large z: the privacy loss decreases in z.

    Args:
      noise_multiplier: standard deviation of the noise over the sensitivity.
    """
    shift = 1.0 / noise_multiplier
    return ScorePair(
        name=f"gaussian:noise_multiplier={noise_multiplier!r}",
        first=_normal(0.0),
        second=_normal(shift),
        loss=lambda z: shift * (0.5 * shift - z),
        kinks=(),
        reach=(-_GAUSSIAN_REACH, _GAUSSIAN_REACH + shift),
        width=0.375,
    )


def _log_laplace_tail(z: np.ndarray) -> np.ndarray:
    """log P[Z > z] of the standard Laplace law."""
    below = np.log1p(-0.5 * np.exp(np.minimum(z, 0.0)))
    return np.where(z > 0, -z - math.log(2.0), below)


def _laplace(mean: float) -> LineLaw:
    """Laplace(1) around mean."""
    return LineLaw(
        log_density=lambda z: -np.abs(z - mean) - math.log(2.0),
        log_lower=lambda z: _log_laplace_tail(mean - z),
        log_upper=lambda z: _log_laplace_tail(z - mean),
    )


@validated
def laplace_pair(
    noise_scale: Annotated[float, number("over the sensitivity", at_least=0.01, at_most=1e6)],
) -> ScorePair:
    """Laplace(1) around 0 against around 1/noise_scale: z in units of the noise.

    The second law favours large z.

    Args:
      noise_scale: scale of the noise over the sensitivity.
    """
    shift = 1.0 / noise_scale
    return ScorePair(
        name=f"laplace:noise_scale={noise_scale!r}",
        first=_laplace(0.0),
        second=_laplace(shift),
        loss=lambda z: shift - 2.0 * np.clip(z, 0.0, shift),
        kinks=(0.0, shift),
        reach=(-_LAPLACE_REACH, _LAPLACE_REACH + shift),
        width=2.0,
    )


@validated
def subsampled_gaussian_pair(
    noise_multiplier: _Noise, sampling_probability: Annotated[float, probability("of a record")]
) -> ScorePair:
    """(1 - q) N(0, 1) + q N(1/noise_multiplier, 1) against N(0, 1).

    One step of DP-SGD with Poisson sampling when a record is removed (with the record
    on the first side); ``reversed_pair`` of it is the step when one is added. Here the
    first law favours large z.

    Args:
      noise_multiplier: standard deviation of the noise over the sensitivity.
      sampling_probability: q.
    """
    base, q = gaussian_pair(noise_multiplier), sampling_probability
    log_q, log_rest = math.log(q), math.log1p(-q)

    def mixed(name: str) -> Function:
        out, inside = getattr(base.first, name), getattr(base.second, name)
        return lambda z: np.logaddexp(log_rest + out(z), log_q + inside(z))

    def loss(z: np.ndarray) -> np.ndarray:
        inner = -base.loss(z)
        small = np.log1p(q * np.expm1(np.minimum(inner, 1.0)))
        return np.where(inner < 1.0, small, np.logaddexp(log_rest, log_q + inner))

    shift = base.reach[1] - _GAUSSIAN_REACH
    return base._replace(
        name=f"subsampled_gaussian:noise_multiplier={noise_multiplier!r},sampling_probability={q!r}",
        first=LineLaw(mixed("log_density"), mixed("log_lower"), mixed("log_upper")),
        second=base.first,
        loss=loss,
        # the mixture's logarithm has singularities pi/shift away from the real line
        width=min(base.width, 2.0 / shift),
    )


def reversed_pair(pair: ScorePair) -> ScorePair:
    """The same two laws with their sides swapped."""
    return pair._replace(
        name=f"reversed({pair.name})",
        first=pair.second,
        second=pair.first,
        loss=lambda z: -pair.loss(z),
    )


def _mirrored(law: LineLaw) -> LineLaw:
    return LineLaw(
        log_density=lambda z: law.log_density(-z),
        log_lower=lambda z: law.log_upper(-z),
        log_upper=lambda z: law.log_lower(-z),
    )


def mirrored_pair(pair: ScorePair) -> ScorePair:
    """The laws of -z."""
    return pair._replace(
        name=f"mirrored({pair.name})",
        first=_mirrored(pair.first),
        second=_mirrored(pair.second),
        loss=lambda z: pair.loss(-z),
        kinks=tuple(-z for z in reversed(pair.kinks)),
        reach=(-pair.reach[1], -pair.reach[0]),
    )
