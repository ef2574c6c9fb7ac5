"""Find a threshold privately, then draw until a run reaches it.

Liu & Talwar 2019, Theorem 4.7 (and Theorem 1.4): Algorithm 5, then Algorithm 1, whose
number of draws and last draw are drawn at once.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxsel import noise, stream
from jaxsel.base import FiniteLaw, Mechanism, factory
from jaxsel.errors import check_choice, check_integer, check_interval
from jaxsel.families.percentile.extended_above_threshold import METHODS
from jaxsel.families.percentile.find_threshold import prepare_search, search_thresholds
from jaxsel.families.percentile.laws import threshold_grid
from jaxsel.families.percentile.pipeline_laws import (
    THRESHOLDS,
    Pipeline,
    grid_shares,
    pipeline_law,
)
from jaxsel.families.percentile.settings import read_test

_SEARCH_TAG, _DRAW_TAG = 0xC1, 0xC2


class Released(NamedTuple):
    """What the two algorithms did.

    Attributes:
      label: Int[Array, ""], the released outcome, one past the last if none.
      threshold: Int[Array, ""], the threshold found, one past the last if none.
      calls: Float[Array, ""], runs of the base algorithm.
    """

    label: Int[Array, ""]
    threshold: Int[Array, ""]
    calls: Float[Array, ""]


def _settings(params, method: str) -> Pipeline:
    own = ("thresholds", "stop_probability", "max_draws")
    test = read_test(params, method, own)
    stop = check_interval(
        "stop_probability", params["stop_probability"], 0.0, 1.0, high_open=False
    )
    return Pipeline(
        test=test,
        thresholds=THRESHOLDS.read("thresholds", params["thresholds"]),
        least_share=np.nan,
        stop_probability=stop,
        max_draws=check_integer("max_draws", params["max_draws"], 1),
    )


@factory
def percentile_pipeline(*, method: str = "binomial") -> Mechanism:
    """Releases a run that reaches a threshold which Algorithm 5 found.

    Args:
      method: how Algorithm 5 counts: "literal" makes the N runs, "binomial" draws how
        many reach each threshold. Algorithm 1 is drawn from its closed law.

    Data: {"scores", "probabilities"} of the outcomes of one run; scores in [0, 1].
    Params: ``pipeline_params(percentile.pipeline_laws.pipeline(...))``.
    Outcome: Released; event: the label, "none" last.

    Formal guarantees (claims): LT-Thm4.7(a) to (c), LT-Thm4.7(a)-sharp.

    Raises:
      InputError: for bad scores, probabilities or parameters.
    """
    check_choice("method", method, METHODS)

    def prepare(data, params):
        settings = _settings(params, method)
        scores = np.asarray(data["scores"], np.float64)
        shares = grid_shares(scores, data["probabilities"], settings.thresholds)
        search, test = prepare_search(shares, settings.test)
        order = np.argsort(-scores, kind="stable")
        mass = np.asarray(data["probabilities"], np.float64)[order]
        accepted = scores[order] >= threshold_grid(settings.thresholds)[:, None] - 1e-12
        # Best outcomes first, and per threshold how much of them is good enough.
        good = np.append(np.where(accepted, mass, 0.0).sum(axis=1), 0.0)
        stop = settings.stop_probability
        with np.errstate(divide="ignore"):
            log_again = np.log1p(-np.minimum(good, 1.0)) + np.log1p(-stop)
        prepared = search | {
            "label": np.append(order, scores.size).astype(np.int32),
            "at_least": np.cumsum(mass),
            "last": np.append(accepted.sum(axis=1), 1).astype(np.int32) - 1,
            "good": good,
            "log_again": log_again,
        }
        return prepared, test | {"max_draws": np.float64(settings.max_draws)}

    def sample(key, data, params) -> Released:
        found = search_thresholds(method, stream.fold(key, _SEARCH_TAG), data, params)
        return _draw(stream.fold(key, _DRAW_TAG), found, data, params)

    def labels(data, params):
        return (*(str(i) for i in range(len(data["scores"]))), "none")

    def law(data, params) -> FiniteLaw:
        exact = pipeline_law(
            data["scores"], data["probabilities"], _settings(params, method)
        )
        return FiniteLaw(exact, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=lambda outcome: outcome.label,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _draw(key: stream.Key, found, data, params) -> Released:
    """Algorithm 1 at the threshold found."""
    good = jnp.asarray(data["good"])[found.query]
    log_again = jnp.asarray(data["log_again"])[found.query]
    count = jnp.maximum(
        jnp.ceil(noise.exponential(noise.number(key, 0)) / -log_again), 1.0
    )
    passed = noise.uniform(noise.number(key, 1)) <= good / -jnp.expm1(log_again)
    none_found = found.query == jnp.asarray(data["share"]).shape[-1]
    released = passed & (count <= params["max_draws"]) & (good > 0.0) & ~none_found
    rank = noise.uniform(noise.number(key, 2)) * good
    position = jnp.searchsorted(jnp.asarray(data["at_least"]), rank, side="left")
    position = jnp.minimum(position, jnp.asarray(data["last"])[found.query])
    labels = jnp.asarray(data["label"])
    label = jnp.where(released, labels[jnp.maximum(position, 0)], labels[-1])
    draws = jnp.where(none_found, 0.0, jnp.minimum(count, params["max_draws"]))
    return Released(label, found.query, found.calls + draws)
