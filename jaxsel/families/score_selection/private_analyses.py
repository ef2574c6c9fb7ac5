"""Private analyses of a size that is tuned: k-means and principal components.

Liu & Talwar 2019, Section 5.2: a step of an analysis tries several sizes and keeps the best. Each
analysis here is a base: one run draws a random size, analyses the data privately, and scores the
result privately. ``private_tuning`` releases the best of a geometric number of runs, at three times
the epsilon of one run.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxsel.families.private_tuning.bases import Base, Draw
from jaxsel.families.score_selection.analysis_settings import clustering_noise, component_noise
from jaxsel.families.score_selection.parameters import Iterations, RunEpsilon, Sizes
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise, stream
from jaxsel.language.base import factory
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import read_params
from jaxsel.repetitions import Repetitions

_SIZE_TAG, _START_TAG, _NOISE_TAG, _SCORE_TAG = 0x51, 0x52, 0x53, 0x54
_FAR = 1e3  # position of unused centres

Numbers = Array | np.ndarray


def _laplace(key: stream.Key, shape: tuple[int, ...]) -> Array:
    """Standard Laplace noise of this shape."""
    draws = jnp.arange(int(np.prod(shape)), dtype=jnp.int32)
    variates = jax.vmap(lambda i: noise.variate("laplace", key, i, "float64"))(draws)
    return variates.reshape(shape)


def _uniforms(key: stream.Key, shape: tuple[int, ...]) -> Array:
    draws = jnp.arange(int(np.prod(shape)), dtype=jnp.int32)
    return jax.vmap(lambda i: noise.uniform(noise.number(key, i)))(draws).reshape(shape)


def cluster_statistics(
    points: Float[Numbers, "n d"], centres: Float[Numbers, "k d"]
) -> Float[Array, "k d+1"]:
    """The number and the sum of the points nearest to each centre, before noise is added."""
    nearest = jnp.argmin(_squares(points, centres), axis=1).astype(jnp.int32)
    member = (nearest[:, None] == jnp.arange(centres.shape[0], dtype=jnp.int32)[None, :]).astype(
        points.dtype
    )
    return jnp.concatenate([member.sum(axis=0)[:, None], member.T @ points], axis=1)


def _squares(points: Numbers, centres: Numbers) -> Array:
    """The squared distance of each point from each centre: Float["n k"]."""
    return jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)


def clustering_loss(points: Numbers, centres: Numbers) -> Array:
    """The mean, over the points, of the squared distance to the nearest centre, capped at 1."""
    return jnp.mean(jnp.minimum(_squares(points, centres).min(axis=1), 1.0))


def component_statistics(points: Float[Numbers, "n d"]) -> Float[Array, " entries"]:
    """The entries on and above the diagonal of the sum of x x^T, before noise is added."""
    rows, columns = np.triu_indices(points.shape[1])
    return jnp.asarray(points.T @ points)[rows, columns]


def component_loss(points: Numbers, directions: Float[Numbers, "d r"]) -> Array:
    """The mean squared length of what a projection onto the directions leaves of the points.

    It lies in [0, 1], as points have length at most 1.
    """
    return jnp.mean(jnp.sum(points**2, axis=1) - jnp.sum((points @ directions) ** 2, 1))


def _clusters(key: stream.Key, size: Array, data: Any, params: Any) -> Array:
    """Runs Lloyd's algorithm on noisy counts and sums, and returns the ``clustering_loss``."""
    points = jnp.asarray(data["points"])
    most = jnp.arange(params["sizes"].shape[0], dtype=jnp.int32)
    used = (most < size)[:, None]
    uniform = _uniforms(stream.fold(key, _START_TAG), (used.shape[0], points.shape[1]))
    centres = jnp.where(used, 2.0 * uniform - 1.0, _FAR)

    def once(iteration, centres):
        found = cluster_statistics(points, centres)
        fresh = stream.at_round(stream.fold(key, _NOISE_TAG), iteration)
        found = found + params["analysis_scale"] * _laplace(fresh, found.shape)
        moved = found[:, 1:] / jnp.maximum(found[:, :1], 1.0)
        return jnp.where(used, jnp.clip(moved, -1.0, 1.0), _FAR)

    centres = jax.lax.fori_loop(0, params["iterations"], once, centres)
    return clustering_loss(points, centres)


def _components(key: stream.Key, size: Array, data: Any, params: Any) -> Array:
    """Finds the first eigenvectors of a noisy covariance matrix; returns the ``component_loss``."""
    points = jnp.asarray(data["points"])
    dimension = points.shape[1]
    released = component_statistics(points)
    noises = _laplace(stream.fold(key, _NOISE_TAG), released.shape)
    released = released + params["analysis_scale"] * noises
    upper = jnp.zeros((dimension, dimension)).at[np.triu_indices(dimension)].set(released)
    _, vectors = jnp.linalg.eigh(upper + upper.T - jnp.diag(jnp.diag(upper)))
    # The largest eigenvalues come last.
    used = jnp.arange(dimension, dtype=jnp.int32) >= dimension - size
    return component_loss(points, jnp.where(used[None, :], vectors, 0.0))


def _checked_points(data: Any) -> np.ndarray:
    points = check_finite("points", data)
    if points.ndim != 2:
        raise InputError("points must be a table with one row a point")
    return points


def _base(
    analyse: Callable[..., Array],
    numbers: Callable[[np.ndarray, dict], dict[str, Any]],
    own: dict[str, Any],
) -> Base:
    """A base whose run draws a random size, makes an analysis of this size, and scores it.

    Args:
      analyse: ``(key, size, data, params) -> loss`` in [0, 1], on the device.
      numbers: ``(points, params) -> params``, on the host: what the analysis needs, and the scales
        of the noise.
      own: the parameters that only this analysis has, with their domains.
    """
    required = {"sizes": Sizes, "run_epsilon": RunEpsilon, "price": number(), **own}

    def checked(data, params) -> tuple[np.ndarray, dict[str, Any]]:
        read = read_params(params, required, {"bins": whole(at_least=1)})
        return _checked_points(data), {"bins": 1, **read}

    def prepare(data, params):
        points, read = checked(data, params)
        return {"points": points}, numbers(points, read) | {
            "sizes": np.zeros(read["sizes"]),  # its length is the largest size
            "price": np.float64(read["price"]),
            "bins": np.int32(read["bins"]),
        }

    def draw(key, data, params):
        uniform = noise.uniform(noise.number(stream.fold(key, _SIZE_TAG), 0))
        sizes = params["sizes"].shape[0]
        index = jnp.minimum((uniform * sizes).astype(jnp.int32), sizes - 1)
        loss = analyse(key, index + 1, data, params)
        value = -loss - params["price"] * (index + 1).astype(loss.dtype)
        noises = _laplace(stream.fold(key, _SCORE_TAG), (1,))[0]
        score = value + params["score_scale"] * noises
        # The true quality of the run, for evaluation only.
        bins = jnp.asarray(params["bins"])
        part = jnp.clip((loss * bins.astype(loss.dtype)).astype(jnp.int32), 0, bins - 1)
        return Draw(score, score, index * bins + part)

    def labels(data, params):
        read = checked(data, params)[1]
        sizes, bins = read["sizes"], read["bins"]
        if bins == 1:
            return tuple(f"size {i + 1}" for i in range(sizes))
        return tuple(f"size {i + 1} loss {b}/{bins}" for i in range(sizes) for b in range(bins))

    def unknown(*given: Any) -> Any:
        del given
        raise InputError("a private analysis has no exact law; use method literal")

    def no_law(data, params, repetitions: Repetitions) -> np.ndarray:
        return unknown(data, params, repetitions)

    return Base(prepare, draw, unknown, labels, unknown, no_law)


@factory
def private_clusters() -> Base:
    """A base that clusters points by private k-means and scores the result privately.

    A run draws the number of clusters uniformly from 1 to "sizes". Its score is minus the loss
    (``clustering_loss``) and minus "price" for each cluster, plus Laplace noise.

    Data: points, Float["n d"], in [-1, 1]^d; n is public.
    Params: "sizes", the largest number of clusters (K in the paper); "run_epsilon", the pure
      epsilon of one run (epsilon_1); "iterations" of k-means; "price"; "bins", the number of bins
      of the true loss, default 1.
    Label: the number of clusters; with several bins also the bin of the true loss, which is not
      private and for evaluation only.

    Formal guarantee (claims): LT-5.2-clusters, LT-5.2-choice.

    Raises:
      InputError: for points outside the cube.
    """

    def numbers(points: np.ndarray, params: dict) -> dict[str, Any]:
        if np.any(np.abs(points) > 1.0):
            raise InputError("points must lie in [-1, 1]^d")
        count, dimension = points.shape
        scales = clustering_noise(
            count, dimension, params["run_epsilon"], iterations=params["iterations"]
        )
        return {
            "analysis_scale": np.float64(scales.analysis),
            "score_scale": np.float64(scales.score),
            "iterations": np.int32(params["iterations"]),
        }

    return _base(_clusters, numbers, {"iterations": Iterations})


@factory
def private_components() -> Base:
    """A base that finds principal components privately and scores them privately.

    A run draws the rank uniformly from 1 to "sizes". Its score is minus the loss
    (``component_loss``) and minus "price" for each component, plus Laplace noise.

    Data: points, Float["n d"], of Euclidean length at most 1; n is public.
    Params: as for ``private_clusters``, without "iterations"; "sizes" at most d.
    Label: the rank; with several bins also the bin of the true loss, as for ``private_clusters``.

    Formal guarantee (claims): LT-5.2-components, LT-5.2-choice.

    Raises:
      InputError: for points that are too long, or more sizes than dimensions.
    """

    def numbers(points: np.ndarray, params: dict) -> dict[str, Any]:
        if np.any(np.sum(points**2, axis=1) > 1.0 + 1e-12):
            raise InputError("points must have length at most 1")
        if params["sizes"] > points.shape[1]:
            raise InputError(f"sizes must be at most {points.shape[1]}, the dimension")
        count, dimension = points.shape
        scales = component_noise(count, dimension, params["run_epsilon"])
        return {
            "analysis_scale": np.float64(scales.analysis),
            "score_scale": np.float64(scales.score),
        }

    return _base(_components, numbers, {})
