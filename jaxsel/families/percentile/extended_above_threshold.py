"""The percentile sparse vector with estimated shares: N fresh runs a query.

Liu & Talwar 2019, Algorithm 4. The theorem's N is astronomical, so the count of runs
that reach the threshold is one binomial draw, which has the law of N runs.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from jaxsel import noise, stream
from jaxsel.base import FiniteLaw, Mechanism, factory
from jaxsel.errors import check_choice
from jaxsel.families.percentile.binomial_draw import binomial
from jaxsel.families.percentile.laws import checked_shares, extended_law
from jaxsel.families.percentile.percentile_above_threshold import (
    Halt,
    halted_at,
    query_labels,
)
from jaxsel.families.percentile.settings import log_potential, read_test

METHODS = ("literal", "binomial")
_COUNT_TAG, _RUN_TAG = 0xA1, 0xA2


@factory
def extended_above_threshold(*, method: str = "binomial") -> Mechanism:
    """Halts at the first query whose estimated, noisy log-odds exceed the target's.

    Args:
      method: "literal" makes the N runs of each query; "binomial" draws how many of
        them reach the threshold.

    Data: shares p_i of the queries, in order, each in [0, 1]: the chance that one run
      of the i-th base reaches the i-th threshold.
    Params: the fields of ``percentile.settings.PercentileTest``, as made by
      ``algorithm_4(...)._asdict()``; "samples" and "shift" may be overridden.
    Outcome: Halt; event: the query, "none" last.

    Formal guarantees (claims): LT-Thm4.4(a) to (d), LT-Thm4.4(a)-sharp, LT-Thm1.5.

    Raises:
      InputError: for a share outside [0, 1] or a bad parameter.
    """
    check_choice("method", method, METHODS)

    def prepare(data, params):
        test = read_test(params, method)
        return {"share": checked_shares(data)}, {
            "samples": np.float64(test.samples),
            "shift": np.float64(test.shift),
            "aim": np.float64(log_potential(test.target, test)),
            "query_scale": np.float64(test.query_scale),
            "threshold_scale": np.float64(test.threshold_scale),
        }

    def sample(key, data, params) -> Halt:
        return _sample(method, key, data, params)

    def labels(data, params):
        return query_labels(checked_shares(data).size)

    def law(data, params) -> FiniteLaw:
        exact = extended_law(data, read_test(params, method))
        return FiniteLaw(exact, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=halted_at,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _literal_count(key: stream.Key, samples: Array, share: Array) -> Array:
    def once(run, count):
        passed = noise.uniform(noise.number(key, run)) <= share
        return count + passed.astype(jnp.float64)

    return lax.fori_loop(0, samples.astype(jnp.int32), once, jnp.float64(0.0))


def _sample(method: str, key, data, params) -> Halt:
    shares, samples = jnp.asarray(data["share"]), jnp.asarray(params["samples"])
    count_key = stream.fold(key, _COUNT_TAG)
    queries = shares.shape[-1]

    def laplace(draw):
        return noise.variate("laplace", key, draw, "float64")

    bar = params["threshold_scale"] * laplace(0) + params["aim"]

    def go_on(state):
        query, halted = state
        return ~halted & (query < queries)

    def once(state):
        query, _ = state
        if method == "literal":
            run_key = stream.at_round(stream.fold(key, _RUN_TAG), query)
            successes = _literal_count(run_key, samples, shares[query])
            failures = samples - successes
        else:
            successes, failures = binomial(count_key, query, samples, shares[query])
        level = jnp.log(successes + params["shift"])
        level = level - jnp.log(failures + params["shift"])
        halted = level + params["query_scale"] * laplace(query + 1) >= bar
        return jnp.where(halted, query, query + 1), halted

    start = (jnp.int32(0), jnp.asarray(False))
    query, halted = lax.while_loop(go_on, once, start)
    asked = jnp.where(halted, query + 1, query).astype(jnp.float64)
    return Halt(query, asked * samples)
