"""Best of K over uniformly random candidates with Laplace noise, in closed form.

Between two neighbouring scores the tail of the mixture is a sum of two exponentials and a
constant, so that the score of a given tail rank solves a quadratic equation, the candidate
given the score is found by look-up, and the law of the best of K takes one integral for
each pair of neighbouring scores instead of one for each candidate.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsel import noise
from jaxsel.families.tuning.bases import Draw
from jaxsel.repetitions import Repetitions

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL = 0.5


def rank_tables(scores: np.ndarray, scale: float) -> dict[str, np.ndarray]:
    """What ``at_rank`` looks up.

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


def at_rank(key, rank, scale, data: dict[str, Any]) -> Draw:
    """The run of a given tail rank; ``data`` are the tables, ``scale`` is the noise's."""
    d, upper, lower = (jnp.asarray(data[name]) for name in ("d", "upper", "lower"))
    count = d.shape[-1]
    # i scores are at least y: count rank = i - (e^(y + upper_i) - e^(lower_i - y))/2.
    i = jnp.searchsorted(jnp.asarray(data["tail"]), rank, side="right")
    half = count * rank - i.astype(rank.dtype)
    root = jnp.sqrt(half * half + jnp.exp(upper[i] + lower[i]))
    y = jnp.where(
        half > 0,
        lower[i] - jnp.log(jnp.abs(half) + root),
        jnp.log(jnp.abs(half) + root) - upper[i],
    )
    # The candidate, in proportion to its density e^(-|y - d_k|)/2.
    mass_above, mass_below = jnp.exp(y + upper[i]), jnp.exp(lower[i] - y)
    uniform = noise.uniform(noise.number(key, 0))
    u = uniform * (mass_above + mass_below)
    from_above = u < mass_above
    above = jnp.searchsorted(upper[1:], jnp.log(u) - y, side="left")
    rest = jnp.log(jnp.maximum(u - mass_above, 0.0)) + y
    below = count - 1 - jnp.searchsorted(lower[:-1][::-1], rest, side="left")
    position = jnp.where(from_above, jnp.minimum(above, i - 1), jnp.maximum(below, i))
    position = jnp.clip(position, 0, count - 1)
    score = scale * y
    return Draw(score, score, jnp.asarray(data["label"])[position])


def best_law(scores: np.ndarray, scale: float, repetitions: Repetitions) -> np.ndarray:
    """Law of the best of K over candidates, P[K = 0] last; Float64["candidates + 1"].

    Gauss-Legendre between neighbouring scores; closed form beyond the outermost.
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
        panels = int(np.ceil((d[i - 1] - d[i]) / _PANEL))
        edges = np.linspace(d[i], d[i - 1], panels + 1)
        half = 0.5 * np.diff(edges)[:, None]
        y = (edges[:-1, None] + half * (1.0 + _NODES)).ravel()
        weights = (half * _WEIGHTS).ravel()
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
