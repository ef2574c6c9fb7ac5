"""The percentile sparse vector with known shares: it halts at the first base with a large share.

It is Liu & Talwar 2019, Algorithm 3: an oracle tells each share p_i = P[score >= tau_i] exactly.
If the base is epsilon_1-DP, the log-odds log(p/(1-p)) of a share move by at most 2 epsilon_1.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from jaxsel.families.percentile.laws import oracle_law, oracle_levels, oracle_scales
from jaxsel.families.percentile.noisy_tests import Halt, event_labels, halted_at
from jaxsel.families.percentile.parameters import BaseEpsilon, FinalEpsilon, JumpMethod, Target
from jaxsel.families.percentile.queries import split_params, stream_of_queries
from jaxsel.families.private_tuning.bases import Base
from jaxsel.host.errors import check_positive
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_OWN = {"target": Target, "base_epsilon": BaseEpsilon, "final_epsilon": FinalEpsilon}


def _runs(levels: np.ndarray) -> dict[str, Any]:
    """Groups of adjacent equal levels, of each of which ``_jump`` makes one draw.

    Args:
      levels: Float["queries"].

    Returns:
      "level", "start" and "length" of each group, padded to the number of queries; "runs", the
      number of groups; and "queries", the number of queries.
    """
    starts = np.flatnonzero(np.append(True, levels[1:] != levels[:-1]))
    lengths = np.diff(np.append(starts, levels.size))
    unused = levels.size - starts.size
    return {
        "level": np.pad(levels[starts], (0, unused)),
        "start": np.pad(starts, (0, unused)).astype(np.int32),
        "length": np.pad(lengths, (0, unused)).astype(np.float64),
        "runs": np.int32(starts.size),
        "queries": np.int32(levels.size),
    }


@factory
def percentile_above_threshold(
    base: Base | None = None, *, method: JumpMethod = "jump"
) -> Mechanism:
    """Halts at the first query whose noisy log-odds exceed the noisy ones of the target.

    Args:
      base: the base algorithm of the queries, with thresholds on its score; None if shares
        are given. The shares are computed from its law, and no run is made.
      method: "literal" tests one query after another; "jump" draws, given the threshold
        noise, the first test that passes among adjacent equal shares.

    Data: shares p_i of the queries, in order, each in [0, 1]. With a base: {"runs": its
      input for each query, "thresholds": Float["queries"]}.
    Params: "target" (p*), "base_epsilon" (epsilon_1), "final_epsilon" (epsilon_3); and the
      base's.
    Outcome: ``noisy_tests.Halt``. Event: the query; "none" comes last.

    Formal guarantees (claims): LT-Thm4.1(a) to (d), LT-Cor4.2.

    Raises:
      InputError: for a share outside [0, 1].
    """

    def asked(data, params) -> tuple[np.ndarray, dict]:
        own, rest = split_params(base, params, tuple(_OWN))
        return stream_of_queries(base, data, rest).shares, read_params(own, _OWN)

    def prepare(data, params):
        shares, params = asked(data, params)
        levels = oracle_levels(shares, params["target"])
        query_scale, threshold_scale = oracle_scales(
            params["base_epsilon"], params["final_epsilon"]
        )
        prepared = {
            "query_scale": np.float64(check_positive("query_scale", query_scale)),
            "threshold_scale": np.float64(threshold_scale),
        }
        if method == "literal":
            return {"level": levels, "queries": np.int32(levels.size)}, prepared
        return _runs(levels), prepared

    def sample(key, data, params) -> Halt:
        run = _literal if method == "literal" else _jump
        return Halt(run(key, data, params), jnp.float64(0.0))

    def labels(data, params):
        return event_labels("query", asked(data, params)[0].size)

    def law(data, params) -> FiniteLaw:
        shares, own = asked(data, params)
        return FiniteLaw(oracle_law(shares, **own), labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=halted_at, labels=labels, law=law, resolution=2.0**-53
    )


def _laplace(key: stream.Key, draw) -> Array:
    """Standard Laplace noise number ``draw`` of the key's stream."""
    return noise.variate("laplace", key, draw, "float64")


def _literal(key, data, params) -> Array:
    """The query at which it halts, test by test; the number of queries if it does not."""
    bar = params["threshold_scale"] * _laplace(key, 0)
    levels = jnp.asarray(data["level"])

    def go_on(state):
        query, halted = state
        return ~halted & (query < data["queries"])

    def once(state):
        query, _ = state
        value = levels[query] + params["query_scale"] * _laplace(key, query + 1)
        halted = value > bar
        return jnp.where(halted, query, query + 1), halted

    return lax.while_loop(go_on, once, (jnp.int32(0), jnp.asarray(False)))[0]


def _jump(key, data, params) -> Array:
    """The query at which it halts, by one draw for each group of equal levels (``_runs``)."""
    bar = params["threshold_scale"] * _laplace(key, 0)
    levels, starts = jnp.asarray(data["level"]), jnp.asarray(data["start"])
    lengths = jnp.asarray(data["length"])

    def go_on(state):
        run, _, halted = state
        return ~halted & (run < data["runs"])

    def once(state):
        run, _, _ = state
        # The log-probability that one test of this level stays below the bar, in either tail.
        gap = (bar - levels[run]) / params["query_scale"]
        tail = 0.5 * jnp.exp(-jnp.abs(gap))
        failing = jnp.log1p(-jnp.where(gap > 0.0, tail, 0.0))
        failing = jnp.where(gap > 0.0, failing, gap - jnp.log(2.0))
        # The number of failures before the first pass is geometric.
        wait = noise.exponential(noise.number(key, run + 1))
        failures = jnp.floor(wait / -failing)
        halted = failures < lengths[run]
        at = starts[run] + jnp.where(halted, failures, 0.0).astype(jnp.int32)
        return run + 1, jnp.where(halted, at, data["queries"]), halted

    start = (jnp.int32(0), jnp.asarray(data["queries"]), jnp.asarray(False))
    return lax.while_loop(go_on, once, start)[1]
