"""Exact laws of limited-domain top-k and of Top Stable, for small histograms.

Sets are bit masks, as in ``laws``.
"""

import numpy as np
import numpy.typing as npt

from jaxsel.families.top_k.baselines import TopStable, limited_domain_threshold
from jaxsel.families.top_k.laws import (
    MAX_CANDIDATES,
    check_histogram,
    descending,
    first_arrivals,
    set_size,
)
from jaxsel.families.top_k.parameters import AnyEpsilon, DomainSize, K, Restriction
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


@validated
def limited_domain_law(
    histogram: npt.ArrayLike, k: K, epsilon: AnyEpsilon, delta: Restriction, domain: DomainSize
) -> np.ndarray:
    """The law of the set that limited-domain top-k releases (Durfee & Rogers 2019): Float["2^m"].

    The ``domain`` largest counts get Gumbel noise, and so does the element "nothing more". Its
    count is the largest one left out (0 if there is none) plus ``limited_domain_threshold``. The
    candidates with larger noisy counts than this element, at most k, are released.

    Args:
      histogram: Float["m"], at most MAX_CANDIDATES.
      k: largest number of candidates released.
      epsilon: of one pick; the noise has scale 1/epsilon.
      delta: of the restriction to the largest counts.
      domain: how many counts compete, between k and m.

    Raises:
      InputError: unless k <= domain <= m, or what ``check_histogram`` refuses.
    """
    counts = check_histogram(histogram, MAX_CANDIDATES)
    check_domain(counts.size, k, domain)
    inside = np.sort(descending(counts)[:domain])
    ranked = np.append(-np.sort(-counts), 0.0)
    stop = ranked[domain] + limited_domain_threshold(epsilon, delta, domain)
    race = first_arrivals(np.append(counts[inside] * epsilon, stop * epsilon))
    law = np.zeros(2**counts.size)
    small = np.arange(2**domain)
    sizes, half = set_size(small), 2**domain
    masks = np.zeros(half, dtype=np.int64)
    for bit, candidate in enumerate(inside):
        masks |= (small >> bit & 1) << int(candidate)
    full = sizes == k
    law[masks[full]] = race[:half][full]
    # "nothing more" is arrival number |S| + 1.
    fewer = sizes < k
    levels = counts[inside] * epsilon
    out = (small[:, None] >> np.arange(domain) & 1) == 0
    rest = np.where(out, levels, -np.inf).max(axis=1, initial=stop * epsilon)
    total = np.exp(stop * epsilon - rest) + np.sum(
        np.exp(np.where(out, levels - rest[:, None], -np.inf)), axis=1
    )
    stopped = race[:half] * np.exp(stop * epsilon - rest) / total
    law[masks[fewer]] = stopped[fewer]
    return law


@validated
def check_domain(candidates: int, k: K, domain: DomainSize) -> None:
    """Raises InputError unless k <= domain <= candidates.

    Args:
      candidates: how many there are.
      k: largest number released.
      domain: how many counts compete.
    """
    if not k <= domain <= candidates:
        raise InputError(
            f"domain is {domain}; it must lie between k = {k} and the {candidates} candidates"
        )


@validated
def top_stable_law(gaps: npt.ArrayLike, settings: TopStable, k: K) -> np.ndarray:
    """The law of the size that Top Stable releases (Carvalho et al. 2020): Float["k+1"], from 0.

    Sizes k, k - 1, ..., 1 are tested in this order, and the first is released for which
    max(gap - 1, 0) plus noise exceeds the noisy threshold.

    Args:
      gaps: Float["k"] or more, in votes, by size.
      settings: see ``baselines.top_stable``.
      k: size wanted.

    Raises:
      InputError: for fewer gaps than k.
    """
    gaps = np.asarray(gaps, dtype=np.float64)
    if gaps.size < k:
        raise InputError(f"k is {k}; there are only {gaps.size} gaps")
    distance = np.maximum(gaps[:k] - 1.0, 0.0)[::-1]
    query, scale = settings.query_scale, settings.threshold_scale
    # The integrand has a kink where the threshold meets a distance, and at its middle.
    span = 50.0 * max(scale, query)
    low = min(settings.threshold - 40.0 * scale, distance.min() - span)
    low = max(low, settings.threshold - 60.0 * scale)
    high = settings.threshold + 60.0 * scale
    kinks = np.unique(np.append(distance, settings.threshold))
    kinks = kinks[(kinks > low) & (kinks < high)]
    edges = np.unique(np.concatenate([np.linspace(low, high, 241), kinks]))
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    level = (middle[:, None] + half[:, None] * _NODES).ravel()
    weight = (half[:, None] * _WEIGHTS).ravel()
    weight = weight * np.exp(-np.abs(level - settings.threshold) / scale) / (2 * scale)
    alive, law = weight, np.zeros(k + 1)
    for position, gap in enumerate(distance):
        x = (level - gap) / query
        tail = 0.5 * np.exp(-np.abs(x))
        law[k - position] = np.sum(alive * np.where(x > 0.0, tail, 1.0 - tail))
        alive = alive * np.where(x > 0.0, 1.0 - tail, tail)
    law[0] = np.sum(alive)
    return law / law.sum()
