"""The percentile sparse vector with shares that are estimated from N fresh runs per query.

It is Liu & Talwar 2019, Algorithm 4. As the theorem's N is astronomical, the number of runs that
reach the threshold is one binomial draw, which has the law of a count of N runs.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.families.percentile import few_runs
from jaxsel.families.percentile.binomial_draw import binomial
from jaxsel.families.percentile.laws import extended_law
from jaxsel.families.percentile.noisy_tests import (
    Halt,
    count_runs,
    counting_mechanism,
    first_pass,
    first_pass_of_few,
    noise_params,
)
from jaxsel.families.percentile.parameters import CountMethod
from jaxsel.families.percentile.queries import Queries, one_run, stream_of_queries
from jaxsel.families.percentile.settings import PercentileTest, log_potential
from jaxsel.families.private_tuning.bases import Base
from jaxsel.kernel import lanes, stream
from jaxsel.language.base import Mechanism, factory

_COUNT_TAG, _RUN_TAG = 0xA1, 0xA2


@factory
def extended_above_threshold(
    base: Base | None = None, *, method: CountMethod = "binomial"
) -> Mechanism:
    """Halts at the first query whose estimated log-odds, with noise, exceed the noisy target's.

    Args:
      base: the base algorithm of the runs, with thresholds on its score; None if shares are
        given.
      method: "literal" makes the N runs of each query; "binomial" draws the number of them
        that reach the threshold.

    Data: shares p_i of the queries, in order, each in [0, 1]: the chance that one run
      of the i-th base reaches the i-th threshold. With a base: {"runs": its input for
      each query, "thresholds": Float["queries"]}.
    Params: the fields of ``percentile.settings.PercentileTest``, as made by
      ``algorithm_4(...)._asdict()``; "samples" and "shift" may be overridden; and the
      base's.
    Outcome: ``noisy_tests.Halt``. Event: the query; "none" comes last.

    Formal guarantees (claims): LT-Thm4.4(a) to (d), LT-Thm4.4(a)-sharp, LT-Thm1.5.

    Raises:
      InputError: for a share outside [0, 1], or more runs than "literal" makes.
    """
    run = one_run(base)

    def prepare(queries: Queries, test: PercentileTest) -> tuple[dict, dict]:
        numbers = noise_params(test, log_potential(test.target, test))
        if method == "literal":
            return queries.data, numbers
        counts = np.arange(few_runs.SIZE)
        failed = np.maximum(test.samples - counts, 0.0)
        levels = np.log(counts + test.shift) - np.log(failed + test.shift)
        few = few_runs.table(queries.shares, np.array([test.samples]), levels)
        return queries.data | few, numbers

    def sample(key, data, params) -> Halt:
        count_key = stream.fold(key, _COUNT_TAG)
        samples = jnp.asarray(params["samples"])
        arrays = jax.tree.map(jnp.asarray, data)
        queries = arrays["share"].shape[-1]

        def level(query, state):
            asked = jax.tree.map(lambda part: part[query], arrays)
            if method == "literal":
                run_key = stream.at_round(stream.fold(key, _RUN_TAG), query)
                passed = count_runs(run, run_key, asked, params["base"], samples)
                failed = samples - passed
            else:
                passed, failed = binomial(count_key, query, samples, asked["share"])
            shift = params["shift"]
            return jnp.log(passed + shift) - jnp.log(failed + shift), state

        def level_of_few(query, state):
            runs = samples.astype(jnp.int32)
            passed = few_runs.successes(count_key, arrays, query, runs, 0)
            return arrays["few_levels"][passed], state

        def of_few():
            return first_pass_of_few(key, params, queries, level_of_few, jnp.int32(0))

        def of_many():
            return first_pass(key, params, queries, level, (), lanes.while_loop)

        if method == "literal":
            query = of_many()
        else:
            query = few_runs.chosen(arrays, samples, of_few, of_many)
        asked = jnp.minimum(query + 1, queries).astype(jnp.float64)
        return Halt(query, asked * samples)

    return counting_mechanism(
        base,
        method,
        kind="query",
        read=stream_of_queries,
        prepare=prepare,
        sample=sample,
        law=extended_law,
    )
