"""Adaptive composition of noisy maxima (Koskela, Redberg & Wang 2024, Theorem 3.3).

There are two proved bounds on the privacy of k winners together, where the scores of each round
may depend on the winners so far: Theorem 3.3, and the composition of a dominating pair. Beside
them stands the exact profile of one pair that is released k times, not adaptively.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_log_delta
from jaxsel.accounting.single_run.composing import self_composed
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import pair_from_points
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.families.noisy_max.parameters import (
    AnyCandidates,
    AnyScale,
    Change,
    Delta,
    DeltaFromZero,
    Winners,
)
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import validated

_MAX_TYPES = 2_000_000  # rows of ``_Types``
_KNOTS = 4000  # points at which one round's profile is taken, in each direction
_FLOOR = 1e-30  # the delta at which these points end
_FARTHEST = 500.0  # the largest epsilon searched


# --- Theorem 3.3 ----------------------------------------------------------------------


def _multiplier(noise_scale: float, compositions: int, relation: Relation) -> float:
    """The noise multiplier of k noisy scores together.

    k Gaussian releases are as private as a single one with a shift sqrt(k) times as large.
    """
    return noise_scale / (noisy_max_shift(relation) * math.sqrt(compositions))


@validated
def noisy_max_composed_log_delta(
    epsilon: npt.ArrayLike,
    noise_scale: AnyScale,
    candidates: AnyCandidates,
    compositions: Winners,
    relation: Change = Relation.GENERAL,
) -> np.ndarray:
    """log delta(epsilon) of k winners with Gaussian noise (KRW Theorem 3.3 by E-KRW-3).

    It is k log m + the logarithm of the profile of k noisy scores together, at most 0. In
    logarithms m^k does not overflow.

    Args:
      epsilon: any real numbers, any shape, which the result has.
      noise_scale: standard deviation, in units of the sensitivity.
      candidates: m, of every round.
      compositions: k, how many winners are released.
      relation: how the scores of every round may change.
    """
    log_delta = gaussian_log_delta(epsilon, _multiplier(noise_scale, compositions, relation))
    return np.minimum(compositions * math.log(candidates) + log_delta, 0.0)[()]


def noisy_max_composed_delta(
    epsilon: npt.ArrayLike,
    noise_scale: AnyScale,
    candidates: AnyCandidates,
    compositions: Winners,
    relation: Change = Relation.GENERAL,
) -> np.ndarray:
    """delta(epsilon) of k winners with Gaussian noise (KRW Theorem 3.3 by E-KRW-3), at most 1.

    Args:
      epsilon, noise_scale, candidates, compositions, relation: as in
        ``noisy_max_composed_log_delta``, of which this is the exponential.
    """
    return np.exp(
        noisy_max_composed_log_delta(epsilon, noise_scale, candidates, compositions, relation)
    )[()]


@validated
def noisy_max_composed_epsilon(
    delta: Delta,
    noise_scale: AnyScale,
    candidates: AnyCandidates,
    compositions: Winners,
    relation: Change = Relation.GENERAL,
) -> float:
    """The smallest epsilon >= 0 of k winners with Gaussian noise at delta, by KRW Theorem 3.3.

    Args:
      delta: at which epsilon is taken.
      noise_scale, candidates, compositions, relation: as in ``noisy_max_composed_log_delta``.
    """
    multiplier = _multiplier(noise_scale, compositions, relation)
    target = math.log(delta) - compositions * math.log(candidates)

    def above(epsilon: float) -> bool:
        return float(gaussian_log_delta(epsilon, multiplier)) > target

    if not above(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while above(high):
        low, high = high, 2.0 * high
    while high - low > 4.0 * np.spacing(high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


# --- Composition of a dominating pair -------------------------------------------------

MOST_ROUNDS = 100_000
"""The most rounds whose losses are composed: a few seconds, which grow with their number."""

_Rounds = Annotated[int, whole("k, how many rounds there are", at_least=1, at_most=MOST_ROUNDS)]


def _composed_pmf(one_round: BaseGuarantee, compositions: int) -> Any:
    """The privacy loss distribution of k rounds, as a PMF of dp-accounting.

    It is that of a pair of laws that dominates one round, composed k times.

    Raises:
      InputError: if the guarantee has no profile, or delta is 1 at every epsilon.
    """
    # Imported here: it takes most of a second, and little else needs it.
    from dp_accounting.pld import pld_pmf

    profile = one_round.profile
    if profile is None:
        raise InputError(f"{one_round.name} has no privacy profile; give a base with one")
    reach = 1.0
    while profile(np.asarray(reach)) > _FLOOR and reach < _FARTHEST:
        reach *= 1.25
    step = reach / _KNOTS
    levels = step * np.arange(_KNOTS + 1)
    # Rounding may break the order by a few units in the last place: round upwards.
    deltas = np.maximum.accumulate(profile(levels)[::-1])[::-1]
    pair = pair_from_points(levels, deltas)
    finite = np.isfinite(pair.loss)
    if not finite.any():
        raise InputError(
            f"{one_round.name} reveals all that there is at every epsilon up to "
            f"{_FARTHEST:g}; give more noise"
        )
    places = np.rint(pair.loss[finite] / step).astype(int)
    masses = dict(zip(places.tolist(), pair.first[finite].tolist(), strict=True))
    infinite = float(np.sum(pair.first[pair.loss == np.inf]))
    one = pld_pmf.create_pmf(masses, step, infinite, True).to_dense_pmf()
    return self_composed(one, compositions) if compositions > 1 else one


@validated
def dominated_composition_delta(
    epsilon: npt.ArrayLike, one_round: BaseGuarantee, compositions: _Rounds
) -> np.ndarray:
    """delta(epsilon) of k adaptive rounds, by composing a pair of laws that dominates each round.

    If a profile holds in both directions, its lower convex hull is the profile of a pair of laws.
    Such dominating pairs compose adaptively (Zhu, Dong & Wang 2022, Theorem 10). As these are
    probability laws, no factor m^k appears, unlike in KRW Theorem 3.3.

    Args:
      epsilon: >= 0, any shape.
      one_round: a guarantee with a profile, such as ``noisy_max_guarantee`` gives.
      compositions: k, how many rounds there are.

    Returns:
      Float[np.ndarray, "*epsilon"], with an absolute error of about 1e-12, since the composition
      is by Fourier transform.

    Raises:
      InputError: if there is no profile or an epsilon is below 0.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    if not np.all(epsilon >= 0.0):
        raise InputError(f"epsilon is {epsilon}; it must be >= 0")
    found = _composed_pmf(one_round, compositions)
    flat = [found.get_delta_for_epsilon(float(level)) for level in epsilon.ravel()]
    return np.clip(np.reshape(flat, epsilon.shape), 0.0, 1.0)[()]


@validated
def dominated_composition_epsilon(
    delta: Annotated[float, number(at_least=1e-11, below=1.0)],
    one_round: BaseGuarantee,
    compositions: _Rounds,
) -> float:
    """The smallest epsilon >= 0 at which ``dominated_composition_delta`` is at most delta.

    Args:
      delta: at which epsilon is taken; below 1e-11 the composition is not accurate enough.
      one_round, compositions: as of ``dominated_composition_delta``.
    """
    found = _composed_pmf(one_round, compositions)
    return max(0.0, float(found.get_epsilon_for_delta(delta)))


# --- One pair, exactly ----------------------------------------------------------------


class _Types(NamedTuple):
    """Every multiset of the outcomes of k independent releases, by its log-probabilities.

    Attributes:
      log_first, log_second: Float["multisets"], on the two sides.
    """

    log_first: np.ndarray
    log_second: np.ndarray


def _merged(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[np.ndarray, ...]:
    """The two laws, with outcomes merged whose privacy losses are equal to within 1e-12.

    Raises:
      InputError: for a bad law, or laws with different numbers of outcomes.
    """
    p = check_probability_vector("first", first)
    q = check_probability_vector("second", second)
    if p.shape != q.shape:
        raise InputError(f"first has {p.size} outcomes, second {q.size}; give as many")
    seen = (p > 0) | (q > 0)
    p, q = p[seen], q[seen]
    with np.errstate(divide="ignore"):
        loss = np.log(p) - np.log(q)
    order = np.argsort(loss, kind="stable")
    with np.errstate(invalid="ignore"):
        # inf - inf is no step
        new = np.diff(loss[order]) > 1e-12
    place = np.concatenate([[0], np.cumsum(new)])
    return np.bincount(place, p[order]), np.bincount(place, q[order])


def _types(first: npt.ArrayLike, second: npt.ArrayLike, k: int) -> _Types:
    """The multisets of k releases, whose laws on the two sides are ``first`` and ``second``.

    Raises:
      InputError: if there are more than 2e6.
    """
    p, q = _merged(first, second)
    size = math.comb(k + p.size - 1, k)
    if size > _MAX_TYPES:
        raise InputError(
            f"{k} releases with {p.size} different losses show {size} different things; "
            f"at most {_MAX_TYPES} are listed"
        )
    counts = np.zeros((1, 0), dtype=np.int64)
    left = np.array([k])
    for _ in range(p.size - 1):
        repeats = left + 1
        taken = np.concatenate([np.arange(n) for n in repeats])
        counts = np.column_stack([np.repeat(counts, repeats, axis=0), taken])
        left = np.repeat(left, repeats) - taken
    counts = np.column_stack([counts, left])
    ways = special.gammaln(k + 1.0) - special.gammaln(counts + 1.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [
            ways + np.where(counts > 0, counts * np.log(law), 0.0).sum(axis=1) for law in (p, q)
        ]
    return _Types(*logs)


def _one_sided_delta(types: _Types, epsilon: np.ndarray) -> np.ndarray:
    """The delta at each epsilon of the first side against the second."""
    kept = types.log_first > -np.inf
    mass = np.exp(types.log_first[kept])
    loss = types.log_first[kept] - types.log_second[kept]
    return np.array(
        [np.sum(-mass * np.expm1(np.minimum(e - loss, 0.0))) for e in epsilon.ravel()]
    ).reshape(epsilon.shape)


def _one_sided_epsilon(types: _Types, delta: float) -> float:
    """The epsilon at delta of the first side against the second; 0 if delta suffices alone."""
    # The worst event consists of the outcomes of largest loss; which number of them is tried out.
    kept = types.log_first > -np.inf
    loss = types.log_first[kept] - types.log_second[kept]
    order = np.argsort(-loss, kind="stable")
    first = np.cumsum(np.exp(types.log_first[kept][order]))
    second = np.logaddexp.accumulate(types.log_second[kept][order])
    enough = first > delta
    if not enough.any():
        return 0.0
    return float(np.max(np.log(first[enough] - delta) - second[enough]))


@validated
def composed_pair_delta(
    epsilon: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, compositions: Winners
) -> np.ndarray:
    """Exact delta(epsilon) of k independent releases on one pair, the larger of both directions.

    The number of releases with each privacy loss is a sufficient statistic.

    Args:
      epsilon: >= 0, any shape, which the result has.
      first, second: Float["outcomes"], laws of one release on the two sides.
      compositions: k, how many releases there are.

    Raises:
      InputError: for a bad law, or if these numbers have more than 2e6 possible values.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    types = _types(first, second, compositions)
    return np.maximum(
        _one_sided_delta(types, epsilon), _one_sided_delta(_Types(*types[::-1]), epsilon)
    )[()]


@validated
def composed_pair_epsilon(
    delta: DeltaFromZero, first: npt.ArrayLike, second: npt.ArrayLike, compositions: Winners
) -> float:
    """Exact epsilon of k independent releases on one pair, the larger of both directions.

    Args:
      delta: at which epsilon is taken.
      first, second, compositions: as in ``composed_pair_delta``.
    """
    types = _types(first, second, compositions)
    return max(
        0.0, _one_sided_epsilon(types, delta), _one_sided_epsilon(_Types(*types[::-1]), delta)
    )
