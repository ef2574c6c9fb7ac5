"""AboveThreshold: the first query whose noisy answer reaches a noisy threshold.

Dwork & Roth 2014, Algorithm 1; Liu & Talwar 2019 and Cohen et al. 2022 build on it.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from jaxsel.families.sparse_vector.bounds import above_threshold_noise
from jaxsel.families.sparse_vector.parameters import Changes, Method
from jaxsel.families.sparse_vector.patterns import SparseNoise, check_noise
from jaxsel.families.sparse_vector.runs import first_hit, hazards, read_runs
from jaxsel.families.sparse_vector.stopping_laws import stopping_law
from jaxsel.host.errors import InputError, check_params
from jaxsel.kernel import lanes, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, Relation, factory

_SCALES = ("threshold_scale", "query_scale")


class Halt(NamedTuple):
    """The output of AboveThreshold.

    Attributes:
      query: Int[""], from 0: the first query answered "above"; the number of queries if
        all are below.
    """

    query: Int[Array, ""]


def _read_noise(params, by_epsilon: Callable[[float], SparseNoise], cutoff: int) -> SparseNoise:
    """The noise that params give: by its two scales, or by the epsilon for which it is calibrated.

    Args:
      params: has "threshold_scale" and "query_scale", or "epsilon".
      by_epsilon: epsilon -> noise.
      cutoff: number of "above" after which it stops, where the scales are given.

    Raises:
      InputError: if both the scales and epsilon are given, or neither.
    """
    given = [name for name in _SCALES if name in params]
    if ("epsilon" in params) == bool(given) or len(given) == 1:
        raise InputError("give either epsilon, or threshold_scale and query_scale, and not both")
    if given:
        threshold, query = (params[name] for name in _SCALES)
        return check_noise(SparseNoise(threshold, query, cutoff))
    return by_epsilon(params["epsilon"])


def laplace_noise(key: stream.Key, draw):
    """Standard Laplace noise in float64."""
    return noise.variate("laplace", key, draw, "float64")


@factory
def above_threshold(*, method: Method = "jump", relation: Changes = "general") -> Mechanism:
    """Answer "below" until a noisy query reaches the noisy threshold, then "above", and stop.

    Dwork & Roth 2014, Algorithm 1.

    Args:
      method: "literal" draws noise for one query after the other; "jump" goes to the
        first query above at once, in time proportional to the number of runs (see ``runs``).
      relation: of the neighbours that epsilon is meant for, "general" or "monotone".

    Data: true answers of the queries, Float["queries"], or runs of equal ones,
      {"answers": Float["runs"], "lengths": Int["runs"]}; sensitivity 1.
    Params: "epsilon", or "threshold_scale" and "query_scale" of the Laplace noises; and
      "threshold" (default 0).
    Outcome: Halt; event: the query answered "above", from 0, "none" last.

    Formal guarantees (claims): SVT-AboveThreshold, SVT-AboveThreshold-monotone and
    SVT-AboveThreshold-accuracy.
    """

    def checked(data, params):
        def by_epsilon(epsilon):
            return above_threshold_noise(epsilon, Relation(relation))

        check_params(params, optional=("epsilon", *_SCALES, "threshold"))
        runs = read_runs(data, params.get("threshold", 0.0))
        return runs, _read_noise(params, by_epsilon, 1)

    def prepare(data, params):
        runs, chosen = checked(data, params)
        scales = {
            "threshold_scale": np.float64(chosen.threshold_scale),
            "query_scale": np.float64(chosen.query_scale),
        }
        if method == "literal":
            return runs.expanded, scales
        starts = np.cumsum(runs.lengths) - runs.lengths
        return {
            "levels": runs.levels,
            "lengths": runs.lengths.astype(np.int32),
            "starts": np.append(starts, runs.lengths.sum()).astype(np.int32),
        }, scales

    def labels(data, params) -> tuple[str, ...]:
        count = int(read_runs(data, params.get("threshold", 0.0)).lengths.sum())
        return (*(f"query {i}" for i in range(count)), "none")

    def law(data, params) -> FiniteLaw:
        runs, chosen = checked(data, params)
        found = stopping_law(runs.expanded, chosen)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=_literal if method == "literal" else _jump,
        event=_query,
        labels=labels,
        law=law,
        resolution=noise.resolution("float64"),
    )


def _query(outcome: Halt):
    return outcome.query


def _literal(key: stream.Key, data, params) -> Halt:
    levels = jnp.asarray(data)
    threshold = params["threshold_scale"] * laplace_noise(key, 0)

    def go_on(state):
        query, above = state
        return ~above & (query < levels.shape[0])

    def ask(state):
        query, _ = state

        def is_above():
            added = params["query_scale"] * laplace_noise(key, query + 1)
            return levels[query] + added >= threshold

        above = lanes.where_wanted(go_on(state), is_above)
        return jnp.where(above, query, query + 1), above

    query, _ = lax.while_loop(go_on, ask, (jnp.int32(0), jnp.asarray(False)))
    return Halt(query)


def _jump(key: stream.Key, data, params) -> Halt:
    threshold = params["threshold_scale"] * laplace_noise(key, 0)
    scale = jnp.asarray(params["query_scale"])
    hazard = hazards(threshold, jnp.asarray(data["levels"]), scale)
    gap = noise.exponential(noise.number(key, 1))
    hit = first_hit(gap, hazard, jnp.asarray(data["lengths"]))
    found = hit.run < hazard.shape[0]
    step = jnp.where(found, hit.step - 1, 0)
    return Halt(jnp.asarray(data["starts"])[hit.run] + step)
