"""Best of K over uniformly random candidates with Laplace noise, in closed form.

Between two neighbouring scores the tail of the mixture is a sum of two exponentials and a
constant, so that the score of a given tail rank solves a quadratic equation, the candidate
given the score is found by look-up, and the law of the best of K takes one integral for
each pair of neighbouring scores instead of one for each candidate.
"""

import numpy as np

from jaxsel.repetitions import Repetitions

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL, _REACH = 0.5, 50.0


def rank_tables(scores: np.ndarray, scale: float) -> dict[str, np.ndarray]:
    """Tables for looking up the run of a given tail rank.

    With d the scores in units of the noise, best first:
    upper[i] = log sum_{k<i} e^(-d_k), lower[i] = log sum_{k>=i} e^(d_k), and
    tail[i] = P(run > d_i); -inf stands for an empty sum.
    """
    labels = np.argsort(-scores, kind="stable")
    d = scores[labels] / scale
    count = d.size
    empty = np.array([-np.inf])
    upper = np.concatenate([empty, np.logaddexp.accumulate(-d)])
    lower = np.concatenate([np.logaddexp.accumulate(d[::-1])[::-1], empty])
    index = np.arange(count)
    better = index - 0.5 * np.exp(d + upper[:-1]) + 0.5 * np.exp(lower[:-1] - d)
    return {
        "d": d,
        "upper": upper,
        "lower": lower,
        "tail": better / count,
        "label": labels.astype(np.int32),
    }


def _nodes(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of the integral from one score up to the next.

    The middle of a wide gap, where the integrand is below e^-_REACH of its ends, is
    omitted.
    """
    wide = high - low > 2.0 * _REACH
    parts = [(low, low + _REACH), (high - _REACH, high)] if wide else [(low, high)]
    y, weights = [], []
    for first, last in parts:
        edges = np.linspace(first, last, int(np.ceil((last - first) / _PANEL)) + 1)
        half = 0.5 * np.diff(edges)[:, None]
        y.append((edges[:-1, None] + half * (1.0 + _NODES)).ravel())
        weights.append((half * _WEIGHTS).ravel())
    return np.concatenate(y), np.concatenate(weights)


def best_law(scores: np.ndarray, scale: float, repetitions: Repetitions) -> np.ndarray:
    """Law of the best of K over candidates, P[K = 0] last; Float64["candidates + 1"].

    Gauss-Legendre between neighbouring scores; closed form beyond the outermost.

    Args:
      scores: of the candidates.
      scale: of the Laplace noise.
      repetitions: law of K.
    """
    tables = rank_tables(scores, scale)
    d, upper, lower = tables["d"], tables["upper"], tables["lower"]
    count = d.size
    # above[i], below[i]: integrals of f'(1 - tail(y)) e^(y - d_{i-1}) and e^(d_i - y)
    # over the y between d_i and d_{i-1}.
    above, below = np.zeros(count + 1), np.zeros(count + 1)
    best, worst = tables["tail"][0], 0.5 * np.exp(upper[-1] + d[-1]) / count
    below[0] = repetitions.pgf_gap(best) / best
    reached = repetitions.pgf_tail(1.0 - worst) - repetitions.probability_zero
    above[count] = reached / worst
    for i in np.flatnonzero(d[:-1] > d[1:]) + 1:
        y, weights = _nodes(d[i], d[i - 1])
        tail = i - 0.5 * np.exp(y + upper[i]) + 0.5 * np.exp(lower[i] - y)
        slope = weights * repetitions.pgf_derivative_tail(tail / count)
        above[i] = slope @ np.exp(y - d[i - 1])
        below[i] = slope @ np.exp(d[i] - y)
    gaps = d[None, :] - d[:, None]  # [k, i]: d_i - d_k, at most 0 for k <= i
    chosen = np.tril(np.exp(np.minimum(-gaps, 0.0))) @ below[:-1]
    chosen += np.triu(np.exp(np.minimum(gaps, 0.0))) @ above[1:]
    law = np.empty(count + 1)
    law[tables["label"]] = chosen / (2.0 * count)
    law[-1] = repetitions.probability_zero
    return law
