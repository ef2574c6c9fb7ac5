"""The envelope bound: a profile of the tuned algorithm for every order and every K.

A result of this project, novelty against later literature not established; the proof is
in docs/envelope.md. For a base dominated by (P, P') with trade-off T, f the generating
function of K, any ranking of the outputs and epsilon >= 0,

  delta(epsilon) <= E_{y ~ P} [ sup_x (f'(1 - x) - e^(epsilon - loss(y)) f'(1 - T(x)))_+ ].

The supremum is that of linear functions of s = e^(epsilon - loss), hence read off the
upper hull of the points (b, a) = (f'(1 - T(x)), f'(1 - x)), found once for all epsilon;
slope_cover makes it a bound on the supremum over the continuum, not only over a grid.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from jaxsel.accounting.numerics.hull import upper_hull, upper_hull_of_logs
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair, pair_tradeoff
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.slope_cover import COUNT, SlopeCover, slope_cover
from jaxsel.tuning.parameters import TunedDelta


class Envelope(NamedTuple):
    """The envelope of one dominating pair and one law of K, prepared for any epsilon.

    Attributes:
      loss, mass: Float[np.ndarray, "atoms"], finite losses of P and their masses.
      singular: mass of P at infinite loss.
      log_first, log_second: Float[np.ndarray, "vertices"], logs of f'(1 - x)/E[K] and of
        f'(1 - T(x))/E[K] on the upper hull, both increasing.
      log_slopes: Float[np.ndarray, "vertices-1"], of the hull, decreasing.
      log_mean: log E[K].
      largest: sup_x log f'(1 - x)/f'(1 - T(x)).
    """

    loss: np.ndarray
    mass: np.ndarray
    singular: float
    log_first: np.ndarray
    log_second: np.ndarray
    log_slopes: np.ndarray
    log_mean: float
    largest: float


_LINEAR = -690.0  # logarithms of normal float64 numbers


def _hull(cover: SlopeCover) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logs of the vertices (a, b) of the cover's upper hull, and of its slopes."""
    near = cover.log_second > _LINEAR
    b, a = np.exp(cover.log_second[near]), np.exp(cover.log_first[near])
    hull = upper_hull(b, a)
    # Vertices with a = 0 do not contribute, and (0, 0) has no logarithms.
    hull = hull[a[hull] > 0.0]
    if np.all(near):
        with np.errstate(divide="ignore", over="ignore"):
            slopes = np.minimum.accumulate(np.diff(a[hull]) / np.diff(b[hull]))
            return np.log(a[hull]), np.log(b[hull]), np.log(slopes)
    far = np.flatnonzero(~near & (cover.log_first > -math.inf))
    points = np.concatenate([far, np.flatnonzero(near)[hull]])
    first, second = cover.log_first[points], cover.log_second[points]
    kept, log_slopes = upper_hull_of_logs(second, first)
    return first[kept], second[kept], log_slopes


def pair_envelope(
    pair: DominatingPair, repetitions: Repetitions, *, count: int = COUNT
) -> Envelope:
    """Prepares the envelope of one direction.

    Args:
      pair: a pair that dominates the base's laws in that direction.
      repetitions: law of K.
      count: grid points for x; the relative error of delta falls like count^-2.
    """
    cover = slope_cover(pair_tradeoff(pair), repetitions, kinks=np.cumsum(pair.first), count=count)
    log_first, log_second, log_slopes = _hull(cover)
    finite = np.isfinite(pair.loss) & (pair.first > 0.0)
    return Envelope(
        loss=pair.loss[finite],
        mass=pair.first[finite],
        singular=float(np.sum(pair.first[pair.loss == np.inf])),
        log_first=log_first,
        log_second=log_second,
        log_slopes=log_slopes,
        log_mean=cover.log_mean,
        largest=float(np.max(log_first - log_second)),
    )


def _log_floor(bound: Envelope) -> float:
    """log of the bound as epsilon grows: from infinite loss, and where b = 0."""
    total = bound.singular
    if bound.log_second[0] == -math.inf:
        total += float(np.sum(bound.mass)) * math.exp(bound.log_first[0])
    return bound.log_mean + math.log(total) if total > 0.0 else -math.inf


def _at(bound: Envelope, epsilon: float) -> float:
    """log of the bound at one epsilon >= 0."""
    if math.isinf(epsilon):
        return _log_floor(bound)
    # Where e^(epsilon - loss) exceeds every a/b, the maximum is 0; a margin for rounding.
    start = np.searchsorted(bound.loss, epsilon - bound.largest - 1e-9)
    log_weight = epsilon - bound.loss[start:]
    place = np.searchsorted(-bound.log_slopes, -log_weight)
    gap = log_weight + bound.log_second[place] - bound.log_first[place]
    part = np.exp(bound.log_first[place]) * -np.expm1(np.minimum(gap, 0.0))
    total = float(np.sum(bound.mass[start:] * part)) + bound.singular
    return bound.log_mean + math.log(total) if total > 0.0 else -math.inf


def base_envelopes(
    base: BaseGuarantee, repetitions: Repetitions, *, count: int = COUNT
) -> tuple[Envelope, ...]:
    """The envelopes of both directions (one, if the base's pair is symmetric)."""
    return tuple(pair_envelope(each, repetitions, count=count) for each in base.pairs())


def log_envelope(bounds: tuple[Envelope, ...], epsilon: float) -> float:
    """log of the envelope at one epsilon >= 0, the larger direction; it may exceed 0."""
    return max(_at(each, epsilon) for each in bounds)


def envelope_log_delta(bounds: tuple[Envelope, ...], epsilon: npt.ArrayLike) -> np.ndarray:
    """log of the envelope bound on delta(epsilon), in both directions.

    Args:
      bounds: from base_envelopes.
      epsilon: >= 0, any shape.

    Raises:
      InputError: if an epsilon is negative: the proof needs epsilon >= 0.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    if not np.all(epsilon >= 0.0):
        raise InputError(f"epsilon is {epsilon}; it must be >= 0")
    found = [log_envelope(bounds, e) for e in epsilon.ravel().tolist()]
    return np.minimum(np.array(found).reshape(epsilon.shape), 0.0)[()]


def envelope_profile(
    base: BaseGuarantee, repetitions: Repetitions
) -> Callable[[np.ndarray], np.ndarray]:
    """epsilon >= 0 -> the envelope bound on delta of the tuned algorithm, at most 1."""
    bounds = base_envelopes(base, repetitions)
    return lambda epsilon: np.exp(envelope_log_delta(bounds, epsilon))[()]


@validated
def envelope_epsilon(bounds: tuple[Envelope, ...], delta: TunedDelta) -> float:
    """Smallest epsilon >= 0 at which the envelope bound is at most delta.

    Args:
      bounds: from base_envelopes.
      delta: of the search.

    Returns:
      That epsilon; inf if the bound always exceeds delta, for example if E[K] times the
      base's mass at infinite loss does. A sum within a relative 1e-12 of delta, which is
      its rounding error, counts as delta.
    """
    if delta == 0.0:
        if any(each.singular > 0.0 for each in bounds):
            return math.inf
        return max(0.0, *(float(e.loss[-1]) + e.largest for e in bounds))
    target = math.log(delta) + 1e-12

    def excess(epsilon: float) -> float:
        return max(log_envelope(bounds, epsilon), -1e4) - target

    if excess(0.0) <= 0.0:
        return 0.0
    if max(_log_floor(each) for each in bounds) > target:
        return math.inf
    high = 1.0
    while excess(high) > 0.0:
        high *= 2.0
    low = 0.5 * high if high > 1.0 else 0.0
    found = optimize.root_scalar(excess, bracket=(low, high), method="brentq", xtol=1e-12)
    root, step = float(found.root), 1e-12
    while excess(root) > 0.0:  # the root may lie on either side of the crossing
        root, step = root + step, 2.0 * step
    return root
