"""Exact laws of the answers of a sparse vector with Laplace noise.

A sparse vector compares noisy query answers with a noisy threshold and says "above" or
"below", in order, until it has said "above" ``cutoff`` times. A level is a query's answer
minus the threshold; a pattern is the whole sequence of what it says. Given the threshold's noise
the answers are independent, and over this noise one integrates by quadrature. All is done in
logarithms, so that very unlikely patterns keep their relative accuracy.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.families.sparse_vector import parameters
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.signature import read_arguments

NOT_ANSWERED = -1
Edges = Sequence[float] | np.ndarray

_MAX_PATTERNS = 2**16
_REACH = 45.0  # scales of Laplace noise, beyond which the tail is below 1e-19
_NEVER = -1e300  # stands for log 0 in sums with weight 0
_CHUNK = 2**22
_MAX_PANELS = 2**15


class SparseNoise(NamedTuple):
    """The settings of a sparse vector.

    Attributes:
      threshold_scale: of the threshold's Laplace noise.
      query_scale: of each query's Laplace noise; 0 for no noise.
      cutoff: number of "above" after which it stops; the number of queries if it never
        stops early.
      redrawn: whether the threshold's noise is drawn anew after each "above".
    """

    threshold_scale: parameters.ThresholdScale
    query_scale: parameters.QueryScale
    cutoff: parameters.Cutoff = 1
    redrawn: bool = False


def check_noise(noise: SparseNoise) -> SparseNoise:
    """Converts the settings to numbers, and raises InputError for one outside its domain."""
    return SparseNoise(**read_arguments(SparseNoise, noise._asdict()))


# --- Patterns of answers --------------------------------------------------------------


def count_patterns(queries: int, cutoff: int, branches: int = 1) -> np.ndarray:
    """How many patterns of answers are possible, for up to so many queries and "above".

    Args:
      queries: the largest number of queries.
      cutoff: the largest number of "above".
      branches: how many kinds of "above" are told apart.

    Returns:
      Float[np.ndarray, "queries+1 cutoff+1"]: entry [i, j] is the number of patterns of i
      queries of which at most j are answered "above"; exact below 2**53.
    """
    counts = np.ones((queries + 1, cutoff + 1))
    for i in range(1, queries + 1):
        counts[i, 1:] = counts[i - 1, 1:] + branches * counts[i - 1, :-1]
    return counts


def all_patterns(queries: int, cutoff: int, branches: int = 1) -> np.ndarray:
    """All patterns of answers, in lexicographic order.

    Args:
      queries, cutoff, branches: as of ``count_patterns``.

    Returns:
      Int[np.ndarray, "patterns queries"]: 0 for "below", 1 and up for the kinds of
      "above", NOT_ANSWERED after the last allowed "above".

    Raises:
      InputError: if there are more than 65,536.
    """
    total = count_patterns(queries, cutoff, branches)[queries, cutoff]
    if total > _MAX_PATTERNS:
        raise InputError(
            f"{queries} queries with cutoff {cutoff} have {total:.0f} patterns of "
            f"answers; at most {_MAX_PATTERNS} are listed"
        )
    # listed[j] holds the patterns with at most j "above"; each round puts a query before them.
    listed = [np.zeros((1, 0), np.int8) for _ in range(cutoff + 1)]
    for _ in range(queries):
        longer = [np.full((1, listed[0].shape[1] + 1), NOT_ANSWERED, np.int8)]
        for left in range(1, cutoff + 1):
            parts = [(0, listed[left])]
            parts += [(kind, listed[left - 1]) for kind in range(1, branches + 1)]
            rows = [np.insert(rest, 0, first, axis=1) for first, rest in parts]
            longer.append(np.concatenate(rows))
        listed = longer
    return listed[cutoff]


# --- Given the threshold's noise ------------------------------------------------------


def quadrature_nodes(
    levels: np.ndarray, noise: SparseNoise, queries: int, extra: Edges = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of a quadrature over the threshold's noise, and the log weights of its law.

    Args:
      levels: all levels that occur; the integrand has kinks there.
      noise: of the sparse vector.
      queries: number of queries, with which the range of the nodes grows.
      extra: further kinks of the integrand.

    Returns:
      Float["nodes"], values of the threshold's noise; and Float["nodes"], the logarithm of the
      quadrature's weight times the density of the noise.

    Raises:
      InputError: for levels that are too many noise scales apart.
    """
    wide, fine = noise.threshold_scale, noise.query_scale or noise.threshold_scale
    kinks = np.unique(np.concatenate([[0.0], np.ravel(levels), extra]))
    low = kinks[0] - _REACH * wide
    high = kinks[-1] + _REACH * wide + noise.query_scale * math.log1p(queries)
    # A product of many factors for "above" and many for "below" has a narrow peak.
    narrow = max(1.0, min(noise.cutoff, queries) / 8.0)
    width = 2.0 * min(wide, fine) / narrow
    if not high - low <= _MAX_PANELS * width:
        raise InputError(
            f"levels from {kinks[0]:g} to {kinks[-1]:g} are too far apart for an exact "
            f"law with noise scales {wide:g} and {noise.query_scale:g}"
        )
    nodes, steps = panels([low, *kinks, high], width)
    density = -np.abs(nodes) / wide - math.log(2.0 * wide)
    with np.errstate(divide="ignore"):  # between kinks as close as numbers can be
        return nodes, np.log(steps) + density


def _log_tail(gap: np.ndarray) -> np.ndarray:
    """log P[standard Laplace >= gap]."""
    half = 0.5 * np.exp(-np.abs(gap))
    return np.where(gap > 0.0, -np.abs(gap) - math.log(2.0), np.log1p(-half))


def _gaps(
    levels: np.ndarray, nodes: np.ndarray, scale: float, at: np.ndarray | None = None
) -> np.ndarray:
    """The query noise, in its scale, that lifts each level to each node: Float["levels nodes"].

    ``at``, of shape ["levels nodes"] or ["nodes"], replaces the nodes. Without query noise it is
    infinite, of the sign that makes the answer certain.
    """
    distance = nodes - levels[:, None] if at is None else at - levels[:, None]
    if scale == 0.0:
        return np.where(distance > 0.0, np.inf, -np.inf)
    return distance / scale


def answer_logs(
    levels: np.ndarray, nodes: np.ndarray, noise: SparseNoise, edges: Edges = ()
) -> np.ndarray:
    """Log probabilities of the answers given the threshold's noise.

    Args:
      levels: Float["levels"].
      nodes: Float["nodes"], values of the threshold's noise.
      noise: of the sparse vector.
      edges: increasing; "above" is subdivided by the interval between edges in which the noisy
        level lies.

    Returns:
      Float["answers levels nodes"]: of "below", then of each kind of "above".
    """
    gap = _gaps(levels, nodes, noise.query_scale)
    below = _log_tail(-gap)
    if not len(edges):
        return np.stack([below, _log_tail(gap)])
    cuts = [-np.inf, *edges, np.inf]
    kinds = []
    for low, high in itertools.pairwise(cuts):
        start = np.maximum(nodes, low)
        stop = np.maximum(nodes, high)
        first = _gaps(levels, nodes, noise.query_scale, start)
        last = _gaps(levels, nodes, noise.query_scale, stop)
        # The difference of two tails of the side on which they are small: little cancels there.
        upper = first > 0.0
        large = np.where(upper, _log_tail(first), _log_tail(-last))
        small = np.where(upper, _log_tail(last), _log_tail(-first))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = large + np.log(-np.expm1(small - large))
        kinds.append(np.where(stop > start, found, -np.inf))
    return np.stack([below, *kinds])


def log_probabilities(counts: np.ndarray, logs: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Log probabilities of patterns, integrated over the threshold's noise, which is drawn once.

    Args:
      counts: Float["patterns answers"]: how often each pattern contains each answer; equal
        answers to queries of different levels are different answers here.
      logs: Float["answers nodes"], log probability of each answer given the threshold's noise.
      log_weights: Float["nodes"], from ``quadrature_nodes``.

    Returns:
      Float["patterns"].
    """
    logs = np.maximum(logs, _NEVER)
    found = np.empty(len(counts))
    step = max(1, _CHUNK // log_weights.size)
    for start in range(0, len(counts), step):
        terms = counts[start : start + step] @ logs + log_weights
        found[start : start + step] = logsumexp(terms, axis=1)
    return np.where(found < _NEVER / 2.0, -np.inf, found)


# --- Exact laws -----------------------------------------------------------------------


def check_levels(levels: npt.ArrayLike) -> np.ndarray:
    """The levels as Float["queries"]; raises InputError unless they are one list of numbers."""
    found = check_finite("levels", levels)
    if found.ndim != 1:
        raise InputError("levels must be one list of numbers, a number for each query")
    return found


def pattern_law(levels: npt.ArrayLike, noise: SparseNoise, edges: Edges = ()) -> np.ndarray:
    """Log probabilities of all patterns of answers, in the order of ``all_patterns``.

    Args:
      levels: Float["queries"], answers minus threshold.
      noise: of the sparse vector.
      edges: increasing; if there are any, "above" comes with its noisy level, and is told apart
        by the interval between edges in which this lies.

    Returns:
      Float[np.ndarray, "patterns"].

    Raises:
      InputError: if there are more than 65,536 patterns, or for bad settings.
    """
    levels, noise = check_levels(levels), check_noise(noise)
    table = all_patterns(levels.size, noise.cutoff, len(edges) + 1)
    distinct, which = np.unique(levels, return_inverse=True)
    nodes, log_weights = quadrature_nodes(distinct, noise, levels.size, edges)
    logs = answer_logs(distinct, nodes, noise, edges)[:, which]
    if noise.redrawn:
        return _sum_of_segments(table, *segment_logs(logs, log_weights))
    kinds = len(logs)
    counts = (table[:, :, None] == np.arange(kinds)).astype(np.float64)
    flat = logs.transpose(1, 0, 2).reshape(-1, nodes.size)
    return log_probabilities(counts.reshape(len(table), -1), flat, log_weights)


def segment_logs(logs: np.ndarray, log_weights: np.ndarray):
    """Log probabilities of where the next "above" is, if the threshold's noise is drawn before i.

    Args:
      logs: Float["answers queries nodes"], see ``answer_logs``.
      log_weights: Float["nodes"], from ``quadrature_nodes``.

    Returns:
      Float["queries queries kinds"]: entry [i, j, kind] is the log probability that queries i to
      j - 1 are answered "below" and query j "above", of this kind; -inf where j < i. And
      Float["queries+1"]: entry i is the log probability that all queries from i on are answered
      "below".
    """
    kinds, queries = logs.shape[0] - 1, logs.shape[1]
    first = np.full((queries, queries, kinds), -np.inf)
    alive = np.broadcast_to(log_weights, (queries, log_weights.size)).copy()
    for j in range(queries):
        rows = alive[: j + 1]
        for kind in range(kinds):
            first[: j + 1, j, kind] = logsumexp(rows + logs[kind + 1, j], axis=1)
        rows += logs[0, j]
    return first, np.append(np.asarray(logsumexp(alive, axis=1)), 0.0)


def _sum_of_segments(table: np.ndarray, first: np.ndarray, none: np.ndarray):
    """Log probability of each pattern in the table, summed over its segments.

    ``first`` and ``none`` are what ``segment_logs`` returns.
    """
    found = np.zeros(len(table))
    start = np.zeros(len(table), np.int64)
    for j in range(table.shape[1]):
        hit = table[:, j] > 0
        found[hit] += first[start[hit], j, table[hit, j] - 1]
        start[hit] = j + 1
    unfinished = table[:, -1] != NOT_ANSWERED
    # A pattern that ends with its last allowed "above" is finished, too: none[-1] = 0.
    found[unfinished] += none[start[unfinished]]
    return found


def pattern_log_probability(
    levels: npt.ArrayLike, above: npt.ArrayLike, noise: SparseNoise
) -> float:
    """Log probability of one pattern of answers, for any number of queries.

    Args:
      levels: Float["queries"], of the queries that are answered.
      above: Bool["queries"], whether each is answered "above"; at most ``cutoff`` are, and if so
        many are, then the last query is one of them.
      noise: of the sparse vector.

    Raises:
      InputError: for a pattern that cannot occur, or bad settings.
    """
    levels, noise = check_levels(levels), check_noise(noise)
    answers = np.asarray(above, dtype=bool)
    if answers.shape != levels.shape:
        raise InputError(
            f"there are {levels.size} levels and {answers.size} answers; each query has one of both"
        )
    if np.sum(answers[:-1]) >= noise.cutoff:
        raise InputError(f"queries are answered after {noise.cutoff} were above")
    # With a redrawn threshold, each "above" ends a part that is independent of the rest.
    cuts = np.flatnonzero(answers[:-1]) + 1 if noise.redrawn else []
    total = 0.0
    for part, said in zip(np.split(levels, cuts), np.split(answers, cuts), strict=True):
        distinct, which = np.unique(part, return_inverse=True)
        nodes, log_weights = quadrature_nodes(distinct, noise, part.size)
        logs = answer_logs(distinct, nodes, noise).transpose(1, 0, 2)
        counts = np.zeros((distinct.size, 2))
        np.add.at(counts, (which, said.astype(int)), 1.0)
        flat = logs.reshape(-1, nodes.size)
        total += float(log_probabilities(counts.reshape(1, -1), flat, log_weights)[0])
    return total
