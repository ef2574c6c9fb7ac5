"""Query release whose error never exceeds a bound (Cohen et al. 2022, Theorem 5).

An inner mechanism repeatedly draws a vector of answers to k queries of sensitivity 1, together
with a private bound s on its largest error. The vector with the least s is released (their Theorem
4 at alpha = 1). If no s is below the cap, which happens with probability at most beta = delta/10,
the true answers are released instead: this is called a correction, and adds to delta.

SUBSTITUTION: the paper's inner mechanism is that of Ghazi, Kumar & Manurangsi 2021 (their
Theorem 13), of which it uses only a bound on the error that holds with probability 1/2. The
Gaussian mechanism takes its place here, whose bound is sqrt(log k) larger, or the Gaussian
mechanism with repairs (``repaired_answers``), whose bound is sqrt(log log k) larger.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel import repetitions
from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_support
from jaxsel.families.query_release import parameters
from jaxsel.families.query_release.repaired_answers import (
    RepairedAnswers,
    calibrated_median,
    repaired_answers,
)
from jaxsel.host import floats
from jaxsel.host.errors import InputError
from jaxsel.language.domains import positive
from jaxsel.language.signature import validated


class QueryRelease(NamedTuple):
    """Settings of Theorem 5, corrected (CL-E8, CL-E9).

    Attributes:
      queries: k.
      runs: T, the largest number of vectors drawn.
      inner_epsilon, inner_delta: of one vector and its bound s together; each takes half.
      noise_scale: standard deviation of the noise on each answer.
      half_error: a bound that the largest error of the inner vector keeps with probability 1/2.
      offset: A, where s is the largest error plus A plus truncated Laplace noise on [-A, A].
      cap: B = half_error + 2 A. No released error is larger.
      repairs: settings of the repairs, None for the Gaussian inner mechanism.
    """

    queries: int
    runs: int
    inner_epsilon: float
    inner_delta: float
    noise_scale: float
    half_error: float
    offset: float
    cap: float
    repairs: RepairedAnswers | None


@validated
def query_release(
    queries: parameters.Queries,
    epsilon: parameters.Epsilon,
    delta: parameters.Delta,
    *,
    divisor: Annotated[float | None, positive("of delta^2")] = None,
    inner: parameters.Inner = "gaussian",
    sharp: bool = False,
) -> QueryRelease:
    """Settings that make Theorem 5's algorithm (epsilon, delta)-DP.

    With ``sharp`` it is used that the inner error, and hence the bound s, has the same law on all
    data. Then selecting the best of N runs multiplies the densities of both sides by the same
    factor, E[N (1 - F(s))^(N-1)] <= T/2, where F is the distribution function of s. So an inner
    (epsilon, d)-DP mechanism gives (epsilon, d T/2) instead of (3 epsilon, d T): claim
    CL-Thm5-sharp.

    Args:
      queries: k, of sensitivity 1 each.
      epsilon, delta: of the whole algorithm.
      divisor: the inner delta is delta^2/divisor. The paper prints 10; the default is 105, which is
        the correction (CL-E9), or 17 if sharp.
      inner: the inner mechanism, "gaussian" or "repaired" (``repaired_answers``).
      sharp: whether the inner epsilon is epsilon instead of epsilon/3.
    """
    default = 17.0 if sharp else 105.0
    divisor = default if divisor is None else divisor
    inner_epsilon = epsilon if sharp else epsilon / 3.0
    inner_delta = delta**2 / divisor
    half_epsilon, half_delta = inner_epsilon / 2.0, inner_delta / 2.0
    if inner == "gaussian":
        repairs = None
        scale = math.sqrt(queries) * gaussian_noise_multiplier(half_epsilon, half_delta)
        half_error = float(gaussian_largest_quantile(0.5, queries, scale))
    else:
        repairs = repaired_answers(queries, half_epsilon, half_delta)
        scale = repairs.noise_scale
        half_error = calibrated_median(repairs)
    offset = truncated_laplace_support(half_epsilon, half_delta)
    return QueryRelease(
        queries=queries,
        runs=math.ceil(20.0 / delta),
        inner_epsilon=inner_epsilon,
        inner_delta=inner_delta,
        noise_scale=scale,
        half_error=half_error,
        offset=offset,
        cap=half_error + 2.0 * offset,
        repairs=repairs,
    )


def spent_delta(
    settings: QueryRelease, epsilon: float, corrections: float, *, sharp: bool = False
) -> float:
    """The delta of the whole algorithm: T d + (1 + e^epsilon) times the chance of a correction.

    Args:
      settings: of the algorithm, with T runs and the inner delta d.
      epsilon: of the whole.
      corrections: the chance that the true answers are released, which is the same on both sides.
      sharp: whether T d/2 takes the place of T d; see ``query_release``.
    """
    selected = settings.runs * settings.inner_delta * (0.5 if sharp else 1.0)
    return selected + (1.0 + math.exp(epsilon)) * corrections


def gaussian_largest_error(x: npt.ArrayLike, queries: int, noise_scale: float) -> np.ndarray:
    """Probability that the largest of some Gaussian errors exceeds x; accurate in the tail.

    Args:
      x: any shape, which the result has.
      queries: how many errors.
      noise_scale: their standard deviation.
    """
    x = np.asarray(x, dtype=np.float64)
    tail = 2.0 * special.ndtr(-np.maximum(x, 0.0) / noise_scale)
    with np.errstate(divide="ignore"):
        return -np.expm1(queries * np.log1p(-tail))[()]


def gaussian_largest_quantile(tail: npt.ArrayLike, queries: int, noise_scale: float) -> np.ndarray:
    """The x that the largest of some Gaussian errors exceeds with the chance ``tail``.

    Args:
      tail: in (0, 1), any shape, which the result has.
      queries, noise_scale: as of ``gaussian_largest_error``.
    """
    tail = np.asarray(tail, dtype=np.float64)
    one = -np.expm1(np.log1p(-tail) / queries)
    return (-noise_scale * special.ndtri(one / 2.0))[()]


@validated
def corrected_gaussian_cap(
    queries: parameters.Queries, epsilon: parameters.AnyEpsilon, delta: parameters.AnyDelta
) -> float:
    """The largest error of a Gaussian mechanism that releases the true answers if it errs by more.

    It draws one vector of Gaussian answers that is (epsilon, delta/2)-DP. With probability
    (delta/2)/(1 + e^epsilon) some answer errs by more than the cap, and then the true answers are
    released. The whole is (epsilon, delta)-DP for the same reason as Theorem 5's algorithm
    (CL-Thm5-corrected-gaussian).

    Args:
      queries: how many, of sensitivity 1 each.
      epsilon, delta: of the corrected mechanism.
    """
    scale = math.sqrt(queries) * gaussian_noise_multiplier(epsilon, delta / 2.0)
    tail = delta / 2.0 / (1.0 + floats.exp(epsilon))
    return float(gaussian_largest_quantile(tail, queries, scale))


# --- The law of the released error ----------------------------------------------------


def selection_factor(better: npt.ArrayLike, runs: int) -> np.ndarray:
    """The factor by which releasing the best of N runs multiplies the density of a run.

    It is E[N (1 - x)^(N-1)], with N uniform on {0, ..., T}.

    Args:
      better: x, the probability of a better run, any shape, which the result has.
      runs: T.
    """
    return repetitions.beta_binomial(runs, 1.0).pgf_derivative_tail(better)


def _error_nodes(settings: QueryRelease, kinks: np.ndarray):
    """Nodes and weights of a quadrature over the largest of k Gaussian errors: Float["nodes"] each.

    ``kinks`` are points at which the nodes are divided, too.
    """
    k, scale = settings.queries, settings.noise_scale
    low, high = gaussian_largest_quantile(np.array([1.0 - 1e-15, 1e-17]), k, scale)
    # Beyond half_error some noise, and beyond the cap all noise, exceeds the cap.
    kinks = np.append(kinks, settings.half_error + settings.offset * np.array([0.0, 1.0, 2.0]))
    inside = kinks[(kinks > low) & (kinks < high)]
    nodes, step = panels([low, high, *inside], float(high - low) / 40.0)
    one = 2.0 * special.ndtr(-nodes / scale)
    density = np.exp(-0.5 * (nodes / scale) ** 2) / scale * math.sqrt(2.0 / math.pi)
    return nodes, step * k * density * np.exp((k - 1) * np.log1p(-one))


def _noise_nodes(settings: QueryRelease, highest: np.ndarray):
    """Nodes and weights of quadratures over the truncated Laplace noise, below limits.

    There is one row for each limit in ``highest``: both are Float["limits nodes"].
    """
    end, rate = settings.offset, settings.inner_epsilon / 2.0
    unit, step = panels([0.0, 1.0], 4.0 / max(8.0, end * rate))
    mass = rate / (2.0 * -math.expm1(-rate * end))
    rows, weights = [], []
    for low, high in ((-end, 0.0), (0.0, end)):
        length = np.clip(highest, low, high)[:, None] - low
        rows.append(low + length * unit)
        weights.append(length * step * mass * np.exp(-rate * np.abs(rows[-1])))
    return np.concatenate(rows, axis=1), np.concatenate(weights, axis=1)


def bound_below(settings: QueryRelease, s: np.ndarray) -> np.ndarray:
    """The probability that the private bound of one vector is at most s: Float["points"]."""
    # Errors are positive: only noise below s - offset counts.
    highest = s - settings.offset
    noise, weights = _noise_nodes(settings, highest)
    gap = np.maximum(highest[:, None] - noise, 0.0)
    error = gaussian_largest_error(gap, settings.queries, settings.noise_scale)
    return np.sum((1.0 - error) * weights, axis=1)


def released_error(settings: QueryRelease, x: npt.ArrayLike = ()) -> tuple[np.ndarray, float]:
    """The exact law of the largest error of the released answers.

    Args:
      settings: of the algorithm.
      x: Float["points"], errors >= 0.

    Returns:
      Float["points"], P[released error > x]; and the chance of a correction, whose error is 0.

    Raises:
      InputError: for the repaired inner mechanism, whose error has no closed law.
    """
    if settings.repairs is not None:
        raise InputError("only the Gaussian inner mechanism has an exact error law")
    points = np.asarray(x, dtype=np.float64)
    nodes, weights = _error_nodes(settings, points)
    noise, noise_weights = _noise_nodes(settings, settings.cap - settings.offset - nodes)
    bounds = nodes[:, None] + settings.offset + noise
    # Many at once, but of as few errors at a time as fit into the memory.
    parts = np.array_split(bounds, len(nodes) // 64 + 1)
    better = [bound_below(settings, part.ravel()) for part in parts]
    density = selection_factor(np.concatenate(better), settings.runs).reshape(bounds.shape)
    chosen = weights * np.sum(noise_weights * density, axis=1)
    above = np.array([chosen[nodes > point].sum() for point in points])
    return above, correction_chance(settings)


def correction_chance(settings: QueryRelease) -> float:
    """The exact probability that no private bound is below the cap, or that no run is made.

    The true answers are then released.

    Raises:
      InputError: for the repaired inner mechanism, whose error has no closed law.
    """
    if settings.repairs is not None:
        raise InputError("only the Gaussian inner mechanism has an exact error law")
    fits = bound_below(settings, np.array([settings.cap]))[0]
    return float(repetitions.beta_binomial(settings.runs, 1.0).pgf_tail(fits))
