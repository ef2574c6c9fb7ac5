"""The noise scale and the exact law of report noisy max, in float64 on the host."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import special

from jaxsel.families.noisy_max import parameters
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.signature import read_params, validated

# A candidate that is further behind the best, in noise scales, wins with a probability that
# underflows in float64.
_REACH = {"laplace": 745.0, "gaussian": 40.0}
_UPPER_TAIL = {"laplace": 60.0, "gaussian": 12.0}  # noise scales above the best score
_CHUNK = 2_000_000  # numbers held at once


@validated
def noisy_max_shift(relation: parameters.Change = Relation.GENERAL) -> float:
    """The most by which the difference of two scores of sensitivity 1 changes: 2, or 1 if monotone.

    The pure epsilon of noisy max with Gumbel, Laplace or exponential noise is this shift divided by
    the noise scale (claims NM-*).
    """
    return 2.0 if relation is Relation.GENERAL else 1.0


def noisy_max_scale(params: Mapping[str, Any], relation: Relation = Relation.GENERAL) -> float:
    """The noise scale of noisy max, in units of the sensitivity.

    It is the parameter "noise_scale" if given; otherwise it is ``noisy_max_shift(relation)`` /
    epsilon, with which Gumbel, Laplace and exponential noise are epsilon-DP.

    Args:
      params: either "noise_scale" or "epsilon".
      relation: how the scores may change, GENERAL or MONOTONE.

    Raises:
      InputError: unless exactly one of the two is given.
    """
    known = {"epsilon": parameters.Epsilon, "noise_scale": parameters.AnyScale}
    read = read_params(params, optional=known)
    if len(read) != 1:
        raise InputError("noisy max takes either epsilon or noise_scale, and not both")
    if "noise_scale" in read:
        return read["noise_scale"]
    return noisy_max_shift(relation) / read["epsilon"]


@validated
def noisy_max_law(levels: np.ndarray, noise: parameters.AnyNoise) -> np.ndarray:
    """The exact law of the winner of noisy max: P(argmax_j (level_j + Z_j) = i) for every i.

    Args:
      levels: Float["m"], scores in units of the noise scale.
      noise: law of Z; "gumbel" gives the softmax, the others need a quadrature.

    Returns:
      Float["m"], summing to 1; each entry has a relative error of about 1e-11.
    """
    levels = np.asarray(levels, dtype=np.float64)
    levels = levels - levels.max()
    if noise == "gumbel":
        return special.softmax(levels)
    if noise == "exponential":
        law = _exponential(levels)
    else:
        law = _by_quadrature(levels, noise)
    return law / law.sum()


def _gauss_legendre(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss-Legendre quadrature, ``count`` on each panel between the edges."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def _exponential(levels: np.ndarray) -> np.ndarray:
    """The law of the winner with exponential noise, not normalised; the best level is 0."""
    # With w = exp(-(winning value - top)): P_i = a_i int_0^1 prod_{j != i} (1 - w a_j) dw,
    # a_j = exp(level_j). The panels shrink towards 0, where w concentrates for many
    # candidates.
    atoms = np.exp(levels)
    w, weight = _gauss_legendre(np.concatenate([[0.0], 2.0 ** np.arange(-60, 1)]), 32)
    law = np.zeros_like(levels)
    for part in _chunks(w.size, levels.size):
        factors = np.log1p(-w[part, None] * atoms)
        total = factors.sum(axis=1, keepdims=True)
        law += (weight[part, None] * np.exp(total - factors)).sum(axis=0)
    return law * atoms


def _laplace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the density and of the distribution function of standard Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(x))
    log_cdf = np.where(x < 0, x - np.log(2), np.log1p(-np.where(x < 0, 0, tail)))
    return -np.abs(x) - np.log(2), log_cdf


def _gaussian(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the density and of the distribution function of standard normal noise."""
    return -0.5 * x * x - 0.5 * np.log(2 * np.pi), special.log_ndtr(x)


def _by_quadrature(levels: np.ndarray, noise: str) -> np.ndarray:
    """The law of the winner with Laplace or Gaussian noise, not normalised; the best level is 0.

    P_i is the integral over v of f(v - level_i) prod_{j != i} F(v - level_j), whose factors are
    added as logarithms.
    """
    logs: Callable = _laplace if noise == "laplace" else _gaussian
    bottom = max(levels.min(), -_REACH[noise])
    law = np.zeros_like(levels)
    for nodes, weights in _panels(levels, bottom, noise):
        for part in _chunks(nodes.size, levels.size):
            log_density, log_cdf = logs(nodes[part, None] - levels)
            total = log_cdf.sum(axis=1, keepdims=True)
            terms = np.exp(log_density + total - log_cdf)
            law += (weights[part, None] * terms).sum(axis=0)
    return law


def _panels(levels, bottom, noise):
    """Nodes and weights of panels at most one noise scale long, split at the Laplace kinks.

    Args:
      levels: Float["m"], the best of which is 0.
      bottom: the lowest winning score, without noise, that matters.
      noise: "laplace" or "gaussian".
    """
    low = bottom - (12.0 if noise == "gaussian" else 60.0)
    high = _UPPER_TAIL[noise]
    step = 0.5 if noise == "gaussian" else 1.0
    edges = np.append(np.arange(low, high, step), high)
    if noise == "laplace":
        edges = np.unique(np.concatenate([edges, levels[levels > low], [0.0]]))
    width = np.diff(edges)
    # Short panels get few nodes, so that many kinks do not need too many nodes.
    for keep, count in ((width > 0.125, 32), (width <= 0.125, 8)):
        left, right = edges[:-1][keep], edges[1:][keep]
        if left.size:
            nodes, weights = np.polynomial.legendre.leggauss(count)
            half, middle = (right - left) / 2, (right + left) / 2
            yield (
                (middle[:, None] + half[:, None] * nodes).ravel(),
                (half[:, None] * weights).ravel(),
            )


def _chunks(num_nodes: int, num_levels: int):
    """Slices of the nodes, so small that a table of nodes times levels fits into memory."""
    size = max(1, _CHUNK // num_levels)
    return [slice(i, i + size) for i in range(0, num_nodes, size)]
