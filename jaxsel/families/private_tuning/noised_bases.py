"""Bases with continuous scores: candidates whose scores carry Laplace or Gaussian noise."""

import itertools

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special
from jaxtyping import Array

from jaxsel.families.private_tuning.bases import Base, Draw
from jaxsel.families.private_tuning.parameters import Noise, Scale, Sign
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import look_up, stream
from jaxsel.kernel import noise as noises
from jaxsel.language.base import factory
from jaxsel.language.signature import read_params
from jaxsel.tuning import laplace_candidates
from jaxsel.tuning.attained.exact_laws import tuned_index_law
from jaxsel.tuning.base_laws import survival

_BISECTIONS = 64  # after which the bracket of a score is as short as float64 allows


def _score_of_rank(noise: str, rank: Array) -> Array:
    """The z at which standard noise Z has P(Z > z) = rank; ``noise`` is its law."""
    upper = rank < 0.5
    t = jnp.where(upper, rank, 1 - rank)
    return noises.LAWS[noise](noises.Ends(upper, t))


def _parameters(data, params, optional=None) -> tuple[np.ndarray, float]:
    """The scores, Float64["m"], and the noise scale, checked.

    ``optional`` are further parameters that may be given.
    """
    given = read_params(params, {"noise_scale": Scale}, optional)
    scores = check_finite("scores", data)
    if scores.ndim != 1:
        raise InputError("scores must be one list of numbers")
    return scores, given["noise_scale"]


def _first_variate(noise: str, key: stream.Key) -> Array:
    """The noise of one run, in standard form."""
    return noises.variate(noise, key, 1, noises.widest_precision())


@factory
def random_candidate(noise: Noise = "laplace") -> Base:
    """A base that draws a candidate j uniformly, and gives (j, score_j + b Z).

    It is the base of Liu & Talwar 2019, Section 5.1, and of Papernot & Steinke 2022,
    Appendix D.4.

    Args:
      noise: the law of Z, "laplace" or "gaussian", in standard form.

    Data: scores, Float["m"].
    Params: ``{"noise_scale": b}``, in units of the scores.
    Label: j, the candidate's index. Score: the noisy one.

    Example:
        >>> import jaxsel
        >>> tuning = jaxsel.private_tuning(jaxsel.random_candidate())
        >>> params = {"noise_scale": 1.0, "repetitions": jaxsel.repetitions.geometric(gamma=0.1)}
        >>> print(tuning.law([0.0, 3.0], params).probabilities.round(2))  # of 0, 1 and nothing
        [0.13 0.87 0.  ]
    """

    def prepare(data, params):
        scores, scale = _parameters(data, params)
        prepared = {"scores": scores, "noise_scale": np.float64(scale)}
        if noise == "laplace":
            prepared["tables"] = laplace_candidates.rank_tables(scores, scale)
        return prepared, ()

    def draw(key, data, params):
        del params
        count = data["scores"].shape[-1]
        word, _ = stream.words(key, 0)
        # 32 bits choose the candidate, so that each has the probability 1/count up to 2**-32.
        index = (word.astype(jnp.uint64) * jnp.uint64(count)) >> jnp.uint64(32)
        index = index.astype(jnp.int32)
        z = _first_variate(noise, key)
        score = jnp.asarray(data["scores"])[index] + data["noise_scale"] * z
        return Draw(score, score, index)

    def at_rank(key, rank, data, params):
        del params
        if noise == "laplace":
            scale, tables = data["noise_scale"], data["tables"]
            return _laplace_at_rank(key, rank, scale, tables)
        score = _invert_gaussian_mixture(rank, data)
        # Given the noisy score, the candidate is drawn in proportion to its density there.
        z = (score - jnp.asarray(data["scores"])) / data["noise_scale"]
        density = jnp.cumsum(jnp.exp(-0.5 * z * z))
        uniform = noises.uniform(noises.number(key, 0, "tail")).astype(density.dtype)
        index = jnp.sum(density < uniform * density[-1]).astype(jnp.int32)
        return Draw(score, score, index)

    def labels(data, params):
        del params
        return tuple(str(i) for i in range(np.size(data)))

    def law_above(data, params, threshold):
        scores, scale = _parameters(data, params)
        return survival(noise, (threshold - scores) / scale) / scores.size

    def best_law(data, params, repetitions):
        scores, scale = _parameters(data, params)
        if noise == "laplace":
            return laplace_candidates.best_law(scores, scale, repetitions)
        return tuned_index_law(scores, scale, repetitions, noise=noise)

    return Base(prepare, draw, at_rank, labels, law_above, best_law)


def _laplace_at_rank(key, rank, scale, tables) -> Draw:
    """The run of a given tail rank among candidates with Laplace noise.

    Args:
      key: draws the candidate, given the noisy score.
      rank: the probability that a fresh run is better.
      scale: b.
      tables: of ``laplace_candidates.rank_tables``, in units of the noise.
    """
    d, upper, lower = (jnp.asarray(tables[name]) for name in ("d", "upper", "lower"))
    count = d.shape[-1]
    # Let y be the noisy score over b, and i the number of scores over b that are at least y. Then
    # count * rank = i - (e^(y + upper_i) - e^(lower_i - y))/2, a quadratic equation for e^y. Of the
    # two forms of its root, the one is taken in which nothing cancels.
    i = look_up.position(tables["tail"], rank, "right")
    half = count * rank - i.astype(rank.dtype)
    root = jnp.sqrt(half * half + jnp.exp(upper[i] + lower[i]))
    y = jnp.where(
        half > 0, lower[i] - jnp.log(jnp.abs(half) + root), jnp.log(jnp.abs(half) + root) - upper[i]
    )
    # Given y, candidate k is drawn in proportion to its density e^(-|y - d_k|)/2. The i candidates
    # above y have the mass e^(y + upper_i), the others e^(lower_i - y), up to the same factor.
    mass_above, mass_below = jnp.exp(y + upper[i]), jnp.exp(lower[i] - y)
    uniform = noises.uniform(noises.number(key, 0))
    u = uniform * (mass_above + mass_below)
    from_above = u < mass_above
    above = look_up.position(upper[1:], jnp.log(u) - y)
    rest = jnp.log(jnp.maximum(u - mass_above, 0.0)) + y
    below = count - 1 - look_up.position(lower[:-1][::-1], rest)
    position = jnp.where(from_above, jnp.minimum(above, i - 1), jnp.maximum(below, i))
    position = jnp.clip(position, 0, count - 1)
    score = scale * y
    return Draw(score, score, jnp.asarray(tables["label"])[position])


def _invert_gaussian_mixture(rank: Array, data) -> Array:
    """The noisy score y that a fresh run exceeds with probability ``rank``, for Gaussian noise.

    It solves mean_j P(score_j + b Z > y) = rank by bisection, in logarithms.

    Args:
      rank: Float[Array, ""].
      data: as ``random_candidate`` prepares it.
    """
    scores, scale = jnp.asarray(data["scores"]), data["noise_scale"]
    quantile = scale * _score_of_rank("gaussian", rank)
    log_rank = jnp.log(rank)
    log_count = jnp.log(jnp.asarray(scores.shape[-1], rank.dtype))

    def halve(_, bracket):
        low, high = bracket
        middle = 0.5 * (low + high)
        logs = special.log_ndtr((scores - middle) / scale)
        above = special.logsumexp(logs) - log_count > log_rank
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    # y lies between the quantiles, at this rank, of the worst and of the best candidate's score.
    start = (scores.min() + quantile, scores.max() + quantile)
    low, high = lax.fori_loop(0, _BISECTIONS, halve, start)
    return 0.5 * (low + high)


@factory
def noised_score(noise: Noise = "gaussian", *, sign: Sign = 1) -> Base:
    """A base that gives a value plus noise b Z; the label is the bin of the noisy value.

    Args:
      noise: the law of Z, "laplace" or "gaussian", in standard form.
      sign: 1 if a high value is better, -1 if a low one is; the score is sign * noisy value.

    Data: the value, a number.
    Params: ``{"noise_scale": b, "edges": [...]}``, b in units of the value; edges are the ends of
      the bins of the noisy value, increasing (default: one, at 0). Bin i holds edges[i-1] <= value
      < edges[i].

    Example:
        >>> import jaxsel
        >>> base = jaxsel.noised_score("laplace")
        >>> bins = {"noise_scale": 1.0, "edges": [0.0]}
        >>> tuning = jaxsel.private_tuning(base)
        >>> law = tuning.law(0.0, bins | {"repetitions": jaxsel.repetitions.geometric(gamma=0.5)})
        >>> print(law.labels, law.probabilities.round(3))
        ('[-inf, 0)', '[0, inf)', 'none') [0.333 0.667 0.   ]
    """

    def checked(data, params):
        scores, scale = _parameters(np.atleast_1d(np.asarray(data)), params, {"edges": None})
        edges = check_finite("edges", params.get("edges", [0.0]))
        if scores.size != 1:
            raise InputError("noised_score takes one score; use random_candidate")
        if edges.ndim != 1 or np.any(np.diff(edges) <= 0):
            raise InputError("edges must be a strictly increasing list of numbers")
        return float(scores[0]), scale, edges

    def prepare(data, params):
        score, scale, edges = checked(data, params)
        return {"score": np.float64(score), "scale": np.float64(scale), "edges": edges}, ()

    def finish(z, data):
        """The run whose noise, in standard form, is z."""
        value = data["score"] + data["scale"] * z
        label = look_up.position(data["edges"], value, "right")
        return Draw(sign * value, sign * value, label.astype(jnp.int32))

    def draw(key, data, params):
        del params
        return finish(_first_variate(noise, key), data)

    def at_rank(key, rank, data, params):
        del key, params
        return finish(sign * _score_of_rank(noise, rank), data)

    def labels(data, params):
        edges = [f"{edge:g}" for edge in checked(data, params)[2]]
        bounds = ["-inf", *edges, "inf"]
        return tuple(f"[{a}, {b})" for a, b in itertools.pairwise(bounds))

    def law_above(data, params, threshold):
        score, scale, edges = checked(data, params)
        bins = np.concatenate([[-np.inf], edges, [np.inf]])
        # Values at or above the threshold are good enough; if low values are better, those at or
        # below its negative. Bins are cut there.
        bins = np.maximum(bins, threshold) if sign > 0 else np.minimum(bins, -threshold)
        above = survival(noise, (bins - score) / scale)
        return above[:-1] - above[1:]

    def best_law(data, params, repetitions):
        score, scale, edges = checked(data, params)
        z = (edges - score) / scale
        # better[i] is the probability that a run beats the i-th edge, best edge first.
        better = survival(noise, z[::-1] if sign > 0 else -z)
        gaps = repetitions.pgf_gap(np.concatenate([[0.0], better, [1.0]]))
        law = np.maximum(np.diff(gaps), 0.0)
        law = law[::-1] if sign > 0 else law
        return np.append(law, repetitions.probability_zero)

    return Base(prepare, draw, at_rank, labels, law_above, best_law)
