"""Queries of percentile sparse vectors: shares, or a base and thresholds.

Liu & Talwar 2019, Section 4. A query is a base with a threshold; the laws depend on its
share p = P[score >= threshold] only, while the literal algorithms run the base.
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
    """Prepared queries, for the laws and for the samplers.

    Attributes:
      shares: Float[np.ndarray, "queries"].
      data: arrays of the sampler: the shares, and the prepared input of a base.
      params: of the base, prepared.
    """

    shares: np.ndarray
    data: dict[str, Any]
    params: Any


def split_params(
    base: Base | None, params: Mapping[str, Any], own: tuple[str, ...]
) -> tuple[Params, Params]:
    """A mechanism's own parameters, whose names are ``own``, and the other ones: the base's."""
    if base is None:
        return dict(params), {}
    rest = {name: value for name, value in params.items() if name not in own}
    return {name: params[name] for name in params if name in own}, rest


def _asked(data: Any, runs: str) -> tuple[Any, np.ndarray]:
    if not isinstance(data, Mapping) or set(data) != {runs, "thresholds"}:
        raise InputError(f'data must be a mapping with "{runs}" and "thresholds"')
    thresholds = check_finite("thresholds", data["thresholds"])
    if thresholds.ndim != 1:
        raise InputError("thresholds must be one list of numbers")
    return data[runs], thresholds


def _share(base: Base, run: Any, params: Params, threshold: float) -> float:
    return min(1.0, float(base.law_above(run, params, threshold).sum()))


def stream_of_queries(base: Base | None, data: Any, params: Params) -> Queries:
    """The queries of a base that has another input, and another threshold, each time: Algorithms 3
    and 4.

    Args:
      base: None if ``data`` are the shares.
      data: Float["queries"], the shares; or {"runs": the base's input for each query,
        "thresholds": Float["queries"]}.
      params: of the base.
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
    """The queries of one base at falling thresholds, as in Algorithm 5.

    Args:
      base: None if ``data`` are the shares, which do not fall.
      data: Float["thresholds"]; or {"run": the base's input, "thresholds": falling}.
      params: of the base.
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
    """A function (key, data, params) that draws whether a run reaches the threshold, or each.

    ``data`` are those of ``Queries``, of one query or of one base with all thresholds.
    """
    if base is None:
        return lambda key, data, params: (
            noise.uniform(noise.number(key, 0)) <= jnp.asarray(data["share"])
        )
    return lambda key, data, params: (
        base.draw(key, data["runs"], params).score >= jnp.asarray(data["threshold"])
    )
