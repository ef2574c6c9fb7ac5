"""The queries of percentile sparse vectors, given as shares, or as a base with thresholds.

A query of Liu & Talwar 2019, Section 4, is a base with a threshold. The laws depend only on its
share p = P[score >= threshold], while the literal algorithms run the base.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxsel.families.percentile.laws import checked_shares
from jaxsel.families.private_tuning.bases import Base
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise, stream

Params = dict[str, Any]
Runs = Callable[[stream.Key, Any, Any], Array]


class Queries(NamedTuple):
    """The queries of one input, prepared for the laws and for the samplers.

    Attributes:
      shares: Float[np.ndarray, "queries"], for the laws.
      data: arrays for the sampler: the shares, and, of a base, thresholds and prepared inputs.
      params: the prepared parameters of the base.
    """

    shares: np.ndarray
    data: dict[str, Any]
    params: Any


def split_params(
    base: Base | None, params: Mapping[str, Any], own: tuple[str, ...]
) -> tuple[Params, Params]:
    """Splits parameters into the mechanism's, whose names are ``own``, and all others, the base's.

    Without a base all of them are the mechanism's.
    """
    if base is None:
        return dict(params), {}
    rest = {name: value for name, value in params.items() if name not in own}
    return {name: params[name] for name in params if name in own}, rest


def _asked(data: Any, runs: str) -> tuple[Any, np.ndarray]:
    """The inputs of the base and the thresholds, Float["queries"], in a mechanism's data.

    Args:
      data: mapping with "thresholds" and the key ``runs``.
      runs: "run" or "runs".

    Raises:
      InputError: for other keys, or thresholds that are no list of numbers.
    """
    if not isinstance(data, Mapping) or set(data) != {runs, "thresholds"}:
        raise InputError(f'data must be a mapping with "{runs}" and "thresholds"')
    thresholds = check_finite("thresholds", data["thresholds"])
    if thresholds.ndim != 1:
        raise InputError("thresholds must be one list of numbers")
    return data[runs], thresholds


def _share(base: Base, run: Any, params: Params, threshold: float) -> float:
    """The probability that a run of the base on the input ``run`` reaches the threshold."""
    return min(1.0, float(base.law_above(run, params, threshold).sum()))


def stream_of_queries(base: Base | None, data: Any, params: Params) -> Queries:
    """The queries of Algorithms 3 and 4, each with an input of the base and a threshold of its own.

    Args:
      base: the base; None if ``data`` are shares.
      data: Float["queries"], the shares; or {"runs": the base's input for each query,
        "thresholds": Float["queries"]}.
      params: the parameters of the base.

    Raises:
      InputError: for shares that are no probabilities, or inputs and thresholds that are not
        equally many.
    """
    if base is None:
        shares = checked_shares(data)
        return Queries(shares, {"share": shares}, ())
    runs, thresholds = _asked(data, "runs")
    if len(runs) != thresholds.size:
        raise InputError(
            f"there are {len(runs)} runs and {thresholds.size} thresholds; a query has one of each"
        )
    shares = np.array(
        [
            _share(base, run, params, float(threshold))
            for run, threshold in zip(runs, thresholds, strict=True)
        ]
    )
    prepared = [base.prepare(run, params) for run in runs]
    inputs = jax.tree.map(lambda *parts: np.stack(parts), *(run for run, _ in prepared))
    arrays = {"share": shares, "threshold": thresholds, "runs": inputs}
    return Queries(shares, arrays, prepared[0][1])


def falling_thresholds(base: Base | None, data: Any, params: Params) -> Queries:
    """The queries of Algorithm 5: one input of the base at falling thresholds.

    Args:
      base: the base; None if ``data`` are shares.
      data: Float["thresholds"], the shares, not decreasing; or {"run": the base's input,
        "thresholds": Float["thresholds"], falling}.
      params: the parameters of the base.

    Raises:
      InputError: for shares that decrease or are no probabilities, or thresholds that rise.
    """
    if base is None:
        shares = checked_shares(data)
        if np.any(np.diff(shares) < 0.0):
            raise InputError("shares fall; lower thresholds are reached at least as often")
        return Queries(shares, {"share": shares}, ())
    run, thresholds = _asked(data, "run")
    if np.any(np.diff(thresholds) > 0.0):
        raise InputError("thresholds rise; give the highest first")
    shares = np.array([_share(base, run, params, float(t)) for t in thresholds])
    # Shares of falling thresholds must not decrease by rounding.
    shares = np.maximum.accumulate(shares)
    inputs, base_params = base.prepare(run, params)
    arrays = {"share": shares, "threshold": thresholds, "runs": inputs}
    return Queries(shares, arrays, base_params)


def one_run(base: Base | None) -> Runs:
    """A function (key, data, params) that draws whether a run reaches a threshold.

    Its ``data`` are those of ``Queries``: of one query, or of one base with all its thresholds, and
    then the result is Bool["thresholds"].
    """
    if base is None:
        return lambda key, data, params: (
            noise.uniform(noise.number(key, 0)) <= jnp.asarray(data["share"])
        )
    return lambda key, data, params: (
        base.draw(key, data["runs"], params).score >= jnp.asarray(data["threshold"])
    )
