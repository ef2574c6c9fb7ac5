"""Objective perturbation with one parameter as a mechanism, with bins of the minimum as events."""

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax, nn

from jaxsel.families.private_training import objective_laws as laws
from jaxsel.families.private_training.parameters import AnyNoise, Loss, ObjectiveMethod
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.domains import positive
from jaxsel.language.signature import read_params
from jaxsel.training.objective_perturbation import clipped_rows

_HALVINGS = 48
_PARAMS = {"noise_multiplier": AnyNoise, "regularisation": positive("lambda"), "edges": None}


@factory
def objective_perturbation(
    loss: Loss = "logistic", method: ObjectiveMethod = "gradient"
) -> Mechanism:
    """Releases the theta that minimises the sum of losses + lambda/2 theta^2 + b theta, b normal.

    It is Algorithm 1 of Kifer, Smith & Thakurta 2012 for a real theta, losses of slope at most 1,
    and features that are clipped to 1.

    Args:
      loss: loss of a record, "logistic" or "huber".
      method: "literal" finds the minimum by bisection, then its bin; "gradient" compares -b with
        the gradient without noise at each edge. As that gradient increases, the minimum lies
        above just those edges at which it is below -b.

    Data: ``objective_laws.Line``, the records.
    Params: "noise_multiplier", the standard deviation of b; "regularisation", lambda; and
      "edges", Float["edges"], the ends of the bins, increasing.
    Outcome and event: Int32[""], the bin that holds the minimum, from 0.

    Formal guarantees (claims): JX-ObjPert-logistic, JX-ObjPert-linear.

    Raises:
      InputError: for edges that do not increase.
    """

    def read(params) -> dict[str, Any]:
        given = read_params(params, _PARAMS)
        edges = check_finite("edges", given["edges"])
        if edges.ndim != 1 or np.any(np.diff(edges) <= 0.0):
            raise InputError("edges must be a strictly increasing list of numbers")
        return given | {"edges": edges}

    def clipped(data) -> laws.Line:
        rows = clipped_rows(np.asarray(data.features, dtype=np.float64)[:, None], 1.0)
        return laws.Line(rows[:, 0], np.asarray(data.targets), np.asarray(data.counts))

    def prepare(data, params):
        records, given = clipped(data), read(params)
        if method == "literal":
            return records, given
        # In units of the noise, in float64, once for all trials.
        slopes = laws.gradient(given["edges"], records, loss, given["regularisation"])
        return slopes / given["noise_multiplier"], ()

    def slope(t: Array, data: laws.Line) -> Array:
        predicted = data.features * t
        if loss == "logistic":
            each = -data.targets * nn.sigmoid(-data.targets * predicted)
        else:
            each = jnp.clip(predicted - data.targets, -1.0, 1.0)
        return jnp.sum(data.counts * data.features * each)

    def sample(key: stream.Key, data, params) -> Array:
        drawn = noise.variate("gaussian", key, 0)
        if method == "literal":
            return bisected(drawn, data, params)
        return look_up.position(jnp.asarray(data, drawn.dtype), -drawn, side="right")

    def bisected(drawn: Array, data, params) -> Array:
        given = laws.Line(*(jnp.asarray(each, drawn.dtype) for each in data))
        linear = jnp.asarray(params["noise_multiplier"], drawn.dtype) * drawn
        regularisation = jnp.asarray(params["regularisation"], drawn.dtype)
        most = jnp.sum(given.counts * jnp.abs(given.features)) + jnp.abs(linear)
        reach = most / regularisation + 1.0

        def halve(_, ends):
            low, high = ends
            middle = (low + high) / 2.0
            below = slope(middle, given) + regularisation * middle + linear < 0.0
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        _, found = lax.fori_loop(0, _HALVINGS, halve, (-reach, reach))
        edges = jnp.asarray(params["edges"], drawn.dtype)
        return jnp.searchsorted(edges, found, side="right").astype(jnp.int32)

    def labels(data, params) -> tuple[str, ...]:
        del data
        bounds = ["-inf", *(f"{edge:g}" for edge in read(params)["edges"]), "inf"]
        return tuple(f"[{low}, {high})" for low, high in itertools.pairwise(bounds))

    def law(data, params) -> FiniteLaw:
        given = read(params)
        numbers = (given["noise_multiplier"], given["regularisation"])
        found = laws.minimum_cells(given["edges"], clipped(data), loss, *numbers)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(prepare, sample, outcome_itself, labels, law, noise.resolution("tail"))
