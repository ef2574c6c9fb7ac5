"""Sparse vectors that answer "above" several times.

Sparse (Dwork & Roth 2014, Algorithm 2) restarts AboveThreshold after each "above"; Lyu, Su
& Li 2017 add noise to the threshold only once. Both are settings of one mechanism,
``sparse_vector``, and so are the variants that release noisy answers.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxsel.families.sparse_vector.above_threshold import laplace_noise
from jaxsel.families.sparse_vector.bounds import sparse_noise
from jaxsel.families.sparse_vector.parameters import Changes, Event, Method
from jaxsel.families.sparse_vector.patterns import (
    NOT_ANSWERED,
    SparseNoise,
    all_patterns,
    check_noise,
    count_patterns,
    pattern_law,
)
from jaxsel.families.sparse_vector.runs import Runs, first_hit, hazards, read_runs
from jaxsel.families.sparse_vector.stopping_laws import stopping_law
from jaxsel.host.errors import InputError, check_finite, check_params
from jaxsel.kernel import lanes, noise, stream
from jaxsel.kernel.logarithm import log
from jaxsel.language.base import FiniteLaw, Mechanism, Relation, factory

_MAX_EVENTS = 2**16
_QUERY_TAG, _LIFT_TAG = 0x51, 0x52
_LEAST = 2.0**-70  # below every uniform number


class Answers(NamedTuple):
    """The answers of a sparse vector.

    Attributes:
      above: Int["cutoff"], the queries answered "above", in order and counted from 0; if there
        are fewer than ``cutoff``, the rest of the entries are the number of queries.
      values: Float["cutoff"], the noisy answers of these queries minus the threshold (without its
        noise); 0 unless the mechanism releases them.
      number: Int[""]: the event, which is the pattern's number in the order of ``all_patterns``,
        or, for event "stop", the query at which it stopped.
    """

    above: Int[Array, "cutoff"]  # noqa: F821
    values: Float[Array, "cutoff"]  # noqa: F821
    number: Int[Array, ""]


class Asked(NamedTuple):
    """Validated input: the queries, the noise, and the edges between released values."""

    runs: Runs
    noise: SparseNoise
    edges: np.ndarray


@factory
def sparse_vector(
    *,
    redrawn: bool = False,
    releases_values: bool = False,
    event: Event = "pattern",
    method: Method = "jump",
) -> Mechanism:
    """Answer "below" or "above" until "above" was answered ``cutoff`` times.

    Args:
      redrawn: draw the threshold's noise anew after each "above".
      releases_values: release the noisy answers of queries above.
      event: "pattern" tallies all answers, for at most 65,536 patterns; "stop" tallies
        the query answered "above" for the last allowed time.
      method: "literal" draws noise for one query after the other; "jump" goes from one
        query above to the next.

    Data: as for ``above_threshold``.
    Params: "threshold_scale" and "query_scale" of the Laplace noises, the latter 0 for no
      noise; "cutoff" (default 1; None for no limit); "threshold" (default 0); and "edges"
      (default 0), increasing: events tell released values minus the threshold apart by
      the interval between edges in which they lie.
    Outcome: Answers.

    Formal guarantees (claims): SVT-LSL-Alg1 and its companions; none with
      ``releases_values`` (SVT-LSL-Alg3) or without a limit (SVT-LSL-Alg6).

    Raises:
      InputError: for released values with event "stop", edges that do not increase, or too
        many patterns.
    """
    if releases_values and event == "stop":
        raise InputError('event is "stop"; released values are tallied by "pattern"')
    optional = ("cutoff", "threshold", *(("edges",) if releases_values else ()))

    def asked(data, params) -> Asked:
        check_params(params, ("threshold_scale", "query_scale"), optional)
        runs = read_runs(data, params.get("threshold", 0.0))
        total = int(runs.lengths.sum())
        cutoff = params.get("cutoff", 1)
        scales = (params["threshold_scale"], params["query_scale"])
        chosen = check_noise(SparseNoise(*scales, total if cutoff is None else cutoff, redrawn))
        chosen = chosen._replace(cutoff=min(chosen.cutoff, total))
        edges = np.zeros(0)
        if releases_values:
            edges = check_finite("edges", params.get("edges", [0.0]))
            if edges.ndim != 1 or np.any(np.diff(edges) <= 0.0):
                raise InputError("edges must be a strictly increasing list of numbers")
        if event == "pattern":
            found = count_patterns(total, chosen.cutoff, edges.size + 1)[-1, -1]
            if found > _MAX_EVENTS:
                raise InputError(
                    f"{total} queries with cutoff {chosen.cutoff} have {found:.0f} "
                    f'patterns; at most {_MAX_EVENTS} are tallied: take event "stop"'
                )
        return Asked(runs, chosen, edges)

    def prepare(data, params):
        runs, chosen, edges = asked(data, params)
        counts = np.zeros((runs.lengths.sum() + 1, chosen.cutoff + 1))
        if event == "pattern":
            counts = count_patterns(len(counts) - 1, chosen.cutoff, edges.size + 1)
        levels, lengths = runs.levels, runs.lengths
        if method == "literal":
            levels, lengths = runs.expanded, np.ones(len(counts) - 1)
        return {
            "levels": levels,
            "lengths": lengths.astype(np.int32),
            "starts": (np.cumsum(lengths) - lengths).astype(np.int32),
        }, {
            "threshold_scale": np.float64(chosen.threshold_scale),
            "query_scale": np.float64(chosen.query_scale),
            "edges": edges,
            "counts": counts.astype(np.int32),
        }

    def labels(data, params) -> tuple[str, ...]:
        runs, chosen, edges = asked(data, params)
        total = int(runs.lengths.sum())
        if event == "stop":
            return (*(f"query {i}" for i in range(total)), "none")
        names = {NOT_ANSWERED: "", 0: "0"}
        kinds = range(edges.size + 1)
        names |= {k + 1: "1" if edges.size == 0 else f"1[{k}]" for k in kinds}
        table = all_patterns(total, chosen.cutoff, edges.size + 1)
        return tuple("".join(names[each] for each in row) for row in table.tolist())

    def law(data, params) -> FiniteLaw:
        runs, chosen, edges = asked(data, params)
        if event == "stop":
            found = stopping_law(runs.expanded, chosen)
        else:
            found = np.exp(pattern_law(runs.expanded, chosen, edges))
        return FiniteLaw(found, labels(data, params))

    sample = functools.partial(
        _literal if method == "literal" else _jump, redrawn, releases_values, event
    )
    return Mechanism(
        prepare=prepare,
        sample=lambda key, data, params: sample(key, data, params),
        event=_number,
        labels=labels,
        law=law,
        resolution=noise.resolution("float64"),
    )


def rewritten(core: Mechanism, params_of: Callable[[Any, Any], dict[str, Any]]) -> Mechanism:
    """The core mechanism under other parameters.

    Args:
      core: the mechanism that runs.
      params_of: ``(data, params) -> params`` turns the new parameters into the core's.
    """

    def law(data, params) -> FiniteLaw:
        assert core.law is not None
        return core.law(data, params_of(data, params))

    return core._replace(
        prepare=lambda data, params: core.prepare(data, params_of(data, params)),
        labels=lambda data, params: core.labels(data, params_of(data, params)),
        law=law,
    )


@factory
def sparse(
    *, relation: Changes = "general", event: Event = "pattern", method: Method = "jump"
) -> Mechanism:
    """Sparse: AboveThreshold, restarted after each "above" until it was answered c times.

    Dwork & Roth 2014, Algorithm 2.

    Args:
      relation: of the neighbours that epsilon is meant for, "general" or "monotone".
      event, method: as for ``sparse_vector``.

    Data: as for ``above_threshold``.
    Params: "epsilon"; "cutoff" (c, default 1); "delta" (default 0; if positive, the noise is
      calibrated by advanced composition); "threshold" (default 0).
    Outcome: Answers.

    Formal guarantees (claims): SVT-Sparse, SVT-Sparse-monotone, SVT-Sparse-advanced and
    SVT-Sparse-accuracy.
    """
    core = sparse_vector(redrawn=True, event=event, method=method)

    def params_of(data, params):
        del data
        check_params(params, ("epsilon",), ("cutoff", "delta", "threshold"))
        given = {name: params[name] for name in params if name != "threshold"}
        chosen = sparse_noise(**{"cutoff": 1} | given, relation=Relation(relation))
        return scales(chosen) | {"threshold": params.get("threshold", 0.0)}

    return rewritten(core, params_of)


def scales(chosen: SparseNoise) -> dict[str, Any]:
    """Noise settings as parameters of ``sparse_vector``."""
    names = ("threshold_scale", "query_scale", "cutoff")
    return {name: getattr(chosen, name) for name in names}


# --- Sampling -------------------------------------------------------------------------


def _number(outcome: Answers):
    return outcome.number


class _State(NamedTuple):
    """State after some queries: how many were "above", the threshold's noise, and the answers."""

    count: Array
    threshold: Array
    above: Array
    values: Array
    number: Array


def _start(key: stream.Key, params, queries: int) -> _State:
    """The state before the first query."""
    cutoff = params["counts"].shape[1] - 1
    return _State(
        jnp.int32(0),
        params["threshold_scale"] * laplace_noise(key, 0),
        jnp.full(cutoff, queries, jnp.int32),
        jnp.zeros(cutoff),
        jnp.int32(0),
    )


def _answered_above(
    state: _State, query, value, key, params, redrawn: bool, releases_values: bool
) -> _State:
    """The state after an "above", with a new threshold if it is redrawn.

    Args:
      state: before it.
      query: which query is answered "above", from 0.
      value: its noisy level, which is released if ``releases_values``.
      key: of the trial.
      params: as prepared.
      redrawn, releases_values: as of ``sparse_vector``.
    """
    counts = jnp.asarray(params["counts"])
    queries, left = counts.shape[0] - 1, counts.shape[1] - 1 - state.count
    rest = queries - 1 - query
    # The number of a pattern is how many precede it. Among those that agree so far, these are the
    # patterns that say "below", or "above" with a value in a lower interval, here.
    passed = counts[rest, left]
    if releases_values:
        kind = jnp.searchsorted(params["edges"], value, side="right").astype(jnp.int32)
        passed = passed + kind * counts[rest, left - 1]
    threshold = state.threshold
    if redrawn:
        threshold = params["threshold_scale"] * laplace_noise(key, state.count + 1)
    kept = value if releases_values else 0.0
    return _State(
        state.count + 1,
        threshold,
        state.above.at[state.count].set(query),
        state.values.at[state.count].set(kept),
        state.number + passed,
    )


def _finished(state: _State, event: str) -> Answers:
    number = state.above[-1] if event == "stop" else state.number
    return Answers(state.above, state.values, number)


def _literal(redrawn, releases_values, event, key, data, params) -> Answers:
    levels = jnp.asarray(data["levels"])
    queries, cutoff = levels.shape[0], params["counts"].shape[1] - 1
    query_key = stream.fold(key, _QUERY_TAG)

    def go_on(carry):
        query, state = carry
        return (query < queries) & (state.count < cutoff)

    def ask(carry):
        query, state = carry
        # Once, and not for each part of the state; and not with the gather, which would make it an
        # element at a time.
        added = lanes.where_wanted(go_on(carry), lambda: laplace_noise(query_key, query))
        noisy = levels[query] + params["query_scale"] * added
        hit = _answered_above(state, query, noisy, key, params, redrawn, releases_values)
        above = noisy >= state.threshold
        state = _State(*(jnp.where(above, a, b) for a, b in zip(hit, state, strict=True)))
        return query + 1, state

    _, state = lax.while_loop(go_on, ask, (jnp.int32(0), _start(key, params, queries)))
    return _finished(state, event)


def _lifted(number: noise.Ends, gap):
    """Standard Laplace noise given that it is at least ``gap``."""
    # If gap > 0, the noise beyond it is exponential, as the upper half of Laplace noise has no
    # memory; otherwise the tail probability is inverted.
    excess = jnp.maximum(gap, 0.0) + noise.exponential(number)
    tail = noise.uniform(number) * (1.0 - 0.5 * jnp.exp(jnp.minimum(gap, 0.0)))
    nearer = jnp.maximum(jnp.minimum(tail, 1.0 - tail), _LEAST)
    size = -log(2.0 * nearer)
    inverse = jnp.where(tail < 0.5, size, -size)
    return jnp.where(gap > 0.0, excess, jnp.maximum(inverse, gap))


def _jump(redrawn, releases_values, event, key, data, params) -> Answers:
    levels, lengths = jnp.asarray(data["levels"]), jnp.asarray(data["lengths"])
    starts = jnp.asarray(data["starts"])
    queries, cutoff = params["counts"].shape[0] - 1, params["counts"].shape[1] - 1
    query_key = stream.fold(key, _QUERY_TAG)
    lift_key = stream.fold(key, _LIFT_TAG)
    scale = jnp.asarray(params["query_scale"])

    def go_on(carry):
        _, ended, state = carry
        return ~ended & (state.count < cutoff)

    def jump(carry):
        query, _, state = carry
        hazard = hazards(state.threshold, levels, scale)
        left = jnp.clip(starts + lengths - query, 0, lengths)
        gap = noise.exponential(noise.number(query_key, state.count))
        hit = first_hit(gap, hazard, left)
        ended = hit.run >= levels.shape[0]
        run = jnp.minimum(hit.run, jnp.int32(levels.shape[0] - 1))
        found = jnp.maximum(starts[run], query) + hit.step - 1
        value = levels[run]
        if releases_values:
            noised = scale > 0.0
            needed = (state.threshold - value) / jnp.where(noised, scale, 1.0)
            number = noise.number(lift_key, state.count)
            value = value + jnp.where(noised, scale * _lifted(number, needed), 0.0)
        after = _answered_above(state, found, value, key, params, redrawn, releases_values)
        state = _State(*(jnp.where(ended, a, b) for a, b in zip(state, after, strict=True)))
        return found + 1, ended, state

    begin = (jnp.int32(0), jnp.asarray(False), _start(key, params, queries))
    _, _, state = lax.while_loop(go_on, jump, begin)
    return _finished(state, event)
