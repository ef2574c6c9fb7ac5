"""Private multiplicative weights with the repetitive sparse vector.

Cohen, Lyu, Nelson, Sarlós & Stemmer 2022, Theorem 11 and Section 4.3.1. One sparse vector
(Algorithm 3) decides which queries update the hypothesis, and also whether a noisy answer is
accurate enough to be released; if it is not, another is drawn.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.families.multiplicative_weights import parameters
from jaxsel.families.multiplicative_weights.laws import repetitive_law
from jaxsel.families.multiplicative_weights.universe import (
    PARAMS,
    PATH_QUERIES,
    Interaction,
    Reply,
    event_and_labels,
    new_hypothesis,
    next_query,
    over_queries,
    prepare_universe,
    when,
)
from jaxsel.families.selection_and_test.state import State, answers_top, initialise, log_stay
from jaxsel.kernel import lanes, noise, stream
from jaxsel.kernel.logarithm import log, log1p
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

_PRIOR_TAG, _QUESTION_TAG, _ANSWER_TAG, _ANALYST_TAG = 0xE8, 0xE9, 0xEA, 0xEB
_TEST_TAG, _NOISE_TAG = 0xEC, 0xED
_MANY = 2.0**31 - 2
_LEAST = 1e-300  # a lower bound of a probability, to avoid log 0

SETTINGS = {
    "threshold": parameters.Threshold,
    "distance": parameters.Distance,
    "rate": parameters.Rate,
    "gamma": parameters.Gamma,
    "repetitions": parameters.Repetitions,
    "test_scale": parameters.Scale,
    "answer_scale": parameters.Scale,
    "max_failures": parameters.Failures,
    "max_answers": parameters.Answers,
}
OPTIONAL = {"check_threshold": parameters.Threshold}


class Weights(NamedTuple):
    """The state of the mechanism between queries.

    Attributes:
      state: the p that all Tests of the interaction share.
      hypothesis: Float["cells"], h, the shares by which queries are answered.
      updates: Int[""], number of updates so far.
      questions: Int[""], number of questions to the sparse vector so far.
      failures: Float[""], number of failed batches so far.
      drawn: Int[""], number of noisy answers so far.
      active: Bool[""], whether the mechanism has not halted.
    """

    state: State
    hypothesis: Float[Array, "cells"]  # noqa: F821
    updates: Int[Array, ""]
    questions: Int[Array, ""]
    failures: Float[Array, ""]
    drawn: Int[Array, ""]
    active: Bool[Array, ""]


class _Verdict(NamedTuple):
    """The sparse vector's answer to one question, and how many batches failed before it.

    Attributes:
      top: Bool[""], whether the answer is "top".
      failures: Float[""]; if it reaches what was left, the sparse vector halted instead.
    """

    top: Array
    failures: Array


def as_arrays(params: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among parameters that have been read, as NumPy scalars by name.

    They are ``SETTINGS`` and "check_threshold", which is half the threshold unless it is given.
    """
    found: dict[str, Any] = {name: np.float64(params[name]) for name in SETTINGS}
    check = params.get("check_threshold", 0.5 * found["threshold"])
    whole = {name: np.int32(min(params[name], _MANY)) for name in ("max_failures", "max_answers")}
    return found | whole | {"check_threshold": np.float64(check)}


def begin(key: stream.Key, cells: int, params: Mapping[str, Any]) -> Weights:
    """The state before the first query: the uniform hypothesis, and p, which is drawn here.

    Args:
      key: of the noises and of the Tests.
      cells: |X|, cells of the universe.
      params: the settings, as ``as_arrays`` makes them.
    """
    state = initialise(stream.fold(key, _PRIOR_TAG), params["gamma"])
    zero, none = jnp.int32(0), jnp.zeros_like(state.p)
    h = jnp.full((cells,), 1.0 / cells, none.dtype)
    return Weights(state, h, zero, zero, none, zero, jnp.asarray(True))


def respond(
    key: stream.Key,
    weights: Weights,
    query,
    truth,
    params: Mapping[str, Any],
    i=None,
    *,
    method: str = "jump",
) -> Reply:
    """The answer to the next query, and the state after it.

    Args:
      key: of the noises and of the Tests.
      weights: the state before the query.
      query: Float["cells"] in [0, 1].
      truth: its true answer q(D).
      params: the settings, as ``as_arrays`` makes them.
      i: not used, since the state counts the questions.
      method: as of ``repetitive``.
    """
    del i
    questions = stream.fold(key, _QUESTION_TAG)
    answers = stream.fold(key, _ANSWER_TAG)
    verdict = _literal if method == "literal" else _jump
    limit = params["max_failures"].astype(weights.failures.dtype)
    guess = query @ weights.hypothesis

    def question(number, level, failures) -> tuple[Array, Array, Array]:
        """Asks the sparse vector whether a value is above its threshold.

        Args:
          number: of the question.
          level: the value minus the threshold.
          failures: failed batches before it.

        Returns:
          Whether the answer is "top", the failed batches after it, and whether it has not halted.
        """

        def answer() -> Array:
            found = verdict(questions, number, weights.state, level, params, limit - failures)
            return jnp.where(found.top, -1 - found.failures, found.failures)

        # One number, made once: all that follows from an answer would make it again.
        found = lanes.where_wanted(level <= jnp.inf, answer)
        top = found < 0
        total = jnp.minimum(failures + jnp.where(top, -1 - found, found), limit)
        return top, total, total < limit

    level = jnp.abs(truth - guess) - params["threshold"]
    top, after, alive = question(weights.questions, level, weights.failures)
    active = weights.active & alive
    failures = jnp.where(weights.active, after, weights.failures)
    # Questions are numbered even after a halt, so that no random stream is used twice.
    number = weights.questions + 1
    wanted = active & top

    def draw(carry):
        """Draws a noisy answer, and asks the sparse vector whether it is accurate enough."""
        number, failures, drawn, active, _, _ = carry
        off = params["answer_scale"] * lanes.where_wanted(
            redraw(carry),
            lambda: noise.variate("laplace", answers, drawn, noise.widest_precision()),
        )
        again, failures, alive = question(
            number, jnp.abs(off) - params["check_threshold"], failures
        )
        drawn = drawn + 1
        accepted = alive & ~again
        active = alive & (accepted | (drawn < params["max_answers"]))
        return number + 1, failures, drawn, active, accepted, off

    def redraw(carry):
        _, _, _, active, accepted, _ = carry
        return wanted & active & ~accepted

    # All noisy answers may have been drawn before this query; then the mechanism halts.
    active = active & ((weights.drawn < params["max_answers"]) | ~wanted)
    start = (number, failures, weights.drawn, active, jnp.zeros_like(active), jnp.zeros_like(truth))
    number, failures, drawn, active, accepted, off = lax.while_loop(redraw, draw, start)
    below = truth + off < guess
    hypothesis = when(
        accepted, lambda h: new_hypothesis(h, query, below, params["rate"]), weights.hypothesis
    )
    updates = weights.updates + accepted.astype(jnp.int32)
    now = Weights(weights.state, hypothesis, updates, number, failures, drawn, active)
    return Reply(now, jnp.where(accepted, truth + off, guess), accepted, below)


@factory
def repetitive(
    queries: parameters.FewQueries,
    *,
    analyst: parameters.Analyst = "pool",
    event: parameters.Event = "updates",
    method: Annotated[str, choice(("jump", "literal"))] = "jump",
) -> Mechanism:
    """Answers from the hypothesis h, or from the data where Algorithm 3 answers "top".

    For each query Algorithm 3 is asked whether |q(D) - q(h)| is below ``threshold``. If it
    answers "bottom", the answer to the query is q(h). If it answers "top", v = q(D) +
    Lap(answer_scale) is drawn, and Algorithm 3 is asked whether |q(D) - v| is below
    ``check_threshold``: after "bottom" the answer is v and h is updated, after "top" v is
    rejected and another is drawn. The mechanism halts when ``max_failures`` batches have failed,
    or when it needs more than ``max_answers`` noisy answers; from then on all answers are q(h).
    All questions share p = U^(1/gamma), with U uniform.

    Args:
      queries: m, the largest number of queries.
      analyst: "pool", "random" or "worst", see ``universe.next_query``.
      event: "updates", the number of updates; or "path", at which queries h was updated and in
        which direction, for at most 8 queries.
      method: "literal" makes every Test, up to ``repetitions`` a batch; "jump" draws the
        outcome of a question at once, from its law given p.

    Data: Int["cells"], the number of rows in each cell of the universe.
    Params: "queries", Float["pool cells"]; "reference", Float["cells"]; "asked" (see
      ``universe.prepare_universe``); "threshold", "check_threshold" (default: half the
      threshold), "distance" (d, of both questions), "rate" (the learning rate), "gamma",
      "repetitions" (tau), "max_failures" (k'), "max_answers", "test_scale" and
      "answer_scale", as ``settings.repetitive`` chooses them.
    Outcome: ``universe.Interaction``.

    Formal guarantees (claims): CL-Thm11.
    """
    event_of, labels = event_and_labels(event, queries)

    def prepare(data, params):
        read = read_params(params, SETTINGS, OPTIONAL | PARAMS)
        return prepare_universe(data, read, analyst, queries), as_arrays(read)

    def sample(key: stream.Key, data, params) -> Interaction:
        choices = stream.fold(key, _ANALYST_TAG)

        def ask(seen, i):
            weights, outcome = seen
            query = next_query(analyst, data, weights.hypothesis, choices, i)
            truth = query @ data["shares"]
            reply = respond(key, weights, query, truth, params, method=method)
            digit = jnp.where(reply.fired, jnp.where(reply.below, 1, 2), 0)
            now, path = reply.weights, outcome.path
            return now, Interaction(
                jnp.maximum(outcome.max_error, jnp.abs(reply.answer - truth)),
                now.updates,
                # Every noisy answer that was drawn is released or rejected, but that at a halt the
                # last one may be neither; it is counted as rejected.
                now.drawn - now.updates,
                ~now.active,
                path * 3 + digit.astype(jnp.int32) if queries <= PATH_QUERIES else path,
                now.hypothesis,
                outcome.answers.at[i].set(reply.answer),
            )

        weights = begin(key, data["shares"].shape[0], params)
        zero, none = jnp.int32(0), jnp.zeros_like(weights.failures)
        outcome = Interaction(
            none,
            zero,
            zero,
            jnp.asarray(False),
            zero,
            weights.hypothesis,
            jnp.zeros((queries,), none.dtype),
        )
        return over_queries(ask, data, (weights, outcome))[1]

    def law(data, params) -> FiniteLaw:
        table, found = prepare(data, params)
        probabilities = repetitive_law(
            table, found, queries, analyst=analyst, paths=event == "path"
        )
        return FiniteLaw(probabilities, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law if queries <= PATH_QUERIES and analyst != "random" else None,
        resolution=2.0**-53,
    )


def _tail(x: Array, scale) -> Array:
    """P[Lap(scale) >= x]."""
    half = 0.5 * jnp.exp(-jnp.abs(x) / scale)
    return jnp.where(x > 0, half, 1 - half)


def _log_fails(log_passes: Array) -> Array:
    """The log-probability that a batch fails, log(1 - e^x), from that it passes, x <= 0."""
    fails = -jnp.expm1(jnp.maximum(log_passes, -0.7))
    return jnp.where(
        log_passes < -0.7,
        log1p(-jnp.exp(jnp.minimum(log_passes, -0.7))),
        jnp.where(fails > 0, log(jnp.maximum(fails, _LEAST)), -jnp.inf),
    )


def _jump(key, number, state: State, level, params, left) -> _Verdict:
    """Answers one question in O(1): draws the number of failed pairs of batches, then the answer.

    Let A and B be the probabilities that a batch of tau Tests passes, for the hypothesis "below
    the threshold" and for "above threshold - distance". Batches alternate until one passes. J
    pairs fail, where P[J >= j] = ((1 - A)(1 - B))^j, and then the answer is "bottom" with
    probability A/(A + B - A B).

    Args:
      key: of the Tests.
      number: of the question, from 0.
      state: p.
      level: the tested value minus its threshold.
      params: the settings.
      left: failed batches at which it halts; not used here, as the caller compares.
    """
    del left
    tau, scale = params["repetitions"], params["test_scale"]
    log_a = tau * log_stay(state, _tail(-level, scale))
    log_b = tau * log_stay(state, _tail(level + params["distance"], scale))
    log_fail_a, log_fail_b = _log_fails(log_a), _log_fails(log_b)
    rate = -(log_fail_a + log_fail_b)
    precision = noise.widest_precision()
    waiting = noise.exponential(noise.number(key, 2 * number, precision))
    # rate = 0 means that all batches fail, so that the sparse vector halts; the division by 1
    # only keeps 0/0 out. For rate = inf the quotient is 0: no pair fails.
    pairs = jnp.floor(waiting / jnp.where(rate > 0, rate, 1))
    pairs = jnp.where(rate > 0, pairs, _MANY)
    # top : bottom = (1 - A) B : A, by their logarithms, as both may vanish.
    u, t = noise.number(key, 2 * number + 1, precision)
    logit = jnp.where(u, -1.0, 1.0) * (log(t) - log1p(-t))
    top = logit < log_fail_a + log_b - log_a
    return _Verdict(top, 2 * pairs + top.astype(pairs.dtype))


def _literal(key, number, state: State, level, params, left) -> _Verdict:
    """Answers one question Test by Test, by batches of the two hypotheses until one passes.

    Arguments as of ``_jump``; here the batches end when ``left`` of them have failed.
    """
    precision = noise.widest_precision()
    key = stream.at_round(key, number)
    tests, noises = stream.fold(key, _TEST_TAG), stream.fold(key, _NOISE_TAG)

    def batch(carry):
        made, failures, _ = carry
        refuting_u = failures % 2 == 0

        def one(carry):
            made, j, _ = carry
            noisy = level + params["test_scale"] * noise.variate("laplace", noises, made, precision)
            answer = jnp.where(refuting_u, noisy >= 0, noisy <= -params["distance"])
            failed = answers_top(tests, state, answer, made)
            return made + 1, j + 1, failed

        made, _, failed = lax.while_loop(
            lambda c: ~c[2] & (c[1] < params["repetitions"]),
            one,
            (made, jnp.zeros_like(failures), jnp.zeros_like(refuting_u)),
        )
        return made, failures + failed.astype(failures.dtype), failed

    def go_on(carry):
        _, failures, failed = carry
        return failed & (failures < left)

    start = (jnp.int32(0), jnp.zeros_like(level), jnp.asarray(True))
    _, failures, _ = lax.while_loop(go_on, batch, start)
    return _Verdict(failures % 2 == 1, failures)
