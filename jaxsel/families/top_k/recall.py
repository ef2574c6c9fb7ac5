"""The exact law of the recall of one-shot Gumbel top-k: how many relevant candidates it releases.

Adding Gumbel noise of scale b to counts and taking the k largest is a race: candidate i
arrives after an exponential time of rate exp(count_i/b), and the first k to arrive are
released. Candidates of equal count and relevance form a group; within a group the number
arrived by any time is binomial, so that the law needs one integral over time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from jaxsel.families.top_k.parameters import AnyScale, K
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.signature import validated

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NEGLIGIBLE = 1e-20
_MAX_NODES = 400_000
_MAX_WORK = 4e9


class Groups(NamedTuple):
    """Groups of candidates with equal count and relevance, in any order.

    Attributes:
      counts: Float[np.ndarray, "groups"], the common count, in votes.
      sizes: Int[np.ndarray, "groups"], number of candidates.
      relevant: Bool[np.ndarray, "groups"], whether they belong to the set wanted.
    """

    counts: np.ndarray
    sizes: np.ndarray
    relevant: np.ndarray


def group_counts(counts: npt.ArrayLike, relevant: npt.ArrayLike) -> Groups:
    """The candidates of a histogram, grouped by equal count and relevance.

    Args:
      counts: Float["candidates"].
      relevant: Bool["candidates"].

    Raises:
      InputError: for counts that are not finite, or lists of unequal length.
    """
    values = check_finite("counts", counts)
    mask = np.asarray(relevant, dtype=bool)
    if values.ndim != 1 or mask.shape != values.shape:
        raise InputError("counts and relevant must be lists of equal length")
    found, sizes = np.unique(
        np.stack([values, mask.astype(np.float64)]), axis=1, return_counts=True
    )
    return Groups(found[0], sizes, found[1] > 0.5)


def _checked(groups: Groups, k: int, noise_scale: float):
    """The levels of the groups relative to that of the k-th largest count, sizes, and relevance.

    A level is a count in units of the noise scale.
    """
    sizes = np.asarray(groups.sizes, dtype=np.int64)
    if np.any(sizes < 1):
        raise InputError("every group must hold at least one candidate")
    if k >= sizes.sum():
        raise InputError(f"k is {k}; it must be below the {sizes.sum()} candidates")
    levels = check_finite("counts", groups.counts) / noise_scale
    # Times in units of the arrival of the k-th largest count.
    order = np.argsort(-levels, kind="stable")
    reference = levels[order][np.searchsorted(np.cumsum(sizes[order]), k)]
    return levels - reference, sizes, np.asarray(groups.relevant, dtype=bool)


def _arrived(u: np.ndarray, level: np.ndarray) -> np.ndarray:
    """The probability that a candidate of this level arrives by time exp(u), elementwise."""
    return -np.expm1(-np.exp(np.minimum(u + level, 700.0)))


def _log_density(u: np.ndarray, level: float) -> np.ndarray:
    """The log density of u, the logarithm of an arrival time: x - e^x with x = u + level."""
    x = u + level
    return x - np.exp(np.minimum(x, 700.0))


def _binomial(size: int, share: np.ndarray, length: int) -> np.ndarray:
    """Binomial probabilities of 0, ..., length - 1: Float["nodes length"]."""
    keep = min(size, length - 1) + 1
    pmf = np.zeros((share.size, length))
    if size == 1:
        pmf[:, 0], pmf[:, 1:2] = 1.0 - share, share[:, None]
    else:
        pmf[:, :keep] = scipy.stats.binom.pmf(np.arange(keep), size, share[:, None])
    return pmf


def _sum_law(u, levels, sizes, length: int) -> np.ndarray:
    """The law, below ``length``, of how many of all groups have arrived by time exp(u)."""
    law = _with_more(None, u, levels, sizes, length)
    return _none_arrived(u, length) if law is None else law


def _none_arrived(u: np.ndarray, length: int) -> np.ndarray:
    law = np.zeros((u.size, length))
    law[:, 0] = 1.0
    return law


def _with_more(law: np.ndarray | None, u, levels, sizes, length: int) -> np.ndarray | None:
    """A law as of ``_sum_law``, None of no group, with that of more groups added."""
    for level, size in zip(levels, sizes, strict=True):
        if size == 0:
            continue
        share = _arrived(u, level)
        if law is None:
            law = _binomial(int(size), share, length)
            continue
        if size == 1:
            arrived = law[:, :-1] * share[:, None]
            law = law * (1.0 - share)[:, None]
            law[:, 1:] += arrived
            continue
        one = _binomial(int(size), share, length)
        new = law * one[:, :1]
        for j in range(1, min(int(size), length - 1) + 1):
            new[:, j:] += law[:, : length - j] * one[:, j : j + 1]
        law = new
    return law


def _sum_laws_without_one(u, levels, sizes, length: int) -> Iterator[np.ndarray]:
    """For each group in turn, the law of all candidates but one of that group.

    Halves of the groups are added to the law of what is outside of both, so that with n groups
    one is added n log2 n times.
    """

    def divided(groups: slice, law: np.ndarray | None) -> Iterator[np.ndarray]:
        count = groups.stop - groups.start
        if count == 1:
            law = _with_more(law, u, levels[groups], sizes[groups] - 1, length)
            yield _none_arrived(u, length) if law is None else law
            return
        middle = groups.start + count // 2
        halves = slice(groups.start, middle), slice(middle, groups.stop)
        for one, other in (halves, halves[::-1]):
            yield from divided(one, _with_more(law, u, levels[other], sizes[other], length))

    yield from divided(slice(0, levels.size), None)


def _span(levels, sizes, k: int, stopped: bool) -> tuple[float, float]:
    """Two log-times between which the k-th arrival almost surely is.

    If the release may be stopped early, between them is each of the first k arrivals.
    """

    def mean(u: float) -> float:
        return float(np.sum(sizes * _arrived(np.array(u), levels)))

    def search(target: float) -> float:
        low, high = -800.0 - levels.max(), 800.0 - levels.min()
        for _ in range(80):
            middle = (low + high) / 2.0
            low, high = (middle, high) if mean(middle) < target else (low, middle)
        return low

    # Poisson tails bound those of a sum of independent indicators.
    below = 1.0 if stopped else float(k)
    few = search(float(special.gammaincinv(below, _NEGLIGIBLE)))
    total = float(sizes.sum())
    wanted = float(special.gammainccinv(float(k), _NEGLIGIBLE))
    top = np.sort(np.repeat(levels, np.minimum(sizes, k)))[-k]
    # By this time all of the top k have arrived.
    latest = np.log(np.log(k / _NEGLIGIBLE)) - top
    if wanted < total:
        latest = min(latest, search(wanted) + 1e-9)
    return few, latest


def _quadrature(levels, sizes, k: int, stopped: bool):
    """The first log-time of the span, and nodes and weights of a quadrature over the span."""
    low, high = _span(levels, sizes, k, stopped)
    panels = int(np.ceil((high - low) * 2.0 * np.sqrt(k))) + 1
    if panels * _NODES.size > _MAX_NODES:
        raise InputError(
            f"this recall needs {panels * _NODES.size} points of quadrature; at most "
            f"{_MAX_NODES} are tried: take a larger noise_scale or a smaller k"
        )
    edges = np.linspace(low, high, panels + 1)
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    nodes = (middle[:, None] + half[:, None] * _NODES).ravel()
    return low, nodes, (half[:, None] * _WEIGHTS).ravel()


@validated
def hit_law(
    groups: Groups, k: K, noise_scale: AnyScale, *, stop: float | None = None
) -> np.ndarray:
    """The law of the number of relevant candidates among the k largest noisy counts.

    Let A be the relevant and B the other candidates. At least j relevant ones are among the first
    k arrivals if and only if the j-th arrival of A comes before arrival number k - j + 1 of B.

    Args:
      groups: the histogram.
      k: number of candidates released, below the number of candidates.
      noise_scale: Gumbel scale, in votes.
      stop: noiseless count of one more element, which ends the release when it arrives, as in the
        limited domain of Durfee & Rogers 2019; None for none.

    Returns:
      Float[np.ndarray, "k+1"]: probability of 0, ..., k relevant ones, summing to 1.

    Raises:
      InputError: for a bad grouping, a k that is too large, or where the integral is too large.
    """
    levels, sizes, relevant = _checked(groups, k, noise_scale)
    stopped = stop is not None
    low, u, weight = _quadrature(levels, sizes, k, stopped)
    work = u.size * float(k + 1) * np.minimum(sizes, k).sum() * max(1, relevant.sum())
    if levels.size > 2 and work > _MAX_WORK:
        raise InputError(
            f"the exact law of this recall needs {work:.1g} operations; at most "
            f"{_MAX_WORK:g} are tried: simulate it"
        )
    law = np.zeros(k + 2)
    law[0] = 1.0
    wanted, others = levels[relevant], levels[~relevant]
    counts, rest = sizes[relevant], sizes[~relevant]
    if wanted.size == 0:
        return law[:-1] + 0.0
    alive = np.ones(u.size)
    if stop is not None:
        shift = float(levels[0] - groups.counts[0] / noise_scale)
        alive = np.exp(-np.exp(np.minimum(u + stop / noise_scale + shift, 700.0)))
    few = _sum_law(u, others, rest, k + 1) if others.size else None
    # room[:, j - 1] = P[at most k - j of B have arrived]
    if few is None:
        room = np.ones((u.size, k))
    else:
        room = np.minimum(np.cumsum(few, axis=1), 1.0)[:, k - 1 :: -1]
    at_least = np.zeros(k)
    for g, before in enumerate(_sum_laws_without_one(u, wanted, counts, k)):
        density = counts[g] * np.exp(_log_density(u, wanted[g]))
        at_least += (weight * density * alive) @ (before * room)
    if not stopped:
        # Arrivals before the span are among the first k with certainty.
        start = _sum_law(np.array([low]), wanted, counts, k + 1)[0]
        at_least += np.cumsum(start[::-1])[::-1][1:]
    law[1 : k + 1] = at_least
    law = np.clip(law, 0.0, 1.0)
    return np.maximum(law[:-1] - law[1:], 0.0)
