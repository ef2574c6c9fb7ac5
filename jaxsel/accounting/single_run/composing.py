"""Composes the dominating pair of one base with itself, for the release of several runs.

Each atom of a pair is split between the neighbouring points of a lattice of losses so that
both its masses are preserved ("connect the dots", Doroshenko et al. 2022): the result
dominates, and composition on the lattice is a convolution.
"""

import math
from typing import Any

import numpy as np
from scipy import fft

from jaxsel.accounting.single_run.dominating import DominatingPair

_LATTICE = 2**14  # steps over the losses
_FEW = 2**12  # up to this many points are convolved directly, without Fourier transforms
_REACH = 700.0  # e^loss must stay finite; larger losses count as infinite

MOST = 64  # runs that are composed
TRUNCATED = 1e-15
"""Mass of both tails that a composition of privacy losses cuts off, as in dp-accounting."""
_ORDERS = 20  # of either sign at which tails are bounded

# Mass added at infinite loss for the rounding errors of Fourier transforms, which are far
# less.
_ROUNDING = 1e-12


def _step(loss: np.ndarray) -> float:
    """The lattice step: the least loss if all losses are multiples of it."""
    size = np.abs(loss[loss != 0.0])
    if size.size == 0:
        return 1.0
    multiples = loss / size.min()
    if np.max(np.abs(multiples)) <= 64 and np.allclose(
        multiples, np.round(multiples), rtol=0.0, atol=1e-13
    ):
        return float(size.min())
    return float(2.0 * size.max() / _LATTICE)


def on_lattice(loss: np.ndarray, first: np.ndarray, step: float) -> tuple[int, np.ndarray]:
    """The lowest index, and the masses of P from there on, of atoms moved to a lattice of losses.

    Each atom is split between its two neighbours so that both its masses are preserved.

    Args:
      loss, first: Float["atoms"], losses, increasing, and masses of P.
      step: of the lattice.
    """
    below = np.floor(loss / step + 1e-13)
    part = np.clip(loss - below * step, 0.0, step)
    share = np.expm1(-part) / math.expm1(-step)  # goes to the point above
    low = int(below[0])
    place = (below - low).astype(int)
    size = int(place[-1]) + 2
    return low, np.bincount(place, first * (1.0 - share), size) + np.bincount(
        place + 1, first * share, size
    )


def _within(masses: np.ndarray, times: int, truncated: float) -> tuple[int, int]:
    """Indices of a sum of ``times`` draws, between which it lies but for a probability.

    By Chernoff bounds at orders k/n, as dp-accounting chooses them, whose moment generating
    functions are sums over powers of e^(i/n).

    Args:
      masses: Float["n"], >= 0.
      times: how many are drawn.
      truncated: that probability.
    """
    size = masses.size
    low, high, beyond = 0, (size - 1) * times, math.log(2.0 / truncated)
    for sign in (1.0, -1.0):
        base = np.exp(sign * np.arange(size) / size)
        tilted = masses
        for order in range(1, _ORDERS + 1):
            tilted = tilted * base
            total = float(tilted.sum())
            if not 0.0 < total < math.inf:
                continue
            bound = (times * math.log(total) + beyond) * size / (sign * order)
            if sign > 0.0:
                high = min(high, math.ceil(bound))
            else:
                low = max(low, math.floor(bound))
    return low, high


def self_composed(pmf: Any, times: int, truncated: float = TRUNCATED) -> Any:
    """``pmf.self_compose(times, truncated)`` of dp-accounting, in a third of the time.

    Args:
      pmf: dp-accounting's probabilities of privacy losses, a pessimistic estimate.
      times: how often it is composed.
      truncated: mass of both tails that is moved to an infinite loss; > 0.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    if not isinstance(pmf, DensePLDPmf):
        return pmf.self_compose(times, truncated)  # of few losses
    masses = np.maximum(np.asarray(pmf._probs, dtype=np.float64), 0.0)
    low, high = _within(masses, times, truncated)
    size = high - low + 1
    points = fft.next_fast_len(max(size, masses.size))
    # The transform is periodic: what is cut off is added to what is kept. It is complex, as there,
    # so that not a digit differs.
    transformed = np.asarray(fft.fft(masses, points))
    whole = np.real(np.asarray(fft.ifft(transformed**times)))
    infinite = truncated - math.expm1(times * math.log1p(-pmf._infinity_mass))
    return DensePLDPmf(
        pmf._discretization,
        pmf._lower_loss * times + low,
        np.roll(whole, -low)[:size],
        infinite,
        pmf._pessimistic_estimate,
    )


def composed_pair(pair: DominatingPair, count: int) -> DominatingPair:
    """A pair that dominates ``count`` independent releases of a dominated pair.

    Args:
      pair: a dominating pair of one release.
      count: the number of releases, 1 to MOST.

    Returns:
      The pair in the same direction. P' may sum to less than 1, since its mass at loss -inf
      does not enter any divergence of P from P'. For a large lattice Fourier transforms are
      used, and 1e-12 is added to the mass at infinite loss for their rounding errors.
    """
    finite = (pair.loss <= _REACH) & (pair.first > 0.0)
    beyond = float(np.sum(pair.first[pair.loss > _REACH]))
    if not np.any(finite) or beyond >= 1.0:
        return DominatingPair(np.array([math.inf]), np.ones(1), np.zeros(1))
    # Rounding losses up keeps the bound valid.
    loss, first = np.maximum(pair.loss[finite], -_REACH), pair.first[finite]
    singular = -math.expm1(count * math.log1p(-beyond))
    step = _step(loss)
    low, masses = on_lattice(loss, first, step)
    composed, lowest = masses, low * count
    if masses.size * count <= _FEW:
        for _ in range(count - 1):
            composed = np.convolve(composed, masses)
    elif count > 1:
        from dp_accounting.pld.pld_pmf import DensePLDPmf

        many = self_composed(DensePLDPmf(step, low, masses, 0.0, True), count)
        composed, lowest = np.maximum(many._probs, 0.0), many._lower_loss
        singular += float(many._infinity_mass) + _ROUNDING
    losses = step * (lowest + np.arange(composed.size))
    singular += float(np.sum(composed[losses > _REACH]))
    seen = (composed > 0.0) & (losses <= _REACH)
    losses, composed = np.maximum(losses[seen], -_REACH), composed[seen]
    losses, place = np.unique(losses, return_inverse=True)
    composed = np.bincount(place, composed)
    return DominatingPair(
        np.append(losses, math.inf),
        np.append(composed, min(singular, 1.0)),
        np.append(composed * np.exp(-losses), 0.0),
    )
