"""A private threshold that a wanted share of runs reaches.

Liu & Talwar 2019, Algorithm 5: thresholds fall along a grid, and the SAME N runs are
counted at each of them. The counts are a Markov chain of binomials, so N runs take as
many draws as there are thresholds.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from jaxsel import noise, stream
from jaxsel.base import FiniteLaw, Mechanism, factory
from jaxsel.errors import InputError, check_choice
from jaxsel.families.percentile.binomial_draw import binomial
from jaxsel.families.percentile.extended_above_threshold import METHODS
from jaxsel.families.percentile.laws import checked_shares, found_threshold_law
from jaxsel.families.percentile.percentile_above_threshold import Halt, halted_at
from jaxsel.families.percentile.settings import PercentileTest, read_test

_COUNT_TAG, _RUN_TAG = 0xB1, 0xB2


def prepare_search(shares, test: PercentileTest) -> tuple[dict, dict]:
    """Arrays for ``search_thresholds``: the shares, and the settings of the test."""
    shares = checked_shares(shares)
    if np.any(np.diff(shares) < 0.0):
        raise InputError("shares fall; lower thresholds are reached at least as often")
    earlier = np.append(0.0, shares[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(earlier < 1.0, (shares - earlier) / (1.0 - earlier), 0.0)
    aim = math.log(float(test.samples) * test.target + test.shift) - test.offset
    return {"share": shares, "gained": gained}, {
        "samples": np.float64(test.samples),
        "shift": np.float64(test.shift),
        "aim": np.float64(aim),
        "query_scale": np.float64(test.query_scale),
        "threshold_scale": np.float64(test.threshold_scale),
    }


@factory
def find_percentile_threshold(*, method: str = "binomial") -> Mechanism:
    """Halts at the first threshold that enough of N runs reach, up to noise.

    Args:
      method: "literal" makes the N runs; "binomial" draws how many more of them reach
        each next threshold.

    Data: shares p(tau_1) <= ... <= p(tau_R), each in [0, 1]: the chance that one run
      reaches each of the falling thresholds.
    Params: the fields of ``percentile.settings.PercentileTest``, as made by
      ``algorithm_5(...)._asdict()``; "samples" and "shift" may be overridden.
    Outcome: Halt, the query being the threshold; event: that number, "none" last.

    Formal guarantees (claims): LT-Thm4.6(a) to (c), LT-Thm4.6(a)-sharp.

    Raises:
      InputError: for shares that fall or are no chances, or a bad parameter.
    """
    check_choice("method", method, METHODS)

    def prepare(data, params):
        return prepare_search(data, read_test(params, method))

    def sample(key, data, params) -> Halt:
        return search_thresholds(method, key, data, params)

    def labels(data, params):
        count = checked_shares(data).size
        return (*(f"threshold {i + 1}" for i in range(count)), "none")

    def law(data, params) -> FiniteLaw:
        exact = found_threshold_law(data, read_test(params, method))
        return FiniteLaw(exact, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=halted_at,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _literal_counts(key: stream.Key, samples: Array, shares: Array) -> Array:
    """How many of the same N runs reach each threshold."""

    def once(run, counts):
        rank = noise.uniform(noise.number(key, run))
        return counts + (rank <= shares).astype(jnp.float64)

    start = jnp.zeros(shares.shape, jnp.float64)
    return lax.fori_loop(0, samples.astype(jnp.int32), once, start)


def search_thresholds(method: str, key: stream.Key, data, params) -> Halt:
    """One run of Algorithm 5 on what ``prepare_search`` made."""
    shares, gained = jnp.asarray(data["share"]), jnp.asarray(data["gained"])
    samples = jnp.asarray(params["samples"])
    thresholds = shares.shape[-1]
    count_key = stream.fold(key, _COUNT_TAG)
    if method == "literal":
        counts = _literal_counts(stream.fold(key, _RUN_TAG), samples, shares)

    def laplace(draw):
        return noise.variate("laplace", key, draw, "float64")

    bar = params["threshold_scale"] * laplace(0) + params["aim"]

    def go_on(state):
        number, _, _, halted = state
        return ~halted & (number < thresholds)

    def once(state):
        number, count, left, _ = state
        if method == "literal":
            count = counts[number]
        else:
            more = binomial(count_key, number, left, gained[number])
            count, left = count + more.successes, more.failures
        value = jnp.log(count + params["shift"])
        halted = value + params["query_scale"] * laplace(number + 1) >= bar
        return jnp.where(halted, number, number + 1), count, left, halted

    start = (jnp.int32(0), jnp.zeros_like(samples), samples, jnp.asarray(False))
    return Halt(lax.while_loop(go_on, once, start)[0], samples)
