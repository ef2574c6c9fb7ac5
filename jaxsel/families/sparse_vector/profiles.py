"""The exact epsilon of a sparse vector on a pair of inputs.

Successive queries with the same two levels, on the first and the second input, form a run. Where
the threshold's noise is drawn once, the privacy loss of a pattern of answers depends only on how
many queries of each run are answered "above" and "below": patterns that agree in these numbers
form a class. There are few classes if there are few runs, however many queries they have. Where the
noise is redrawn, the largest loss is found by dynamic programming over the positions of "above".
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.families.sparse_vector.parameters import Change, Cutoff, Rising
from jaxsel.families.sparse_vector.patterns import (
    SparseNoise,
    answer_logs,
    check_levels,
    check_noise,
    count_patterns,
    log_probabilities,
    pattern_law,
    quadrature_nodes,
    segment_logs,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.signature import validated

_MAX_OUTCOMES = 2**18
_MOST_QUERIES = 10**7
_LISTED = 2**12


class Outcomes(NamedTuple):
    """Classes of patterns of answers; all patterns of a class have the same privacy loss.

    Attributes:
      first, second: Float[np.ndarray, "classes"], the log probability of ONE pattern of the
        class on the first and on the second input.
    """

    first: np.ndarray
    second: np.ndarray


@validated
def worst_pair(
    below: Rising, cutoff: Cutoff, relation: Change = Relation.GENERAL, *, redrawn=False
) -> tuple[np.ndarray, np.ndarray]:
    """The pair of inputs on which a sparse vector loses most: many queries rise, a few fall.

    The levels are (0^m, 1^c) against (1^m, 0^c), or for monotone neighbours (0^m, 0^c) against
    (1^m, 0^c). If the threshold is redrawn, the pair is (0^m, 1) against (1^m, 0), or (0^m, 0)
    against (1^m, 0), repeated c times. The loss of answering "below" to the first m queries and
    "above" to the rest, block by block, tends to the proven epsilon as m grows.

    Args:
      below: m, how many queries rise.
      cutoff: c, how many "above" are answered.
      relation: of the neighbours.
      redrawn: whether the threshold's noise is drawn anew after each "above".

    Returns:
      Float["queries"] for each of the two inputs: the levels.
    """
    high = 1.0 if relation is Relation.GENERAL else 0.0
    ends, blocks = (1, cutoff) if redrawn else (cutoff, 1)
    if (below + ends) * blocks > _MOST_QUERIES:
        raise InputError(
            f"below is {below} and cutoff is {cutoff}; at most {_MOST_QUERIES} queries are listed"
        )
    first = np.tile(np.repeat([0.0, high], [below, ends]), blocks)
    second = np.tile(np.repeat([1.0, 0.0], [below, ends]), blocks)
    return first, second


# --- Classes of patterns --------------------------------------------------------------


def _runs(first: np.ndarray, second: np.ndarray):
    """The two levels of each run, and its length: three arrays of shape ["runs"]."""
    changes = (np.diff(first) != 0.0) | (np.diff(second) != 0.0)
    starts = np.flatnonzero(np.append(True, changes))
    lengths = np.diff(np.append(starts, first.size))
    return first[starts], second[starts], lengths


def _count_classes(lengths: np.ndarray, cutoff: int) -> int:
    """The number of classes of patterns, found without listing them."""
    open_rows = [1] + [0] * (cutoff - 1)  # by number of "above" so far
    stopped = 0
    for length in lengths.tolist():
        longer = [0] * cutoff
        for done, rows in enumerate(open_rows):
            needed = cutoff - done
            stopped += rows * max(0, length - needed + 1)
            for above in range(min(length, needed - 1) + 1):
                longer[done + above] += rows
        open_rows = longer
    return stopped + sum(open_rows)


def _classes(lengths: np.ndarray, cutoff: int) -> np.ndarray:
    """How many queries of each run are "below" and "above": Float["classes runs 2"]."""
    runs = lengths.size
    rows = np.zeros((1, runs, 2))
    listed: list[np.ndarray] = []
    for run, length in enumerate(lengths.tolist()):
        done = rows[:, :, 1].sum(axis=1)
        # The mechanism stops in this run, after any number of "below" of it.
        needed = cutoff - done
        stops = np.maximum(length - needed + 1, 0).astype(np.int64)
        which = np.repeat(np.arange(len(rows)), stops)
        failed = np.arange(which.size) - np.repeat(np.cumsum(stops) - stops, stops)
        ended, above = rows[which].copy(), needed[which]
        ended[:, run, 0], ended[:, run, 1] = failed, above
        listed.append(ended)
        # The mechanism does not stop in this run.
        longer = []
        for count in range(min(length, cutoff - 1) + 1):
            kept = done + count < cutoff
            further = rows[kept].copy()
            further[:, run] = length - count, count
            longer.append(further)
        rows = np.concatenate(longer)
    return np.concatenate([*listed, rows])


def _pair(first, second, noise: SparseNoise):
    """Checks the levels of two inputs, and the noise."""
    first, second = check_levels(first), check_levels(second)
    if first.shape != second.shape:
        raise InputError(
            f"the inputs have {first.size} and {second.size} queries; both must have equally many"
        )
    return first, second, check_noise(noise)


def outcomes(first: npt.ArrayLike, second: npt.ArrayLike, noise: SparseNoise) -> Outcomes:
    """All possible patterns of answers on a pair of inputs, in classes of equal privacy loss.

    With a redrawn threshold each pattern is a class of its own.

    Args:
      first, second: Float["queries"], levels on the two inputs.
      noise: of the sparse vector.

    Raises:
      InputError: if the inputs have different numbers of queries, or for more than 2**18 classes
        (65,536 if the threshold is redrawn).
    """
    first, second, noise = _pair(first, second, noise)
    if noise.redrawn:
        return Outcomes(*(pattern_law(row, noise) for row in (first, second)))
    noise = noise._replace(cutoff=min(noise.cutoff, first.size))
    before, after, lengths = _runs(first, second)
    size = _count_classes(lengths, noise.cutoff)
    if size > _MAX_OUTCOMES:
        raise InputError(
            f"these inputs have {size} classes of patterns, and at most {_MAX_OUTCOMES} "
            "are listed; take fewer runs of equal queries"
        )
    counts = _classes(lengths, noise.cutoff).reshape(size, -1)
    found = []
    for levels in (before, after):
        nodes, log_weights = quadrature_nodes(levels, noise, first.size)
        logs = answer_logs(levels, nodes, noise).transpose(1, 0, 2)
        flat = logs.reshape(-1, nodes.size)
        found.append(log_probabilities(counts, flat, log_weights))
    return Outcomes(*found)


# --- What is lost ---------------------------------------------------------------------


def _largest_loss(first: np.ndarray, second: np.ndarray) -> float:
    possible = np.isfinite(first) | np.isfinite(second)
    return float(np.max(np.abs(first[possible] - second[possible])))


def _largest_redrawn(first: np.ndarray, second: np.ndarray, noise: SparseNoise):
    """The largest absolute privacy loss, as a longest path over the positions of "above".

    The loss of a pattern is the sum of those of its segments, each of which ends with an "above".
    """
    parts = []
    for levels in (first, second):
        nodes, log_weights = quadrature_nodes(np.unique(levels), noise, levels.size)
        parts.append(segment_logs(answer_logs(levels, nodes, noise), log_weights))
    possible = np.isfinite(parts[0][0][:, :, 0])
    step = np.zeros(possible.shape)
    np.subtract(parts[0][0][:, :, 0], parts[1][0][:, :, 0], out=step, where=possible)
    end = parts[0][1] - parts[1][1]
    worst = 0.0
    for sign in (1.0, -1.0):
        moves = np.where(possible, sign * step, -np.inf)
        # largest loss from each start, given the number of "above" still allowed
        best = np.zeros(end.size)
        for _ in range(noise.cutoff):
            onward = np.max(moves + best[None, 1:], axis=1)
            best = np.maximum(sign * end, np.append(onward, -np.inf))
        worst = max(worst, float(best[0]))
    return worst


def pair_epsilon(first: npt.ArrayLike, second: npt.ArrayLike, noise: SparseNoise) -> float:
    """The exact epsilon of a pair: the largest absolute privacy loss of any pattern of answers.

    Infinite if a pattern is possible on one input only. The number of patterns is unlimited if the
    threshold is redrawn and queries have noise; else inputs that ``outcomes`` refuses are refused.

    Args:
      first, second, noise: as of ``outcomes``.
    """
    first, second, noise = _pair(first, second, noise)
    noise = noise._replace(cutoff=min(noise.cutoff, first.size))
    many = count_patterns(first.size, noise.cutoff)[-1, -1] > _LISTED
    if noise.redrawn and noise.query_scale > 0.0 and many:
        return _largest_redrawn(first, second, noise)
    found = outcomes(first, second, noise)
    return _largest_loss(found.first, found.second)
