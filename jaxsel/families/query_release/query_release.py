"""Query release whose error never exceeds a cap: Cohen et al. 2022, Theorem 5.

See ``jaxsel.families.query_release.laws`` for the settings and for what replaces the
paper's inner mechanism.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.families.query_release import parameters
from jaxsel.families.query_release.laws import QueryRelease, correction_chance, query_release
from jaxsel.families.query_release.repaired_answers import RepairedAnswers
from jaxsel.families.selection_and_test.state import initialise, runs
from jaxsel.host.errors import InputError, check_choice, check_finite
from jaxsel.kernel import lanes, noise, stream
from jaxsel.kernel.exponential import one_minus_exp
from jaxsel.kernel.logarithm import log
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

_MOST_RUNS = 100_000_000
_STATE_TAG, _COIN_TAG, _BOUND_TAG, _PICK_TAG, _REPAIR_TAG = 0xE0, 0xE1, 0xE2, 0xE3, 0xE4
_RUNS_TAG = 0xE5
# Below the resolution that the mechanism declares.
_LEAST_WAITING = 2.0**-54
_LABELS = {
    "answers": ("mean < 1/2", "mean >= 1/2", "true answers"),
    "correction": ("private answers", "true answers"),
}


class Answers(NamedTuple):
    """What is kept of the released answers, and their error.

    Attributes:
      mean: Float[Array, ""], of the released answers; NaN with method "largest".
      error: Float[Array, ""], their largest error, 0 if corrected. Not to be released.
      corrected: Bool[Array, ""], whether the true answers were released.
      code: Int[Array, ""], the event of the trial.
    """

    mean: Float[Array, ""]
    error: Float[Array, ""]
    corrected: Bool[Array, ""]
    code: Array


def release_settings(queries: int, params: dict[str, Any], inner: str) -> QueryRelease:
    """The settings of Theorem 5's algorithm that the parameters of the mechanism give.

    Args:
      queries: how many answers.
      params: "epsilon", "delta", and optionally "runs" and "sharp".
      inner: as of ``query_release_mechanism``.

    Raises:
      InputError: for an unknown parameter or one out of range.
    """
    of_whole = {"epsilon": parameters.Epsilon, "delta": parameters.Delta}
    given = read_params(params, of_whole, {"runs": parameters.Runs, "sharp": None})
    sharp = given.get("sharp", False)
    check_choice("sharp", sharp, (False, True))
    settings = query_release(
        queries, given["epsilon"], given["delta"], inner=inner, sharp=bool(sharp)
    )
    return settings._replace(runs=given.get("runs", settings.runs))


@factory
def query_release_mechanism(
    *,
    method: Annotated[str, choice(parameters.METHODS)] = "literal",
    inner: parameters.Inner = "gaussian",
    event: parameters.Event = "answers",
) -> Mechanism:
    """Releases answers to k queries whose largest error never exceeds a cap (Theorem 5).

    Each of at most T runs draws a vector of noisy answers and a private bound on its largest
    error; the vector with the least bound is released, or the true answers if no bound is below
    the cap.

    Args:
      method: "literal" flips a coin for each of T runs, whether to make it, and draws whole
        vectors of answers; "largest" draws the number of runs made and only the largest errors of
        those that can win, in ascending order, by their law (inner mechanism "gaussian" only).
      inner: the mechanism of one run: "gaussian" adds Gaussian noise to every answer; "repaired"
        then measures the answers with the largest errors again.
      event: "answers" tells whether the mean answer is below 1/2 (literal only);
        "correction" tells only whether the true answers were released.

    Data: Float["queries"], the true answers, of sensitivity 1 each.
    Params: "epsilon" and "delta", of the whole; "runs" overrides T (fewer runs are no less
      private for the selection, but the true answers are released more often); "sharp", if
      True, gives one run all of epsilon instead of a third (see
      ``jaxsel.families.query_release.laws``).
    Outcome: Answers; event: see ``event``.

    Formal guarantees (claims): CL-Thm5-privacy, CL-Thm5-sharp, CL-Thm5-error.

    Raises:
      InputError: for method "largest" with another inner mechanism or event than it can draw.
    """
    if method == "largest" and (inner, event) != ("gaussian", "correction"):
        raise InputError(
            'method "largest" draws no answers: it takes inner "gaussian" and event "correction"'
        )

    def checked(data, params) -> tuple[np.ndarray, QueryRelease]:
        answers = check_finite("answers", data)
        if answers.ndim != 1 or answers.size == 0:
            raise InputError("answers must be a list of at least one number")
        return answers, release_settings(answers.size, params, inner)

    def prepare(data, params):
        answers, settings = checked(data, params)
        if settings.runs > _MOST_RUNS:
            raise InputError(
                f"delta {params['delta']} needs {settings.runs:g} runs; at most "
                f"{_MOST_RUNS:g} are simulated: take a larger delta, or give runs"
            )
        numbers = settings._asdict()
        repairs: RepairedAnswers | None = numbers.pop("repairs")
        for name in ("queries", "inner_delta", "half_error"):
            numbers.pop(name)
        prepared: dict[str, Any] = {
            name: np.int64(value) if name == "runs" else np.float64(value)
            for name, value in numbers.items()
        }
        if repairs is not None:
            # as a mask: lax.top_k needs a static number of repairs
            prepared["repaired"] = np.zeros(repairs.repairs)
            prepared["pick_scale"] = np.float64(repairs.pick_scale)
            prepared["repair_scale"] = np.float64(repairs.repair_scale)
        return answers, prepared

    def sample(key, data, params) -> Answers:
        if method == "largest":
            best, error = _largest_only(key, data, params)
            mean = jnp.asarray(jnp.nan)
        else:
            best, answers = _literal(key, data, params)
            error, mean = jnp.max(jnp.abs(answers - data)), jnp.mean(answers)
        corrected = ~(best <= params["cap"])
        mean = jnp.where(corrected, jnp.mean(data), mean)
        if event == "answers":
            code = jnp.where(corrected, 2, (mean >= 0.5).astype(jnp.int32))
        else:
            code = corrected
        error = jnp.where(corrected, 0.0, error)
        return Answers(mean, error, corrected, code.astype(jnp.int32))

    def labels(data, params):
        checked(data, params)
        return _LABELS[event]

    def law(data, params) -> FiniteLaw:
        corrected = correction_chance(checked(data, params)[1])
        return FiniteLaw(np.array([1.0 - corrected, corrected]), labels(data, params))

    exact = event == "correction" and inner == "gaussian"
    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_code,
        labels=labels,
        law=law if exact else None,
        resolution=2.0**-53,
    )


def _code(outcome: Answers) -> Array:
    return outcome.code


class _Ordered(NamedTuple):
    """The runs of a trial that were made, in the order of their errors.

    Attributes:
      number: how many.
      passed: -log(1 - chance of a lesser error), of the last.
      least: the least bound.
      winner: ``passed`` of its run.
      open: Bool[Array, ""], whether a later run may have a lesser bound.
    """

    number: Int[Array, ""]
    passed: Float[Array, ""]
    least: Float[Array, ""]
    winner: Float[Array, ""]
    open: Bool[Array, ""]


def _truncated(number: noise.Ends, params) -> Array:
    """TLap, in units of its scale."""
    bound = params["inner_epsilon"] / 2.0 * params["offset"]
    return noise.truncated_laplace(number, bound, fused=True)


def _private_bound(added, error, params) -> Array:
    """The bound s = error + A + TLap, which is never below the error, as TLap lies in [-A, A].

    ``added`` is TLap in units of its scale.
    """
    rate, offset = params["inner_epsilon"] / 2.0, params["offset"]
    # XLA on CPU makes a quotient once, also where a loop keeps two things that depend on it.
    return (rate * (error + offset) + added) / rate


def _inner_vector(key: stream.Key, data, params) -> Array:
    """One vector of noisy answers, of which the worst are measured again if ``repaired``."""
    draws = jnp.arange(data.shape[0], dtype=jnp.uint32)
    error = params["noise_scale"] * noise.each_variate("gaussian", key, draws, "float64")
    if "repaired" in params:
        count = params["repaired"].shape[0]
        pick_key = stream.fold(key, _PICK_TAG)
        gumbel = noise.each_variate("gumbel", pick_key, draws, "float64")
        noisy = jnp.abs(error) + params["pick_scale"] * gumbel
        _, picked = lax.top_k(noisy, count)
        again = noise.normal(noise.number(stream.fold(key, _REPAIR_TAG), draws[:count]))
        error = error.at[picked].set(params["repair_scale"] * again)
    return data + error


def _literal(key: stream.Key, data, params) -> tuple[Array, Array]:
    """The least private bound of the runs that happen, and the answers of this run."""
    state = initialise(stream.fold(key, _STATE_TAG), 1.0)
    coins = stream.fold(key, _COIN_TAG)

    def one_run(number, best):
        here = stream.at_round(key, number)
        answers = _inner_vector(here, data, params)
        error = jnp.max(jnp.abs(answers - data))
        added = _truncated(noise.number(stream.fold(here, _BOUND_TAG), 0), params)
        bound = _private_bound(added, error, params)
        better = runs(coins, state, number) & (bound < best[0])
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), (bound, answers), best)

    nothing = (jnp.asarray(jnp.inf), jnp.asarray(data))
    return lax.fori_loop(0, params["runs"], one_run, nothing)


def _number_at(below: Array, above: Array) -> noise.Ends:
    """The number ``below``, which is 1 - ``above``."""
    return noise.Ends(above < below, jnp.minimum(below, above))


def _largest_only(key: stream.Key, data, params) -> tuple[Array, Array]:
    """The least private bound and the largest error of its answers, by the laws of both.

    Runs are made in the order of their errors, the least first, until no later one can have the
    least bound even with the least noise of all.
    """
    coins, draws = stream.fold(key, _COIN_TAG), stream.fold(key, _RUNS_TAG)
    # Bin(T, U) is uniform on {0, ..., T}.
    total = (params["runs"] + 1).astype(jnp.float64)
    count = jnp.floor(noise.uniform(noise.number(coins, 0)) * total)
    count = jnp.minimum(count, total - 1)
    # The least of the noises, at which their distribution function is ``lowest``, is as likely that
    # of any run.
    lowest = one_minus_exp(noise.exponential(noise.number(coins, 1)) / jnp.maximum(count, 1))
    owner = jnp.floor(noise.uniform(noise.number(coins, 2)) * count)
    owner = jnp.minimum(owner, count - 1)
    least_noise = _truncated(_number_at(lowest, 1 - lowest), params)

    def error_at(passed) -> Array:
        # |noise| of all k is below x with chance (1 - tail)^k = exp(-waiting).
        waiting = -log(one_minus_exp(passed), fused=True)
        waiting = jnp.maximum(waiting, _LEAST_WAITING) / data.shape[0]
        tail = noise.Ends(jnp.asarray(True), one_minus_exp(waiting) / 2)
        return params["noise_scale"] * noise.normal(tail)

    def one_run(state: _Ordered) -> _Ordered:
        number = state.number.astype(count.dtype)
        first = 2 * state.number.astype(jnp.uint32)
        # The chances of lesser errors are ordered uniform numbers, whose -log(1 - chance) has
        # exponential spacings.
        spacing = noise.exponential(noise.number(draws, first), fused=True)
        passed = state.passed + spacing / (count - number)
        error = error_at(passed)
        uniform = noise.number(draws, first + 1)
        own = number == owner
        below = jnp.where(own, 0.0, noise.uniform(uniform))
        above = jnp.where(own, 1.0, noise.uniform(uniform.flipped))
        beyond = 1 - lowest
        added = _truncated(_number_at(lowest + beyond * below, beyond * above), params)
        bound = _private_bound(added, error, params)
        least = jnp.minimum(bound, state.least)
        # No later run has a lesser bound than this one with the least noise.
        may_win = _private_bound(least_noise, error, params) < least
        return _Ordered(
            state.number + 1,
            passed,
            least,
            jnp.where(bound < state.least, passed, state.winner),
            may_win & (number + 1 < count),
        )

    zero = jnp.asarray(0.0)
    start = _Ordered(jnp.int32(0), zero, jnp.asarray(jnp.inf), zero, count > 0)
    found = lanes.while_loop(lambda state: state.open, one_run, start)
    return found.least, error_at(found.winner)
