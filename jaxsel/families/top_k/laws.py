"""Exact laws of private top-k sets of small histograms, by enumeration.

A set of candidates is a bit mask: bit i stands for candidate i of the histogram as given. A law
over sets is Float["2^m"]. Some algorithms release nothing but the size of a set; their laws have m
- 1 more outcomes at the end, "nothing, size 1" to "nothing, size m - 1" (see ``set_labels``). Ties
go to the lower index. The masks mean the same on two neighbours, though their top-k sets may
differ.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.families.top_k.gaps import fail_probability, pass_probability
from jaxsel.families.top_k.parameters import MAX_COUNT, AnyScale, Beyond, K
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated

MAX_CANDIDATES = 12  # of enumerated histograms

KFromZero = Annotated[int, whole("how many are picked", at_least=0)]


# --- Histograms -----------------------------------------------------------------------


def check_histogram(histogram: npt.ArrayLike, limit: int | None = None) -> np.ndarray:
    """The counts as float64: Float["candidates"].

    Args:
      histogram: Float["candidates"], counts >= 0 of at least two candidates.
      limit: largest number of candidates allowed; None for any number.

    Raises:
      InputError: for anything else.
    """
    counts = check_finite("histogram", histogram)
    if counts.ndim != 1 or counts.size < 2:
        raise InputError("a histogram must be one list of at least two counts")
    if np.any(counts < 0.0):
        raise InputError("the histogram holds negative counts; counts must be >= 0")
    if np.any(counts > MAX_COUNT):
        raise InputError(f"the histogram holds counts above {MAX_COUNT:g}, the largest")
    if limit is not None and counts.size > limit:
        raise InputError(
            f"the histogram has {counts.size} candidates; sets are enumerated for at most {limit}"
        )
    return counts


def descending(histogram: npt.ArrayLike) -> np.ndarray:
    """Candidates by descending count, ties to the lower index: Int["candidates"]."""
    return np.argsort(-np.asarray(histogram, dtype=np.float64), kind="stable")


def gaps_of(histogram: npt.ArrayLike) -> np.ndarray:
    """Each count minus the next in descending order: Float["candidates - 1"]."""
    ranked = -np.sort(-check_histogram(histogram))
    return ranked[:-1] - ranked[1:]


def prefix_masks(histogram: npt.ArrayLike) -> np.ndarray:
    """The top-1, ..., top-m sets as masks: Int64["candidates"]."""
    order = descending(check_histogram(histogram, MAX_CANDIDATES))
    return np.cumsum(np.int64(1) << order)


def set_size(masks: npt.ArrayLike) -> np.ndarray:
    """The number of candidates in each set: Int64 of the shape of the masks."""
    return np.bitwise_count(np.asarray(masks, dtype=np.uint64)).astype(np.int64)


def set_labels(candidates: int, *, kept_back: bool = False) -> tuple[str, ...]:
    """The meaning of each outcome of a law over sets.

    Args:
      candidates: m, at most MAX_CANDIDATES.
      kept_back: whether "nothing, size k" follows for k = 1, ..., m - 1.
    """
    names = [
        "{" + ",".join(str(i) for i in range(candidates) if mask >> i & 1) + "}"
        for mask in range(2**candidates)
    ]
    if kept_back:
        names += [f"nothing, size {k}" for k in range(1, candidates)]
    return tuple(names)


def vote_neighbours(histogram: npt.ArrayLike) -> Iterator[np.ndarray]:
    """The histograms with one user more or less, who votes for any candidates.

    All 2^m - 1 nonempty sets of votes are added, and removed where no count falls below 0.
    """
    counts = check_histogram(histogram, MAX_CANDIDATES)
    for votes in itertools.product((0.0, 1.0), repeat=counts.size):
        if any(votes):
            yield counts + np.array(votes)
            if np.all(counts >= votes):
                yield counts - np.array(votes)


# --- Races ----------------------------------------------------------------------------


def first_arrivals(levels: npt.ArrayLike) -> np.ndarray:
    """For every set, the probability that its candidates are picked before others: Float["2^m"].

    Candidates are picked by exponential mechanisms, or at once by Gumbel noise: a candidate that is
    not picked yet is the next one with probability proportional to exp(level).

    Args:
      levels: Float["m"], counts in units of the noise scale, m <= MAX_CANDIDATES.
    """
    levels = check_finite("levels", levels)
    if levels.size > MAX_CANDIDATES:
        raise InputError(
            f"there are {levels.size} candidates; sets are enumerated for at most {MAX_CANDIDATES}"
        )
    m = levels.size
    masks = np.arange(2**m)
    inside = (masks[:, None] >> np.arange(m) & 1).astype(bool)
    # For the remaining candidates the best level, and the total weight relative to it.
    rest = np.where(inside, -np.inf, levels)
    best = np.append(rest[:-1].max(axis=1), 0.0)  # the last set leaves none
    total = np.exp(rest - best[:, None]).sum(axis=1)
    law = np.zeros(2**m)
    law[0] = 1.0
    sizes = set_size(masks)
    for size in range(1, m + 1):
        for i in range(m):
            here = masks[(sizes == size) & inside[:, i]]
            before = here ^ (1 << i)
            law[here] += law[before] * np.exp(levels[i] - best[before]) / total[before]
    return law


@validated
def top_k_set_law(levels: npt.ArrayLike, k: KFromZero) -> np.ndarray:
    """The law of the set of the k largest levels with standard Gumbel noise: Float["2^m"]."""
    law = first_arrivals(levels)
    return np.where(set_size(np.arange(law.size)) == k, law, 0.0)


@validated
def peeled_law(levels: npt.ArrayLike, k: KFromZero) -> np.ndarray:
    """The law of k picks in their order, with weights exp(level): Float["m!/(m-k)!"].

    The outcomes are in the order of itertools.permutations.
    """
    levels = check_finite("levels", levels)
    if k > levels.size:
        raise InputError(f"k is {k}; there are only {levels.size} levels")
    picks = np.array(list(itertools.permutations(range(levels.size), k)))
    log_law = np.zeros(len(picks))
    gone = np.zeros((len(picks), levels.size), dtype=bool)
    for pick in picks.T:
        remaining = np.where(gone, -np.inf, levels)
        top = remaining.max(axis=1)
        total = np.log(np.sum(np.exp(remaining - top[:, None]), axis=1)) + top
        log_law += levels[pick] - total
        gone[np.arange(len(picks)), pick] = True
    return np.exp(log_law)


# --- StableTopK -----------------------------------------------------------------------


@validated
def largest_gap_law(
    gaps: npt.ArrayLike, noise_scale: AnyScale, regulariser: npt.ArrayLike = 0.0
) -> np.ndarray:
    """The law of the size with the largest gap after Gumbel noise on each: Float["*batch sizes"].

    It is the softmax of (gap + regulariser)/noise_scale (Zhu & Wang 2022, Algorithm 1).

    Args:
      gaps: Float["*batch sizes"], in votes, by size.
      noise_scale: 2/epsilon, in votes.
      regulariser: Float["sizes"] or one number, added to the gaps; -inf excludes a size.

    Raises:
      InputError: for gaps that are not finite, or a regulariser that excludes every size.
    """
    gaps = check_finite("gaps", gaps)
    levels = (gaps + np.asarray(regulariser, dtype=np.float64)) / noise_scale
    top = levels.max(axis=-1, keepdims=True)
    if not np.all(np.isfinite(top)):
        raise InputError("the regulariser excludes every size")
    weights = np.exp(levels - top)
    return weights / weights.sum(axis=-1, keepdims=True)


def released_law(
    histogram: npt.ArrayLike,
    selection: npt.ArrayLike,
    test_scale: float,
    delta_t: float,
    *,
    test: str = "gaussian",
    quantile: bool = False,
) -> np.ndarray:
    """The law of StableTopK (Zhu & Wang 2022, Algorithm 2): Float["2^m + m - 1"].

    The sets come first, and then the sizes of sets that were kept back, as in ``set_labels``.

    Args:
      histogram: Float["m"], at most MAX_CANDIDATES.
      selection: Float["m-1"], law of the selected size, for example
        ``largest_gap_law``; one size with probability 1 gives Algorithms 4 and 5.
      test_scale, delta_t, test, quantile: of the test, see ``pass_probability``.

    Raises:
      InputError: for a selection of another shape, or what ``check_histogram`` refuses.
    """
    counts = check_histogram(histogram, MAX_CANDIDATES)
    chosen = np.asarray(selection, dtype=np.float64)
    if chosen.shape != (counts.size - 1,):
        raise InputError("selection must hold one probability a gap")
    passed = pass_probability(gaps_of(counts), test_scale, delta_t, test, quantile=quantile)
    kept = fail_probability(gaps_of(counts), test_scale, delta_t, test, quantile=quantile)
    law = np.zeros(2**counts.size + counts.size - 1)
    law[prefix_masks(counts)[:-1]] = chosen * passed
    law[2**counts.size :] = chosen * kept
    return law


def _pool_law(levels: np.ndarray, pool: np.ndarray, picks: int) -> np.ndarray:
    """The law of the set of the first ``picks`` candidates picked among those in ``pool``."""
    small = top_k_set_law(levels[pool], picks) if pool.size else np.ones(1)
    masks = np.zeros(small.size, dtype=np.int64)
    for bit, candidate in enumerate(pool):
        masks |= (np.arange(small.size) >> bit & 1) << int(candidate)
    law = np.zeros(2**levels.size)
    law[masks] = small
    return law


@validated
def fixed_top_k_law(
    histogram: npt.ArrayLike,
    k: int,
    selection: npt.ArrayLike,
    test_scale: float,
    delta_t: float,
    peel_scale: Callable[[int], float],
    *,
    beyond: Beyond = "fewer",
    quantile: bool = False,
) -> np.ndarray:
    """The law of StableTopK with given k (Zhu & Wang 2022, Algorithm 3): Float["m-1 2 2^m"].

    The axes are the selected size minus 1, whether the test of its gap passed (1) or not (0),
    and the set of k candidates that was chosen. Summed over the first two axes, it is the law of
    the release; the guarantee of Theorem 12 covers all three.

    Args:
      histogram: Float["m"], at most MAX_CANDIDATES.
      k: how many candidates are released, below m.
      selection: Float["m-1"], law of the selected size.
      test_scale, delta_t, quantile: of the Gaussian test, see ``pass_probability``.
      peel_scale: number of picks -> Gumbel scale of peeling them.
      beyond: what is done if a larger set passes: "keep" peels k of its candidates, "drop" peels
        those that are to be dropped, preferring low counts, and "fewer" takes the way with fewer
        picks.
    """
    counts = check_histogram(histogram, MAX_CANDIDATES)
    m, k = counts.size, check_top_k(k, counts.size)
    chosen = np.asarray(selection, dtype=np.float64)
    order, gaps = descending(counts), gaps_of(counts)
    passed = pass_probability(gaps, test_scale, delta_t, quantile=quantile)
    failed = fail_probability(gaps, test_scale, delta_t, quantile=quantile)
    law = np.zeros((m - 1, 2, 2**m))
    fallback = _pool_law(counts / peel_scale(k), np.arange(m), k)
    masks = np.arange(2**m)
    for size in range(1, m):
        law[size - 1, 0] = chosen[size - 1] * failed[size - 1] * fallback
        top, rest = np.sort(order[:size]), np.sort(order[size:])
        base = int(np.sum(1 << top))
        after = np.zeros(2**m)
        if size == k:
            after[base] = 1.0
        elif size < k:
            picks = k - size
            np.add.at(after, masks | base, _pool_law(counts / peel_scale(picks), rest, picks))
        elif keeps(beyond, size, k):
            after = _pool_law(counts / peel_scale(k), top, k)
        else:
            picks = size - k
            dropped = _pool_law(-counts / peel_scale(picks), top, picks)
            np.add.at(after, base & ~masks, np.where(masks & ~base, 0.0, dropped))
        law[size - 1, 1] = chosen[size - 1] * passed[size - 1] * after
    return law


def keeps(beyond: str, size: int, k: int) -> bool:
    """Whether the k candidates to keep of a larger set are peeled, and not those to be dropped.

    Args:
      beyond: "keep", "drop" or "fewer", see ``fixed_top_k_law``.
      size: of the larger set.
      k: how many candidates are released.
    """
    return beyond == "keep" or (beyond == "fewer" and k <= size - k)


@validated
def check_top_k(k: K, candidates: int) -> int:
    """Returns k, the size of the set.

    Raises:
      InputError: unless k is below the number of candidates.
    """
    if k >= candidates:
        raise InputError(f"k is {k}; it must be below the {candidates} candidates")
    return k
