"""Exact laws of the best of K noisy candidates, each with its own mean and scale.

One run draws candidate i with probability w_i and scores it q_i + b_i Z, where Z is standard
Laplace noise, possibly truncated to |Z| <= T. Let f_i be the density of that score, S(y) the
probability that a run scores above y, and f the generating function of K. Then candidate i and its
score y are released with density w_i f_i(y) f'(1 - S(y)). For random stopping (K geometric, Liu &
Talwar 2019, Algorithm 2) f'(1 - S) is gamma/(gamma + (1 - gamma) S)^2. The laws are integrals of
this density.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.language.domains import number
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_REACH = 42.0  # scales of Laplace noise, beyond which the tail is below 1e-18
_CHUNK = 1 << 21


class NoisyCandidates(NamedTuple):
    """The candidates from which one run draws, with their noise.

    Attributes:
      scores: Float[np.ndarray, "candidates"], q_i.
      noise_scales: Float[np.ndarray, "candidates"], b_i > 0.
      weights: Float[np.ndarray, "candidates"], w_i, summing to 1.
      noise_bound: T > 0, in units of the scale; inf for noise that is not truncated.
    """

    scores: np.ndarray
    noise_scales: np.ndarray
    weights: np.ndarray
    noise_bound: float = math.inf


@validated
def noisy_candidates(
    scores: npt.ArrayLike,
    noise_scales: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    noise_bound: Annotated[float, number(above=0.0, at_most=math.inf)] = math.inf,
) -> NoisyCandidates:
    """Checks the candidates of one run, and makes ``NoisyCandidates`` of them.

    Args:
      scores: Float["candidates"].
      noise_scales: of the Laplace noise, one each or one for all.
      weights: the probability of each; equal if None.
      noise_bound: where the noise is truncated, in units of its scale.

    Raises:
      InputError: for scores or scales that are not finite, scales that are not
        positive, weights that are no probability vector, or lists of different lengths.
    """
    scores = check_finite("scores", scores)
    if scores.ndim != 1:
        raise InputError("scores must be one list of numbers")
    scales = check_finite("noise_scales", noise_scales)
    if np.any(scales <= 0.0):
        raise InputError("noise_scales must be positive")
    if weights is None:
        weights = np.full(scores.size, 1.0 / scores.size)
    weights = check_probability_vector("weights", weights)
    if scales.shape not in ((), scores.shape) or weights.shape != scores.shape:
        raise InputError(
            f"there are {scores.size} scores; noise_scales and weights must be as many"
        )
    scales = np.broadcast_to(scales, scores.shape).copy()
    return NoisyCandidates(scores, scales, weights / weights.sum(), noise_bound)


def _parts(candidates: NoisyCandidates, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The density w_i f_i(y) with which a run is of candidate i and scores y, and the tail S(y).

    They are Float["y candidates"] and Float["y"], where S(y) is the chance of a score above y.
    """
    bound = candidates.noise_bound
    kept = -math.expm1(-bound)  # mass of the untruncated law inside the bound
    z = (y[:, None] - candidates.scores) / candidates.noise_scales
    size = np.abs(z)
    half = 0.5 * np.exp(-size)
    density = np.where(size <= bound, half, 0.0) * (
        candidates.weights / (kept * candidates.noise_scales)
    )
    # (e^-|z| - e^-T)/2 over the kept mass, without cancellation near the bound
    near = np.minimum(size, bound)
    beyond = half * -np.expm1(near - bound) / kept if kept < 1.0 else half
    beyond = np.where(size < bound, beyond, 0.0)
    tail = np.where(z > 0.0, beyond, 1.0 - beyond) @ candidates.weights
    return density, np.minimum(tail, 1.0)


def _mesh(sides: tuple[NoisyCandidates, ...], mean_runs: float, width: float):
    """A quadrature over noisy scores, on panels that follow the noise of the candidates.

    Args:
      sides: the candidates on one data set, or on two neighbours.
      mean_runs: E[K], with which the density changes faster.
      width: of a panel, in units of the narrowest noise that has mass there.

    Returns:
      Float["nodes"], Float["nodes"], the weights, and Float["panels+1"], the edges of the panels.
    """
    centres = np.concatenate([side.scores for side in sides])
    scales = np.concatenate([side.noise_scales for side in sides])
    bounds = np.concatenate([np.full(s.scores.size, s.noise_bound) for s in sides])
    pairs = np.unique(np.stack([centres, scales, bounds], axis=1), axis=0)
    centres, scales, bounds = pairs.T
    far = _REACH + math.log1p(mean_runs)
    reach = np.minimum(bounds, far) * scales
    kinks = [centres - reach, centres, centres + reach]
    for centre, scale, bound in pairs[bounds < far]:
        # f' changes fast near the end of the support, so panels are halved towards it.
        thin = min(1.0, math.exp(-bound) / max(1.0, mean_runs))
        steps = np.arange(0.0, -math.log2(max(thin, 1e-15)) + 4.0)
        kinks.append(centre + scale * (bound - bound * 2.0 ** -steps[1:]))
    edges = np.unique(np.concatenate(kinks))
    middle = (edges[1:] + edges[:-1]) / 2.0
    # The step in an interval is that of the narrowest noise with mass there.
    active = np.abs(middle[:, None] - centres) <= reach
    finest = np.min(np.where(active, scales, np.inf), axis=1)
    gaps = np.diff(edges)
    pieces = np.maximum(np.ceil(gaps / (width * finest)), 1.0).astype(int)
    first = np.repeat(edges[:-1], pieces)
    step = np.repeat(gaps / pieces, pieces)
    number = np.arange(step.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = first + number * step
    nodes = start[:, None] + 0.5 * step[:, None] * (1.0 + _NODES)
    weights = 0.5 * step[:, None] * _WEIGHTS
    return nodes.ravel(), weights.ravel(), np.append(start, edges[-1])


def _grouped(candidates: NoisyCandidates) -> tuple[NoisyCandidates, np.ndarray]:
    """Merges equal candidates; also returns the number of the merged one for each candidate."""
    # As complex numbers: much faster to sort than rows.
    pairs = candidates.scores + 1j * candidates.noise_scales
    levels, group = np.unique(pairs, return_inverse=True)
    group = group.reshape(-1)
    weights = np.bincount(group, candidates.weights)
    bound = candidates.noise_bound
    return NoisyCandidates(levels.real, levels.imag, weights, bound), group


def index_law(candidates: NoisyCandidates, repetitions: Repetitions) -> np.ndarray:
    """The law of the candidate that is released as the best of K runs.

    Returns:
      Float[np.ndarray, "candidates+1"]; the last entry is P[K = 0]. Small entries have a small
      relative error, too, provided that rounding changes the scores by little of their noise.
    """
    merged, group = _grouped(candidates)
    nodes, step, _ = _mesh((merged,), repetitions.mean, 2.0)
    law = np.zeros(merged.scores.size)
    rows = max(1, _CHUNK // merged.scores.size)
    for start in range(0, nodes.size, rows):
        part = slice(start, start + rows)
        density, tail = _parts(merged, nodes[part])
        law += (step[part] * repetitions.pgf_derivative_tail(tail)) @ density
    whole = merged.weights[group]  # 0 of candidates that are never tried
    share = law[group] * np.divide(candidates.weights, whole, np.zeros(whole.size), where=whole > 0)
    return np.append(share, repetitions.probability_zero)


def _released(side: NoisyCandidates, repetitions: Repetitions, y: np.ndarray):
    """The density with which each candidate is released at score y, Float["y candidates"]."""
    density, tail = _parts(side, y)
    return density * repetitions.pgf_derivative_tail(tail)[:, None]


def _log_released(side: NoisyCandidates, repetitions: Repetitions, y: np.ndarray):
    """The logarithm of ``_released`` up to a constant; it does not underflow far from a score."""
    size = np.abs(y[:, None] - side.scores) / side.noise_scales
    _, tail = _parts(side, y)
    with np.errstate(divide="ignore"):
        log_weight = np.log(side.weights / side.noise_scales)
    log_density = np.where(size <= side.noise_bound, log_weight - size, -np.inf)
    return log_density + repetitions.log_pgf_derivative_tail(tail)[:, None]


def largest_loss(
    first: NoisyCandidates, second: NoisyCandidates, repetitions: Repetitions
) -> float:
    """The pure epsilon of releasing the best candidate and its noisy score, on two neighbours.

    It is the largest absolute log ratio of the two densities on a grid that contains every kink and
    covers all mass that float64 resolves: a lower bound of the supremum, and close to it.

    Args:
      first, second: the candidates on the two sides, with the same noise bound.
      repetitions: law of the number of runs.

    Returns:
      The loss; inf if the supports differ.
    """
    _, _, edges = _mesh((first, second), repetitions.mean, 0.25)
    p, q = (_log_released(side, repetitions, edges) for side in (first, second))
    seen = np.isfinite(p) | np.isfinite(q)
    return float(np.max(np.abs(p[seen] - q[seen])))


def _merged(
    first: NoisyCandidates, second: NoisyCandidates
) -> tuple[NoisyCandidates, NoisyCandidates]:
    """Merges candidates that are equal on both sides, whose identity reveals nothing."""
    if not np.array_equal(first.weights, second.weights):
        return first, second
    sides = (first.scores, first.noise_scales, second.scores, second.noise_scales)
    kinds, group = np.unique(np.stack(sides, axis=1), axis=0, return_inverse=True)
    weights = np.bincount(group.reshape(-1), first.weights)
    return (
        NoisyCandidates(kinds[:, 0], kinds[:, 1], weights, first.noise_bound),
        NoisyCandidates(kinds[:, 2], kinds[:, 3], weights, second.noise_bound),
    )


def _released_masses(
    first: NoisyCandidates, second: NoisyCandidates, repetitions: Repetitions
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of (candidate, noisy score) on narrow panels, on both sides."""
    sides = _merged(first, second)
    nodes, step, _ = _mesh(sides, repetitions.mean, 0.1)
    p, q = (_released(side, repetitions, nodes) for side in sides)
    return p * step[:, None], q * step[:, None]


def _excess(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The larger one of the hockey-stick divergences in both directions; rounding adds nothing."""
    growth = math.exp(epsilon) * (1.0 + 1e-12)
    forth, back = p - growth * q, q - growth * p
    return float(max(forth[forth > 0.0].sum(), back[back > 0.0].sum()))


def released_delta(
    first: NoisyCandidates, second: NoisyCandidates, repetitions: Repetitions, epsilon: float
) -> float:
    """The delta at epsilon of releasing the best candidate and its noisy score, by quadrature.

    Args:
      first, second, repetitions: as in ``largest_loss``.
      epsilon: at which delta, the larger one of both directions, is taken.
    """
    return _excess(*_released_masses(first, second, repetitions), epsilon)


def released_epsilon(
    first: NoisyCandidates, second: NoisyCandidates, repetitions: Repetitions, delta: float
) -> float:
    """The smallest epsilon in [0, 50] at which ``released_delta`` is at most delta, to 1e-6.

    Args:
      first, second, repetitions: as in ``largest_loss``.
      delta: at which epsilon is taken.
    """
    masses = _released_masses(first, second, repetitions)
    low, high = 0.0, 50.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _excess(*masses, middle) > delta else (low, middle)
    return low
