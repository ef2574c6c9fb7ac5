"""The repetitive sparse vector of Cohen et al. 2022, Algorithm 3 (reconstructed).

The page with the pseudocode was not available to us: Algorithm 3 is reconstructed from
Lemma 4's proof and Section 1.5.2, and ``jaxsel.families.repetitive_sparse_vector.laws``
writes it out and says why each line is forced.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxsel.families.repetitive_sparse_vector import laws as exact
from jaxsel.families.repetitive_sparse_vector.parameters import Event, Method, Wanted
from jaxsel.families.repetitive_sparse_vector.settings import RepetitiveSettings, checked
from jaxsel.families.selection_and_test import state as selection_and_test
from jaxsel.families.sparse_vector.runs import read_runs
from jaxsel.host.errors import InputError, check_params
from jaxsel.kernel import lanes, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import validated

_MOST = 2**62  # counts are 64-bit integers
_STATE_TAG, _TEST_TAG, _NOISE_TAG, _JUMP_TAG = 0xC0, 0xC1, 0xC2, 0xC3


class Answers(NamedTuple):
    """The answers of a whole run of the algorithm.

    Attributes:
      answered, tops: Int[Array, ""]: number of queries that were answered, and answered
        top.
      bits: Int[Array, ""]: the answers as a binary number, top = 1, the first leading;
        0 unless the event is "pattern".
      halted: Bool[Array, ""]: whether it halted before it answered all queries. The
        following attributes measure utility, and are not private.
      failures: Int[Array, ""]: batches that failed, at most k'.
      wrong: Int[Array, ""]: bottoms at levels above 0 and tops at levels below -d.
      mistakes: Int[Array, ""]: failed batches of U at levels <= -d/2, and of V at levels >= -d/2,
        as the proof of Lemma 4 counts them.
    """

    answered: Int[Array, ""]
    tops: Int[Array, ""]
    bits: Int[Array, ""]
    halted: Bool[Array, ""]
    failures: Int[Array, ""]
    wrong: Int[Array, ""]
    mistakes: Int[Array, ""]


class _Place(NamedTuple):
    """Where in the queries the algorithm is.

    ``row`` is a run of equal queries, of which ``left`` remain; ``draw`` counts what was drawn.
    """

    row: Array
    left: Array
    draw: Array


def _settings(params: Mapping[str, Any]) -> RepetitiveSettings:
    """The checked settings of params; raises InputError for counts above 2^62."""
    names = RepetitiveSettings._fields
    check_params(params, required=names, optional=("threshold",))
    settings = checked(RepetitiveSettings(*(params[name] for name in names)))
    for name in ("repetitions", "failures"):
        if getattr(settings, name) > _MOST:
            raise InputError(f"{name} is {getattr(settings, name)}; it must be at most 2^62")
    return settings


@factory
def repetitive_sparse_vector(*, method: Method = "jump", event: Event = "pattern") -> Mechanism:
    """Answers which queries f are above a threshold t, until k' batches of Tests have failed.

    Cohen et al. 2022, Algorithm 3. For each query, batches of tau Tests try by turns the hypothesis
    U, that f is hardly above t, and the hypothesis V, that f is hardly below t - d. A batch fails
    at its first Test that contradicts the hypothesis. When a batch passes, the answer is bottom if
    it was of U, and top if it was of V. With probability p, drawn once for the whole run, a Test
    makes a noisy comparison; else it contradicts nothing.

    Args:
      method: "literal" makes every Test; "jump" draws in O(1) the number of successive
        queries that pass their first batch, and in O(1) the answer to the next one, so that a
        trial costs O(runs of equal levels + failed batches), whatever tau is.
      event: "pattern", the whole sequence of answers (at most 10 queries), or "tops", the
        number of answers top.

    Data: as for ``above_threshold``: answers f in units of the sensitivity,
      Float["queries"], or a mapping with "answers" and "lengths": runs of equal ones.
    Params: "gamma", "repetitions" (tau), "query_epsilon" (epsilon'), "failures" (k')
      and "margin" (d), the fields of ``settings.RepetitiveSettings``; and "threshold"
      (t, default 0).
    Outcome: Answers.

    Formal guarantees (claims): CL-Lem3, CL-Lem3-approximate; CL-Lem4.

    Raises:
      InputError: for more than 10 queries with event "pattern", or counts above 2^62.
    """

    def checked_input(data, params):
        runs = read_runs(data, params.get("threshold", 0.0))
        total = int(runs.lengths.sum())
        if event == "pattern" and total > exact.MAX_PATTERN:
            raise InputError(
                f'there are {total} queries; event "pattern" keeps at most '
                f'{exact.MAX_PATTERN}: take event "tops"'
            )
        return runs, _settings(params)

    def prepare(data, params):
        (levels, lengths), settings = checked_input(data, params)
        u, v = exact.top_chances(levels, settings)
        middle = -settings.margin / 2.0
        queries = {
            "level": levels,
            "count": lengths.astype(np.int64),
            "u": u,
            "v": v,
            "above": levels > 0.0,
            "below": levels < -settings.margin,
            "low": levels <= middle,
            "high": levels >= middle,
        }
        return queries, {
            "gamma": np.float64(settings.gamma),
            "repetitions": np.int64(settings.repetitions),
            "noise_scale": np.float64(1.0 / settings.query_epsilon),
            "failures": np.int64(settings.failures),
            "margin": np.float64(settings.margin),
        }

    def sample(key, data, params) -> Answers:
        state = selection_and_test.initialise(stream.fold(key, _STATE_TAG), params["gamma"])
        run = _literal if method == "literal" else _jump
        return run(key, state, data, params, event == "pattern")

    def labels(data, params):
        runs, settings = checked_input(data, params)
        if event == "pattern":
            return exact.pattern_labels(int(runs.lengths.sum()))
        return tuple(f"{tops} top" for tops in range(settings.failures))

    def law(data, params) -> FiniteLaw:
        runs, settings = checked_input(data, params)
        if event == "pattern":
            found = exact.pattern_law(runs.expanded, settings)
        else:
            ends = exact.answer_counts(runs.expanded, settings)
            found = ends.completed + ends.halted
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_pattern if event == "pattern" else _tops,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _pattern(outcome: Answers) -> Array:
    index = jnp.left_shift(jnp.int64(1), outcome.answered) - 1 + outcome.bits
    return index.astype(jnp.int32)


def _tops(outcome: Answers) -> Array:
    return outcome.tops.astype(jnp.int32)


@functools.cache
@validated
def guarantee(wanted: Wanted) -> Callable[[Answers], Array]:
    """An event for ``statistics.counts`` that says whether the guarantee of Lemma 4 held.

    It is 0 if it held, 1 if an answer was wrong, and 2 if no answer was wrong, but the algorithm
    halted early with fewer than ``wanted`` answers top.
    """

    def kept(outcome: Answers) -> Array:
        early = outcome.halted & (outcome.tops < wanted)
        return jnp.where(outcome.wrong > 0, 1, jnp.where(early, 2, 0)).astype(jnp.int32)

    return kept


def _start(data) -> tuple[_Place, Answers]:
    """The place before the first query, and no answers."""
    zero = jnp.int64(0)
    answers = Answers(zero, zero, zero, jnp.asarray(False), zero, zero, zero)
    return _Place(zero, data["count"][0], zero), answers


def _go_on(data, place: _Place, answers: Answers) -> Array:
    """Whether queries are left, and the algorithm has not halted."""
    return ~answers.halted & (place.row < data["count"].shape[0])


def _row(data, number: Array) -> dict[str, Array]:
    """What is known of the queries of a run, by its number; of the last run for larger numbers."""
    inside = jnp.minimum(number, data["count"].shape[0] - 1)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[inside], data)


def _move(data, place: _Place, used: Array, draw: Array) -> _Place:
    """The position after ``used`` more queries of this run."""
    left = place.left - used
    row = place.row + (left <= 0).astype(jnp.int64)
    return _Place(row, jnp.where(left > 0, left, _row(data, row)["count"]), draw)


def _answered(answers: Answers, query, top: Array, number, pattern: bool) -> Answers:
    """The answers after ``number`` more queries like ``query`` were answered ``top``, or bottom."""
    wrong = jnp.where(top, query["below"], query["above"])
    bits = answers.bits
    if pattern:
        last = (top & (number > 0)).astype(jnp.int64)
        bits = jnp.left_shift(bits, number) + last
    return answers._replace(
        answered=answers.answered + number,
        tops=answers.tops + jnp.where(top, number, 0),
        bits=bits,
        wrong=answers.wrong + jnp.where(wrong, number, 0),
    )


def _failed(answers: Answers, query, of_u, of_v, params) -> Answers:
    """The answers after some more failed batches of U and of V."""
    failures = answers.failures + of_u + of_v
    mistakes = jnp.where(query["low"], of_u, 0) + jnp.where(query["high"], of_v, 0)
    return answers._replace(
        failures=failures,
        halted=failures >= params["failures"],
        mistakes=answers.mistakes + mistakes,
    )


# --- Every Test -----------------------------------------------------------------------


def _literal(key, state, data, params, pattern: bool) -> Answers:
    tests, noises = stream.fold(key, _TEST_TAG), stream.fold(key, _NOISE_TAG)

    def one_test(carry):
        place, answers, second, passed = carry  # second: the hypothesis is V
        query, draw = _row(data, place.row), place.draw

        def test():
            value = query["level"] + params["noise_scale"] * noise.laplace(
                noise.number(noises, draw)
            )
            says = jnp.where(second, value <= -params["margin"], value >= 0)
            return selection_and_test.answers_top(tests, state, says, draw)

        top = lanes.where_wanted(_go_on(data, place, answers), test)
        # Line 9: the batch fails at its first top.
        of_u, of_v = ((top & v).astype(jnp.int64) for v in (~second, second))
        fails = _failed(answers, query, of_u, of_v, params)
        ends = ~top & (passed + 1 >= params["repetitions"])
        number = ends.astype(jnp.int64)
        answers = _answered(fails, query, second, number, pattern)
        place = _move(data, place, number, place.draw + 1)
        return (
            place,
            answers,
            jnp.where(ends, False, second ^ top),
            jnp.where(ends | top, 0, passed + 1),
        )

    carry = lax.while_loop(
        lambda carry: _go_on(data, *carry[:2]),
        one_test,
        (*_start(data), jnp.asarray(False), jnp.int64(0)),
    )
    return carry[1]


# --- Whole queries at once ------------------------------------------------------------


def _geometric(number: noise.Ends, log_again: Array) -> Array:
    """The number of successes before a failure, as a float; ``log_again`` is log P[success]."""
    waiting = noise.exponential(number)
    count = jnp.floor(waiting / jnp.where(log_again < 0, -log_again, 1.0))
    return jnp.where(log_again < 0, count, jnp.inf)


def _jump(key, state, data, params, pattern: bool) -> Answers:
    numbers = stream.fold(key, _JUMP_TAG)
    tau = params["repetitions"].astype(jnp.float64)

    def one_failure(carry):
        place, answers = carry
        query = _row(data, place.row)
        log_u = tau * selection_and_test.log_stay(state, query["u"])
        log_v = tau * selection_and_test.log_stay(state, query["v"])
        # One hash of three addresses compiles faster than three hashes.
        drawn = noise.number(numbers, 3 * place.draw + jnp.arange(3))
        first, second, third = (noise.Ends(drawn.upper[i], drawn.t[i]) for i in range(3))
        # Queries in a row that pass their first batch of U.
        passes = _geometric(first, log_u)
        left = place.left.astype(passes.dtype)
        all_pass = passes >= left
        # Capped as floats, here and below: they may be inf.
        passes = jnp.minimum(passes, left).astype(jnp.int64)
        answers = _answered(answers, query, jnp.asarray(False), passes, pattern)
        # The next one fails U's batch. Then V's and U's fail alternately, in pairs.
        fail_u, fail_v = -jnp.expm1(log_u), -jnp.expm1(log_v)
        wasted = _geometric(second, jnp.log(fail_u) + jnp.log(fail_v))
        # V passes, or fails and then U passes; in logarithms, since both may be tiny.
        odds = log_v - log_u - jnp.log(fail_v)
        top = noise.uniform(third) <= jax.nn.sigmoid(odds)
        room = params["failures"] - answers.failures
        pairs = jnp.minimum(wasted, room.astype(wasted.dtype)).astype(jnp.int64)
        count = jnp.minimum(2 * pairs + jnp.where(top, 1, 2), room)
        failing = _failed(answers, query, (count + 1) // 2, count // 2, params)
        number = (~failing.halted).astype(jnp.int64)
        failing = _answered(failing, query, top, number, pattern)
        answers = jax.tree.map(
            lambda quiet, loud: jnp.where(all_pass, quiet, loud), answers, failing
        )
        used = passes + jnp.where(all_pass, 0, 1)
        return _move(data, place, used, place.draw + 1), answers

    _, answers = lax.while_loop(lambda carry: _go_on(data, *carry), one_failure, _start(data))
    return answers
