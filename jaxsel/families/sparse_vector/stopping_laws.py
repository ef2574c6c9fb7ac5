"""Exact laws of where a sparse vector stops, and of whether its answers are right.

They are found by dynamic programming over the queries. The state is the number of "above" answered
so far and the threshold's noise, which is replaced by the nodes of a quadrature.
"""

import numpy as np
import numpy.typing as npt

from jaxsel.families.sparse_vector.parameters import Tolerance
from jaxsel.families.sparse_vector.patterns import (
    SparseNoise,
    answer_logs,
    check_levels,
    check_noise,
    quadrature_nodes,
)
from jaxsel.language.signature import validated


def stopping_law(levels: npt.ArrayLike, noise: SparseNoise) -> np.ndarray:
    """The exact law of the query at which the last allowed "above" is answered.

    Args:
      levels: Float["queries"], answers minus threshold.
      noise: of the sparse vector.

    Returns:
      Float[np.ndarray, "queries+1"]: the chance of each query; the last entry is the chance that
      fewer than ``cutoff`` queries are answered "above".
    """
    levels, noise = check_levels(levels), check_noise(noise)
    law, _ = _advance(levels, noise, np.ones((2, levels.size)))
    return law


@validated
def right_probability(levels: npt.ArrayLike, noise: SparseNoise, alpha: Tolerance) -> float:
    """The exact probability that all answers are right to within alpha.

    "Above" is right for a level of at least -alpha, and "below" for one of at most alpha; queries
    after the last allowed "above" get no answer, and count as right.

    Args:
      levels, noise: as of ``stopping_law``.
      alpha: in units of the answers.
    """
    levels, noise = check_levels(levels), check_noise(noise)
    right = np.stack([levels <= alpha, levels >= -alpha]).astype(np.float64)
    stopped, alive = _advance(levels, noise, right)
    return float(np.sum(stopped[:-1]) + alive)


def _advance(levels: np.ndarray, noise: SparseNoise, allowed: np.ndarray):
    """Goes through the queries with state [number of "above" so far, node of threshold's noise].

    Args:
      levels, noise: as of ``stopping_law``.
      allowed: Float["2 queries"], 1 where "below" (first row) and "above" (second row) may be
        answered to a query, else 0: such a sequence of answers is dropped.

    Returns:
      Float["queries+1"], the chance to stop at each query, and last not to stop, all without an
      answer that is not allowed; and this last entry by itself.
    """
    distinct, which = np.unique(levels, return_inverse=True)
    nodes, log_weights = quadrature_nodes(distinct, noise, levels.size)
    weights = np.exp(log_weights)
    chances = np.exp(answer_logs(distinct, nodes, noise))
    state = np.zeros((noise.cutoff, nodes.size))
    state[0] = weights
    stops = np.empty(levels.size)
    for j, number in enumerate(which):
        above = state * (chances[1, number] * allowed[1, j])
        state *= chances[0, number] * allowed[0, j]
        stops[j] = above[-1].sum()
        if noise.redrawn:
            state[1:] += above[:-1].sum(axis=1)[:, None] * weights
        else:
            state[1:] += above[:-1]
    alive = float(state.sum())
    return np.append(stops, alive), alive
