"""Finds privately a threshold that a target share of the runs reaches.

It is Liu & Talwar 2019, Algorithm 5: thresholds fall along a grid, and the same N runs are
counted at each of them. The counts are a Markov chain with binomial steps, so that one draw for
each threshold stands for N runs.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.families.percentile import few_runs
from jaxsel.families.percentile.binomial_draw import binomial
from jaxsel.families.percentile.laws import found_threshold_law
from jaxsel.families.percentile.noisy_tests import (
    Halt,
    count_runs,
    counting_mechanism,
    first_pass,
    first_pass_of_few,
    noise_params,
)
from jaxsel.families.percentile.parameters import CountMethod
from jaxsel.families.percentile.queries import Queries, falling_thresholds, one_run
from jaxsel.families.percentile.settings import PercentileTest
from jaxsel.families.private_tuning.bases import Base
from jaxsel.kernel import lanes, stream
from jaxsel.language.base import Mechanism, factory

_COUNT_TAG, _RUN_TAG = 0xB1, 0xB2


def prepare_search(queries: Queries, test: PercentileTest) -> tuple[dict, dict]:
    """The arrays and numbers that ``search_thresholds`` takes.

    Args:
      queries: the falling thresholds.
      test: settings of Algorithm 5.

    Returns:
      The arrays of the queries with "gained", Float64["thresholds"], the probability that a run
      which reached no threshold before reaches this one; and the numbers of the test.
    """
    earlier = np.append(0.0, queries.shares[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = (queries.shares - earlier) / (1.0 - earlier)
    aim = math.log(float(test.samples) * test.target + test.shift) - test.offset
    # If all runs have reached a threshold before, there are none to gain.
    gained = np.where(earlier < 1.0, gained, 0.0)
    counts = np.arange(few_runs.SIZE)
    few = few_runs.table(gained, counts, np.log(counts + float(test.shift)))
    return queries.data | {"gained": gained} | few, noise_params(test, aim)


@factory
def find_percentile_threshold(
    base: Base | None = None, *, method: CountMethod = "binomial"
) -> Mechanism:
    """Halts at the first of falling thresholds that enough of N runs reach, up to noise.

    Args:
      base: the base algorithm of the runs; None if shares are given.
      method: "literal" makes the N runs; "binomial" draws how many more of them reach
        each next threshold.

    Data: shares p(tau_1) <= ... <= p(tau_R), each in [0, 1]: the chance that one run
      reaches each of the falling thresholds. With a base: {"run": its input,
      "thresholds": Float["thresholds"], falling; the paper's are
      ``percentile.laws.threshold_grid``}.
    Params: the fields of ``percentile.settings.PercentileTest``, as made by
      ``algorithm_5(...)._asdict()``; "samples" and "shift" may be overridden; and the
      base's.
    Outcome: ``noisy_tests.Halt``, whose query is the number of the threshold.
    Event: this number; "none" comes last.

    Formal guarantees (claims): LT-Thm4.6(a) to (c), LT-Thm4.6(a)-sharp.

    Raises:
      InputError: for shares that decrease or are no probabilities, or more runs than "literal"
        makes.
    """
    return counting_mechanism(
        base,
        method,
        kind="threshold",
        read=falling_thresholds,
        prepare=prepare_search,
        sample=lambda key, data, params: search_thresholds(base, method, key, data, params),
        law=found_threshold_law,
    )


def search_thresholds(base: Base | None, method: str, key: stream.Key, data, params) -> Halt:
    """One trial of Algorithm 5.

    Args:
      base, method: of ``find_percentile_threshold``.
      key: of the trial.
      data, params: from ``prepare_search``, and "base", the base's params.
    """
    arrays = jax.tree.map(jnp.asarray, data)
    samples = jnp.asarray(params["samples"])
    count_key = stream.fold(key, _COUNT_TAG)
    thresholds = arrays["share"].shape[-1]

    def literal(number, _):
        return jnp.log(counts[number] + params["shift"]), ()

    def level(number, state):
        count, left = state
        more = binomial(count_key, number, left, arrays["gained"][number])
        count, left = count + more.successes, more.failures
        return jnp.log(count + params["shift"]), (count, left)

    def level_of_few(number, left):
        left = left - few_runs.successes(count_key, arrays, number, left, left)
        return arrays["few_levels"][samples.astype(jnp.int32) - left], left

    if method == "literal":
        run_key = stream.fold(key, _RUN_TAG)
        counts = count_runs(one_run(base), run_key, arrays, params["base"], samples)
        return Halt(first_pass(key, params, thresholds, literal, ()), samples)

    def of_few():
        return first_pass_of_few(key, params, thresholds, level_of_few, samples)

    def of_many():
        start = (jnp.zeros_like(samples), samples)
        return first_pass(key, params, thresholds, level, start, lanes.while_loop)

    return Halt(few_runs.chosen(arrays, samples, of_few, of_many), samples)
