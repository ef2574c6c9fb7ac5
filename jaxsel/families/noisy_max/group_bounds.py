"""The worst known pairs of noisy max with Gaussian noise: two groups of equal scores.

Let S be a set of n candidates, and D the largest noisy score in S minus the largest outside, so
that the winner is in S if D > 0. Between neighbours D changes by at most 2 (1 if monotone), and by
exactly that if the scores in S fall by 1 while all others rise by 1. So the exact profile of
noisy max is

  delta(epsilon) = sup over S and scores of P[D > 0] - e^epsilon P[D > 2]

up to the sign of D. This module computes it by quadrature where all n scores in S are equal, and
all others are. That is a lower bound on the worst case, and exact for m = 2. For large m the
largest of a group varies less than one noisy score, so that the privacy loss is much larger
than for a single candidate that moves against all others (n = 1).
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.families.noisy_max.composition_bounds import composed_pair_epsilon
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.families.noisy_max.parameters import (
    AnyScale,
    Candidates,
    Change,
    Delta,
    FewWinners,
    LevelFromZero,
    Several,
)
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.base import Pair, Relation
from jaxsel.language.signature import validated

# Panels half a unit wide with 16 nodes have a relative error below 1e-12. The largest noise of a
# group is below -12 with probability 1e-32 at most, and then it hardly ever wins.
_LOWEST, _HIGHEST, _PANEL, _POINTS = -12.0, 38.0, 0.5, 16
_FARTHEST = 34.0  # the largest lead at which probabilities do not underflow
_UNDERFLOW = 745.0
_CERTAIN = 12.0  # noise is below it except with probability 1e-33
_LARGEST_SHIFT = 20.0
# Leads of the group, in standard deviations, that are searched for the worst.
_LEADS = (-20.0, 8.0)
_COMPOSED_LEADS = (-9.0, 6.0)


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a quadrature over the largest noise of a group."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    left = np.arange(_LOWEST, _HIGHEST, _PANEL)[:, None]
    x = left + _PANEL * (nodes + 1.0) / 2.0
    return x.ravel(), np.tile(weights * _PANEL / 2.0, left.size)


_X, _WEIGHTS = _nodes()
_LOG_DENSITY = -0.5 * _X**2 - 0.5 * math.log(2.0 * math.pi)
_LOG_CDF = special.log_ndtr(_X)


@validated
def group_win_probability(first: Candidates, second: Candidates, lead: npt.ArrayLike) -> np.ndarray:
    """The probability that the largest noisy score of one group exceeds that of another.

    Args:
      first, second: sizes of the two groups, in each of which all scores are equal.
      lead: by how much the first group's scores exceed the second's, in standard deviations of
        the Gaussian noise; any shape, within [-34, 34].

    Returns:
      Float[np.ndarray, "*lead"], with a relative error of about 1e-12, also where it is tiny.

    Raises:
      InputError: for a lead outside of [-34, 34], where probabilities may underflow.
    """
    lead = np.asarray(lead, dtype=np.float64)
    if not np.all(np.abs(lead) <= _FARTHEST):
        raise InputError(f"lead is {lead}; it must lie in [-34, 34]")
    # Density of the first maximum, times the probability that the second is below it.
    log_density = math.log(first) + _LOG_DENSITY + (first - 1) * _LOG_CDF
    kept = log_density > -_UNDERFLOW
    x, weights, log_density = _X[kept], _WEIGHTS[kept], log_density[kept]
    flat = lead.ravel()
    found = np.empty(flat.size)
    for i in range(0, flat.size, 256):
        levels = x + flat[i : i + 256, None]
        below, uncertain = np.zeros_like(levels), levels < _CERTAIN
        below[uncertain] = special.log_ndtr(levels[uncertain])
        found[i : i + 256] = np.exp(log_density + second * below) @ weights
    return found.reshape(lead.shape)[()]


def grouped_law(sizes: npt.ArrayLike, levels: npt.ArrayLike) -> np.ndarray:
    """The law of the winner's group, among several groups of equal scores (Gaussian noise).

    Args:
      sizes: Int["groups"], how many candidates each group has, >= 1.
      levels: Float["groups"], their scores, in standard deviations of the noise; more
        than 34 apart counts as 34.

    Returns:
      Float[np.ndarray, "groups"], summing to 1 up to rounding; each has a relative error of
      about 1e-12.

    Raises:
      InputError: if sizes are not whole numbers >= 1, one for each level.
    """
    counts, heights = np.asarray(sizes), check_finite("levels", levels)
    if counts.shape != heights.shape or counts.ndim != 1:
        raise InputError("give one size and one level for each group")
    if not np.all((counts >= 1) & (counts == np.floor(counts))):
        raise InputError(f"sizes are {counts}; they must be whole numbers >= 1")
    found = np.empty(heights.size)
    for group, (count, height) in enumerate(zip(counts, heights, strict=True)):
        # Density of this group's largest noise, times the probability that all others are
        # below.
        log_terms = math.log(count) + _LOG_DENSITY + (count - 1) * _LOG_CDF
        for other in range(heights.size):
            if other != group:
                ahead = np.clip(height - heights[other], -_FARTHEST, _FARTHEST)
                log_terms = log_terms + counts[other] * special.log_ndtr(_X + ahead)
        found[group] = np.exp(log_terms) @ _WEIGHTS
    return found


class GroupPair(NamedTuple):
    """Two neighbouring score vectors, which consist of two groups of equal scores.

    Attributes:
      first, second: sizes of the groups; on the neighbour the first group is worse.
      lead: by how much the first group's scores exceed the second's on the neighbour, in standard
        deviations of the noise; on the data it is larger by shift / noise_scale.
      epsilon: exact epsilon, at the delta of the search that found the pair, of the event that
        the winner is in the first group, data against neighbour.
    """

    first: int
    second: int
    lead: float
    epsilon: float


def _relative_shift(noise_scale: float, relation: Relation) -> float:
    """By how much two groups move apart, 2 or 1, in standard deviations of the noise.

    Raises:
      InputError: for so little noise that probabilities would underflow.
    """
    shift = noisy_max_shift(relation) / noise_scale
    if shift > _LARGEST_SHIFT:
        raise InputError(
            f"noise_scale is {noise_scale}; two groups are computed for shifts of at most "
            f"{_LARGEST_SHIFT:g} standard deviations"
        )
    return shift


@validated
def group_delta(
    epsilon: LevelFromZero,
    first: Candidates,
    second: Candidates,
    noise_scale: AnyScale,
    relation: Change = Relation.GENERAL,
) -> float:
    """Exact delta at epsilon of two groups of equal scores that move apart, at their worst lead.

    It is the profile of the difference of two maxima, D of the module's docstring, at a shift of
    2 or 1. Noisy max with as many candidates as both groups have together has at least this delta.

    Args:
      epsilon: where the profile is taken.
      first, second: sizes of the groups.
      noise_scale: standard deviation of the noise, in units of the sensitivity.
      relation: whether they move apart by 2 (GENERAL) or by 1.
    """
    shift = _relative_shift(noise_scale, relation)

    def negative(lead: np.ndarray) -> np.ndarray:
        high = group_win_probability(first, second, lead + shift)
        low = group_win_probability(first, second, lead)
        return np.exp(epsilon) * low - high

    low, high = _LEADS[0] - shift, _LEADS[1]
    least = minimise(negative, max(low, -_FARTHEST), high, count=33, steps=24)[1]
    return max(0.0, -float(least))


@validated
def group_epsilon(
    delta: Delta,
    first: Candidates,
    second: Candidates,
    noise_scale: AnyScale,
    relation: Change = Relation.GENERAL,
) -> GroupPair:
    """The worst pair of two groups of these sizes, and its exact epsilon.

    Args:
      delta: at which epsilon is taken.
      first, second, noise_scale, relation: as in ``group_delta``.
    """
    shift = _relative_shift(noise_scale, relation)

    def negative(lead: np.ndarray) -> np.ndarray:
        high = group_win_probability(first, second, lead + shift)
        low = group_win_probability(first, second, lead)
        with np.errstate(divide="ignore"):
            return np.log(low) - np.log(np.maximum(high - delta, 0.0))

    low, high = max(_LEADS[0] - shift, -_FARTHEST), _LEADS[1]
    lead, least = minimise(negative, low, high, count=33, steps=24)
    return GroupPair(first, second, float(lead), max(0.0, -float(least)))


@validated
def single_pair(
    delta: Delta, candidates: Several, noise_scale: AnyScale, relation: Change = Relation.GENERAL
) -> GroupPair:
    """The worst pair in which one candidate moves against all others, which have equal scores.

    The candidate falls or rises, whichever has the larger privacy loss.

    Args:
      delta, noise_scale, relation: as in ``group_epsilon``.
      candidates: how many there are.
    """
    others = candidates - 1
    found = [
        group_epsilon(delta, *sizes, noise_scale, relation) for sizes in ((1, others), (others, 1))
    ]
    return max(found, key=lambda pair: pair.epsilon)


@validated
def worst_group_pair(
    delta: Delta, candidates: Several, noise_scale: AnyScale, relation: Change = Relation.GENERAL
) -> GroupPair:
    """The worst pair of two groups of equal scores, over their sizes and lead, by search.

    The search takes the best of a grid of sizes, and then moves from it by steps that are halved.
    Epsilon seems to be unimodal in the size of the first group, but this is not proved, so that
    there may be a worse pair. The epsilon of the pair that is found is exact.

    Args:
      delta, noise_scale, relation: as in ``group_epsilon``.
      candidates: how many there are in both groups together.
    """
    m = candidates

    def at(size: int) -> GroupPair:
        if size not in seen:
            seen[size] = group_epsilon(delta, size, m - size, noise_scale, relation)
        return seen[size]

    seen: dict[int, GroupPair] = {}
    sizes = sorted({min(max(round(m * share / 8), 1), m - 1) for share in range(9)})
    best = max((at(size) for size in sizes), key=lambda pair: pair.epsilon)
    step = max(m // 16, 1)
    while True:
        around = [best.first - step, best.first + step]
        better = max(
            (at(size) for size in around if 0 < size < m),
            key=lambda pair: pair.epsilon,
            default=best,
        )
        if better.epsilon > best.epsilon:
            best = better
        elif step == 1:
            return best
        else:
            step //= 2


@validated
def worst_composed_group_pair(
    delta: Delta,
    candidates: Several,
    noise_scale: AnyScale,
    compositions: FewWinners,
    relation: Change = Relation.GENERAL,
) -> GroupPair:
    """The worst pair of two groups of equal scores for k non-adaptive releases, by search.

    As in ``worst_group_pair``, but its epsilon is the exact one of k releases of the winner's
    group, which is a lower bound for k adaptive releases.

    Args:
      delta, candidates, noise_scale, relation: as in ``worst_group_pair``.
      compositions: k, how many releases there are.
    """
    m = candidates
    shift = _relative_shift(noise_scale, relation)

    def search(sizes: list[int], leads: np.ndarray) -> GroupPair:
        found = []
        for size in sizes:
            laws = [
                np.stack(
                    [
                        group_win_probability(size, m - size, leads + moved),
                        group_win_probability(m - size, size, -leads - moved),
                    ]
                )
                for moved in (shift, 0.0)
            ]
            for i, lead in enumerate(leads):
                high, low = (law[:, i] / law[:, i].sum() for law in laws)
                epsilon = composed_pair_epsilon(delta, high, low, compositions)
                found.append(GroupPair(size, m - size, float(lead), epsilon))
        return max(found, key=lambda pair: pair.epsilon)

    low, high = max(_COMPOSED_LEADS[0] - shift, -_FARTHEST), _COMPOSED_LEADS[1]
    sizes = sorted({min(max(round(m * share / 8), 1), m - 1) for share in range(9)})
    best = search(sizes, np.linspace(low, high, 25))
    step = max(m // 16, 1)
    width = (high - low) / 24.0
    while width > 1e-4:
        near = [best.first - step, best.first, best.first + step]
        leads = best.lead + width * np.linspace(-1.0, 1.0, 9)
        best = search([size for size in near if 0 < size < m], leads)
        step, width = max(step // 2, 1), width / 3.0
    return best


# --- As neighbours --------------------------------------------------------------------


@validated
def moving_groups(
    pair: GroupPair, noise_scale: AnyScale, relation: Change = Relation.GENERAL
) -> Pair:
    """The groups as neighbouring inputs of ``grouped_noisy_max``.

    From the data to the neighbour the first group falls by 1; if the relation is GENERAL, the
    second group rises by 1, too.

    Args:
      pair: sizes of the groups, and the first one's lead on the neighbour.
      noise_scale: standard deviation of the noise, in units of the sensitivity.
      relation: how the scores may change.
    """
    shift = noisy_max_shift(relation)
    sizes = np.array([pair.first, pair.second])
    low = pair.lead * noise_scale
    # From (low + 1, -1) to (low, 0) if general, from (low + 1, 0) if monotone.
    data = np.array([low + 1.0, 1.0 - shift])
    return Pair(
        f"groups of {pair.first} and {pair.second}",
        {"sizes": sizes, "levels": data},
        {"sizes": sizes, "levels": np.array([low, 0.0])},
        relation,
        {"noise_scale": noise_scale},
        "all of one group fall while the others " + ("rise by as much" if shift == 2.0 else "stay"),
    )


def group_scores(pair: Pair) -> Pair:
    """The neighbours of ``moving_groups`` with one score per candidate, for ``noisy_max``."""

    def written(data) -> np.ndarray:
        return np.repeat(np.asarray(data["levels"], dtype=np.float64), data["sizes"])

    return pair._replace(data=written(pair.data), neighbour=written(pair.neighbour))
